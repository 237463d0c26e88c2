/* Clips: speech that blinks and closes its lips; markers with noise and gaps. */
#include "support.h"

#include "groups.h"
#include "sinew/query.h"
#include "sinew/rig.h"
#include "sinew/samples.h"

static int channel(const sinew_curves *curves, const char *name) {
    for (int c = 0; c < curves->channel_count; c++)
        if (strcmp(curves->names[c], name) == 0) return c;
    fail_msg("no channel %s", name);
    return -1;
}

/* How often a channel rises through a level. */
static int rises(const sinew_curves *curves, const char *name, double level) {
    int c = channel(curves, name), n = 0;
    for (int t = 1; t < curves->time_count; t++) {
        double before = curves->values[(t - 1) * curves->channel_count + c];
        double now = curves->values[t * curves->channel_count + c];
        n += before < level && now >= level;
    }
    return n;
}

static void face_talks_blinks_and_raises_its_brows_for_ten_seconds(void **state) {
    (void)state;
    sinew_error error;
    sinew_curves *curves = NULL;
    assert_ok(sinew_sample_curves("face", &curves, &error));
    assert_close(curves->times[curves->time_count - 1], 10, 1e-12);
    assert_int_equal(curves->time_count, 301);
    assert_int_equal(rises(curves, "eyeBlinkLeft", 0.9), 5);
    assert_true(rises(curves, "jawOpen", 0.15) >= 12);
    assert_true(rises(curves, "browInnerUp", 0.3) >= 2);
    for (int c = 0; c < curves->channel_count; c++) { /* starts and ends without a jump */
        double most = 0;
        for (int t = 1; t < curves->time_count; t++)
            most = fmax(most, fabs(curves->values[t * curves->channel_count + c] -
                                   curves->values[(t - 1) * curves->channel_count + c]));
        assert_below(most, 0.75);
        assert_true(curves->values[c] == 0);
    }
    sinew_curves_destroy(curves);
}

static void markers_sit_on_the_clip(void **state) {
    (void)state;
    sinew_error error;
    sinew_sample_options coarse = {.size = sizeof coarse, .vertices = 1500};
    for (int second = 0; second < 2; second++) {
        const char *name = second ? "face2" : "face";
        sinew_markers *markers = NULL;
        sinew_marker_map *map = NULL;
        sinew_rig *rig = NULL;
        assert_ok(sinew_sample_markers(name, &coarse, NULL, &markers, &map, &error));
        assert_ok(sinew_sample_rig(name, &coarse, &rig, &error));
        assert_ok(sinew_marker_map_check(map, rig->neutral, &error));
        assert_int_equal(markers->marker_count, 60);
        assert_int_equal(markers->time_count, 601);
        for (int m = 0; m < 60; m++) { /* the first frame is the neutral, all places differ */
            assert_string_equal(markers->names[m], map->names[m]);
            assert_int_equal(map->triangles[m], -1); /* on vertices, not inside triangles */
            const double *p = rig->neutral->positions + 3 * (size_t)map->vertices[m];
            for (int k = 0; k < 3; k++) assert_close(markers->positions[3 * m + k], p[k], 1e-12);
            for (int other = 0; other < m; other++)
                assert_int_not_equal(map->vertices[m], map->vertices[other]);
        }
        sinew_markers_destroy(markers);
        sinew_marker_map_destroy(map);
        sinew_rig_destroy(rig);
    }
}

static double between(const sinew_markers *markers, const sinew_marker_map *map, int t,
                      const char *upper, const char *lower) {
    const double *p[2] = {NULL, NULL};
    for (int m = 0; m < map->count; m++)
        for (int k = 0; k < 2; k++)
            if (!strcmp(map->names[m], k ? lower : upper))
                p[k] = markers->positions + 3 * ((size_t)t * (size_t)map->count + (size_t)m);
    assert_true(p[0] && p[1]);
    return hypot(hypot(p[0][0] - p[1][0], p[0][1] - p[1][1]), p[0][2] - p[1][2]);
}

