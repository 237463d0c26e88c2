#include "support.h"

#include "base/vec3.h"
#include "shapes.h"

static sinew_mesh *make(int vertex_count, const double *positions, int face_count,
                        const int *face_start, const int *face_vertices) {
    sinew_error error;
    sinew_mesh *mesh;
    assert_ok(sinew_mesh_create(vertex_count, positions, face_count, face_start, face_vertices,
                                &mesh, &error));
    return mesh;
}

sinew_mesh *shape_from(int vertex_count, const double *positions, int triangle_count,
                       const int *triangles) {
    return make(vertex_count, positions, triangle_count, NULL, triangles);
}

/* Quads given as 4 vertices each. */
static sinew_mesh *make_quads(int vertex_count, const double *positions, int count,
                              const int *quads) {
    int *start = malloc(sizeof(int) * ((size_t)count + 1));
    for (int f = 0; f <= count; f++) start[f] = 4 * f;
    sinew_mesh *mesh = make(vertex_count, positions, count, start, quads);
    free(start);
    return mesh;
}

/* Looks a point up among those made so far, so that shared borders get one vertex. */
static int point_index(double *positions, int *count, const double p[3]) {
    for (int i = 0; i < *count; i++)
        if (fabs(positions[3 * i] - p[0]) + fabs(positions[3 * i + 1] - p[1]) +
                fabs(positions[3 * i + 2] - p[2]) <
            1e-9)
            return i;
    memcpy(positions + 3 * *count, p, 3 * sizeof(double));
    return (*count)++;
}

sinew_mesh *shape_sphere(int n) {
    int faces = 8 * n * n, vertices = 0;
    double *positions = malloc(sizeof(double) * 3 * (size_t)(4 * n * n + 2));
    int *triangles = malloc(sizeof(int) * 3 * (size_t)faces), made = 0;
    int *index = malloc(sizeof(int) * (size_t)((n + 1) * (n + 1)));
    for (int octant = 0; octant < 8; octant++) {
        double s[3] = {octant & 1 ? -1 : 1, octant & 2 ? -1 : 1, octant & 4 ? -1 : 1};
        bool flip = s[0] * s[1] * s[2] < 0;
        for (int i = 0; i <= n; i++)
            for (int j = 0; j <= n - i; j++) {
                double p[3] = {s[0] * i, s[1] * j, s[2] * (n - i - j)};
                double length = sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2]);
                for (int k = 0; k < 3; k++) p[k] /= length;
                index[i * (n + 1) + j] = point_index(positions, &vertices, p);
            }
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n - i; j++) {
                int a = index[i * (n + 1) + j], b = index[(i + 1) * (n + 1) + j];
                int c = index[i * (n + 1) + j + 1];
                int first[3] = {a, flip ? c : b, flip ? b : c};
                memcpy(triangles + 3 * made++, first, sizeof first);
                if (j + 1 >= n - i) continue;
                int d = index[(i + 1) * (n + 1) + j + 1];
                int second[3] = {b, flip ? c : d, flip ? d : c};
                memcpy(triangles + 3 * made++, second, sizeof second);
            }
    }
    sinew_mesh *mesh = shape_from(vertices, positions, made, triangles);
    free(positions), free(triangles), free(index);
    return mesh;
}

sinew_mesh *shape_torus(int n, int m) {
    double *positions = malloc(sizeof(double) * 3 * (size_t)(n * m));
    int *triangles = malloc(sizeof(int) * 6 * (size_t)(n * m));
    const double turn = 6.283185307179586;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++) {
            double u = turn * i / n, v = turn * j / m, r = 1 + 0.4 * cos(v);
            double p[3] = {r * cos(u), r * sin(u), 0.4 * sin(v)};
            memcpy(positions + 3 * (i * m + j), p, sizeof p);
            int a = i * m + j, b = (i + 1) % n * m + j;
            int c = (i + 1) % n * m + (j + 1) % m, d = i * m + (j + 1) % m;
            int two[6] = {a, b, c, a, c, d};
            memcpy(triangles + 6 * (i * m + j), two, sizeof two);
        }
    sinew_mesh *mesh = shape_from(n * m, positions, 2 * n * m, triangles);
    free(positions), free(triangles);
    return mesh;
}

