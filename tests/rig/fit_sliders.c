/* Which sliders a fit solves for, and what happens where markers tell too little. */
#include "support.h"

#include "groups.h"
#include "rigs.h"
#include "sinew/fit.h"

enum { MARKERS = 4 };

/* Markers on vertices 0 to 3. Sliders: two that move them, a gaze that moves a marker by a tenth
 * of what it moves vertex 7, one that moves next to none, and one whose motion at the markers is
 * nearly that of the first. */
static sinew_rig *face(void) {
    sinew_error error = {0};
    sinew_rig *rig = strip_rig(8);
    const int first[2] = {0, 1}, second[2] = {2, 3}, gaze[2] = {0, 7}, hidden[2] = {1, 6};
    const double along[6] = {1, 0, 0, 1, 0, 0}, up[6] = {0, 1, 0, 0, 1, 0};
    const double turn[6] = {0.1, 0, 0, 1, 0, 0}, inside[6] = {0.01, 0, 0, 0, 1, 0};
    const double nearly[6] = {1, 0, 0, 1, 0.001, 0};
    assert_ok(sinew_rig_add_target(rig, "mouthSmile_L", 2, first, along, &error));
    assert_ok(sinew_rig_add_target(rig, "mouthSmile_R", 2, second, up, &error));
    assert_ok(sinew_rig_add_target(rig, "eyeLookUp_L", 2, gaze, turn, &error));
    assert_ok(sinew_rig_add_target(rig, "gulp", 2, hidden, inside, &error));
    assert_ok(sinew_rig_add_target(rig, "smirk", 2, first, nearly, &error));
    return rig;
}

static sinew_marker_map *four(void) {
    sinew_error error = {0};
    sinew_marker_map *map;
    assert_ok(sinew_marker_map_create(MARKERS, &map, &error));
    for (int i = 0; i < MARKERS; i++) {
        char name[8];
        snprintf(name, sizeof name, "M%d", i);
        assert_ok(sinew_marker_map_set_name(map, i, name, &error));
        map->vertices[i] = i;
    }
    return map;
}

static void sliders_that_markers_do_not_tell_are_held(void **state) {
    (void)state;
    sinew_error error = {0};
    sinew_rig *rig = face();
    sinew_marker_map *map = four();
    sinew_fit_slider choice[5];
    assert_ok(sinew_fit_choose_sliders(rig, map, NULL, NULL, NULL, choice, &error));
    assert_int_equal(choice[0], SINEW_FIT_SLIDER_SOLVED);
    assert_int_equal(choice[1], SINEW_FIT_SLIDER_SOLVED);
    assert_int_equal(choice[2], SINEW_FIT_SLIDER_GAZE);
    assert_int_equal(choice[3], SINEW_FIT_SLIDER_UNOBSERVED);
    assert_int_equal(choice[4], SINEW_FIT_SLIDER_SOLVED);
    assert_string_equal(sinew_fit_slider_reason(choice[2]), "gaze");

    /* What a held slider is told from outside, a fit keeps; the others make up for it. */
    sinew_fit *fit;
    double markers[3 * MARKERS], weights[5] = {0, 0, 0.5, 0, 0};
    memcpy(markers, rig->neutral->positions, sizeof markers);
    markers[0] += 0.4, markers[3] += 0.4;
    sinew_fit_options options;
    sinew_fit_options_init(&options);
    sinew_fit_options_set_method(&options, SINEW_FIT_METHOD_SBS);
    assert_ok(sinew_fit_create(rig, map, &options, &fit, &error));
    assert_ok(sinew_fit_frame(fit, markers, NULL, weights, NULL, &error));
    assert_close(weights[2], 0.5, 0);
    assert_close(weights[3], 0, 0);
    assert_close(weights[0] + weights[4], 0.375, 1e-3);
    sinew_fit_destroy(fit);
    sinew_marker_map_destroy(map);
    sinew_rig_destroy(rig);
}

