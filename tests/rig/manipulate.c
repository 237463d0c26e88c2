#include "support.h"

#include "dense.h"
#include "groups.h"
#include "rigs.h"
#include "sinew/manipulate.h"

static sinew_slider_space *space_of(const sinew_rig *rig) {
    sinew_error error = {0};
    sinew_slider_space *space;
    assert_ok(sinew_slider_space_create(rig, &space, &error));
    return space;
}

/* (S^T S + mu 1)^-1 S^T r, by elimination */
static void a_drag_is_the_regularised_least_squares_answer(void **state) {
    (void)state;
    sinew_error error = {0};
    sinew_rig *rig = random_rig(100, 10, 0.9, 3);
    sinew_slider_space *space = space_of(rig);
    sinew_manipulate_options options;
    sinew_manipulate_options_init(&options);
    options.bounded = false;
    options.ridge = 0.05;
    sinew_manipulator *manipulator;
    assert_ok(sinew_manipulator_create(space, &options, NULL, &manipulator, &error));
    double now[10], w[10], A[100] = {0}, x[10] = {0};
    uint64_t seed = 4;
    for (int i = 0; i < 10; i++) now[i] = test_random(&seed);
    sinew_drag drags[2] = {{.vertex = 40, .axes = SINEW_AXIS_ALL, .weight = 1},
                           {.vertex = 60, .axes = SINEW_AXIS_Y, .weight = 2}};
    double *D = dense_displacements(rig);
    double trace = 0;
    for (int i = 0; i < 2; i++)
        for (int c = 0; c < 3; c++) {
            drags[i].target[c] = test_random(&seed);
            if (!(drags[i].axes >> c & 1)) continue;
            int row = 3 * drags[i].vertex + c;
            double r = drags[i].target[c] - rig->neutral->positions[row];
            for (int k = 0; k < 10; k++) r -= D[row * 10 + k] * now[k];
            for (int k = 0; k < 10; k++) {
                x[k] += drags[i].weight * D[row * 10 + k] * r;
                trace += drags[i].weight * D[row * 10 + k] * D[row * 10 + k];
                for (int l = 0; l < 10; l++)
                    A[k * 10 + l] += drags[i].weight * D[row * 10 + k] * D[row * 10 + l];
            }
        }
    int reach = 0;
    for (int k = 0; k < 10; k++) reach += A[k * 10 + k] > 0;
    for (int k = 0; k < 10; k++) A[k * 10 + k] += 0.05 * trace / reach;
    dense_eliminate(10, A, x);
    sinew_manipulate_info info = {.size = sizeof info};
    assert_ok(sinew_manipulate(manipulator, 2, drags, now, w, &info, &error));
    for (int k = 0; k < 10; k++) assert_close(w[k], now[k] + x[k], 1e-10);
    assert_true(info.left < info.distance);
    free(D);
    sinew_manipulator_destroy(manipulator);
    sinew_slider_space_destroy(space);
    sinew_rig_destroy(rig);
}

/* A place that the rig can reach is reached, within limits; also through curved sliders. */
static void reachable_places_are_reached(void **state) {
    (void)state;
    sinew_error error = {0};
    sinew_rig *rig = random_rig(100, 10, 0.9, 5);
    const int v[] = {40, 50}, drivers[] = {1, 4};
    const double d[] = {0.02, 0.03, 0.01, 0.01, 0.02, 0.03};
    assert_ok(sinew_rig_add_inbetween(rig, "half", 2, 0.5, 2, v, d, &error));
    assert_ok(sinew_rig_add_combination(rig, "both", SINEW_COMBINE_MULTIPLY, 2, drivers, 2, v, d,
                                        &error));
    sinew_slider_space *space = space_of(rig);
    sinew_manipulate_options options;
    sinew_manipulate_options_init(&options);
    options.ridge = 1e-7;
    sinew_manipulator *manipulator;
    assert_ok(sinew_manipulator_create(space, &options, NULL, &manipulator, &error));
    uint64_t seed = 9;
    for (int trial = 0; trial < 10; trial++) {
        double there[10], now[10], w[10], a[12], p[300];
        for (int i = 0; i < 10; i++) {
            there[i] = 0.5 + 0.5 * test_random(&seed);
            now[i] = 0.5 + 0.5 * test_random(&seed);
        }
        sinew_rig_activations(rig, there, a);
        plain_evaluate(rig, a, p);
        sinew_drag drag = {.vertex = 40, .axes = SINEW_AXIS_ALL, .weight = 1};
        memcpy(drag.target, p + 120, sizeof drag.target);
        sinew_manipulate_info info = {.size = sizeof info};
        sinew_status status = sinew_manipulate(manipulator, 1, &drag, now, w, &info, &error);
        assert_true(status == SINEW_OK || status == SINEW_NOT_CONVERGED);
        for (int i = 0; i < 10; i++) assert_true(w[i] >= 0 && w[i] <= 1);
        sinew_rig_activations(rig, w, a);
        plain_evaluate(rig, a, p);
        double left = 0;
        for (int c = 0; c < 3; c++)
            left += (p[120 + c] - drag.target[c]) * (p[120 + c] - drag.target[c]);
        assert_close(sqrt(left / 3), info.left, 1e-12); /* measured on the rig itself */
        assert_below(info.left, 1e-3);
    }
    sinew_manipulator_destroy(manipulator);
    sinew_slider_space_destroy(space);
    sinew_rig_destroy(rig);
}

