#include "capture/card.h"

#include "support.h"

sinew_rig *test_rig_with_card(const sinew_rig *face, const double corners[4][3]) {
    sinew_error error;
    const sinew_mesh *old = face->neutral;
    int n = old->vertex_count, t = old->triangle_count;
    double *x = malloc(3 * (size_t)(n + 4) * sizeof *x);
    int *triangles = malloc(3 * (size_t)(t + 2) * sizeof *triangles);
    const int card[6] = {n, n + 1, n + 3, n, n + 3, n + 2};
    memcpy(x, old->positions, 3 * (size_t)n * sizeof *x);
    memcpy(x + 3 * n, corners, 12 * sizeof *x);
    memcpy(triangles, old->triangles, 3 * (size_t)t * sizeof *triangles);
    memcpy(triangles + 3 * t, card, sizeof card);
    sinew_mesh *mesh;
    sinew_rig *rig;
    assert_ok(sinew_mesh_create(n + 4, x, t + 2, NULL, triangles, &mesh, &error));
    assert_ok(sinew_rig_create(mesh, &rig, &error));
    for (int k = 0; k < face->target_count; k++)
        assert_ok(sinew_rig_add_target(rig, face->targets[k].name, face->targets[k].count,
                                       face->targets[k].vertices, face->targets[k].deltas, &error));
    free(x), free(triangles);
    return rig;
}

sinew_rig *test_rig_with_body(const sinew_rig *face) {
    return test_rig_with_card(
        face, (const double[4][3]){{-2, -1.7, -2}, {2, -1.7, -2}, {-2, -1.7, 2}, {2, -1.7, 2}});
}
