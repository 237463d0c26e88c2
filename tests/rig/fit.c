#include "support.h"

#include "groups.h"
#include "sinew/fit.h"

/* A cloud of points in a strip of triangles with random smooth targets, some sliders with limits.
 */
enum { POINTS = 60, SHAPES = 6, MARKERS = 20 };

static sinew_rig *cloud_rig(void) {
    sinew_error error;
    double x[3 * POINTS];
    int faces[3 * (POINTS - 2)];
    uint64_t seed = 3;
    for (int i = 0; i < 3 * POINTS; i++) x[i] = test_random(&seed);
    for (int f = 0; f < POINTS - 2; f++)
        for (int k = 0; k < 3; k++) faces[3 * f + k] = f + k;
    sinew_mesh *mesh;
    sinew_rig *rig;
    assert_ok(sinew_mesh_create(POINTS, x, POINTS - 2, NULL, faces, &mesh, &error));
    assert_ok(sinew_rig_create(mesh, &rig, &error));
    for (int s = 0; s < SHAPES; s++) {
        double y[3 * POINTS];
        char name[16];
        snprintf(name, sizeof name, "shape%d", s);
        for (int i = 0; i < 3 * POINTS; i++) y[i] = x[i] + 0.1 * test_random(&seed);
        assert_ok(sinew_rig_add_pose(rig, name, y, &error));
    }
    return rig;
}

static sinew_marker_map *cloud_map(void) {
    sinew_error error;
    sinew_marker_map *map;
    assert_ok(sinew_marker_map_create(MARKERS, &map, &error));
    for (int i = 0; i < MARKERS; i++) {
        char name[16];
        snprintf(name, sizeof name, "M%d", i);
        assert_ok(sinew_marker_map_set_name(map, i, name, &error));
        map->vertices[i] = 3 * i;
        if (i % 2) { /* half of them between vertices */
            map->vertices[i] = -1;
            map->triangles[i] = 2 * i;
            map->barycentric[3 * i] = 0.2, map->barycentric[3 * i + 1] = 0.3;
            map->barycentric[3 * i + 2] = 0.5;
        }
    }
    return map;
}

static void markers_of(const sinew_rig *rig, const sinew_marker_map *map, const double *weights,
                       double *markers) {
    sinew_error error;
    sinew_linear *linear;
    double x[3 * POINTS];
    assert_ok(sinew_linear_create(rig, &linear, &error));
    sinew_linear_evaluate(linear, weights, x);
    sinew_linear_destroy(linear);
    sinew_marker_map_points(map, rig->neutral, x, markers);
}

static void planted_weights_come_back(void **state) {
    (void)state;
    sinew_error error;
    sinew_rig *rig = cloud_rig();
    sinew_marker_map *map = cloud_map();
    const double planted[SHAPES] = {0.3, 0, 1, 0.7, 0, 0.1};
    double markers[3 * MARKERS];
    markers_of(rig, map, planted, markers);
    for (int method = SINEW_FIT_METHOD_SBS; method <= SINEW_FIT_METHOD_ULS; method++) {
        sinew_fit_options options;
        sinew_fit_options_init(&options);
        sinew_fit_options_set_method(&options, method);
        sinew_fit *fit;
        sinew_fit_info info = {.size = sizeof info};
        double weights[SHAPES] = {0};
        assert_ok(sinew_fit_create(rig, map, &options, &fit, &error));
        assert_ok(sinew_fit_frame(fit, markers, NULL, weights, &info, &error));
        /* SBS is exact to the float storage of the shapes; the ridges of the others cost a little.
         */
        for (int s = 0; s < SHAPES; s++)
            assert_close(weights[s], planted[s], method == SINEW_FIT_METHOD_SBS ? 1e-5 : 0.05);
        assert_int_equal(info.seen, MARKERS);
        sinew_fit_destroy(fit);
    }
    sinew_marker_map_destroy(map);
    sinew_rig_destroy(rig);
}

