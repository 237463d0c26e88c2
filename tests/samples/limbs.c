/* Bar and arm: what their poses are by construction. */
#include "support.h"

#include "groups.h"
#include "sinew/samples.h"

/* Positions of the neutral with one target at full weight; release with free. */
static double *posed(const sinew_rig *rig, const char *name) {
    int index = sinew_rig_find_target(rig, name);
    assert_true(index >= 0);
    size_t size = 3 * (size_t)rig->neutral->vertex_count * sizeof(double);
    double *positions = malloc(size);
    memcpy(positions, rig->neutral->positions, size);
    const sinew_target *target = &rig->targets[index];
    for (int i = 0; i < target->count; i++)
        for (int k = 0; k < 3; k++)
            positions[3 * target->vertices[i] + k] += target->deltas[3 * i + k];
    return positions;
}

static double volume(const sinew_mesh *mesh, const double *p) {
    double sum = 0;
    for (int t = 0; t < mesh->triangle_count; t++) {
        const double *a = p + 3 * (size_t)mesh->triangles[3 * t];
        const double *b = p + 3 * (size_t)mesh->triangles[3 * t + 1];
        const double *c = p + 3 * (size_t)mesh->triangles[3 * t + 2];
        sum += a[0] * (b[1] * c[2] - b[2] * c[1]) + a[1] * (b[2] * c[0] - b[0] * c[2]) +
               a[2] * (b[0] * c[1] - b[1] * c[0]);
    }
    return sum / 6;
}

/* By Pappus a bend about the center line keeps the volume of a symmetric bar; so does a twist. */
static void bar_poses_keep_the_volume(void **state) {
    (void)state;
    sinew_error error;
    sinew_rig *rig = NULL;
    sinew_sample_options options = {.size = sizeof options, .vertices = 20000};
    assert_ok(sinew_sample_rig("bar", &options, &rig, &error));
    double rest = volume(rig->neutral, rig->neutral->positions);
    assert_close(rest, 0.04, 0.002); /* 1 x 0.2 x 0.2 less its rounded edges */
    for (int t = 0; t < rig->target_count; t++) {
        double *p = posed(rig, rig->targets[t].name);
        assert_close(volume(rig->neutral, p) / rest, 1, 0.01);
        free(p);
    }
    sinew_rig_destroy(rig);
}

static void bar_stays_where_it_is_held(void **state) {
    (void)state;
    sinew_error error;
    sinew_rig *rig = NULL;
    assert_ok(sinew_sample_rig("bar", NULL, &rig, &error));
    int start = sinew_rig_find_region(rig, "start"), end = sinew_rig_find_region(rig, "end");
    assert_true(start >= 0 && end >= 0);
    assert_true(rig->regions[start].count > 8);
    assert_int_equal(rig->regions[start].count, rig->regions[end].count);
    double *p = posed(rig, "bend270");
    for (int i = 0; i < rig->regions[start].count; i++)
        for (int k = 0; k < 3; k++) {
            int at = 3 * rig->regions[start].vertices[i] + k;
            assert_close(p[at], rig->neutral->positions[at], 1e-12);
        }
    free(p);
    sinew_rig_destroy(rig);
}

/* After a bend of 270 degrees the end looks back along -y: its center is known in closed form. */
static void bend270_ends_on_its_circle(void **state) {
    (void)state;
    sinew_error error;
    sinew_rig *rig = NULL;
    assert_ok(sinew_sample_rig("bar", NULL, &rig, &error));
    double *p = posed(rig, "bend270"), center[3] = {0};
    const sinew_region *end = &rig->regions[sinew_rig_find_region(rig, "end")];
    for (int i = 0; i < end->count; i++)
        for (int k = 0; k < 3; k++) center[k] += p[3 * end->vertices[i] + k] / end->count;
    double radius = 1 / (1.5 * 3.14159265358979323846);
    assert_close(center[0], -radius, 1e-9);
    assert_close(center[1], radius, 1e-9);
    assert_close(center[2], 0, 1e-9);
    free(p);
    sinew_rig_destroy(rig);
}

static void arm_poses_move_the_hand_but_not_the_shoulder(void **state) {
    (void)state;
    sinew_error error;
    sinew_rig *rig = NULL;
    assert_ok(sinew_sample_rig("arm", NULL, &rig, &error));
    const sinew_region *shoulder = &rig->regions[sinew_rig_find_region(rig, "shoulder")];
    const sinew_region *hand = &rig->regions[sinew_rig_find_region(rig, "hand")];
    for (int t = 0; t < rig->target_count; t++) {
        double *p = posed(rig, rig->targets[t].name), moved = 0;
        for (int i = 0; i < 3 * shoulder->count; i++) {
            int at = 3 * shoulder->vertices[i / 3] + i % 3;
            assert_close(p[at], rig->neutral->positions[at], 1e-12);
        }
        for (int i = 0; i < 3 * hand->count; i++) {
            int at = 3 * hand->vertices[i / 3] + i % 3;
            moved = fmax(moved, fabs(p[at] - rig->neutral->positions[at]));
        }
        assert_true(moved > 0.02);
        free(p);
    }
    sinew_rig_destroy(rig);
}

int test_limbs(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bar_poses_keep_the_volume),
        cmocka_unit_test(bar_stays_where_it_is_held),
        cmocka_unit_test(bend270_ends_on_its_circle),
        cmocka_unit_test(arm_poses_move_the_hand_but_not_the_shoulder),
    };
    return cmocka_run_group_tests_name("limbs", tests, NULL, NULL);
}
