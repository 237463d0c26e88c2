/* Which markers fits believe. */
#include "support.h"

#include "groups.h"
#include "sinew/fit.h"
#include "sinew/samples.h"
#include "sinew/warp.h"

enum { VERTICES = 1000, STRIDE = 10 };

typedef struct take {
    sinew_rig *rig;
    sinew_markers *markers;
    sinew_marker_map *map;
    double *places; /* of the markers on the neutral */
} take;

static take take_of(const char *face, bool lips) {
    sinew_error error = {0};
    sinew_sample_options size = {.size = sizeof size, .vertices = VERTICES};
    sinew_sample_marker_options clip;
    sinew_sample_marker_options_init(&clip);
    clip.lips = lips;
    take t;
    assert_ok(sinew_sample_rig(face, &size, &t.rig, &error));
    assert_ok(sinew_sample_markers("face", &size, &clip, &t.markers, &t.map, &error));
    t.places = calloc(3 * (size_t)t.map->count, sizeof(double));
    sinew_marker_map_points(t.map, t.rig->neutral, t.rig->neutral->positions, t.places);
    return t;
}

static void release(take *t) {
    sinew_rig_destroy(t->rig);
    sinew_markers_destroy(t->markers);
    sinew_marker_map_destroy(t->map);
    free(t->places);
}

/* No smile, stretch, dimple, frown, shrug, squint, sneer and outer brow. */
static void take_a_third_away(sinew_rig *rig) {
    const char *const lost[] = {"mouthSmile",  "mouthStretch", "mouthDimple",
                                "mouthFrown",  "mouthShrug",   "eyeSquint",
                                "cheekSquint", "noseSneer",    "browOuterUp"};
    int gone = 0;
    for (int k = 0; k < rig->target_count; k++)
        for (size_t i = 0; i < sizeof lost / sizeof *lost; i++)
            if (strncmp(rig->targets[k].name, lost[i], strlen(lost[i])) == 0)
                rig->targets[k].count = 0, gone++;
    assert_true(gone >= 17);
}

/* Displacements carried to the places of the rig by the warp between the faces. */
static void retarget(take *t) {
    sinew_error error = {0};
    sinew_warp *warp;
    size_t n = (size_t)t->map->count;
    double *start = calloc(3 * n, sizeof(double));
    memcpy(start, t->markers->positions, 3 * n * sizeof(double));
    assert_ok(sinew_warp_create((int)n, start, t->places, 1e-2, &warp, &error));
    for (size_t i = 0; i < n; i++) {
        double J[9];
        sinew_warp_jacobian(warp, start + 3 * i, J);
        for (int f = 0; f < t->markers->time_count; f++) {
            double *p = t->markers->positions + 3 * ((size_t)f * n + i);
            double d[3] = {p[0] - start[3 * i], p[1] - start[3 * i + 1], p[2] - start[3 * i + 2]};
            for (size_t a = 0; a < 3; a++)
                p[a] = t->places[3 * i + a] + J[3 * a] * d[0] + J[3 * a + 1] * d[1] +
                       J[3 * a + 2] * d[2];
        }
    }
    sinew_warp_destroy(warp);
    free(start);
}

static double *row_of(const take *t, int time) {
    return t->markers->positions + 3 * (size_t)time * (size_t)t->markers->marker_count;
}

/* The clip with every method: no outlier anywhere. error_bound per method: mean, in meters. */
static void expect_belief(const take *t, const double *error_bound) {
    sinew_error error = {0};
    double *weights = calloc((size_t)t->rig->slider_count, sizeof(double));
    for (int method = SINEW_FIT_METHOD_SBS; method <= SINEW_FIT_METHOD_ULS; method++) {
        sinew_fit_options options;
        sinew_fit_options_init(&options);
        sinew_fit_options_set_method(&options, method);
        static const bool none[100]; /* the clip also moves the eyes */
        options.held = none;
        sinew_fit *fit;
        double sum = 0;
        int frames = 0;
        assert_ok(sinew_fit_create(t->rig, t->map, &options, &fit, &error));
        sinew_rig_rest_weights(t->rig, weights);
        for (int f = 0; f < t->markers->time_count; f += STRIDE, frames++) {
            sinew_fit_info info = {.size = sizeof info};
            assert_ok(sinew_fit_frame(fit, row_of(t, f), NULL, weights, &info, &error));
            if (info.outliers > 0)
                fail_msg("method %d: %d outliers at %d", method, info.outliers, f);
            sum += info.marker_error;
        }
        assert_below(sum / frames, error_bound[method]);
        sinew_fit_destroy(fit);
    }
    free(weights);
}