/* Projected gradient with tiny steps: slow, and nothing in common with the solver. */
static void reference_nnls(int rows, const double *A, const double *b, double *w) {
    double norm = 0;
    for (int i = 0; i < rows * SHAPES; i++) norm += A[i] * A[i];
    for (int it = 0; it < 200000; it++) {
        double r[3 * MARKERS];
        for (int i = 0; i < rows; i++) {
            r[i] = b[i];
            for (int s = 0; s < SHAPES; s++) r[i] -= A[i + rows * s] * w[s];
        }
        for (int s = 0; s < SHAPES; s++) {
            double g = 0;
            for (int i = 0; i < rows; i++) g += A[i + rows * s] * r[i];
            w[s] = fmax(0, w[s] + g / norm);
        }
    }
}

static void noisy_markers_give_the_nonnegative_least_squares_answer(void **state) {
    (void)state;
    sinew_error error;
    sinew_rig *rig = cloud_rig();
    sinew_marker_map *map = cloud_map();
    double markers[3 * MARKERS], rest[3 * MARKERS], A[3 * MARKERS * SHAPES], b[3 * MARKERS];
    const double zero[SHAPES] = {0}, planted[SHAPES] = {0.3, 0, 1, 0.7, 0, 0.1};
    markers_of(rig, map, zero, rest);
    markers_of(rig, map, planted, markers);
    uint64_t seed = 9;
    for (int i = 0; i < 3 * MARKERS; i++) {
        markers[i] += 0.05 * test_random(&seed);
        b[i] = markers[i] - rest[i];
    }
    for (int s = 0; s < SHAPES; s++) {
        double one[SHAPES] = {0};
        one[s] = 1;
        markers_of(rig, map, one, A + 3 * MARKERS * s);
        for (int i = 0; i < 3 * MARKERS; i++) A[3 * MARKERS * s + i] -= rest[i];
    }
    double expected[SHAPES] = {0}, weights[SHAPES] = {0};
    reference_nnls(3 * MARKERS, A, b, expected);
    sinew_fit_options options;
    sinew_fit_options_init(&options);
    sinew_fit_options_set_method(&options, SINEW_FIT_METHOD_SBS);
    options.outlier = INFINITY;
    options.bounded_above = false;
    sinew_fit *fit;
    assert_ok(sinew_fit_create(rig, map, &options, &fit, &error));
    assert_ok(sinew_fit_frame(fit, markers, NULL, weights, NULL, &error));
    for (int s = 0; s < SHAPES; s++) assert_close(weights[s], expected[s], 1e-5);
    sinew_fit_destroy(fit);
    sinew_marker_map_destroy(map);
    sinew_rig_destroy(rig);
}

static void missing_and_jumping_markers_do_not_spoil_the_fit(void **state) {
    (void)state;
    sinew_error error;
    sinew_rig *rig = cloud_rig();
    sinew_marker_map *map = cloud_map();
    const double planted[SHAPES] = {0.3, 0, 1, 0.7, 0, 0.1};
    double markers[3 * MARKERS], weights[SHAPES] = {0};
    markers_of(rig, map, planted, markers);
    for (int i = 0; i < 6; i++) markers[3 * (3 * i)] = NAN;
    markers[3 * 4 + 1] += 1000;
    sinew_fit_options options;
    sinew_fit_options_init(&options);
    sinew_fit_options_set_method(&options, SINEW_FIT_METHOD_SBS);
    sinew_fit *fit;
    sinew_fit_info info = {.size = sizeof info};
    assert_ok(sinew_fit_create(rig, map, &options, &fit, &error));
    assert_ok(sinew_fit_frame(fit, markers, NULL, weights, &info, &error));
    assert_int_equal(info.seen, MARKERS - 6);
    assert_int_equal(info.outliers, 1);
    for (int s = 0; s < SHAPES; s++) assert_close(weights[s], planted[s], 0.02);
    for (int i = 0; i < MARKERS; i++) {
        bool missing = i % 3 == 0 && i < 18;
        assert_true(sinew_fit_trusted(fit)[i] == (missing || i == 4 ? 0 : 1));
    }
    /* A frame without markers keeps what was there. */
    double kept[SHAPES];
    memcpy(kept, weights, sizeof kept);
    for (int i = 0; i < 3 * MARKERS; i++) markers[i] = NAN;
    assert_ok(sinew_fit_frame(fit, markers, NULL, weights, &info, &error));
    assert_int_equal(info.seen, 0);
    assert_memory_equal(kept, weights, sizeof kept);
    sinew_fit_destroy(fit);
    sinew_marker_map_destroy(map);
    sinew_rig_destroy(rig);
}

