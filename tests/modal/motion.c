#include "support.h"

#include <stdbool.h>
#include <stddef.h>

#include "base/memory.h"
#include "base/rotation.h"
#include "bodies.h"
#include "clips.h"
#include "groups.h"
#include "sinew/modal.h"
#include "sinew/threads.h"

static void key_poses_are_met_with_any_number_of_modes(void **state) {
    (void)state;
    const int modes[] = {1, 8, 60};
    for (int m = 0; m < 3; m++) {
        test_clip s = test_clip_make(12, 2, modes[m]);
        test_bend(s.bar, TEST_LENGTH, 2, s.poses[1]);
        sinew_modal_motion *motion = test_clip_motion(&s, NULL);
        test_clip_meets_keys(&s, motion);
        sinew_modal_motion_info info = {.size = sizeof info};
        sinew_modal_motion_get_info(motion, &info);
        assert_close(info.captured[0], 1, 1e-12); /* the rest */
        if (modes[m] == 60) assert_true(info.captured[1] > 0.9);
        sinew_modal_motion_destroy(motion);
        test_clip_free(&s);
    }
}

static void assert_sound(test_clip *s, const sinew_modal_motion *motion, double tolerance) {
    double rest, volume;
    test_flipped(s->bar, s->bar->positions, &rest);
    for (int k = 0; k <= 20; k++) {
        sinew_modal_frame(motion, s->state, k / 20.0, s->frame);
        assert_int_equal(test_flipped(s->bar, s->frame, &volume), 0);
        assert_int_equal(sinew_modal_inverted(motion, s->state), 0);
        assert_close(volume / rest, 1, tolerance);
    }
}

static void large_bends_and_twists_flip_nothing_and_keep_the_volume(void **state) {
    (void)state;
    test_clip s = test_clip_make(40, 2, 60);
    const double straight = -1;
    sinew_modal_parameters parameters;
    sinew_modal_parameters_init(&parameters);
    for (int pose = 0; pose < 4; pose++) {
        if (pose == 0) test_bend(s.bar, TEST_LENGTH, 1.5 * M_PI, s.poses[1]);
        if (pose > 0) test_twist(s.bar, TEST_LENGTH, pose == 1 ? 1.02 : 3, s.poses[1]);
        uint64_t seed = 5;
        for (int i = 0; pose == 3 && i < 3 * s.bar->vertex_count; i++)
            s.poses[1][i] += 0.01 * test_random(&seed);
        parameters.count = 1, parameters.gamma = parameters.kappa = &straight;
        sinew_modal_motion *motion = test_clip_motion(&s, &parameters);
        assert_sound(&s, motion, 0.05);
        if (pose < 2) { /* and while swinging */
            sinew_error error;
            parameters.gamma = parameters.kappa = NULL;
            assert_ok(sinew_modal_motion_update(motion, &parameters, &error));
            assert_sound(&s, motion, 0.1);
        }
        test_clip_meets_keys(&s, motion);
        sinew_modal_motion_destroy(motion);
    }
    test_clip_free(&s);
}

static void straight_knobs_give_the_straight_path(void **state) {
    (void)state;
    sinew_error error;
    test_clip s = test_clip_make(12, 2, 20);
    test_bend(s.bar, TEST_LENGTH, 2, s.poses[1]);
    const double minus = -1, none = 0;
    sinew_modal_parameters parameters;
    sinew_modal_parameters_init(&parameters);
    sinew_modal_motion *motion = test_clip_motion(&s, NULL);
    int columns = info_of(sinew_modal_motion, motion).columns;
    double *from = malloc(sizeof(double) * 3 * (size_t)columns), *to = from + columns;
    double *at = to + columns;
    sinew_modal_motion_weights(motion, 0, from);
    sinew_modal_motion_weights(motion, 1, to);
    for (int way = 0; way < 2; way++) {
        parameters.count = 1;
        parameters.gamma = parameters.kappa = way ? NULL : &minus;
        parameters.amplitude = way ? &none : NULL;
        assert_ok(sinew_modal_motion_update(motion, &parameters, &error));
        for (int k = 0; k <= 10; k++) {
            sinew_modal_motion_weights(motion, k / 10.0, at);
            for (int i = 0; i < columns; i++)
                assert_close(at[i], from[i] + (to[i] - from[i]) * k / 10, 1e-10);
        }
        test_clip_meets_keys(&s, motion);
    }
    free(from);
    sinew_modal_motion_destroy(motion);
    test_clip_free(&s);
}

