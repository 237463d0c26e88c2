/* Gaps, noise, head motion and the neutral of a take. */
#include "support.h"

#include "groups.h"
#include "scene.h"
#include "sinew/fit.h"

enum { SAMPLES = 180 };

static double gaussian(uint64_t *seed) {
    double sum = 0;
    for (int i = 0; i < 12; i++) sum += test_random(seed);
    return sum / 2;
}

/* The first seconds of the take, with noise and dropouts, on a head that turns and walks. */
static sinew_markers *spoiled(const sinew_markers *take, double noise, double dropouts, bool walk) {
    sinew_markers *made = copy_of(take, SAMPLES);
    uint64_t seed = 11;
    for (int t = 0; t < SAMPLES; t++) {
        double time = take->times[t], a = walk ? 0.4 * sin(2 * time) : 0, c = cos(a), s = sin(a);
        for (int i = 0; i < take->marker_count; i++) {
            const double *p = take->positions + 3 * (t * take->marker_count + i);
            double *q = made->positions + 3 * (t * take->marker_count + i);
            bool lost = (test_random(&seed) + 1) / 2 < dropouts;
            q[0] = c * p[0] + s * p[2] + (walk ? 0.3 * time : 0) + noise * gaussian(&seed);
            q[1] = p[1] + noise * gaussian(&seed);
            q[2] = -s * p[0] + c * p[2] + noise * gaussian(&seed);
            if (lost) q[0] = q[1] = q[2] = NAN;
        }
    }
    return made;
}

typedef struct figures {
    double error, jitter; /* RMS distance from the clean take, and of its second difference, mm */
    sinew_capture_info info;
} figures;

/* What the solvers would get, compared with the clean take without head motion. */
static figures compare(const scene *s, const sinew_markers *take, double cutoff) {
    sinew_error error;
    sinew_capture *capture;
    sinew_capture_options options;
    sinew_capture_options_init(&options);
    options.map = s->map, options.cutoff = cutoff;
    assert_ok(sinew_capture_create(s->rig, take, &options, NULL, &capture, &error));
    figures f = {.info = {.size = sizeof f.info}};
    sinew_capture_get_info(capture, &f.info);
    int n = 3 * s->map->count, used = 0;
    double *rows = malloc(sizeof(double) * (size_t)(SAMPLES * n));
    for (int t = 0; t < SAMPLES; t++) {
        sinew_capture_sample(capture, take->times[t], rows + t * n);
        for (int i = 0; i < n; i++) rows[t * n + i] -= s->take->positions[t * n + i];
    }
    for (int t = 1; t + 1 < SAMPLES; t++)
        for (int i = 0; i < n; i++) {
            const double *r = rows + t * n + i;
            double second = r[-n] - 2 * r[0] + r[n];
            if (!isfinite(second)) continue;
            f.error += *r * *r, f.jitter += second * second, used++;
        }
    assert_true(used > SAMPLES * n / 2);
    f.error = 1000 * sqrt(3 * f.error / used), f.jitter = 1000 * sqrt(3 * f.jitter / used);
    free(rows);
    sinew_capture_destroy(capture);
    return f;
}

static void a_clean_take_stays_as_it_is(void **state) {
    scene *s = *state;
    sinew_markers *take = spoiled(s->take, 0, 0, false);
    figures f = compare(s, take, -1);
    assert_below(f.error, 1e-9);
    assert_false(f.info.head_moves);
    assert_close(f.info.cutoff, 0, 0);
    sinew_markers_destroy(take);
}

static void dropouts_do_not_become_jitter(void **state) {
    scene *s = *state;
    for (int walk = 0; walk < 2; walk++) {
        sinew_markers *take = spoiled(s->take, 0, 0.2, walk);
        figures f = compare(s, take, -1);
        assert_true(f.info.filled > SAMPLES * s->map->count / 8);
        /* millimeters: the clean take itself jitters by 0.46 in this figure */
        assert_below(f.jitter, 0.25);
        assert_below(f.error, walk ? 1.0 : 0.1);
        sinew_markers_destroy(take);
    }
}

/* RMS second difference of what a rig without brows, smiles and frowns makes of a take: its markers
 * keep their distances, so that a weight that jumps moves the whole face. */
static double jitter_of_a_fit(const scene *s, const sinew_markers *take) {
    sinew_error error;
    sinew_rig *rig;
    sinew_capture *capture;
    sinew_fit *fit;
    sinew_linear *linear;
    sinew_capture_options options;
    sinew_fit_options how;
    assert_ok(sinew_rig_copy(s->rig, &rig, &error));
    for (int k = 0; k < rig->target_count; k++)
        if (strstr(rig->targets[k].name, "brow") || strstr(rig->targets[k].name, "Smile") ||
            strstr(rig->targets[k].name, "Frown") || strstr(rig->targets[k].name, "Stretch"))
            memset(rig->targets[k].deltas, 0, 3 * sizeof(double) * (size_t)rig->targets[k].count);
    sinew_capture_options_init(&options);
    sinew_fit_options_init(&how);
    options.map = s->map;
    assert_ok(sinew_capture_create(rig, take, &options, NULL, &capture, &error));
    assert_ok(sinew_fit_create(rig, s->map, &how, &fit, &error));
    assert_ok(sinew_linear_create(rig, &linear, &error));
    int n = 3 * rig->neutral->vertex_count, m = s->map->count;
    double *x = malloc(3 * sizeof(double) * (size_t)n),
           *row = malloc(4 * sizeof(double) * (size_t)m);
    double *weights = calloc((size_t)rig->slider_count, sizeof(double)), sum = 0;
    sinew_fit_info info = {.size = sizeof info};
    for (int t = 0; t < SAMPLES; t++) {
        double *now = x + t % 3 * n, *last = x + (t + 2) % 3 * n, *before = x + (t + 1) % 3 * n;
        sinew_capture_sample(capture, take->times[t], row);
        sinew_capture_weights(capture, take->times[t], row + 3 * m);
        assert_ok(sinew_fit_frame(fit, row, row + 3 * m, weights, &info, &error));
        sinew_linear_evaluate(linear, weights, now);
        for (int i = 0; t > 1 && i < n; i++) {
            double second = now[i] - 2 * last[i] + before[i];
            sum += second * second;
        }
    }
    free(x), free(row), free(weights);
    sinew_linear_destroy(linear);
    sinew_fit_destroy(fit);
    sinew_capture_destroy(capture);
    sinew_rig_destroy(rig);
    return 1000 * sqrt(3 * sum / ((SAMPLES - 2) * n));
}

