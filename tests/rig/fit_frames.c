/* Curves for a point cache. */
#include "groups.h"
#include "support.h"

#include "base/scope.h"
#include "rigs.h"

#include "sinew/fit_frames.h"
#include "sinew/threads.h"

enum { VERTICES = 60, SLIDERS = 6, FRAMES = 40 };

static double curve(int slider, int frame) {
    double phase = 0.15 * frame + 1.3 * slider;
    return slider % 3 == 2 && frame < 20 ? 0 : 0.5 + 0.5 * sin(phase);
}

/* Frames of the rig at the curves; `extra` adds a motion that no slider makes. */
static sinew_frames play(const sinew_rig *rig, double extra) {
    sinew_error error;
    static float positions[3 * VERTICES * FRAMES];
    double row[3 * VERTICES], weights[SLIDERS];
    sinew_linear *linear;
    assert_ok(sinew_linear_create(rig, &linear, &error));
    for (int t = 0; t < FRAMES; t++) {
        for (int s = 0; s < SLIDERS; s++) weights[s] = curve(s, t);
        sinew_linear_evaluate(linear, weights, row);
        for (int i = 0; i < 3 * VERTICES; i++)
            positions[3 * VERTICES * t + i] =
                (float)(row[i] + extra * sin(0.4 * t) * cos(1.7 * i) + 0.3 * extra * t * (i % 5));
    }
    sinew_linear_destroy(linear);
    return (sinew_frames){VERTICES, FRAMES, 2, 25, positions};
}

static void assert_curves(const sinew_curves *curves, double tolerance) {
    for (int t = 0; t < FRAMES; t++) {
        assert_float_equal(curves->times[t], 2 + t / 25.0, 1e-12);
        for (int s = 0; s < SLIDERS; s++)
            assert_float_equal(curves->values[t * curves->channel_count + s], curve(s, t),
                               tolerance);
    }
}

static void frames_of_known_curves_give_them_back(void **state) {
    (void)state;
    sinew_error error;
    sinew_rig *rig = random_rig(VERTICES, SLIDERS, 0.8, 3);
    sinew_frames frames = play(rig, 0);
    sinew_curves *curves;
    sinew_fit_frames_info info = {.size = sizeof info};
    assert_ok(sinew_fit_frames(rig, &frames, NULL, NULL, &curves, NULL, &info, &error));
    assert_int_equal(curves->channel_count, SLIDERS);
    assert_string_equal(curves->names[0], rig->sliders[0].name);
    assert_curves(curves, 1e-3);
    assert_below(info.fitted_mean, 1e-3 * info.neutral_mean);
    assert_int_equal(info.frames, FRAMES);
    sinew_curves_destroy(curves);
    sinew_fit_frames_options options;
    sinew_fit_frames_options_init(&options);
    options.smooth = options.sparse = 0;
    assert_ok(sinew_fit_frames(rig, &frames, &options, NULL, &curves, NULL, &info, &error));
    assert_curves(curves, 1e-5);
    sinew_curves_destroy(curves);
    sinew_rig_destroy(rig);
}

static void in_betweens_and_combinations_are_solved_too(void **state) {
    (void)state;
    sinew_error error;
    sinew_rig *rig = random_rig(VERTICES, SLIDERS, 0.8, 5),
              *extra = random_rig(VERTICES, 2, 0.5, 9);
    const sinew_target *a = &extra->targets[0], *b = &extra->targets[1];
    const int drivers[] = {1, 3};
    /* half-way along the slider, a little off the straight line */
    sinew_target *full = &rig->targets[0];
    double bent[3 * VERTICES];
    for (int i = 0; i < 3 * full->count; i++)
        bent[i] = 0.5 * full->deltas[i] + 0.1 * a->deltas[i % (3 * a->count)];
    assert_ok(
        sinew_rig_add_inbetween(rig, "half", 0, 0.5, full->count, full->vertices, bent, &error));
    assert_ok(sinew_rig_add_combination(rig, "both", SINEW_COMBINE_MULTIPLY, 2, drivers, b->count,
                                        b->vertices, b->deltas, &error));
    sinew_frames frames = play(rig, 0);
    sinew_curves *curves;
    sinew_fit_frames_info info = {.size = sizeof info};
    assert_ok(sinew_fit_frames(rig, &frames, NULL, NULL, &curves, NULL, &info, &error));
    assert_curves(curves, 5e-3);
    assert_below(info.fitted_mean, 2e-3 * info.neutral_mean);
    sinew_curves_destroy(curves);
    sinew_rig_destroy(rig), sinew_rig_destroy(extra);
}