static void every_knob_leaves_the_keys_exact_and_changes_the_path(void **state) {
    (void)state;
    sinew_error error;
    test_clip s = test_clip_make(12, 2, 20);
    test_bend(s.bar, TEST_LENGTH, 2, s.poses[1]);
    sinew_modal_motion *motion = test_clip_motion(&s, NULL);
    double *standard = malloc(sizeof(double) * 3 * (size_t)s.bar->vertex_count);
    sinew_modal_frame(motion, s.state, 0.4, standard);
    const double half = 0.5, minus = -0.5;
    for (int knob = 0; knob < 11; knob++) {
        sinew_modal_parameters parameters;
        sinew_modal_parameters_init(&parameters);
        parameters.count = 1;
        if (knob == 0) parameters.swings = 3;
        if (knob == 1) parameters.frequency = 2.2;
        if (knob == 2) parameters.damping = 0.5;
        if (knob == 3) parameters.alpha_mass = 4;
        if (knob == 4) parameters.alpha_stiffness = 0.01;
        if (knob == 5) parameters.rest_offset = 0.6;
        if (knob == 6) parameters.stiffness = 4;
        if (knob == 7) parameters.wiggly = true;
        if (knob == 8) parameters.gamma = &minus;
        if (knob == 9) parameters.kappa = &half;
        if (knob == 10) parameters.amplitude = &half;
        assert_ok(sinew_modal_motion_update(motion, &parameters, &error));
        test_clip_meets_keys(&s, motion);
        sinew_modal_frame(motion, s.state, 0.4, s.frame);
        assert_true(test_clip_distance(&s, s.frame, standard) > 1e-5);
    }
    free(standard);
    sinew_modal_motion_destroy(motion);
    test_clip_free(&s);
}

/* Scaling lengths by 1000 and the density by 10: the same motion, 1000 times as large. */
static void default_units_do_not_depend_on_size_or_density(void **state) {
    (void)state;
    sinew_error error;
    test_clip a = test_clip_make(10, 2, 20), b = test_clip_make(10, 2, 20);
    for (int i = 0; i < 3 * b.bar->vertex_count; i++) b.bar->positions[i] *= 1000;
    test_bend(a.bar, TEST_LENGTH, 2, a.poses[1]);
    for (int i = 0; i < 3 * a.bar->vertex_count; i++) {
        b.poses[0][i] = 1000 * a.poses[0][i];
        b.poses[1][i] = 1000 * a.poses[1][i];
    }
    sinew_modal_destroy(b.modal);
    sinew_modal_state_destroy(b.state);
    sinew_modal_options options;
    sinew_modal_options_init(&options);
    options.modes = 20, options.density *= 10;
    assert_ok(sinew_modal_create_tets(b.bar, &options, NULL, &b.modal, &error));
    assert_ok(sinew_modal_state_create(b.modal, &b.state, &error));
    sinew_modal_motion *first = test_clip_motion(&a, NULL), *second = test_clip_motion(&b, NULL);
    for (int k = 0; k <= 8; k++) {
        sinew_modal_frame(first, a.state, k / 5.0, a.frame);
        sinew_modal_frame(second, b.state, k / 5.0, b.frame);
        for (int i = 0; i < 3 * a.bar->vertex_count; i++) b.frame[i] /= 1000;
        assert_below(test_clip_distance(&a, a.frame, b.frame), 1e-6);
    }
    sinew_modal_motion_destroy(first), sinew_modal_motion_destroy(second);
    test_clip_free(&a), test_clip_free(&b);
}

/* About the rest shape, z'' + 2 zeta z' + (w^2 + zeta^2) z = 0 with the frequency w that is said to
 * move, whatever the fit; and keys are met. With a fit the motion starts more slowly. */
static void modes_vibrate_about_the_rest_shape_at_the_reported_frequency(void **state) {
    (void)state;
    test_clip s = test_clip_make(12, 2, 6);
    test_bend(s.bar, TEST_LENGTH, 0.7, s.poses[0]);
    test_bend(s.bar, TEST_LENGTH, 2, s.poses[1]);
    double fastest[2] = {0, 0};
    for (int fitted = 0; fitted < 2; fitted++) {
        sinew_modal_parameters parameters;
        sinew_modal_parameters_init(&parameters);
        parameters.damping = 0, parameters.rate = 0, parameters.swings = 2.2;
        parameters.rest = SINEW_MODAL_REST_SHAPE;
        parameters.fitting = fitted ? SINEW_MODAL_FIT_PUBLISHED : SINEW_MODAL_FIT_NONE;
        sinew_modal_motion *motion = test_clip_motion(&s, &parameters);
        test_clip_meets_keys(&s, motion);
        sinew_modal_motion_info info = {.size = sizeof info};
        sinew_modal_motion_get_info(motion, &info);
        double *z[3];
        const double h = 1e-4;
        for (int k = 0; k < 3; k++) z[k] = SN_NEW(double, info.columns);
        for (double t = 0.2; t < 1; t += 0.3) {
            for (int k = 0; k < 3; k++) sinew_modal_motion_weights(motion, t + (k - 1) * h, z[k]);
            for (int i = 0; i < 6; i++) {
                double w = 2 * M_PI * info.moving[2 * i], size = 0;
                for (int k = 0; k < 3; k++) size = fmax(size, fabs(z[k][i]));
                double force = (z[2][i] - 2 * z[1][i] + z[0][i]) / (h * h) + w * w * z[1][i];
                /* The published fit may damp undamped modes. */
                if (!fitted) assert_below(fabs(force), 1e-4 * w * w * (size + 1e-6));
                if (!fitted) assert_close(info.moving[2 * i], info.frequency[i], 1e-12);
            }
        }
        sinew_modal_motion_weights(motion, 0, z[0]);
        sinew_modal_motion_weights(motion, h, z[1]);
        for (int i = 0; i < 6; i++)
            fastest[fitted] = fmax(fastest[fitted], fabs(z[1][i] - z[0][i]) / h);
        for (int k = 0; k < 3; k++) sn_free(z[k]);
        sinew_modal_motion_destroy(motion);
    }
    assert_below(fastest[1], fastest[0]);
    test_clip_free(&s);
}