/* The face itself stays whole: what crosses on another one is not the clip's fault. */
static void parted_lips_press_without_crossing(void **state) {
    (void)state;
    sinew_error error;
    sinew_sample_options coarse = {.size = sizeof coarse, .vertices = 3000};
    sinew_sample_marker_options wanted;
    sinew_sample_marker_options_init(&wanted);
    wanted.lips = true;
    sinew_curves *curves = NULL;
    sinew_markers *markers = NULL;
    sinew_marker_map *map = NULL;
    sinew_rig *rig = NULL;
    sinew_linear *linear = NULL;
    assert_ok(sinew_sample_lip_curves(&curves, &error));
    assert_ok(sinew_sample_markers("face", &coarse, &wanted, &markers, &map, &error));
    assert_ok(sinew_sample_rig("face", &coarse, &rig, &error));
    assert_ok(sinew_linear_create(rig, &linear, &error));
    assert_int_equal(curves->time_count, 37);
    assert_int_equal(markers->time_count, 73);
    const sinew_mesh *mesh = rig->neutral;
    double *x = calloc(3 * (size_t)mesh->vertex_count, sizeof(double));
    double *weights = calloc((size_t)rig->slider_count, sizeof(double));
    for (int t = 0; t < curves->time_count; t += 3) {
        int *pairs, count;
        for (int c = 0; c < curves->channel_count; c++)
            weights[sinew_rig_find_slider(rig, curves->names[c])] =
                curves->values[t * curves->channel_count + c];
        sinew_linear_evaluate(linear, weights, x);
        assert_ok(sinew_self_intersections(mesh->vertex_count, x, mesh->triangle_count,
                                           mesh->triangles, NULL, &pairs, &count, &error));
        sinew_free(pairs);
        assert_int_equal(count, 0);
    }
    double places[180];
    sinew_markers still = {.positions = places};
    sinew_marker_map_points(map, mesh, mesh->positions, places);
    double rest = between(&still, map, 0, "lipUpper", "lipLower");
    assert_below(rest + 0.002, between(markers, map, 0, "lipUpper", "lipLower"));
    assert_below(between(markers, map, 40, "lipUpper", "lipLower"), rest - 0.001);
    assert_close(between(markers, map, 72, "lipUpper", "lipLower"),
                 between(markers, map, 0, "lipUpper", "lipLower"), 1e-12);
    free(x), free(weights);
    sinew_linear_destroy(linear);
    sinew_rig_destroy(rig);
    sinew_marker_map_destroy(map);
    sinew_markers_destroy(markers);
    sinew_curves_destroy(curves);
}

static void noise_and_gaps_have_the_asked_size(void **state) {
    (void)state;
    sinew_error error;
    sinew_sample_options coarse = {.size = sizeof coarse, .vertices = 1500};
    sinew_sample_marker_options wanted;
    sinew_sample_marker_options_init(&wanted);
    sinew_markers *clean = NULL, *rough = NULL;
    sinew_marker_map *map = NULL;
    assert_ok(sinew_sample_markers("face", &coarse, &wanted, &clean, &map, &error));
    sinew_marker_map_destroy(map);
    wanted.noise = 0.0005, wanted.gaps = 0.1;
    assert_ok(sinew_sample_markers("face", &coarse, &wanted, &rough, &map, &error));
    sinew_marker_map_destroy(map);
    long n = 0, missing = 0, cells = 60l * clean->time_count;
    double square = 0, sum = 0;
    for (long i = 0; i < cells; i++) {
        if (isnan(rough->positions[3 * i])) {
            missing++;
            continue;
        }
        for (int k = 0; k < 3; k++, n++) {
            double e = rough->positions[3 * i + k] - clean->positions[3 * i + k];
            square += e * e, sum += e;
        }
    }
    assert_close(sqrt(square / n), 0.0005, 0.00001);
    assert_close(sum / n, 0, 0.00001);
    assert_close((double)missing / cells, 0.1, 0.002);
    sinew_markers_destroy(clean);
    sinew_markers_destroy(rough);
}

static void bodies_have_no_markers(void **state) {
    (void)state;
    sinew_error error;
    sinew_markers *markers = NULL;
    sinew_marker_map *map = NULL;
    assert_int_equal(sinew_sample_markers("bar", NULL, NULL, &markers, &map, &error),
                     SINEW_BAD_INPUT);
    assert_null(markers);
}

int test_clips(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(face_talks_blinks_and_raises_its_brows_for_ten_seconds),
        cmocka_unit_test(markers_sit_on_the_clip),
        cmocka_unit_test(parted_lips_press_without_crossing),
        cmocka_unit_test(noise_and_gaps_have_the_asked_size),
        cmocka_unit_test(bodies_have_no_markers),
    };
    return cmocka_run_group_tests_name("clips", tests, NULL, NULL);
}