static void good_markers_are_believed(void **state) {
    (void)state;
    take t = take_of("face", false);
    expect_belief(&t, (const double[]){1e-6, 1e-4, 1e-4});
    take_a_third_away(t.rig);
    expect_belief(&t, (const double[]){1e-3, 1e-3, 1e-3});
    release(&t);
    take lips = take_of("face2", true);
    retarget(&lips);
    expect_belief(&lips, (const double[]){0.8e-3, 0.8e-3, 0.2e-3});
    release(&lips);
}

/* Largest motion of a vertex, meters, when the tip of the nose jumps forwards at one time. */
static double motion_by_jump(const take *t, sinew_fit_method method, double jump, int *outliers) {
    sinew_error error = {0};
    sinew_fit_options options;
    sinew_fit_options_init(&options);
    sinew_fit_options_set_method(&options, method);
    sinew_fit *fit;
    sinew_linear *linear;
    sinew_fit_info info = {.size = sizeof info};
    size_t sliders = (size_t)t->rig->slider_count, n = (size_t)t->rig->neutral->vertex_count;
    double *weights = calloc(sliders, sizeof(double)), *x = calloc(6 * n, sizeof(double)), most = 0;
    double *row = row_of(t, 200);
    int nose = 0;
    while (strcmp(t->map->names[nose], "noseTip") != 0) nose++;
    assert_ok(sinew_fit_create(t->rig, t->map, &options, &fit, &error));
    assert_ok(sinew_linear_create(t->rig, &linear, &error));
    for (int k = 0; k < 2; k++) {
        sinew_rig_rest_weights(t->rig, weights);
        row[3 * nose + 2] += k * jump;
        assert_ok(sinew_fit_frame(fit, row, NULL, weights, &info, &error));
        row[3 * nose + 2] -= k * jump;
        sinew_linear_evaluate(linear, weights, x + 3 * n * (size_t)k);
    }
    *outliers = info.outliers;
    for (size_t i = 0; i < 3 * n; i++) most = fmax(most, fabs(x[i] - x[3 * n + i]));
    sinew_linear_destroy(linear);
    sinew_fit_destroy(fit);
    free(weights), free(x);
    return most;
}

static void a_marker_that_jumps_is_not_believed(void **state) {
    (void)state;
    take t = take_of("face", false);
    double face = sinew_diagonal(t.rig->neutral->vertex_count, t.rig->neutral->positions);
    for (int cut = 0; cut < 2; cut++) {
        if (cut) take_a_third_away(t.rig);
        for (int method = SINEW_FIT_METHOD_SBS; method <= SINEW_FIT_METHOD_ULS; method++) {
            int outliers;
            assert_below(motion_by_jump(&t, method, 0.05 * face, &outliers), 3e-3);
            assert_int_equal(outliers, 1);
            assert_below(motion_by_jump(&t, method, 1, &outliers), 3e-3);
            assert_int_equal(outliers, 1);
        }
    }
    release(&t);
}

/* Up to the reach, a marker moves the face as far as it lies off. What it does beyond that falls
 * with the square of Tukey's biweight, and is nothing from two reaches on. */
static void a_marker_moves_less_the_farther_it_is_beyond_its_reach(void **state) {
    (void)state;
    take t = take_of("face", false);
    double face = sinew_diagonal(t.rig->neutral->vertex_count, t.rig->neutral->positions);
    sinew_fit_options options;
    sinew_fit_options_init(&options);
    double reach = options.outlier * face;
    int outliers;
    double most = motion_by_jump(&t, SINEW_FIT_METHOD_SBS, reach, &outliers);
    assert_int_equal(outliers, 0);
    assert_true(most > 5e-5);
    for (int k = 1; k < 10; k++) {
        double off = k / 5.0, beyond = fmax(off - 1, 0), trust = 1 - beyond * beyond;
        double moved = motion_by_jump(&t, SINEW_FIT_METHOD_SBS, off * reach, &outliers);
        assert_close(moved, off * trust * trust * most, 0.02 * most);
    }
    assert_below(motion_by_jump(&t, SINEW_FIT_METHOD_SBS, 2 * reach, &outliers), 1e-3 * most);
    assert_int_equal(outliers, 1);
    release(&t);
}

int test_fit_trust(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_markers_are_believed),
        cmocka_unit_test(a_marker_that_jumps_is_not_believed),
        cmocka_unit_test(a_marker_moves_less_the_farther_it_is_beyond_its_reach),
    };
    return cmocka_run_group_tests_name("fit trust", tests, NULL, NULL);
}