/* Weights at constant speed have no lag. A change a of the speed is a push: e = -a e^(-zeta t)
 * sin(wt)/w from then on, whatever the frames between. And the frame with a lag is the given shape
 * plus that much of the modes. */
static void modes_lag_behind_accelerated_shapes(void **state) {
    (void)state;
    enum { COUNT = 40 };
    sinew_error error;
    test_clip s = test_clip_make(12, 2, 4);
    sinew_modal_parameters parameters;
    sinew_modal_parameters_init(&parameters);
    parameters.rate = 0;
    sinew_modal_motion *motion = test_clip_motion(&s, &parameters);
    sinew_modal_motion_info info = {.size = sizeof info};
    sinew_modal_motion_get_info(motion, &info);
    int columns = info.columns;
    double *weights = SN_NEW0(double, columns *COUNT), *lag = SN_NEW(double, columns *COUNT);
    double times[COUNT], stop = 0;
    for (int k = 0; k < COUNT; k++) {
        times[k] = k == 0 ? 0 : times[k - 1] + (k % 3 ? 0.02 : 0.05);
        if (k == 12) stop = times[k];
        for (int i = 0; i < 4; i++)
            weights[columns * k + i] = (i + 1) * (k <= 12 ? times[k] : stop);
    }
    assert_ok(sinew_modal_lag(motion, COUNT, times, weights, lag, &error));
    for (int k = 0; k < COUNT; k++)
        for (int i = 0; i < 4; i++) {
            double lambda = 2 * M_PI * info.frequency[i], zeta = info.damping[i] * lambda;
            double w = sqrt(lambda * lambda - zeta * zeta), t = times[k] - stop;
            double expected = t > 0 ? (i + 1) * exp(-zeta * t) * sin(w * t) / w : 0;
            assert_close(lag[columns * k + i], expected, 1e-10);
        }
    double *plain = SN_NEW(double, 3 * s.bar->vertex_count);
    sinew_modal_constraints constraints = {.size = sizeof constraints, .given = s.poses[1]};
    assert_ok(sinew_modal_frame_constrained(motion, s.state, &constraints, 0, plain, &error));
    assert_below(test_clip_distance(&s, plain, s.poses[1]), 1e-9);
    assert_ok(sinew_modal_project(s.modal, s.poses[1], weights, &error));
    for (int i = 0; i < columns; i++) lag[i] = i == 0 ? 0.3 : 0;
    constraints.lag = lag;
    assert_ok(sinew_modal_frame_constrained(motion, s.state, &constraints, 0, plain, &error));
    assert_ok(sinew_modal_project(s.modal, plain, weights + columns, &error));
    assert_close(weights[columns] - weights[0], 0.3, 0.02);
    sn_free(weights), sn_free(lag), sn_free(plain);
    sinew_modal_motion_destroy(motion);
    test_clip_free(&s);
}

static void four_keys_are_met_smoothly_and_rung_out(void **state) {
    (void)state;
    test_clip s = test_clip_make(12, 2, 20);
    test_bend(s.bar, TEST_LENGTH, 2, s.poses[1]);
    test_twist(s.bar, TEST_LENGTH, 0.4, s.poses[2]);
    for (int i = 0; i < s.bar->vertex_count; i++) /* moved and turned as a whole, too */
        sn_put(s.poses[3], i,
               sn_add(sn_mat3_apply(sn_rotation_exp(sn_v3(0, 1.2, 0)), sn_at(s.poses[1], i)),
                      sn_v3(3, 0, 1)));
    s.keys = 4;
    sinew_modal_motion *motion = test_clip_motion(&s, NULL);
    test_clip_meets_keys(&s, motion);
    double *before = malloc(sizeof(double) * 6 * (size_t)s.bar->vertex_count);
    double *after = before + 3 * s.bar->vertex_count;
    for (int k = 1; k < 3; k++) { /* no jump in velocity at inner keys but the residual's own */
        const double h = 1e-4;
        sinew_modal_frame(motion, s.state, s.times[k] - h, before);
        sinew_modal_frame(motion, s.state, s.times[k] + h, after);
        assert_below(test_clip_distance(&s, before, s.poses[k]), 10 * h);
        assert_below(test_clip_distance(&s, after, s.poses[k]), 10 * h);
    }
    sinew_modal_frame(motion, s.state, 40, s.frame);
    assert_below(test_clip_distance(&s, s.frame, s.poses[3]), 0.02);
    sinew_modal_frame(motion, s.state, -5, s.frame);
    assert_below(test_clip_distance(&s, s.frame, s.poses[0]), 1e-9);
    free(before);
    sinew_modal_motion_destroy(motion);
    test_clip_free(&s);
}

