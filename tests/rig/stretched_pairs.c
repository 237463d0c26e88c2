/* Rotations of triangles that another slider stretches. */
#include "support.h"

#include "base/vec3.h"
#include "groups.h"
#include "rig/stretched_pairs.h"
#include "sinew/rotation.h"
#include "sinew/samples.h"
#include "sinew/spring.h"

enum { COLUMNS = 11, ROWS = 8, LID = 4, COUNT = COLUMNS * ROWS };

static sinew_error error;

/* A brow (rows 0 to LID - 1) above a lid that is folded backwards and as short as 0.1. The first
 * slider draws the lid's rim (the last row) down by 1, the second one the brow by 0.12. */
static sinew_rig *lid_rig(void) {
    double x[3 * COUNT], blink[3 * COUNT], brow[3 * COUNT];
    int triangles[6 * COUNT], count = 0;
    for (int r = 0; r < ROWS; r++)
        for (int c = 0; c < COLUMNS; c++) {
            double fold = r < LID ? 0 : (r - LID + 1) / (double)(ROWS - LID);
            int v = COLUMNS * r + c;
            sn_put(x, v, sn_v3(0.3 * c, r < LID ? 0.5 * (LID - 1 - r) : 0, -0.1 * fold));
            sn_put(blink, v, sn_add(sn_at(x, v), sn_v3(0, -fold, 0)));
            sn_put(brow, v, sn_add(sn_at(x, v), sn_v3(0, r < LID ? -0.12 : -0.12 * (1 - fold), 0)));
        }
    for (int r = 0; r + 1 < ROWS; r++)
        for (int c = 0; c + 1 < COLUMNS; c++) {
            int a = COLUMNS * r + c, b = a + COLUMNS;
            int quad[6] = {a, b, a + 1, a + 1, b, b + 1};
            memcpy(triangles + 3 * count, quad, sizeof quad), count += 2;
        }
    sinew_mesh *mesh;
    sinew_rig *rig;
    assert_ok(sinew_mesh_create(COUNT, x, count, NULL, triangles, &mesh, &error));
    assert_ok(sinew_rig_create(mesh, &rig, &error));
    assert_ok(sinew_rig_add_pose(rig, "blink", blink, &error));
    assert_ok(sinew_rig_add_pose(rig, "brow", brow, &error));
    return rig;
}

static double off_the_sum(const sinew_rig *rig, const double *weights, const double *x) {
    double linear[3 * COUNT], most = 0;
    sinew_linear *sum;
    assert_ok(sinew_linear_create(rig, &sum, &error));
    sinew_linear_evaluate(sum, weights, linear);
    sinew_linear_destroy(sum);
    for (int v = 0; v < COUNT; v++) most = fmax(most, sn_distance(sn_at(x, v), sn_at(linear, v)));
    return most;
}

static void a_long_lid_does_not_swing_with_the_brow(void **state) {
    (void)state;
    sinew_rig *rig = lid_rig();
    sinew_rotation *rotation;
    sinew_rotation_state *own;
    assert_ok(sinew_rotation_create(rig, NULL, NULL, &rotation, &error));
    assert_ok(sinew_rotation_state_create(rotation, &own, &error));
    const double both[] = {1, 1}, slight[] = {1, 0.3}, one[] = {1, 0}, other[] = {0, 1};
    double x[3 * COUNT];
    sinew_rotation_evaluate(rotation, own, one, x);
    assert_below(off_the_sum(rig, one, x), 1e-7);
    sinew_rotation_evaluate(rotation, own, other, x);
    assert_below(off_the_sum(rig, other, x), 1e-7);
    sinew_rotation_evaluate(rotation, own, both, x);
    assert_below(off_the_sum(rig, both, x), 1e-7);
    sinew_rotation_evaluate(rotation, own, slight, x);
    assert_below(off_the_sum(rig, slight, x), 0.03); /* 0.4 when angles add up */
    sinew_rotation_state_destroy(own), sinew_rotation_destroy(rotation);
    sinew_rig_destroy(rig);
}

static void springs_start_there(void **state) {
    (void)state;
    sinew_rig *rig = lid_rig();
    sinew_spring *spring;
    sinew_spring_state *own;
    assert_ok(sinew_spring_create(rig, NULL, NULL, &spring, &error));
    assert_ok(sinew_spring_state_create(spring, &own, &error));
    const double weights[] = {1, 1};
    double x[3 * COUNT];
    sinew_spring_frame frame = {.size = sizeof frame, .weights = weights, .index = -1};
    assert_ok(sinew_spring_solve(spring, own, &frame, x, NULL, NULL, &error));
    assert_below(off_the_sum(rig, weights, x), 1e-3);
    sinew_spring_state_destroy(own), sinew_spring_destroy(spring);
    sinew_rig_destroy(rig);
}