static void lists_choose_sliders(void **state) {
    (void)state;
    sinew_error error = {0};
    sinew_rig *rig = face();
    sinew_marker_map *map = four();
    sinew_fit_slider choice[5];
    assert_int_equal(sinew_fit_choose_sliders(rig, map, "gulp, smile*", NULL, NULL, choice, &error),
                     SINEW_BAD_INPUT);
    assert_non_null(strstr(error.message, "smile*"));
    assert_ok(sinew_fit_choose_sliders(rig, map, "gulp, mouthSmile*", NULL, "MouthSmileRight",
                                       choice, &error));
    assert_int_equal(choice[0], SINEW_FIT_SLIDER_SOLVED);
    assert_int_equal(choice[1], SINEW_FIT_SLIDER_EXCLUDED);
    assert_int_equal(choice[2], SINEW_FIT_SLIDER_EXCLUDED);
    assert_int_equal(choice[3], SINEW_FIT_SLIDER_SOLVED);
    assert_int_equal(choice[4], SINEW_FIT_SLIDER_EXCLUDED);
    assert_ok(sinew_fit_choose_sliders(rig, map, NULL, "eyeLook*", NULL, choice, &error));
    assert_int_equal(choice[2], SINEW_FIT_SLIDER_SOLVED);
    assert_int_equal(choice[3], SINEW_FIT_SLIDER_UNOBSERVED);
    assert_ok(sinew_fit_choose_sliders(rig, map, NULL, "all", NULL, choice, &error));
    for (int s = 0; s < 5; s++) assert_int_equal(choice[s], SINEW_FIT_SLIDER_SOLVED);
    assert_int_equal(sinew_fit_choose_sliders(rig, map, "gulp", NULL, "gulp", choice, &error),
                     SINEW_BAD_INPUT);
    sinew_marker_map_destroy(map);
    sinew_rig_destroy(rig);
}

/* Two sliders whose motions at the markers differ by a thousandth: least squares answers a marker
 * that is off by a hundredth with weights of 10 and -10; the default stays in range. */
static void weights_stay_in_range_where_markers_hardly_tell(void **state) {
    (void)state;
    sinew_error error = {0};
    sinew_rig *rig = face();
    sinew_marker_map *map = four();
    double markers[3 * MARKERS];
    memcpy(markers, rig->neutral->positions, sizeof markers);
    markers[4] += 0.01; /* of the second marker, across */
    double most[4][2];
    for (int m = 0; m < 4; m++) {
        sinew_fit_options options;
        sinew_fit_options_init(&options);
        sinew_fit_options_set_method(&options, m == 3 ? SINEW_FIT_METHOD_ULS : (sinew_fit_method)m);
        if (m == 3) options.bounded_above = options.bounded_below = false;
        if (m >= 2) options.l2 = 1e-12;
        sinew_fit *fit;
        double weights[5] = {0};
        assert_ok(sinew_fit_create(rig, map, &options, &fit, &error));
        assert_ok(sinew_fit_frame(fit, markers, NULL, weights, NULL, &error));
        most[m][0] = fmin(weights[0], weights[4]), most[m][1] = fmax(weights[0], weights[4]);
        sinew_fit_summary summary = {.size = sizeof summary};
        assert_ok(sinew_fit_get_summary(fit, &summary, &error));
        assert_int_equal(summary.solved, 3);
        assert_int_equal(summary.held, 2);
        /* unit vectors at a distance of 0.001 / sqrt 2: eigenvalues 2 and half its square */
        assert_close(summary.condition, 2 * M_SQRT2 / 0.001, 10);
        assert_true((summary.weakest[0] == 0 && summary.weakest[1] == 4) ||
                    (summary.weakest[0] == 4 && summary.weakest[1] == 0));
        assert_int_equal(summary.weakest[2], -1);
        sinew_fit_destroy(fit);
    }
    for (int m = 0; m < 2; m++) assert_true(most[m][0] >= 0 && most[m][1] <= 1);
    assert_true(most[2][0] >= -1 && most[2][1] <= 2);
    assert_true(most[3][0] < -5 && most[3][1] > 5);
    sinew_marker_map_destroy(map);
    sinew_rig_destroy(rig);
}

int test_fit_sliders(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sliders_that_markers_do_not_tell_are_held),
        cmocka_unit_test(lists_choose_sliders),
        cmocka_unit_test(weights_stay_in_range_where_markers_hardly_tell),
    };
    return cmocka_run_group_tests_name("rig: sliders of fits", tests, NULL, NULL);
}
