#include "support.h"

#include "dome.h"
#include "sinew/query.h"

sinew_rig *dome_rig(int side, int targets) {
    sinew_error error = {0};
    int n = side * side, faces = 2 * (side - 1) * (side - 1), f = 0;
    double *positions = malloc(3 * sizeof(double) * (size_t)n), *deltas;
    int *triangles = malloc(3 * sizeof(int) * (size_t)faces), *vertices;
    for (int v = 0; v < n; v++) {
        double x = 2.0 * (v % side) / (side - 1) - 1, y = 2.0 * (v / side) / (side - 1) - 1;
        positions[3 * v] = x;
        positions[3 * v + 1] = y;
        positions[3 * v + 2] = 0.5 * (1 - x * x) * (1 - y * y) + 0.03 * sin(5 * x + 3 * y);
    }
    for (int j = 0; j + 1 < side; j++)
        for (int i = 0; i + 1 < side; i++) {
            int a = j * side + i, b = a + 1, c = a + side, d = c + 1;
            int corners[6] = {a, b, d, a, d, c};
            for (int k = 0; k < 6; k++) triangles[3 * f + k] = corners[k];
            f += 2;
        }
    sinew_mesh *mesh;
    sinew_rig *rig;
    assert_ok(sinew_mesh_create(n, positions, faces, NULL, triangles, &mesh, &error));
    assert_ok(sinew_rig_create(mesh, &rig, &error));
    vertices = malloc(sizeof(int) * (size_t)n);
    deltas = malloc(3 * sizeof(double) * (size_t)n);
    for (int k = 0; k < targets; k++) {
        double angle = 2.4 * k, cx = 0.45 * cos(angle), cy = 0.45 * sin(angle);
        int count = 0;
        for (int v = 0; v < n; v++) {
            double x = positions[3 * v] - cx, y = positions[3 * v + 1] - cy;
            double bump = 1 - (x * x + y * y) / 0.25;
            if (bump <= 0) continue;
            vertices[count] = v;
            deltas[3 * count] = 0.15 * bump * bump * sin(3.0 * k);
            deltas[3 * count + 1] = 0.15 * bump * bump * cos(5.0 * k);
            deltas[3 * count + 2] = 0.2 * bump * bump * sin(1.0 + 7 * k);
            count++;
        }
        char name[16];
        snprintf(name, sizeof name, "bump%d", k);
        assert_ok(sinew_rig_add_target(rig, name, count, vertices, deltas, &error));
    }
    free(positions), free(triangles), free(vertices), free(deltas);
    return rig;
}

sinew_marker_map *dome_markers(const sinew_rig *rig, int side, int stride) {
    sinew_error error = {0};
    int count = 0;
    for (int v = 0; v < side * side; v++)
        count += v % side % stride == stride / 2 && v / side % stride == stride / 2;
    sinew_marker_map *map;
    assert_ok(sinew_marker_map_create(count, &map, &error));
    int i = 0;
    for (int v = 0; v < side * side; v++) {
        if (v % side % stride != stride / 2 || v / side % stride != stride / 2) continue;
        char name[16];
        snprintf(name, sizeof name, "m%d", i);
        assert_ok(sinew_marker_map_set_name(map, i, name, &error));
        map->vertices[i] = v;
        if (i % 3 == 2) {
            map->vertices[i] = -1;
            for (int c = 0; c < 3 * rig->neutral->triangle_count; c++)
                if (rig->neutral->triangles[c] == v) map->triangles[i] = c / 3;
            map->barycentric[3 * i] = 0.5, map->barycentric[3 * i + 1] = 0.3;
            map->barycentric[3 * i + 2] = 0.2;
        }
        i++;
    }
    return map;
}

void dome_blend(const sinew_rig *rig, const double *weights, double *positions) {
    memcpy(positions, rig->neutral->positions,
           3 * sizeof(double) * (size_t)rig->neutral->vertex_count);
    for (int k = 0; k < rig->target_count; k++)
        for (int i = 0; i < 3 * rig->targets[k].count; i++)
            positions[3 * rig->targets[k].vertices[i / 3] + i % 3] +=
                weights[k] * rig->targets[k].deltas[i];
}

double root_mean_square(const double *a, const double *b, int count) {
    double sum = 0;
    for (int i = 0; i < 3 * count; i++) sum += (a[i] - b[i]) * (a[i] - b[i]);
    return sqrt(sum / count);
}

int crossings(const sinew_rig *rig, const double *x) {
    sinew_error error = {0};
    int *pairs, found;
    assert_ok(sinew_self_intersections(rig->neutral->vertex_count, x, rig->neutral->triangle_count,
                                       rig->neutral->triangles, NULL, &pairs, &found, &error));
    sinew_free(pairs);
    return found;
}

int grid_triangles(int grids, int side, int *triangles) {
    int faces = 0;
    for (int grid = 0; grid < grids; grid++)
        for (int j = 0; j + 1 < side; j++)
            for (int i = 0; i + 1 < side; i++, faces += 2) {
                int a = (grid * side + j) * side + i;
                const int corner[6] = {a, a + 1, a + side + 1, a, a + side + 1, a + side};
                memcpy(triangles + 3 * faces, corner, sizeof corner);
            }
    return faces;
}