static void prescribed_velocities_are_taken(void **state) {
    (void)state;
    sinew_error error;
    test_clip s = test_clip_make(12, 2, 30);
    s.keys = 3;
    test_bend(s.bar, TEST_LENGTH, 0.6, s.poses[1]);
    double *velocity = malloc(sizeof(double) * 6 * (size_t)s.bar->vertex_count);
    double *later = velocity + 3 * s.bar->vertex_count;
    test_bend(s.bar, TEST_LENGTH, 0.6 + 1e-5, later);
    for (int i = 0; i < 3 * s.bar->vertex_count; i++)
        velocity[i] = 2e5 * (later[i] - s.poses[1][i]); /* bending by 2 radians a second */
    const double *velocities[3] = {NULL, velocity, NULL};
    sinew_modal_keys keys = test_clip_keys(&s);
    keys.velocities = velocities;
    sinew_modal_parameters parameters;
    sinew_modal_parameters_init(&parameters);
    parameters.rate = 0;
    sinew_modal_motion *motion;
    assert_ok(sinew_modal_motion_create(s.modal, &keys, &parameters, NULL, &motion, &error));
    const double h = 1e-4;
    sinew_modal_frame(motion, s.state, 1 + h, later);
    sinew_modal_frame(motion, s.state, 1 - h, s.frame);
    double miss = 0, whole = 0;
    for (int i = 0; i < 3 * s.bar->vertex_count; i++) {
        double v = (later[i] - s.frame[i]) / (2 * h);
        miss += (v - velocity[i]) * (v - velocity[i]), whole += velocity[i] * velocity[i];
    }
    assert_below(sqrt(miss / whole), 0.1); /* what the modes do not express is blended linearly */
    free(velocity);
    sinew_modal_motion_destroy(motion);
    test_clip_free(&s);
}

static void inner_keys_are_passed_whatever_the_knobs(void **state) {
    (void)state;
    sinew_error error;
    test_clip s = test_clip_make(12, 2, 20);
    test_bend(s.bar, TEST_LENGTH, 2, s.poses[1]);
    test_twist(s.bar, TEST_LENGTH, 0.4, s.poses[2]);
    test_bend(s.bar, TEST_LENGTH, -1, s.poses[3]);
    const double inner_times[2] = {0.3, 0.7};
    sinew_modal_keys keys = test_clip_keys(&s);
    keys.inner_count = 2, keys.inner_times = inner_times;
    keys.inner_positions = (const double *const *)s.poses + 2;
    sinew_modal_motion *motion;
    assert_ok(sinew_modal_motion_create(s.modal, &keys, NULL, NULL, &motion, &error));
    sinew_modal_parameters parameters;
    sinew_modal_parameters_init(&parameters);
    for (int way = 0; way < 3; way++) {
        parameters.damping = 0.1 * way, parameters.swings = 1 + way;
        assert_ok(sinew_modal_motion_update(motion, &parameters, &error));
        for (int i = 0; i < 2; i++) {
            sinew_modal_frame(motion, s.state, inner_times[i], s.frame);
            assert_below(test_clip_distance(&s, s.frame, s.poses[2 + i]), 1e-9);
        }
        test_clip_meets_keys(&s, motion);
    }
    sinew_modal_motion_destroy(motion);
    test_clip_free(&s);
}

static void mixing_goes_from_the_given_motion_to_the_modal_one(void **state) {
    (void)state;
    sinew_error error;
    test_clip s = test_clip_make(12, 2, 20);
    test_bend(s.bar, TEST_LENGTH, 2, s.poses[1]);
    test_bend(s.bar, TEST_LENGTH, 0.9, s.poses[2]);
    sinew_modal_motion *motion = test_clip_motion(&s, NULL);
    double *other = malloc(sizeof(double) * 3 * (size_t)s.bar->vertex_count);
    assert_ok(sinew_modal_frame_mixed(motion, s.state, 0.4, s.poses[2], 0, s.frame, &error));
    assert_below(test_clip_distance(&s, s.frame, s.poses[2]), 1e-9);
    sinew_modal_frame(motion, s.state, 0.4, other);
    assert_ok(sinew_modal_frame_mixed(motion, s.state, 0.4, s.poses[2], 1, s.frame, &error));
    assert_below(test_clip_distance(&s, s.frame, other), 1e-9);
    assert_ok(sinew_modal_frame_mixed(motion, s.state, 0.4, s.poses[2], 0.5, s.frame, &error));
    double volume, rest;
    test_flipped(s.bar, s.bar->positions, &rest);
    assert_int_equal(test_flipped(s.bar, s.frame, &volume), 0);
    assert_close(volume / rest, 1, 0.05);
    free(other);
    sinew_modal_motion_destroy(motion);
    test_clip_free(&s);
}