/* Bends of what is not stretched add up, correctives count, and what has pairs gets no others. */
static void only_stretched_pairs_are_added(void **state) {
    (void)state;
    sinew_rig *made, *again, *rig = lid_rig();
    assert_ok(sn_stretched_pairs_add(rig, &made, &error));
    assert_non_null(made);
    assert_int_equal(made->target_count, 3);
    assert_int_equal(made->targets[2].kind, SINEW_TARGET_KIND_COMBINATION);
    assert_int_equal(made->targets[2].count, 0);
    assert_int_equal(rig->target_count, 2);
    assert_ok(sn_stretched_pairs_add(made, &again, &error));
    assert_null(again);
    const int drivers[] = {0, 1}, vertex = 3;
    const double delta[] = {0, 0, 0.01};
    assert_ok(sinew_rig_add_combination(rig, "c", SINEW_COMBINE_LOWEST, 2, drivers, 1, &vertex,
                                        delta, &error));
    assert_ok(sn_stretched_pairs_add(rig, &again, &error));
    assert_null(again);
    sinew_rig_destroy(made), sinew_rig_destroy(rig);
    static const char *const samples[] = {"face", "hand", "arm"};
    for (int k = 0; k < 3; k++) {
        assert_ok(sinew_sample_rig(samples[k], NULL, &rig, &error));
        assert_ok(sn_stretched_pairs_add(rig, &made, &error));
        assert_null(made);
        sinew_rig_destroy(rig);
    }
}

/* mouthClose folds the lips of the sample face by itself; with an open jaw it closes them, as far
 * as both go. */
static void lips_close_over_an_open_jaw(void **state) {
    (void)state;
    sinew_rig *rig;
    sinew_sample_options options;
    sinew_sample_options_init(&options);
    options.vertices = 1500;
    assert_ok(sinew_sample_rig("face", &options, &rig, &error));
    int jaw = sinew_rig_find_slider(rig, "jawOpen"),
        close = sinew_rig_find_slider(rig, "mouthClose");
    for (int k = 0; k < rig->target_count; k++) {
        sinew_target *t = &rig->targets[k];
        if (t->driver_count == 2 && t->drivers[0] + t->drivers[1] == jaw + close &&
            (t->drivers[0] == jaw || t->drivers[1] == jaw))
            t->drivers[1] = t->drivers[0] = sinew_rig_find_slider(rig, "tongueOut");
    }
    size_t n = 3 * (size_t)rig->neutral->vertex_count;
    double *x = malloc(n * sizeof *x), *sum = malloc(n * sizeof *x);
    double *weights = calloc((size_t)rig->slider_count, sizeof *weights);
    sinew_rotation *rotation;
    sinew_rotation_state *own;
    sinew_linear *linear;
    assert_ok(sinew_rotation_create(rig, NULL, NULL, &rotation, &error));
    assert_ok(sinew_rotation_state_create(rotation, &own, &error));
    assert_ok(sinew_linear_create(rig, &linear, &error));
    for (int k = 1; k <= 2; k++) {
        double most = 0;
        weights[jaw] = weights[close] = 0.5 * k;
        sinew_rotation_evaluate(rotation, own, weights, x);
        sinew_linear_evaluate(linear, weights, sum);
        for (size_t i = 0; i < n; i++) most = fmax(most, fabs(x[i] - sum[i]));
        assert_below(most, k == 2 ? 1e-7 : 4e-3); /* half-way, the jaw turns instead of shrinking */
    }
    free(x), free(sum), free(weights);
    sinew_linear_destroy(linear);
    sinew_rotation_state_destroy(own), sinew_rotation_destroy(rotation);
    sinew_rig_destroy(rig);
}

static sinew_status add_pairs(void *user) {
    sinew_rig *made;
    sinew_status status = sn_stretched_pairs_add(user, &made, &error);
    sinew_rig_destroy(made);
    return status;
}

static void pairs_need_memory(void **state) {
    (void)state;
    sinew_rig *rig = lid_rig();
    assert_true(test_out_of_memory(add_pairs, rig) > 10);
    sinew_rig_destroy(rig);
}

int test_stretched_pairs(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_long_lid_does_not_swing_with_the_brow),
        cmocka_unit_test(springs_start_there),
        cmocka_unit_test(only_stretched_pairs_are_added),
        cmocka_unit_test(lips_close_over_an_open_jaw),
        cmocka_unit_test(pairs_need_memory),
    };
    return cmocka_run_group_tests_name("stretched pairs", tests, NULL, NULL);
}
