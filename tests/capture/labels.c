/* What recordings get wrong or say about themselves: exchanged labels, up axis, residuals. */
#include "support.h"

#include "base/memory.h"
#include "groups.h"
#include "scene.h"

enum { SAMPLES = 240 };

/* The first seconds of the take with noise, on a head that walks, turns and jumps. */
static sinew_markers *part_of(const sinew_markers *take, double noise) {
    sinew_markers *made = copy_of(take, SAMPLES);
    uint64_t seed = 5;
    int n = take->marker_count;
    for (int t = 0; t < SAMPLES; t++) {
        double time = take->times[t], a = 0.3 * sin(4 * time);
        for (int i = 0; i < n; i++) {
            const double *p = take->positions + 3 * (t * n + i);
            double *q = made->positions + 3 * (t * n + i);
            q[0] = cos(a) * p[0] + sin(a) * p[2] + 0.5 * time + noise * test_random(&seed);
            q[1] = p[1] + 0.1 * sin(6 * time) + noise * test_random(&seed);
            q[2] = -sin(a) * p[0] + cos(a) * p[2] + noise * test_random(&seed);
        }
    }
    return made;
}

static sinew_capture *capture_of(const scene *s, const sinew_markers *take,
                                 sinew_capture_info *info) {
    sinew_error error;
    sinew_capture *capture;
    sinew_capture_options options;
    sinew_capture_options_init(&options);
    options.map = s->map;
    options.neutral_sample = 0;
    assert_ok(sinew_capture_create(s->rig, take, &options, NULL, &capture, &error));
    *info = (sinew_capture_info){.size = sizeof *info};
    sinew_capture_get_info(capture, info);
    return capture;
}

static double farthest(const scene *s, const sinew_capture *a, const sinew_capture *b) {
    double p[300], q[300], most = 0;
    for (int t = 0; t < SAMPLES; t++) {
        sinew_capture_sample(a, s->take->times[t], p);
        sinew_capture_sample(b, s->take->times[t], q);
        for (int i = 0; i < 3 * s->map->count; i++) most = fmax(most, fabs(p[i] - q[i]));
    }
    return most;
}

/* labels[0 .. count - 1] move on by one place from sample `from` to `to`. */
static void exchange(sinew_markers *take, int count, const int *labels, int from, int to) {
    int n = take->marker_count;
    for (int t = from; t < to; t++) {
        double *row = take->positions + 3 * t * n, kept[3];
        memcpy(kept, row + 3 * labels[0], sizeof kept);
        for (int k = 0; k + 1 < count; k++)
            memcpy(row + 3 * labels[k], row + 3 * labels[k + 1], sizeof kept);
        memcpy(row + 3 * labels[count - 1], kept, sizeof kept);
    }
}

/* The marker nearest to `marker` in the first sample. */
static int neighbor(const sinew_markers *take, int marker, int but) {
    int best = -1;
    double least = INFINITY;
    for (int i = 0; i < take->marker_count; i++) {
        const double *p = take->positions + 3 * marker, *q = take->positions + 3 * i;
        double d = hypot(hypot(p[0] - q[0], p[1] - q[1]), p[2] - q[2]);
        if (i != marker && i != but && d < least) least = d, best = i;
    }
    return best;
}

static void exchanged_labels_come_back(void **state) {
    const scene *s = *state;
    sinew_markers *clean = part_of(s->take, 2e-4);
    sinew_capture_info info;
    sinew_capture *truth = capture_of(s, clean, &info);
    assert_int_equal(info.relabeled, 0);
    uint64_t seed = 77;
    for (int trial = 0; trial < 12; trial++) {
        sinew_markers *take = part_of(s->take, 2e-4);
        int a = (int)((test_random(&seed) + 1) / 2 * take->marker_count);
        int b = neighbor(take, a, -1), ring[3] = {a, b, neighbor(take, a, b)};
        int count = trial % 3 == 2 ? 3 : 2, from = trial < 3 ? 0 : 30 + 7 * trial;
        exchange(take, count, ring, from, from + 60);
        if (trial % 4 == 3) /* while one of them is hidden at first */
            for (int t = from - 3; t < from + 2; t++)
                take->positions[3 * (t * take->marker_count + a)] = NAN;
        sinew_capture *mended = capture_of(s, take, &info);
        if (trial % 4 != 3) {
            assert_int_equal(info.relabeled, count * 60);
            assert_below(farthest(s, truth, mended), 1e-12);
        } else {
            assert_true(info.relabeled > 100);
            assert_below(farthest(s, truth, mended), 2e-3);
        }
        sinew_capture_destroy(mended);
        sinew_markers_destroy(take);
    }
    sinew_capture_destroy(truth);
    sinew_markers_destroy(clean);
}

static void a_take_on_its_side_is_turned_up(void **state) {
    const scene *s = *state;
    sinew_error error;
    sinew_markers *take = part_of(s->take, 0), *lying = part_of(s->take, 0);
    sinew_capture_info info;
    sinew_capture *truth = capture_of(s, take, &info);
    lying->up = 'y';
    assert_ok(sinew_markers_convert(lying, NULL, 'z', &error));
    assert_true(fabs(lying->positions[1] - take->positions[1]) > 0.01);
    sinew_capture *turned = capture_of(s, lying, &info);
    assert_below(farthest(s, truth, turned), 1e-9);
    sinew_rigid a, b;
    sinew_capture_head(truth, 1, &a), sinew_capture_head(turned, 1, &b);
    for (int i = 0; i < 9; i++) assert_close(a.rotation[i], b.rotation[i], 1e-6);
    sinew_capture_destroy(truth), sinew_capture_destroy(turned);
    sinew_markers_destroy(take), sinew_markers_destroy(lying);
}

static void residuals_weigh_positions(void **state) {
    const scene *s = *state;
    sinew_markers *take = part_of(s->take, 0);
    int n = take->marker_count;
    take->residuals = sn_alloc((size_t)(n * SAMPLES), sizeof(float));
    for (int i = 0; i < n * SAMPLES; i++) take->residuals[i] = 2e-4f;
    take->residuals[100 * n + 4] = 2e-3f, take->residuals[100 * n + 5] = 0;
    sinew_capture_info info;
    sinew_capture *capture = capture_of(s, take, &info);
    double weights[100];
    sinew_capture_weights(capture, take->times[100], weights);
    for (int i = 0; i < s->map->count; i++) {
        bool bad = !strcmp(s->map->names[i], take->names[4]);
        bool made_up = !strcmp(s->map->names[i], take->names[5]);
        assert_close(weights[i], bad ? 0.09 : made_up ? 0.5 : 1, 1e-6);
    }
    sinew_capture_destroy(capture);
    sinew_markers_destroy(take);
}

int test_labels(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exchanged_labels_come_back),
        cmocka_unit_test(a_take_on_its_side_is_turned_up),
        cmocka_unit_test(residuals_weigh_positions),
    };
    return cmocka_run_group_tests_name("capture: labels", tests, make_small_scene, drop_scene);
}
