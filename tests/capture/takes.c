/* A take brought to a rig. */
#include "support.h"

#include "card.h"
#include "groups.h"
#include "scene.h"

/* A walk with a turn, in place of a head that stands still. */
static sinew_rigid walk(double time) {
    double a = 0.4 * sin(2 * time), c = cos(a), s = sin(a);
    return (sinew_rigid){{c, 0, s, 0, 1, 0, -s, 0, c}, {0.3 * time, 0.02 * sin(5 * time), 0.1}};
}

static void head_motion_is_removed_and_given_back(void **state) {
    scene *s = *state;
    sinew_error error;
    sinew_markers *walking = copy_of(s->take, 120);
    int count = walking->marker_count;
    for (int t = 0; t < 120; t++) {
        sinew_rigid motion = walk(walking->times[t]);
        sinew_rigid_apply(&motion, count, walking->positions + 3 * t * count);
    }
    sinew_capture_options options;
    sinew_capture_options_init(&options);
    options.map = s->map, options.stable = "templeLeft,templeRight,noseBridge,foreheadTop";
    sinew_capture *capture;
    assert_ok(sinew_capture_create(s->rig, walking, &options, NULL, &capture, &error));
    sinew_capture_info info = {.size = sizeof info};
    sinew_capture_get_info(capture, &info);
    assert_int_equal(info.used, count);
    assert_close(info.rate, 60, 1e-9);
    double *row = malloc(sizeof(double) * 3 * (size_t)count);
    for (int t = 0; t < 120; t += 17) {
        sinew_capture_sample(capture, walking->times[t], row);
        sinew_rigid head;
        sinew_capture_head(capture, walking->times[t], &head);
        sinew_rigid_apply(&head, count, row);
        for (int i = 0; i < 3 * count; i++)
            assert_close(row[i], walking->positions[3 * t * count + i], 1e-9);
    }
    free(row);
    sinew_capture_destroy(capture);
    sinew_markers_destroy(walking);
}

/* What moves on a face is judged by the size of the face: with that of a body, talking would count
 * as head motion. */
static void a_body_does_not_change_the_head_motion(void **state) {
    scene *s = *state;
    sinew_error error;
    sinew_rig *rigs[2] = {s->rig, test_rig_with_body(s->rig)};
    sinew_capture *captures[2];
    sinew_markers *walking = copy_of(s->take, 240);
    int count = walking->marker_count;
    for (int t = 0; t < 240; t++) {
        sinew_rigid motion = walk(walking->times[t]);
        sinew_rigid_apply(&motion, count, walking->positions + 3 * t * count);
    }
    sinew_capture_options options;
    sinew_capture_options_init(&options);
    options.map = s->map;
    for (int k = 0; k < 2; k++)
        assert_ok(sinew_capture_create(rigs[k], walking, &options, NULL, &captures[k], &error));
    double *row = malloc(6 * (size_t)count * sizeof *row), most = 0, motion = 0;
    for (int t = 0; t < 240; t += 7) {
        for (int k = 0; k < 2; k++)
            sinew_capture_sample(captures[k], walking->times[t], row + 3 * k * count);
        for (int i = 0; i < 3 * count; i++) {
            most = fmax(most, fabs(row[i] - row[3 * count + i]));
            motion = fmax(motion, fabs(row[i] - s->take->positions[i]));
        }
    }
    assert_true(motion > 0.005); /* m: it talks */
    assert_below(most, 3e-4);    /* 5 mm with the size of the body */
    free(row);
    for (int k = 0; k < 2; k++) sinew_capture_destroy(captures[k]);
    sinew_markers_destroy(walking);
    sinew_rig_destroy(rigs[1]);
}

static void a_take_without_samples_or_markers_is_refused(void **state) {
    scene *s = *state;
    sinew_error error;
    sinew_capture *capture;
    sinew_capture_options options;
    sinew_capture_options_init(&options);
    options.map = s->map;
    sinew_markers *none = copy_of(s->take, 0);
    assert_int_equal(sinew_capture_create(s->rig, none, &options, NULL, &capture, &error),
                     SINEW_BAD_INPUT);
    sinew_markers_destroy(none);
    sinew_markers *other = copy_of(s->take, 5);
    for (int i = 0; i < other->marker_count; i++) {
        char name[16];
        snprintf(name, sizeof name, "other%d", i);
        assert_ok(sinew_markers_set_name(other, i, name, &error));
    }
    assert_int_equal(sinew_capture_create(s->rig, other, &options, NULL, &capture, &error),
                     SINEW_BAD_INPUT);
    options.neutral_sample = 5;
    assert_int_equal(sinew_capture_create(s->rig, other, &options, NULL, &capture, &error),
                     SINEW_BAD_INPUT);
    assert_non_null(strstr(error.message, "0 to 4"));
    sinew_markers_destroy(other);
}

static sinew_status create_once(void *user) {
    scene *s = user;
    sinew_error error;
    sinew_capture_options options;
    sinew_capture_options_init(&options);
    options.map = s->map, options.stable = "templeLeft,templeRight,noseBridge";
    options.retarget = true;
    sinew_capture *capture;
    sinew_status status = sinew_capture_create(s->rig, s->take, &options, NULL, &capture, &error);
    if (status == SINEW_OK) sinew_capture_destroy(capture);
    return status;
}

static void running_out_of_memory_leaves_nothing_behind(void **state) {
    scene *s = *state, small = {s->rig, copy_of(s->take, 8), s->map};
    assert_true(test_out_of_memory(create_once, &small) > 20);
    sinew_markers_destroy(small.take);
}

int test_takes(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(head_motion_is_removed_and_given_back),
        cmocka_unit_test(a_body_does_not_change_the_head_motion),
        cmocka_unit_test(a_take_without_samples_or_markers_is_refused),
        cmocka_unit_test(running_out_of_memory_leaves_nothing_behind),
    };
    return cmocka_run_group_tests_name("takes", tests, make_scene, drop_scene);
}