/* One expression of the take, slowly put on. */
static sinew_markers *slow(const sinew_markers *take) {
    sinew_markers *made = copy_of(take, SAMPLES);
    int n = 3 * take->marker_count;
    for (int t = 0; t < SAMPLES; t++)
        for (int i = 0; i < n; i++) {
            const double *first = take->positions, *full = first + 90 * n;
            double on = 0.5 - 0.5 * cos(3.14159265358979 * t / SAMPLES);
            made->positions[t * n + i] = first[i] + on * (full[i] - first[i]);
        }
    return made;
}

static void dropouts_do_not_shake_a_face_that_cannot_follow(void **state) {
    scene *s = *state;
    sinew_markers *calm = slow(s->take), *gaps = spoiled(calm, 0, 0.2, true);
    assert_below(jitter_of_a_fit(s, gaps), 0.01); /* mm */
    sinew_markers_destroy(calm), sinew_markers_destroy(gaps);
}

static void noise_is_found_and_smoothed_away(void **state) {
    scene *s = *state;
    sinew_markers *take = spoiled(s->take, 0.0003, 0, true);
    figures smooth = compare(s, take, -1), rough = compare(s, take, 0);
    assert_close(smooth.info.noise, 0.0003, 0.00005);
    assert_true(smooth.info.cutoff >= 4 && smooth.info.cutoff <= 12);
    assert_close(rough.info.cutoff, 0, 0);
    /* head motion does not amplify the noise, whose own jitter is sqrt(18) * 0.3 mm */
    assert_below(rough.jitter, 1.25 * sqrt(18) * 0.3);
    assert_below(smooth.jitter, 0.35 * rough.jitter);
    assert_below(smooth.error, rough.error);
    sinew_markers_destroy(take);
}

/* A sine of the cut-off frequency loses half its amplitude, a slow one nothing to speak of. */
static void the_cut_off_is_what_it_says(void **state) {
    scene *s = *state;
    sinew_error error;
    for (int k = 0; k < 2; k++) {
        double frequency = k ? 6 : 1, kept = k ? 0.5 : 1 / (1 + pow(1.0 / 6, 4));
        sinew_markers *take = spoiled(s->take, 0, 0, false);
        int n = take->marker_count;
        for (int t = 0; t < SAMPLES; t++)
            for (int i = 0; i < n; i++) {
                double *p = take->positions + 3 * (t * n + i);
                memcpy(p, s->take->positions + 3 * i, 3 * sizeof(double));
                p[1] += 1e-4 * sin(2 * 3.14159265358979 * frequency * take->times[t]);
            }
        sinew_capture_options options;
        sinew_capture_options_init(&options);
        options.map = s->map, options.cutoff = 6, options.stable = "none";
        sinew_capture *capture;
        assert_ok(sinew_capture_create(s->rig, take, &options, NULL, &capture, &error));
        double *row = malloc(sizeof(double) * 3 * (size_t)n), most = 0;
        for (int t = 60; t < 120; t++) {
            sinew_capture_sample(capture, take->times[t], row);
            most = fmax(most, fabs(row[1] - s->take->positions[1]));
        }
        assert_close(most / 1e-4, kept, 0.03);
        free(row);
        sinew_capture_destroy(capture);
        sinew_markers_destroy(take);
    }
}

/* The face moves in the first second, and rests from then on. */
static void the_neutral_is_in_the_first_calm_stretch(void **state) {
    scene *s = *state;
    sinew_error error;
    sinew_markers *take = spoiled(s->take, 0, 0, false);
    int n = take->marker_count;
    for (int t = 0; t < SAMPLES; t++)
        for (int i = 0; i < n; i++) {
            double *p = take->positions + 3 * (t * n + i);
            memcpy(p, s->take->positions + 3 * i, 3 * sizeof(double));
            if (t < 60) p[1] += 0.004 * sin(0.3 * t + i);
        }
    sinew_capture_options options;
    sinew_capture_options_init(&options);
    options.map = s->map, options.stable = "none";
    sinew_capture *capture;
    assert_ok(sinew_capture_create(s->rig, take, &options, NULL, &capture, &error));
    sinew_capture_info info = {.size = sizeof info};
    sinew_capture_get_info(capture, &info);
    assert_true(info.neutral_sample >= 59 && info.neutral_sample < 75);
    sinew_capture_destroy(capture);
    sinew_markers_destroy(take);
}

int test_cleaning(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_clean_take_stays_as_it_is),
        cmocka_unit_test(dropouts_do_not_become_jitter),
        cmocka_unit_test(dropouts_do_not_shake_a_face_that_cannot_follow),
        cmocka_unit_test(noise_is_found_and_smoothed_away),
        cmocka_unit_test(the_cut_off_is_what_it_says),
        cmocka_unit_test(the_neutral_is_in_the_first_calm_stretch),
    };
    return cmocka_run_group_tests_name("cleaning", tests, make_scene, drop_scene);
}