static void locks_hold_during_a_drag(void **state) {
    (void)state;
    sinew_error error = {0};
    sinew_rig *rig = random_rig(100, 30, 0.9, 15);
    sinew_slider_space *space = space_of(rig);
    double now[30] = {0}, w[30];
    for (int i = 0; i < 30; i++) now[i] = 0.5;
    sinew_locks *locks;
    assert_ok(sinew_locks_create(space, NULL, &locks, &error));
    const int held[] = {20, 22, 70};
    double left[2], moved[2];
    for (int with = 0; with < 2; with++) {
        if (with)
            assert_ok(sinew_locks_add(locks, "l", 3, held, SINEW_AXIS_ALL, NULL, now, &error));
        sinew_manipulator *manipulator;
        assert_ok(sinew_manipulator_create(space, NULL, locks, &manipulator, &error));
        double a[30], p[300], q[300];
        plain_evaluate(rig, now, p);
        sinew_drag drag = {.vertex = 45, .axes = SINEW_AXIS_ALL, .weight = 1};
        for (int c = 0; c < 3; c++) drag.target[c] = p[135 + c] + 0.05;
        sinew_manipulate_info info = {.size = sizeof info};
        assert_ok(sinew_manipulate(manipulator, 1, &drag, now, w, &info, &error));
        sinew_rig_activations(rig, w, a);
        plain_evaluate(rig, a, q);
        moved[with] = 0;
        for (int i = 0; i < 9; i++) {
            int at = 3 * held[i / 3] + i % 3;
            moved[with] += (q[at] - p[at]) * (q[at] - p[at]);
        }
        moved[with] = sqrt(moved[with] / 9);
        left[with] = info.left;
        if (with) assert_close(info.locked_motion, moved[1], 1e-12);
        sinew_manipulator_destroy(manipulator);
    }
    assert_below(moved[1], 0.2 * moved[0]);
    assert_below(left[1], 0.01); /* and the point still gets there */
    sinew_locks_destroy(locks);
    sinew_slider_space_destroy(space);
    sinew_rig_destroy(rig);
}

static void bad_drags_are_refused(void **state) {
    (void)state;
    sinew_error e = {0};
    sinew_rig *rig = random_rig(20, 3, 0.9, 1);
    sinew_slider_space *space = space_of(rig);
    sinew_manipulator *manipulator;
    sinew_manipulate_options options;
    sinew_manipulate_options_init(&options);
    options.ridge = NAN;
    assert_int_equal(sinew_manipulator_create(space, &options, NULL, &manipulator, &e),
                     SINEW_BAD_INPUT);
    assert_int_equal(sinew_manipulator_create(space, NULL, NULL, &manipulator, &e), SINEW_OK);
    double now[3] = {0}, w[3];
    sinew_drag good = {.vertex = 3, .axes = SINEW_AXIS_ALL, .weight = 1}, bad;
    assert_int_equal(sinew_manipulate(manipulator, 0, &good, now, w, NULL, &e), SINEW_BAD_INPUT);
    bad = good;
    bad.vertex = 20;
    assert_int_equal(sinew_manipulate(manipulator, 1, &bad, now, w, NULL, &e), SINEW_BAD_INPUT);
    bad = good;
    bad.target[1] = INFINITY;
    assert_int_equal(sinew_manipulate(manipulator, 1, &bad, now, w, NULL, &e), SINEW_BAD_INPUT);
    bad = good;
    bad.weight = 0;
    assert_int_equal(sinew_manipulate(manipulator, 1, &bad, now, w, NULL, &e), SINEW_BAD_INPUT);
    bad = good;
    bad.axes = 0;
    assert_int_equal(sinew_manipulate(manipulator, 1, &bad, now, w, NULL, &e), SINEW_BAD_INPUT);
    now[1] = NAN;
    assert_int_equal(sinew_manipulate(manipulator, 1, &good, now, w, NULL, &e), SINEW_BAD_INPUT);
    sinew_manipulator_destroy(manipulator);
    sinew_slider_space_destroy(space);
    sinew_rig_destroy(rig);
}

int test_manipulate(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_drag_is_the_regularised_least_squares_answer),
        cmocka_unit_test(reachable_places_are_reached),
        cmocka_unit_test(locks_hold_during_a_drag),
        cmocka_unit_test(bad_drags_are_refused),
    };
    return cmocka_run_group_tests_name("manipulate", tests, NULL, NULL);
}