static void curved_rigs_are_fitted_through_their_jacobian(void **state) {
    (void)state;
    sinew_error error;
    sinew_rig *rig = cloud_rig();
    sinew_marker_map *map = cloud_map();
    double bend[3 * POINTS];
    int vertices[POINTS];
    const int drivers[2] = {2, 3};
    uint64_t seed = 11;
    for (int v = 0; v < POINTS; v++) vertices[v] = v;
    for (int i = 0; i < 3 * POINTS; i++) bend[i] = 0.05 * test_random(&seed);
    assert_ok(sinew_rig_add_inbetween(rig, "half", 0, 0.5, POINTS, vertices, bend, &error));
    assert_ok(sinew_rig_add_combination(rig, "both", SINEW_COMBINE_MULTIPLY, 2, drivers, POINTS,
                                        vertices, bend, &error));
    const double planted[SHAPES] = {0.3, 0, 0.9, 0.7, 0.2, 0.1};
    double markers[3 * MARKERS], weights[SHAPES] = {0.1, 0.1, 0.5, 0.5, 0.1, 0.1};
    markers_of(rig, map, planted, markers);
    sinew_fit_options options;
    sinew_fit_options_init(&options);
    sinew_fit_options_set_method(&options, SINEW_FIT_METHOD_SBS);
    sinew_fit *fit;
    assert_ok(sinew_fit_create(rig, map, &options, &fit, &error));
    assert_ok(sinew_fit_frame(fit, markers, NULL, weights, NULL, &error));
    for (int s = 0; s < SHAPES; s++) assert_close(weights[s], planted[s], 1e-4);
    sinew_fit_destroy(fit);
    sinew_marker_map_destroy(map);
    sinew_rig_destroy(rig);
}

static void maps_that_do_not_fit_the_mesh_are_refused(void **state) {
    (void)state;
    sinew_error error;
    sinew_rig *rig = cloud_rig();
    sinew_marker_map *map = cloud_map(), *nearest;
    sinew_fit *fit;
    map->vertices[2] = POINTS;
    assert_int_equal(sinew_fit_create(rig, map, NULL, &fit, &error), SINEW_BAD_INPUT);
    assert_non_null(strstr(error.message, "'M2'"));
    map->vertices[2] = 6;
    assert_ok(sinew_marker_map_set_name(map, 2, "M0", &error));
    assert_int_equal(sinew_fit_create(rig, map, NULL, &fit, &error), SINEW_BAD_INPUT);
    assert_ok(sinew_marker_map_set_name(map, 2, "m0", &error)); /* binding knows no case */
    assert_int_equal(sinew_fit_create(rig, map, NULL, &fit, &error), SINEW_BAD_INPUT);
    assert_non_null(strstr(error.message, "'m0'"));
    assert_ok(sinew_marker_map_set_name(map, 2, "M2", &error));
    map->barycentric[3] = -5, map->barycentric[4] = map->barycentric[5] = 3;
    assert_int_equal(sinew_fit_create(rig, map, NULL, &fit, &error), SINEW_BAD_INPUT);
    assert_non_null(strstr(error.message, "'M1'"));
    const double far[3] = {1000, 0, 0};
    const char *name = "lost";
    assert_int_equal(sinew_marker_map_nearest(rig->neutral, 1, &name, far, 10, &nearest, &error),
                     SINEW_BAD_INPUT);
    assert_non_null(strstr(error.message, "'lost'"));
    sinew_marker_map_destroy(map);
    sinew_rig_destroy(rig);
}

int test_fit(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(planted_weights_come_back),
        cmocka_unit_test(noisy_markers_give_the_nonnegative_least_squares_answer),
        cmocka_unit_test(missing_and_jumping_markers_do_not_spoil_the_fit),
        cmocka_unit_test(curved_rigs_are_fitted_through_their_jacobian),
        cmocka_unit_test(maps_that_do_not_fit_the_mesh_are_refused),
    };
    return cmocka_run_group_tests_name("fit", tests, NULL, NULL);
}
