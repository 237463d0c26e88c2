/* Every model gives the same bits for any number of threads, structures and frames alike. Loops are
 * shared out in their smallest pieces, however short they are, so that every split is tried. */
#include <pthread.h>
#include <stdatomic.h>

#include "base/parallel.h"
#include "base/scope.h"
#include "groups.h"
#include "sinew/sinew.h"
#include "support.h"

static const int counts[] = {1, 2, 3, 8, 33};
enum { COUNTS = sizeof counts / sizeof *counts, FRAMES = 3 };

/* Fills FRAMES shapes of 3 * vertex_count numbers. */
typedef void model_run(const sinew_rig *rig, double *shapes);

static void run_linear(const sinew_rig *rig, double *shapes) {
    sinew_error error = {0};
    sinew_linear *linear;
    size_t n = 3 * (size_t)rig->neutral->vertex_count;
    double *weights = calloc((size_t)rig->slider_count, sizeof *weights);
    assert_ok(sinew_linear_create(rig, &linear, &error));
    for (int f = 0; f < FRAMES; f++) {
        for (int s = 0; s < rig->slider_count; s++) weights[s] = 0.3 + 0.2 * sin(f + s);
        sinew_linear_evaluate(linear, weights, shapes + (size_t)f * n);
    }
    sinew_linear_destroy(linear);
    free(weights);
}

static void run_rotation(const sinew_rig *rig, double *shapes) {
    sinew_error error = {0};
    sinew_rotation *rotation;
    sinew_rotation_state *state;
    size_t n = 3 * (size_t)rig->neutral->vertex_count;
    double *weights = calloc((size_t)rig->slider_count, sizeof *weights);
    assert_ok(sinew_rotation_create(rig, NULL, NULL, &rotation, &error));
    assert_ok(sinew_rotation_state_create(rotation, &state, &error));
    for (int f = 0; f < FRAMES; f++) {
        weights[f % rig->slider_count] = 0.4 + 0.1 * f;
        sinew_rotation_evaluate(rotation, state, weights, shapes + (size_t)f * n);
    }
    sinew_rotation_state_destroy(state);
    sinew_rotation_destroy(rotation);
    free(weights);
}

static void run_spring(const sinew_rig *rig, double *shapes) {
    sinew_error error = {0};
    sinew_spring_options options;
    sinew_spring *spring;
    sinew_spring_state *state;
    size_t n = 3 * (size_t)rig->neutral->vertex_count;
    double *weights = calloc((size_t)rig->slider_count, sizeof *weights);
    sinew_spring_options_init(&options);
    options.volume = 1;
    assert_ok(sinew_spring_create(rig, &options, NULL, &spring, &error));
    assert_ok(sinew_spring_state_create(spring, &state, &error));
    for (int f = 0; f < FRAMES; f++) {
        weights[0] = 0.1 * f;
        sinew_spring_frame frame = {.size = sizeof frame, .weights = weights, .index = f};
        assert_ok(
            sinew_spring_solve(spring, state, &frame, shapes + (size_t)f * n, NULL, NULL, &error));
    }
    sinew_spring_state_destroy(state);
    sinew_spring_destroy(spring);
    free(weights);
}

static void run_modal(const sinew_rig *rig, double *shapes) {
    sinew_error error = {0};
    sinew_modal_options options;
    sinew_modal *modal;
    sinew_modal_motion *motion;
    sinew_modal_state *state;
    size_t n = 3 * (size_t)rig->neutral->vertex_count;
    double *pose = malloc(n * sizeof *pose);
    sinew_rig_shape(rig, 0, pose);
    const double times[2] = {0, 1}, *poses[2] = {rig->neutral->positions, pose};
    sinew_modal_keys keys = {.size = sizeof keys, .count = 2, .times = times, .positions = poses};
    sinew_modal_options_init(&options);
    options.modes = 12;
    assert_ok(sinew_modal_create(rig->neutral, &options, NULL, &modal, &error));
    assert_ok(sinew_modal_motion_create(modal, &keys, NULL, NULL, &motion, &error));
    assert_ok(sinew_modal_state_create(modal, &state, &error));
    for (int f = 0; f < FRAMES; f++)
        sinew_modal_frame(motion, state, 0.3 * (f + 1), shapes + (size_t)f * n);
    sinew_modal_state_destroy(state);
    sinew_modal_motion_destroy(motion);
    sinew_modal_destroy(modal);
    free(pose);
}