static void falling_parts_follow_a_parabola(void **state) {
    (void)state;
    test_clip s = test_clip_make(6, 2, 4);
    for (int i = 0; i < s.bar->vertex_count; i++)
        sn_put(s.poses[1], i, sn_add(sn_at(s.poses[0], i), sn_v3(1, 0, 0)));
    sinew_modal_parameters parameters;
    sinew_modal_parameters_init(&parameters);
    parameters.gravity[1] = -9.81;
    sinew_modal_motion *motion = test_clip_motion(&s, &parameters);
    for (int k = 0; k <= 10; k++) {
        double t = k / 10.0, shift[3] = {t, -9.81 / 2 * t * (t - 1), 0};
        sinew_modal_frame(motion, s.state, t, s.frame);
        for (int i = 0; i < 3 * s.bar->vertex_count; i++)
            assert_close(s.frame[i], s.poses[0][i] + shift[i % 3], 1e-9);
    }
    sinew_modal_motion_destroy(motion);
    test_clip_free(&s);
}

static void curves_over_modes_pass_their_points_without_overshoot(void **state) {
    (void)state;
    sinew_error error;
    const double numbers[] = {0, 5, 20, 40}, points[] = {1, 1, -0.5, 0.5};
    double values[60];
    assert_ok(sinew_modal_curve(4, numbers, points, 60, values, &error));
    assert_close(values[0], 1, 0);
    assert_close(values[5], 1, 1e-15);
    assert_close(values[20], -0.5, 1e-15);
    assert_close(values[59], 0.5, 0);
    for (int i = 0; i < 60; i++) assert_true(fabs(values[i] - 0.25) <= 0.75 + 1e-12);
    for (int i = 1; i <= 20; i++) assert_true(values[i] <= values[i - 1] + 1e-15);
    /* Slopes 1/2 at number 4, and 4/5 at number 10: the harmonic mean of the chords' 1/2 and 2. */
    const double uneven[] = {0, 4, 10, 12}, rising[] = {0, 2, 5, 9};
    assert_ok(sinew_modal_curve(4, uneven, rising, 13, values, &error));
    assert_close(values[7], 3.275, 1e-14);
    assert_close(values[2], 1, 1e-14);
    const double wrong[] = {0, 0};
    assert_int_equal(sinew_modal_curve(2, wrong, points, 60, values, &error), SINEW_BAD_INPUT);
}

static void threads_give_the_same_bits(void **state) {
    (void)state;
    double *results[2];
    for (int threads = 1; threads <= 2; threads++) {
        sinew_set_threads(threads);
        test_clip s = test_clip_make(20, 2, 30);
        test_bend(s.bar, TEST_LENGTH, 2, s.poses[1]);
        sinew_modal_motion *motion = test_clip_motion(&s, NULL);
        sinew_modal_frame(motion, s.state, 0.37, s.frame);
        results[threads - 1] = s.frame;
        s.frame = NULL;
        sinew_modal_motion_destroy(motion);
        test_clip_free(&s);
    }
    sinew_set_threads(0);
    assert_memory_equal(results[0], results[1], sizeof(double) * 3 * 21 * 9);
    free(results[0]), free(results[1]);
}

/* Single precision: the same frames to 1e-5 of the diagonal, the keys themselves exact. */
static void fast_frames_agree_and_meet_the_keys(void **state) {
    (void)state;
    sinew_error error;
    test_clip s = test_clip_make(25, 3, 30), quick = test_clip_make(25, 3, 30);
    sinew_modal_destroy(quick.modal), sinew_modal_state_destroy(quick.state);
    sinew_modal_options options;
    sinew_modal_options_init(&options);
    options.modes = 30, options.fast = true;
    assert_ok(sinew_modal_create_tets(quick.bar, &options, NULL, &quick.modal, &error));
    assert_ok(sinew_modal_state_create(quick.modal, &quick.state, &error));
    for (int pose = 0; pose < 2; pose++) {
        if (pose == 0) test_bend(s.bar, TEST_LENGTH, 2.5, s.poses[1]);
        if (pose == 1) test_twist(s.bar, TEST_LENGTH, 3, s.poses[1]);
        memcpy(quick.poses[1], s.poses[1], sizeof(double) * 3 * (size_t)s.bar->vertex_count);
        sinew_modal_motion *exact = test_clip_motion(&s, NULL),
                           *fast = test_clip_motion(&quick, NULL);
        test_clip_meets_keys(&quick, fast);
        for (int k = 0; k <= 30; k++) {
            sinew_modal_frame(exact, s.state, k / 20.0, s.frame);
            sinew_modal_frame(fast, quick.state, k / 20.0, quick.frame);
            assert_below(test_clip_distance(&s, s.frame, quick.frame), 1e-5);
        }
        sinew_modal_motion_destroy(exact), sinew_modal_motion_destroy(fast);
    }
    test_clip_free(&s), test_clip_free(&quick);
}