static void weights_stay_in_their_limits(void **state) {
    (void)state;
    sinew_error error;
    sinew_rig *rig = random_rig(VERTICES, SLIDERS, 0.8, 3);
    sinew_frames frames = play(rig, 0);
    assert_ok(sinew_rig_set_limits(rig, 1, 0.2, 0.6, &error));
    sinew_curves *curves;
    assert_ok(sinew_fit_frames(rig, &frames, NULL, NULL, &curves, NULL, NULL, &error));
    for (int t = 0; t < FRAMES; t++)
        assert_true(curves->values[t * SLIDERS + 1] >= 0.2 &&
                    curves->values[t * SLIDERS + 1] <= 0.6);
    sinew_curves_destroy(curves);
    sinew_rig_destroy(rig);
}

/* One slider with an in-between, so that frames are not solved in one step. Sparseness pulls its
 * weight towards rest, in the second frame also away from a guess that fits it perfectly. */
static void sparseness_pulls_weights_to_rest(void **state) {
    (void)state;
    sinew_error error;
    sinew_rig *rig = random_rig(VERTICES, 1, 0.8, 3);
    const sinew_target *full = &rig->targets[0];
    double bent[3 * VERTICES], rows[2][3 * VERTICES], first = 1;
    float positions[2 * 3 * VERTICES];
    for (int i = 0; i < 3 * full->count; i++) bent[i] = 0.5 * full->deltas[i];
    assert_ok(
        sinew_rig_add_inbetween(rig, "half", 0, 0.5, full->count, full->vertices, bent, &error));
    sinew_linear *linear;
    assert_ok(sinew_linear_create(rig, &linear, &error));
    sinew_fit_frames_options options;
    sinew_fit_frames_options_init(&options);
    options.smooth = 0;
    for (int round = 0; round < 3; round++) {
        options.sparse = round ? 0.05 : 0;
        /* both frames at 1; then the second one at what the first one comes to */
        double asked[2] = {1, round == 2 ? first : 1};
        for (int t = 0; t < 2; t++) {
            sinew_linear_evaluate(linear, &asked[t], rows[t]);
            for (int i = 0; i < 3 * VERTICES; i++)
                positions[3 * VERTICES * t + i] = (float)rows[t][i];
        }
        sinew_frames frames = {VERTICES, 2, 0, 25, positions};
        sinew_curves *curves;
        assert_ok(sinew_fit_frames(rig, &frames, &options, NULL, &curves, NULL, NULL, &error));
        double found[2] = {curves->values[0], curves->values[1]};
        sinew_curves_destroy(curves);
        if (round == 0) {
            assert_close(found[0], 1, 1e-4);
            assert_close(found[1], 1, 1e-4);
        } else if (round == 1) {
            assert_true(found[0] > 0.5 && found[0] < 0.99);
            assert_close(found[1], found[0], 1e-4);
        } else {
            assert_close(found[0], first, 1e-4);
            assert_close(found[1], first - (1 - first), 1e-3); /* as far again */
        }
        first = found[0];
    }
    sinew_linear_destroy(linear);
    sinew_rig_destroy(rig);
}

static void smoothness_lowers_the_change_between_frames(void **state) {
    (void)state;
    sinew_error error;
    sinew_rig *rig = random_rig(VERTICES, SLIDERS, 0.8, 3);
    sinew_frames frames = play(rig, 0);
    for (int i = 0; i < 3 * VERTICES * FRAMES; i++)
        frames.positions[i] += 0.05f * (float)sin(9 * i);
    double rough[2];
    for (int k = 0; k < 2; k++) {
        sinew_fit_frames_options options;
        sinew_fit_frames_options_init(&options);
        options.smooth = k == 0 ? 0 : 1;
        sinew_curves *curves;
        assert_ok(sinew_fit_frames(rig, &frames, &options, NULL, &curves, NULL, NULL, &error));
        rough[k] = 0;
        for (int t = 2; t < FRAMES; t++)
            for (int s = 0; s < SLIDERS; s++) {
                const double *v = curves->values + t * SLIDERS + s;
                double bend = v[0] - 2 * v[-SLIDERS] + v[-2 * SLIDERS];
                rough[k] += bend * bend;
            }
        sinew_curves_destroy(curves);
    }
    assert_below(rough[1], 0.5 * rough[0]);
    sinew_rig_destroy(rig);
}

