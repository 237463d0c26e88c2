#include "support.h"

#include "rigs.h"

#include "sinew/query.h"

sinew_rig *strip_rig(int vertex_count) {
    sinew_error error = {0};
    double *positions = malloc(3 * sizeof(double) * (size_t)vertex_count);
    int *triangles = malloc(3 * sizeof(int) * (size_t)vertex_count);
    for (int v = 0; v < vertex_count; v++) {
        positions[3 * v] = (double)(v / 2) / vertex_count;
        positions[3 * v + 1] = v % 2;
        positions[3 * v + 2] = 0.1 * sin(v);
    }
    int faces = 0;
    for (int v = 0; v + 2 < vertex_count; v++, faces++)
        for (int c = 0; c < 3; c++) triangles[3 * faces + c] = v + (v % 2 ? 2 - c : c);
    sinew_mesh *mesh;
    assert_ok(sinew_mesh_create(vertex_count, positions, faces, NULL, triangles, &mesh, &error));
    sinew_rig *rig;
    assert_ok(sinew_rig_create(mesh, &rig, &error));
    free(positions);
    free(triangles);
    return rig;
}

sinew_rig *random_rig(int vertex_count, int target_count, double share, uint64_t seed) {
    sinew_error error = {0};
    sinew_rig *rig = strip_rig(vertex_count);
    int *vertices = malloc(sizeof(int) * (size_t)vertex_count);
    double *deltas = malloc(3 * sizeof(double) * (size_t)vertex_count);
    for (int k = 0; k < target_count; k++) {
        int length = (int)ceil(share * vertex_count);
        int first = (int)((0.5 + 0.5 * test_random(&seed)) * (vertex_count - length));
        int count = 0;
        for (int v = first; v < first + length; v++) {
            if (test_random(&seed) > 0.8) continue;
            vertices[count] = v;
            for (int c = 0; c < 3; c++) deltas[3 * count + c] = 0.1 * test_random(&seed);
            count++;
        }
        char name[32];
        snprintf(name, sizeof name, "t%d", k);
        assert_ok(sinew_rig_add_target(rig, name, count, vertices, deltas, &error));
    }
    free(vertices);
    free(deltas);
    return rig;
}

void plain_evaluate(const sinew_rig *rig, const double *activations, double *positions) {
    memcpy(positions, rig->neutral->positions,
           3 * sizeof(double) * (size_t)rig->neutral->vertex_count);
    for (int k = 0; k < rig->target_count; k++) {
        const sinew_target *target = &rig->targets[k];
        for (int i = 0; i < 3 * target->count; i++)
            positions[3 * target->vertices[i / 3] + i % 3] += activations[k] * target->deltas[i];
    }
}

int count_crossings(const sinew_rig *rig, const double *weights) {
    sinew_error error;
    const sinew_mesh *mesh = rig->neutral;
    double *positions = calloc(3 * (size_t)mesh->vertex_count, sizeof *positions);
    int *pairs, count;
    sinew_linear *linear;
    assert_non_null(positions);
    assert_ok(sinew_linear_create(rig, &linear, &error));
    sinew_linear_evaluate(linear, weights, positions);
    assert_ok(sinew_self_intersections(mesh->vertex_count, positions, mesh->triangle_count,
                                       mesh->triangles, NULL, &pairs, &count, &error));
    sinew_linear_destroy(linear);
    sinew_free(pairs);
    free(positions);
    return count;
}
