/* Rigs written with a weight animation. */
#include "base/file.h"
#include "groups.h"
#include "helpers.h"

/* A square whose corner goes up on a curved way (in-between at 0.5), a second slider, and a
 * corrective of the two. */
static sinew_rig *make_rig(void) {
    sinew_error error;
    const double points[] = {0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0};
    const int start[] = {0, 4}, face[] = {0, 1, 2, 3}, vertices[] = {2, 3}, drivers[] = {0, 1};
    const double up[] = {0, 0, 1}, half[] = {0.25, 0, 0.5}, right[] = {0.5, 0, 0},
                 fix[] = {0, 1, 0};
    sinew_mesh *mesh;
    sinew_rig *rig;
    assert_ok(sinew_mesh_create(4, points, 1, start, face, &mesh, &error));
    assert_ok(sinew_rig_create(mesh, &rig, &error));
    assert_ok(sinew_rig_add_target(rig, "up", 1, vertices, up, &error));
    assert_ok(sinew_rig_add_target(rig, "right", 1, vertices + 1, right, &error));
    assert_ok(sinew_rig_add_inbetween(rig, "half", 0, 0.5, 1, vertices, half, &error));
    assert_ok(sinew_rig_add_combination(rig, "fix", SINEW_COMBINE_MULTIPLY, 2, drivers, 1, vertices,
                                        fix, &error));
    return rig;
}

/* Channels in another order than the sliders, keys a tenth of a second apart. */
static sinew_curves *make_curves(const char *first, const char *second) {
    static const double rows[] = {0, 0, 0.4, 0.75, 1, 0.25, 0.1, 1};
    sinew_error error;
    sinew_curves *curves;
    assert_ok(sinew_curves_create(2, 4, &curves, &error));
    assert_ok(sinew_curves_set_name(curves, 0, first, &error));
    assert_ok(sinew_curves_set_name(curves, 1, second, &error));
    for (int k = 0; k < 4; k++) curves->times[k] = 0.1 * k;
    memcpy(curves->values, rows, sizeof rows);
    return curves;
}

static void glb_clip_comes_back_as_the_sliders_that_made_it(void **state) {
    (void)state;
    sinew_error error;
    sinew_rig *rig = make_rig();
    sinew_curves *curves = make_curves("right", "up"), *back;
    assert_ok(sinew_rig_write_animated(temporary("clip.glb"), rig, curves, &error));
    assert_ok(sinew_curves_read(temporary("clip.glb"), &back, &error));
    assert_int_equal(back->channel_count, 2);
    assert_string_equal(back->names[0], "up");
    assert_string_equal(back->names[1], "right");
    for (int k = 0; k <= 30; k++) {
        double asked[2], given[2];
        sinew_curves_sample(curves, 0.01 * k, asked);
        sinew_curves_sample(back, 0.01 * k, given);
        assert_close(given[0], asked[1], 1e-6);
        assert_close(given[1], asked[0], 1e-6);
    }
    sinew_curves_destroy(back);
    sinew_curves_destroy(curves);
    sinew_rig_destroy(rig);
}

/* What a program sees that knows nothing of in-betweens and combinations. */
static void glb_clip_plays_the_rigs_own_motion(void **state) {
    (void)state;
    sinew_error error;
    sinew_rig *rig = make_rig();
    sinew_curves *curves = make_curves("right", "up"), *bound;
    sinew_linear *linear;
    sinew_frames *frames;
    assert_ok(sinew_rig_bind_curves(rig, curves, &bound, NULL, &error));
    assert_ok(sinew_linear_create(rig, &linear, &error));
    assert_ok(sinew_rig_write_animated(temporary("clip.glb"), rig, curves, &error));
    assert_ok(sinew_frames_read(temporary("clip.glb"), &frames, &error));
    assert_true(frames->frame_count > 12); /* finer than the four keys */
    for (int k = 0; k < frames->frame_count; k++) {
        double weights[2], positions[12];
        sinew_curves_sample(bound, frames->start + k / frames->rate, weights);
        sinew_linear_evaluate(linear, weights, positions);
        for (int i = 0; i < 12; i++)
            assert_close((double)frames->positions[12 * k + i], positions[i], 1e-5);
    }
    sinew_frames_destroy(frames);
    sinew_linear_destroy(linear);
    sinew_curves_destroy(bound);
    sinew_curves_destroy(curves);
    sinew_rig_destroy(rig);
}

static void usda_clip_holds_weights_of_shapes_over_time(void **state) {
    (void)state;
    sinew_error error;
    sinew_rig *rig = make_rig();
    sinew_curves *curves = make_curves("right", "up");
    assert_ok(sinew_rig_write_animated(temporary("clip.usda"), rig, curves, &error));
    char *text;
    size_t size;
    assert_ok(sn_file_read(temporary("clip.usda"), &text, &size, &error));
    assert_non_null(strstr(text, "startTimeCode = 0\n"));
    assert_non_null(strstr(text, "endTimeCode = 18"));
    assert_non_null(strstr(text, "timeCodesPerSecond = 60\n"));
    /* up is past its in-between: USD knows that itself; the corrective is multiplied out */
    assert_non_null(strstr(text, "            6: [0.75, 0.4, 0.3],\n"));
    sinew_free(text);
    sinew_curves_destroy(curves);
    sinew_rig_destroy(rig);
}

static void clips_that_fit_nothing_are_refused(void **state) {
    (void)state;
    sinew_error error;
    sinew_rig *rig = make_rig();
    sinew_curves *curves = make_curves("wink", "blink");
    assert_int_equal(sinew_rig_write_animated(temporary("none.glb"), rig, curves, &error),
                     SINEW_BAD_INPUT);
    assert_non_null(strstr(
        error.message, "none.glb: the rig has no slider for any of the curves, such as 'wink'"));
    sinew_curves_destroy(curves);
    curves = make_curves("right", "up");
    assert_int_equal(sinew_rig_write_animated(temporary("folder"), rig, curves, &error),
                     SINEW_BAD_INPUT);
    assert_non_null(strstr(error.message, "holds no clip"));
    curves->times[0] = -1;
    assert_int_equal(sinew_rig_write_animated(temporary("none.glb"), rig, curves, &error),
                     SINEW_BAD_INPUT);
    assert_non_null(strstr(error.message, "none.glb"));
    curves->times[0] = 5; /* after the next */
    assert_int_equal(sinew_rig_write_animated(temporary("none.glb"), rig, curves, &error),
                     SINEW_BAD_INPUT);
    assert_false(sn_file_exists(temporary("none.glb")));
    assert_false(sn_file_exists(temporary("folder")));
    sinew_curves_destroy(curves);
    sinew_rig_destroy(rig);
}

int test_clips(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(glb_clip_comes_back_as_the_sliders_that_made_it),
        cmocka_unit_test(glb_clip_plays_the_rigs_own_motion),
        cmocka_unit_test(usda_clip_holds_weights_of_shapes_over_time),
        cmocka_unit_test(clips_that_fit_nothing_are_refused),
    };
    return cmocka_run_group_tests_name("clips", tests, NULL, NULL);
}