static void new_targets_take_what_the_sliders_leave(void **state) {
    (void)state;
    sinew_error error;
    sinew_rig *rig = random_rig(VERTICES, SLIDERS, 0.8, 3), *corrected;
    sinew_frames frames = play(rig, 0.02);
    sinew_curves *curves;
    sinew_fit_frames_options options;
    sinew_fit_frames_options_init(&options);
    options.correctives = 3;
    sinew_fit_frames_info info = {.size = sizeof info};
    assert_ok(sinew_fit_frames(rig, &frames, &options, NULL, &curves, &corrected, &info, &error));
    assert_true(info.correctives >= 2 && info.correctives <= 3);
    assert_int_equal(corrected->slider_count, SLIDERS + info.correctives);
    assert_int_equal(curves->channel_count, corrected->slider_count);
    assert_below(info.corrected_mean, 0.2 * info.fitted_mean);
    for (int t = 0; t < FRAMES; t++)
        for (int s = SLIDERS; s < curves->channel_count; s++)
            assert_true(curves->values[t * curves->channel_count + s] >= -1 &&
                        curves->values[t * curves->channel_count + s] <= 1);
    sinew_curves_destroy(curves);
    sinew_rig_destroy(rig), sinew_rig_destroy(corrected);
}

static void frames_that_do_not_fit_are_refused(void **state) {
    (void)state;
    sinew_error error;
    sinew_rig *rig = random_rig(VERTICES, SLIDERS, 0.8, 3);
    sinew_frames frames = play(rig, 0);
    sinew_curves *curves;
    frames.vertex_count = VERTICES - 1;
    assert_int_equal(sinew_fit_frames(rig, &frames, NULL, NULL, &curves, NULL, NULL, &error),
                     SINEW_BAD_INPUT);
    assert_null(curves);
    frames = play(rig, 0);
    frames.positions[17] = NAN;
    assert_int_equal(sinew_fit_frames(rig, &frames, NULL, NULL, &curves, NULL, NULL, &error),
                     SINEW_BAD_INPUT);
    assert_non_null(strstr(error.message, "not finite"));
    sinew_rig_destroy(rig);
}

static bool count_down(void *user) {
    return --*(int *)user < 0;
}

/* Polled in every frame of every stage: the fit, the measures, and the new targets. */
static void a_cancel_in_any_frame_ends_the_call(void **state) {
    (void)state;
    sinew_error error;
    enum { QUESTIONS = 100000 };
    sinew_rig *rig = random_rig(VERTICES, SLIDERS, 0.8, 3), *corrected;
    sinew_frames frames = play(rig, 0.01);
    sinew_curves *curves;
    sinew_fit_frames_info info = {.size = sizeof info};
    sinew_fit_frames_options options;
    sinew_fit_frames_options_init(&options);
    options.correctives = 2, options.smooth = 0;
    int left = QUESTIONS;
    sinew_set_threads(1);
    sn_poll_always(true); /* as often, however long it takes */
    sinew_monitor monitor = {.cancelled = count_down, .user = &left};
    assert_ok(
        sinew_fit_frames(rig, &frames, &options, &monitor, &curves, &corrected, &info, &error));
    sinew_curves_destroy(curves), sinew_rig_destroy(corrected);
    int asked = QUESTIONS - left;
    assert_true(asked > 7 * FRAMES); /* projection, fit, three measures, two targets */
    for (int k = 0; k < asked; k++) {
        left = k;
        assert_int_equal(
            sinew_fit_frames(rig, &frames, &options, &monitor, &curves, &corrected, &info, &error),
            SINEW_CANCELLED);
        assert_null(curves);
        assert_null(corrected);
    }
    sn_poll_always(false);
    sinew_set_threads(0);
    sinew_rig_destroy(rig);
}

int test_fit_frames(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_of_known_curves_give_them_back),
        cmocka_unit_test(in_betweens_and_combinations_are_solved_too),
        cmocka_unit_test(weights_stay_in_their_limits),
        cmocka_unit_test(smoothness_lowers_the_change_between_frames),
        cmocka_unit_test(sparseness_pulls_weights_to_rest),
        cmocka_unit_test(new_targets_take_what_the_sliders_leave),
        cmocka_unit_test(frames_that_do_not_fit_are_refused),
        cmocka_unit_test(a_cancel_in_any_frame_ends_the_call),
    };
    return cmocka_run_group_tests_name("fit_frames", tests, NULL, NULL);
}