static void expect_bad(const test_clip *s, const sinew_modal_keys *keys, const char *word) {
    sinew_error error;
    sinew_modal_motion *motion;
    assert_int_equal(sinew_modal_motion_create(s->modal, keys, NULL, NULL, &motion, &error),
                     SINEW_BAD_INPUT);
    assert_null(motion);
    if (!strstr(error.message, word)) fail_msg("'%s' lacks '%s'", error.message, word);
}

static void bad_keys_and_knobs_are_refused_with_a_reason(void **state) {
    (void)state;
    sinew_error error;
    test_clip s = test_clip_make(6, 2, 10);
    sinew_modal_keys keys = test_clip_keys(&s);
    keys.count = 1, expect_bad(&s, &keys, "two keys"), keys.count = 2;
    s.times[1] = 0, expect_bad(&s, &keys, "both at");
    s.times[1] = -1, expect_bad(&s, &keys, "out of order");
    s.times[1] = NAN, expect_bad(&s, &keys, "not finite");
    s.times[1] = 1e-300, expect_bad(&s, &keys, "times: keys 0 and 1 are only");
    s.times[1] = 1e10, expect_bad(&s, &keys, "times: key 1 at");
    s.times[1] = 1;
    for (int i = 0; i < s.bar->vertex_count; i++) s.poses[1][3 * i] *= -1;
    expect_bad(&s, &keys, "mirror");
    s.poses[1][7] = INFINITY, expect_bad(&s, &keys, "key 1: vertex 2");
    memcpy(s.poses[1], s.poses[0], sizeof(double) * 3 * (size_t)s.bar->vertex_count);
    const double outside[1] = {1.5};
    keys.inner_count = 1, keys.inner_times = outside;
    keys.inner_positions = (const double *const *)s.poses;
    expect_bad(&s, &keys, "inner key 0");
    const double twice[2] = {0.5, 0.5}, at_key[1] = {1}, early[1] = {-1};
    const double *const inner[2] = {s.poses[0], s.poses[1]};
    keys.inner_times = at_key, expect_bad(&s, &keys, "inner key 0");
    keys.inner_times = early, expect_bad(&s, &keys, "inner key 0");
    keys.inner_positions = inner, keys.inner_count = 2, keys.inner_times = twice;
    expect_bad(&s, &keys, "inner key 1");
    keys.inner_count = 0;
    double path_times[2] = {0, 1}, path[6] = {0};
    keys.path_count = 2, keys.path_times = path_times, keys.path = path;
    path[4] = NAN, expect_bad(&s, &keys, "point 1 of the path"), path[4] = 0;
    path_times[0] = INFINITY, expect_bad(&s, &keys, "point 0 of the path"), path_times[0] = 1;
    expect_bad(&s, &keys, "out of order"), keys.path_count = 0;
    const double *const missing[2] = {s.poses[0], NULL};
    keys.positions = missing, expect_bad(&s, &keys, "key 1 has no pose");
    sinew_modal_motion *motion = test_clip_motion(&s, NULL);
    const double two = 2, almost_one = 0.999999999999;
    for (int way = 0; way < 11; way++) {
        sinew_modal_parameters parameters;
        sinew_modal_parameters_init(&parameters);
        parameters.count = 1;
        if (way == 0) parameters.swings = 0;
        if (way == 1) parameters.damping = -1;
        if (way == 2) parameters.rest_offset = 2;
        if (way == 3) parameters.kappa = &two;
        if (way == 4) parameters.gamma = &two;
        if (way == 5) parameters.stiffness = NAN;
        if (way == 6) parameters.frequency = INFINITY;
        if (way == 7) parameters.gravity[2] = NAN;
        if (way == 8) parameters.rate = -1;
        if (way == 9) parameters.kappa = &almost_one;
        if (way == 10) parameters.frequency = 1e12;
        assert_int_equal(sinew_modal_motion_update(motion, &parameters, &error), SINEW_BAD_INPUT);
    }
    static const struct {
        size_t offset;
        double value;
        const char *words;
    } rows[] = {
#define BAD(field, value, words) {offsetof(sinew_modal_parameters, field), value, words}
        BAD(swings, NAN, "swings"),
        BAD(swings, INFINITY, "swings"),
        BAD(frequency, -1, "frequency"),
        BAD(damping, INFINITY, "damping"),
        BAD(alpha_mass, NAN, "alpha_mass"),
        BAD(alpha_stiffness, INFINITY, "alpha_stiffness"),
        BAD(rest_offset, -0.5, "rest_offset"),
        BAD(rest_offset, NAN, "rest_offset"),
        BAD(stiffness, 0, "stiffness"),
        BAD(stiffness, INFINITY, "stiffness"),
        BAD(rate, INFINITY, "rate"),
        BAD(gravity[0], INFINITY, "gravity"),
        BAD(gravity[1], NAN, "gravity"),
#undef BAD
    };
    sinew_modal_parameters parameters;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        sinew_modal_parameters_init(&parameters);
        *(double *)(void *)((char *)&parameters + rows[i].offset) = rows[i].value;
        assert_int_equal(sinew_modal_motion_update(motion, &parameters, &error), SINEW_BAD_INPUT);
        if (!strstr(error.message, rows[i].words)) fail_msg("row %zu: %s", i, error.message);
    }
    /* values per mode: one list at a time, without a count, and out of range on either side */
    const double lists[][3] = {{-2, 0, 0}, {2, 0, 0}, {NAN, 0, 0}, {1e7, 0, 0}, {-1e7, 0, 0}};
    for (int k = 0; k < 5; k++)
        for (int list = 0; list < 4; list++)
            for (int count = -1; count < 2; count++) {
                sinew_modal_parameters_init(&parameters);
                parameters.count = count;
                if (list == 0) parameters.gamma = lists[k];
                if (list == 1) parameters.kappa = lists[k];
                if (list == 2) parameters.amplitude = lists[k];
                if (list == 3) parameters.fit = lists[k];
                bool fits = count == 1 && ((list == 2 && k < 2) || (list == 3 && k % 2 == 1));
                sinew_status status = sinew_modal_motion_update(motion, &parameters, &error);
                if (status != (fits ? SINEW_OK : SINEW_BAD_INPUT))
                    fail_msg("list %d of %g, count %d: %d", list, lists[k][0], count, status);
            }
    sinew_modal_parameters_init(&parameters);
    assert_ok(sinew_modal_motion_update(motion, &parameters, &error));
    test_clip_meets_keys(&s, motion); /* a refused parameter leaves the motion usable */
    sinew_modal_motion_destroy(motion);
    test_clip_free(&s);
}