static void run_force(const sinew_rig *rig, double *shapes) {
    sinew_error error = {0};
    sinew_sample_options size;
    sinew_force_options options;
    sinew_markers *take;
    sinew_marker_map *map;
    sinew_force *force;
    sinew_force_state *state;
    size_t n = 3 * (size_t)rig->neutral->vertex_count;
    sinew_sample_options_init(&size);
    size.vertices = rig->neutral->vertex_count;
    sinew_force_options_init(&options);
    options.contact = true;
    assert_ok(sinew_sample_markers("face", &size, NULL, &take, &map, &error));
    assert_ok(sinew_force_create(rig, map, &options, NULL, &force, &error));
    assert_ok(sinew_force_state_create(force, &state, &error));
    for (int f = 0; f < FRAMES; f++)
        assert_ok(sinew_force_frame(
            force, state, take->positions + 3 * (size_t)(20 + f) * (size_t)take->marker_count, NULL,
            shapes + (size_t)f * n, NULL, NULL, &error));
    sinew_force_state_destroy(state);
    sinew_force_destroy(force);
    sinew_marker_map_destroy(map);
    sinew_markers_destroy(take);
}

static void assert_same_bits(const char *sample, int vertices, model_run *run) {
    sinew_error error = {0};
    sinew_sample_options size;
    sinew_rig *rig;
    sinew_sample_options_init(&size);
    size.vertices = vertices;
    assert_ok(sinew_sample_rig(sample, &size, &rig, &error));
    size_t n = FRAMES * 3 * (size_t)rig->neutral->vertex_count;
    double *first = calloc(n, sizeof *first), *again = calloc(n, sizeof *again);
    sn_parallel_eagerly(true);
    for (int k = 0; k < COUNTS; k++) {
        sinew_set_threads(counts[k]);
        run(rig, k ? again : first);
        for (size_t i = 0; k && i < n; i++)
            if (memcmp(&first[i], &again[i], sizeof *first) != 0)
                fail_msg("%d threads: frame %zu, coordinate %zu: %.17g, not %.17g", counts[k],
                         i / (n / FRAMES), i % (n / FRAMES), again[i], first[i]);
    }
    sn_parallel_eagerly(false);
    sinew_set_threads(0);
    free(first), free(again);
    sinew_rig_destroy(rig);
}

static void linear_blends_do_not_depend_on_threads(void **state) {
    (void)state;
    assert_same_bits("face", 3000, run_linear);
}

static void rotation_blends_do_not_depend_on_threads(void **state) {
    (void)state;
    assert_same_bits("bar", 1500, run_rotation);
}

static void springs_do_not_depend_on_threads(void **state) {
    (void)state;
    assert_same_bits("bar", 1500, run_spring);
}

static void modes_do_not_depend_on_threads(void **state) {
    (void)state;
    assert_same_bits("bar", 1500, run_modal);
}

static void forces_do_not_depend_on_threads(void **state) {
    (void)state;
    assert_same_bits("face", 3000, run_force);
}

/* ---- cancelling ---- */

static bool after_a_while(void *user) {
    int *polls = user;
    return ++*polls > 3;
}

/* A call that is cancelled between its loops ends with the pool in order. */
static void cancelled_work_leaves_the_pool_usable(void **state) {
    (void)state;
    sinew_error error = {0};
    sinew_sample_options size;
    sinew_rig *rig;
    sinew_modal_options options;
    sinew_modal *modal = NULL;
    int polls = 0;
    sinew_monitor monitor = {.cancelled = after_a_while, .user = &polls};
    sinew_sample_options_init(&size);
    sinew_modal_options_init(&options);
    size.vertices = 1500;
    options.modes = 12;
    assert_ok(sinew_sample_rig("bar", &size, &rig, &error));
    sinew_set_threads(3);
    sn_parallel_eagerly(true);
    sn_poll_always(true);
    assert_int_equal(sinew_modal_create(rig->neutral, &options, &monitor, &modal, &error),
                     SINEW_CANCELLED);
    sn_poll_always(false);
    assert_null(modal);
    assert_ok(sinew_modal_create(rig->neutral, &options, NULL, &modal, &error));
    sinew_modal_destroy(modal);
    sn_parallel_eagerly(false);
    sinew_set_threads(0);
    sinew_rig_destroy(rig);
}

int test_same_bits(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(linear_blends_do_not_depend_on_threads),
        cmocka_unit_test(rotation_blends_do_not_depend_on_threads),
        cmocka_unit_test(springs_do_not_depend_on_threads),
        cmocka_unit_test(modes_do_not_depend_on_threads),
        cmocka_unit_test(forces_do_not_depend_on_threads),
        cmocka_unit_test(cancelled_work_leaves_the_pool_usable),
    };
    return cmocka_run_group_tests_name("same bits", tests, NULL, NULL);
}