sinew_mesh *shape_bar(int length, int n) {
    int size[3] = {length * n, n, n};
    int quads = 2 * (size[0] * size[1] + size[1] * size[2] + size[2] * size[0]);
    double *positions = malloc(sizeof(double) * 3 * (size_t)(quads + 2));
    int *faces = malloc(sizeof(int) * 4 * (size_t)quads), made = 0, vertices = 0;
    for (int axis = 0; axis < 3; axis++)
        for (int side = 0; side < 2; side++) {
            int u = (axis + 1) % 3, v = (axis + 2) % 3;
            for (int i = 0; i < size[u]; i++)
                for (int j = 0; j < size[v]; j++) {
                    int corner[4][2] = {{i, j}, {i + 1, j}, {i + 1, j + 1}, {i, j + 1}};
                    for (int k = 0; k < 4; k++) {
                        const int *c = corner[side ? k : 3 - k];
                        double p[3];
                        p[axis] = side ? (double)size[axis] / n : 0;
                        p[u] = (double)c[0] / n;
                        p[v] = (double)c[1] / n;
                        faces[4 * made + k] = point_index(positions, &vertices, p);
                    }
                    made++;
                }
        }
    sinew_mesh *mesh = make_quads(vertices, positions, made, faces);
    free(positions), free(faces);
    return mesh;
}

sinew_mesh *shape_grid(int n) {
    double *positions = malloc(sizeof(double) * 3 * (size_t)((n + 1) * (n + 1)));
    int *quads = malloc(sizeof(int) * 4 * (size_t)(n * n)), made = 0;
    for (int i = 0; i <= n; i++)
        for (int j = 0; j <= n; j++) {
            double p[3] = {(double)i / n, (double)j / n, 0};
            memcpy(positions + 3 * (i * (n + 1) + j), p, sizeof p);
            if (i == n || j == n) continue;
            int a = i * (n + 1) + j, quad[4] = {a, a + n + 1, a + n + 2, a + 1};
            memcpy(quads + 4 * made++, quad, sizeof quad);
        }
    sinew_mesh *mesh = make_quads((n + 1) * (n + 1), positions, made, quads);
    free(positions), free(quads);
    return mesh;
}

sinew_mesh *shape_moebius(int n) {
    double *positions = malloc(sizeof(double) * 6 * (size_t)n);
    int *quads = malloc(sizeof(int) * 4 * (size_t)n);
    for (int i = 0; i < n; i++) {
        double u = 6.283185307179586 * i / n;
        for (int side = 0; side < 2; side++) {
            double w = side ? 0.3 : -0.3, r = 1 + w * cos(u / 2);
            double p[3] = {r * cos(u), r * sin(u), w * sin(u / 2)};
            memcpy(positions + 3 * (2 * i + side), p, sizeof p);
        }
        int j = (i + 1) % n, flip = j == 0;
        int quad[4] = {2 * i, 2 * j + flip, 2 * j + !flip, 2 * i + 1};
        memcpy(quads + 4 * i, quad, sizeof quad);
    }
    sinew_mesh *mesh = make_quads(2 * n, positions, n, quads);
    free(positions), free(quads);
    return mesh;
}

sinew_mesh *shape_join(sinew_mesh *a, sinew_mesh *b, double x, double y, double z) {
    int n = a->vertex_count + b->vertex_count, m = a->triangle_count + b->triangle_count;
    double *positions = malloc(sizeof(double) * 3 * (size_t)n);
    int *triangles = malloc(sizeof(int) * 3 * (size_t)m);
    memcpy(positions, a->positions, sizeof(double) * 3 * (size_t)a->vertex_count);
    memcpy(triangles, a->triangles, sizeof(int) * 3 * (size_t)a->triangle_count);
    for (int i = 0; i < b->vertex_count; i++)
        sn_put(positions, a->vertex_count + i, sn_add(sn_at(b->positions, i), sn_v3(x, y, z)));
    for (int i = 0; i < 3 * b->triangle_count; i++)
        triangles[3 * a->triangle_count + i] = b->triangles[i] + a->vertex_count;
    sinew_mesh *mesh = shape_from(n, positions, m, triangles);
    free(positions), free(triangles);
    sinew_mesh_destroy(a), sinew_mesh_destroy(b);
    return mesh;
}

double shape_volume(const sinew_mesh *mesh) {
    double volume = 0;
    for (int t = 0; t < mesh->triangle_count; t++) {
        const int *v = mesh->triangles + 3 * t;
        volume += sn_dot(sn_at(mesh->positions, v[0]),
                         sn_cross(sn_at(mesh->positions, v[1]), sn_at(mesh->positions, v[2])));
    }
    return volume / 6;
}

double shape_area(const sinew_mesh *mesh) {
    double area = 0;
    for (int t = 0; t < mesh->triangle_count; t++) {
        const int *v = mesh->triangles + 3 * t;
        sn_vec3 a = sn_at(mesh->positions, v[0]);
        area += 0.5 * sn_length(sn_cross(sn_sub(sn_at(mesh->positions, v[1]), a),
                                         sn_sub(sn_at(mesh->positions, v[2]), a)));
    }
    return area;
}