static void bad_bodies_are_refused_with_a_reason(void **state) {
    (void)state;
    sinew_error error;
    sinew_modal *modal;
    sinew_tets *bar = test_bar(3, 1, 1, 3, 1, 1);
    sinew_modal_options options;
    sinew_modal_options_init(&options);
    options.modes = 1000;
    assert_int_equal(sinew_modal_create_tets(bar, &options, NULL, &modal, &error), SINEW_BAD_INPUT);
    assert_non_null(strstr(error.message, "1000 modes"));
    for (int way = 0; way < 16; way++) {
        static const double stiffness[] = {1, 1, -1};
        sinew_modal_options_init(&options);
        options.modes = 5;
        if (way == 6) options.density = INFINITY;
        if (way == 7) options.poisson = -1;
        if (way == 8) options.young = INFINITY;
        if (way == 9) options.thickness = NAN;
        if (way == 10) options.cells = 401;
        if (way == 11) options.basis_count = -1;
        if (way == 12) options.basis_count = 1;
        if (way == 13) options.pose_count = -1;
        if (way == 14) options.pose_count = 1;
        if (way == 15) options.stiffness = stiffness;
        if (way == 0) options.density = 0;
        if (way == 1) options.poisson = 0.5;
        if (way == 2) options.young = -1;
        if (way == 3) options.modes = 0;
        if (way == 4) options.thickness = 0;
        if (way == 5) options.cells = 1;
        assert_int_equal(sinew_modal_create_tets(bar, &options, NULL, &modal, &error),
                         SINEW_BAD_INPUT);
        assert_null(modal);
    }
    sinew_modal_options_init(&options);
    options.modes = 5;
    int swap = bar->tets[1];
    bar->tets[1] = bar->tets[2], bar->tets[2] = swap;
    assert_int_equal(sinew_modal_create_tets(bar, &options, NULL, &modal, &error), SINEW_BAD_INPUT);
    assert_non_null(strstr(error.message, "tet 0 is inside out"));
    bar->tets[1] = bar->tets[3];
    assert_int_equal(sinew_modal_create_tets(bar, &options, NULL, &modal, &error), SINEW_BAD_INPUT);
    assert_non_null(strstr(error.message, "tet 0 is flat"));
    sinew_tets_destroy(bar);
}

static void modes_come_back_from_the_cache_bit_by_bit(void **state) {
    (void)state;
    sinew_error error;
    char folder[256];
    snprintf(folder, sizeof folder, "%s/modes", test_folder());
    sinew_cache *cache;
    assert_ok(sinew_cache_open(folder, 0, &cache, &error));
    sinew_tets *bar = test_bar(8, 2, 2, TEST_LENGTH, 1, 1);
    sinew_modal_options options;
    sinew_modal_options_init(&options);
    options.modes = 12, options.cache = cache;
    sinew_modal *first, *second, *third;
    assert_ok(sinew_modal_create_tets(bar, &options, NULL, &first, &error));
    assert_ok(sinew_modal_create_tets(bar, &options, NULL, &second, &error));
    options.poisson = 0.2;
    assert_ok(sinew_modal_create_tets(bar, &options, NULL, &third, &error));
    assert_false(info_of(sinew_modal, first).from_cache);
    assert_true(info_of(sinew_modal, second).from_cache);
    assert_false(info_of(sinew_modal, third).from_cache);
    double *a = malloc(sizeof(double) * 6 * (size_t)bar->vertex_count), *b;
    b = a + 3 * bar->vertex_count;
    for (int mode = 0; mode < 12; mode++) {
        assert_ok(sinew_modal_shape(first, mode, 0.1, a, &error));
        assert_ok(sinew_modal_shape(second, mode, 0.1, b, &error));
        assert_memory_equal(a, b, sizeof(double) * 3 * (size_t)bar->vertex_count);
    }
    assert_int_equal(sinew_modal_shape(first, 12, 0.1, a, &error), SINEW_BAD_INPUT);
    free(a);
    sinew_modal_destroy(first), sinew_modal_destroy(second), sinew_modal_destroy(third);
    sinew_tets_destroy(bar);
    sinew_cache_close(cache);
}

