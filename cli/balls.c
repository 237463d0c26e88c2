#include "balls.h"

#include <math.h>
#include <string.h>

/* An octahedron with its edges halved once: 18 vertices, 32 triangles. */
enum { BALL_VERTICES = 18, BALL_TRIANGLES = 32 };

static const int corners[8][3] = {{0, 2, 4}, {2, 1, 4}, {1, 3, 4}, {3, 0, 4},
                                  {2, 0, 5}, {1, 2, 5}, {3, 1, 5}, {0, 3, 5}};

static int middle(double *p, int *count, int a, int b, int seen[6][6]) {
    if (seen[a][b] < 0) {
        double m[3], length = 0;
        for (int k = 0; k < 3; k++) m[k] = p[3 * a + k] + p[3 * b + k], length += m[k] * m[k];
        for (int k = 0; k < 3; k++) p[3 * *count + k] = m[k] / sqrt(length);
        seen[a][b] = seen[b][a] = (*count)++;
    }
    return seen[a][b];
}

static void make_ball(double p[3 * BALL_VERTICES], int t[3 * BALL_TRIANGLES]) {
    int count = 6, seen[6][6], n = 0;
    memset(seen, -1, sizeof seen);
    memset(p, 0, sizeof(double) * 18);
    for (int k = 0; k < 3; k++) p[3 * (2 * k) + k] = 1, p[3 * (2 * k + 1) + k] = -1;
    for (int f = 0; f < 8; f++) {
        int v[3], m[3];
        memcpy(v, corners[f], sizeof v);
        for (int k = 0; k < 3; k++) m[k] = middle(p, &count, v[k], v[(k + 1) % 3], seen);
        int four[4][3] = {
            {v[0], m[0], m[2]}, {m[0], v[1], m[1]}, {m[2], m[1], v[2]}, {m[0], m[1], m[2]}};
        memcpy(t + n, four, sizeof four), n += 12;
    }
}

/* The parts of the mesh, so that eyes and shells are drawn as such, and one for the balls. */
static bool add_parts(const sinew_mesh *mesh, sinew_mesh *with) {
    int parts = mesh->part_names && mesh->face_part ? mesh->part_count : 0;
    with->part_names = CLI_NEW(char *, (size_t)parts + 1);
    with->face_part = CLI_NEW(int, with->face_count);
    if (!with->part_names || !with->face_part) return false;
    for (int i = 0; i <= parts; i++) {
        with->part_names[i] = cli_strdup(i < parts ? mesh->part_names[i] : "markers");
        if (!with->part_names[i]) return false;
        with->part_count = i + 1;
    }
    for (int f = 0; f < with->face_count; f++)
        with->face_part[f] = f >= mesh->triangle_count ? parts
                             : parts                   ? mesh->face_part[mesh->triangle_face[f]]
                                                       : -1;
    return true;
}

sinew_status cli_add_balls(cli_call *call, const sinew_mesh *mesh, const double *positions,
                           const float *old_colors, int count, const double *points,
                           const double *heat, double radius, sinew_mesh **with, float **colors) {
    double ball[3 * BALL_VERTICES];
    int faces[3 * BALL_TRIANGLES];
    make_ball(ball, faces);
    int vertices = mesh->vertex_count + BALL_VERTICES * count;
    int triangles = mesh->triangle_count + BALL_TRIANGLES * count;
    double *x = CLI_NEW(double, 3 * (size_t)vertices);
    int *t = CLI_NEW(int, 3 * (size_t)triangles);
    *colors = CLI_NEW(float, 3 * (size_t)vertices);
    *with = NULL;
    sinew_status status = x && t && *colors ? SINEW_OK : cli_no_memory(&call->error);
    if (status == SINEW_OK) {
        size_t n = 3 * (size_t)mesh->vertex_count;
        memcpy(x, positions ? positions : mesh->positions, n * sizeof(double));
        memcpy(t, mesh->triangles, 3 * sizeof(int) * (size_t)mesh->triangle_count);
        for (size_t i = 0; i < n; i++) (*colors)[i] = old_colors ? old_colors[i] : 1;
        for (int b = 0; b < count; b++) {
            int first = mesh->vertex_count + BALL_VERTICES * b;
            float h = (float)fmin(fmax(heat ? heat[b] : 0, 0), 1);
            const float tint[3] = {0.15f + 0.8f * h, 0.75f * (1 - h) + 0.1f, 0.15f};
            for (int i = 0; i < 3 * BALL_VERTICES; i++) {
                x[3 * (size_t)first + (size_t)i] = points[3 * b + i % 3] + radius * ball[i];
                (*colors)[3 * (size_t)first + (size_t)i] = tint[i % 3];
            }
            int *own = t + 3 * ((size_t)mesh->triangle_count + (size_t)(BALL_TRIANGLES * b));
            for (int i = 0; i < 3 * BALL_TRIANGLES; i++) own[i] = first + faces[i];
        }
        status = sinew_mesh_create(vertices, x, triangles, NULL, t, with, &call->error);
    }
    if (status == SINEW_OK && !add_parts(mesh, *with)) status = cli_no_memory(&call->error);
    sinew_free(x), sinew_free(t);
    if (status != SINEW_OK) {
        sinew_mesh_destroy(*with), *with = NULL;
        sinew_free(*colors), *colors = NULL;
    }
    return status;
}