/* One end painted ten times as stiff: the slowest bending moves to the soft end. */
static void painted_stiffness_holds_its_end(void **state) {
    (void)state;
    sinew_error error;
    sinew_tets *bar = test_bar(20, 2, 2, TEST_LENGTH, 1, 1);
    double *stiffness = malloc(sizeof(double) * (size_t)bar->tet_count);
    for (int t = 0; t < bar->tet_count; t++) {
        double x = bar->positions[3 * bar->tets[4 * t]];
        stiffness[t] = x < TEST_LENGTH / 2 ? 100 : 1;
    }
    sinew_modal_options options;
    sinew_modal_options_init(&options);
    options.modes = 6;
    sinew_modal *plain, *painted;
    assert_ok(sinew_modal_create_tets(bar, &options, NULL, &plain, &error));
    options.stiffness = stiffness;
    assert_ok(sinew_modal_create_tets(bar, &options, NULL, &painted, &error));
    assert_true(info_of(sinew_modal, painted).lambda[0] > info_of(sinew_modal, plain).lambda[0]);
    sinew_modal_destroy(plain), sinew_modal_destroy(painted);
    free(stiffness);
    sinew_tets_destroy(bar);
}

static void running_out_of_memory_is_reported_at_every_step(void **state) {
    (void)state;
    test_clip s = test_clip_make(3, 1, 2);
    test_bend(s.bar, TEST_LENGTH, 1, s.poses[1]);
    sinew_modal_options options;
    sinew_modal_options_init(&options);
    options.modes = 2, options.fast = true;
    const double inner_time = 0.5;
    sinew_modal_keys keys = test_clip_keys(&s);
    keys.inner_count = 1, keys.inner_times = &inner_time;
    keys.inner_positions = (const double *const *)s.poses;
    sinew_status status = SINEW_NO_MEMORY;
    int steps = 0;
    for (; steps < 3000 && status == SINEW_NO_MEMORY; steps++) {
        test_memory_limit(steps);
        sinew_modal *modal = NULL;
        sinew_modal_motion *motion = NULL;
        status = sinew_modal_create_tets(s.bar, &options, NULL, &modal, NULL);
        if (status == SINEW_OK)
            status = sinew_modal_motion_create(modal, &keys, NULL, NULL, &motion, NULL);
        sinew_modal_motion_destroy(motion);
        sinew_modal_destroy(modal);
        assert_int_equal(test_memory_restore().living, 0);
    }
    assert_int_equal(status, SINEW_OK);
    assert_true(steps > 60);
    test_clip_free(&s);
}

int test_motion(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(key_poses_are_met_with_any_number_of_modes),
        cmocka_unit_test(large_bends_and_twists_flip_nothing_and_keep_the_volume),
        cmocka_unit_test(straight_knobs_give_the_straight_path),
        cmocka_unit_test(every_knob_leaves_the_keys_exact_and_changes_the_path),
        cmocka_unit_test(default_units_do_not_depend_on_size_or_density),
        cmocka_unit_test(modes_vibrate_about_the_rest_shape_at_the_reported_frequency),
        cmocka_unit_test(modes_lag_behind_accelerated_shapes),
        cmocka_unit_test(four_keys_are_met_smoothly_and_rung_out),
        cmocka_unit_test(prescribed_velocities_are_taken),
        cmocka_unit_test(inner_keys_are_passed_whatever_the_knobs),
        cmocka_unit_test(mixing_goes_from_the_given_motion_to_the_modal_one),
        cmocka_unit_test(falling_parts_follow_a_parabola),
        cmocka_unit_test(curves_over_modes_pass_their_points_without_overshoot),
        cmocka_unit_test(threads_give_the_same_bits),
        cmocka_unit_test(fast_frames_agree_and_meet_the_keys),
        cmocka_unit_test(bad_keys_and_knobs_are_refused_with_a_reason),
        cmocka_unit_test(bad_bodies_are_refused_with_a_reason),
        cmocka_unit_test(modes_come_back_from_the_cache_bit_by_bit),
        cmocka_unit_test(painted_stiffness_holds_its_end),
        cmocka_unit_test(running_out_of_memory_is_reported_at_every_step),
    };
    return cmocka_run_group_tests_name("motion", tests, NULL, NULL);
}
