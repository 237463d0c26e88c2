#include "support.h"

#include "groups.h"
#include "session/obstacles.h"
#include "sinew/frames.h"
#include "sinew/io.h"
#include "sinew/samples.h"

static sinew_error error;

static sn_obstacles obstacles_of(const char *list, sinew_scene **scene, const sinew_rig *rig) {
    char text[1024];
    snprintf(text, sizeof text, "{\"sinew\": 1, \"obstacles\": %s}", list);
    assert_ok(sinew_scene_parse(text, "s.json", NULL, scene, &error));
    sn_obstacles obstacles = {0};
    assert_ok(sn_obstacles_update(*scene, rig, sinew_file_loader(), &obstacles, &error));
    return obstacles;
}

static void moving_obstacles_are_where_their_keys_say(void **state) {
    (void)state;
    sinew_rig *rig;
    sinew_scene *scene;
    assert_ok(sinew_sample_rig("bar", NULL, &rig, &error));
    sn_obstacles o = obstacles_of(
        "[{\"shape\": \"box\", \"center\": [1, 0, 0], \"half\": [2, 0.5, 0.5], \"motion\": ["
        "{\"time\": 1}, {\"time\": 2, \"move\": [0, 4, 0], \"turn\": [0, 0, 90]}]},"
        "{\"shape\": \"sphere\", \"enabled\": false}]",
        &scene, rig);
    assert_int_equal(o.count, 1);
    assert_int_equal(o.list[0].motion.count, 2);
    const double end[3] = {3, 0, 0}, turned[3] = {1, 6, 0}, half[3] = {1, 2, 0};
    assert_ok(sn_obstacles_move(&o, 0, NULL, &error));
    assert_close(sinew_obstacle_distance(o.pointers[0], end, NULL), 0, 1e-12);
    /* At the end the long axis stands upright, four higher. */
    assert_ok(sn_obstacles_move(&o, 5, NULL, &error));
    assert_close(sinew_obstacle_distance(o.pointers[0], turned, NULL), 0, 1e-12);
    assert_ok(sn_obstacles_move(&o, 1.5, NULL, &error));
    assert_close(sinew_obstacle_distance(o.pointers[0], half, NULL), -0.5, 1e-12);
    sn_obstacles_free(&o);
    sinew_scene_destroy(scene);
    sinew_rig_destroy(rig);
}

static void incomplete_obstacles_say_what_they_need(void **state) {
    (void)state;
    const char *bad[][2] = {
        {"{\"shape\": \"sphere\", \"radius\": 1}", "a sphere needs 'center'"},
        {"{\"shape\": \"plane\", \"point\": [0,0,0]}", "a plane needs 'normal'"},
        {"{\"shape\": \"capsule\", \"from\": [0,0,0], \"radius\": 1}", "a capsule needs 'to'"},
        {"{\"shape\": \"mesh\"}", "a mesh needs 'file'"},
        {"{\"shape\": \"part\", \"name\": \"nose\"}", "/obstacles/0: the rig has no part 'nose'"},
        {"{\"shape\": \"plane\", \"point\": [0,0,0], \"normal\": [0,0,0]}", "/obstacles/0"},
        {"{\"shape\": \"box\", \"center\": [0,0,0], \"half\": [1,1,1], \"motion\": "
         "[{\"time\": 1}, {\"time\": 1}]}",
         "/motion/1/time: times must increase"},
    };
    sinew_rig *rig;
    assert_ok(sinew_sample_rig("bar", NULL, &rig, &error));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[1024];
        snprintf(text, sizeof text, "{\"sinew\": 1, \"obstacles\": [%s]}", bad[i][0]);
        sinew_scene *scene;
        sn_obstacles obstacles = {0};
        assert_ok(sinew_scene_parse(text, "s.json", NULL, &scene, &error));
        assert_int_equal(sn_obstacles_update(scene, rig, sinew_file_loader(), &obstacles, &error),
                         SINEW_BAD_INPUT);
        if (!strstr(error.message, bad[i][1])) fail_msg("%s", error.message);
        sinew_scene_destroy(scene);
    }
    sinew_rig_destroy(rig);
}

static void frames_of_another_mesh_are_refused(void **state) {
    (void)state;
    sinew_rig *bar, *hand;
    sinew_sample_options size = {.size = sizeof size, .vertices = 1000};
    assert_ok(sinew_sample_rig("bar", NULL, &bar, &error));
    assert_ok(sinew_sample_rig("hand", &size, &hand, &error));
    char mesh[512], frames[512], text[2048];
    snprintf(mesh, sizeof mesh, "%s/obstacle.obj", test_folder());
    snprintf(frames, sizeof frames, "%s/obstacle.pc2", test_folder());
    assert_ok(sinew_mesh_write(mesh, bar->neutral, &error));
    sinew_frame_writer *writer;
    assert_ok(sinew_frame_writer_open(frames, hand->neutral, 1, 0, 30, &writer, &error));
    assert_ok(sinew_frame_writer_add(writer, hand->neutral->positions, &error));
    assert_ok(sinew_frame_writer_close(writer, &error));
    snprintf(text, sizeof text,
             "{\"sinew\": 1, \"obstacles\": [{\"shape\": \"mesh\", \"file\": \"%s\", "
             "\"frames\": \"%s\"}]}",
             mesh, frames);
    sinew_scene *scene;
    sn_obstacles obstacles = {0};
    assert_ok(sinew_scene_parse(text, "s.json", NULL, &scene, &error));
    assert_int_equal(sn_obstacles_update(scene, bar, sinew_file_loader(), &obstacles, &error),
                     SINEW_BAD_INPUT);
    if (!strstr(error.message, "its frames have")) fail_msg("%s", error.message);
    sinew_scene_destroy(scene);
    sinew_rig_destroy(bar), sinew_rig_destroy(hand);
}

int test_obstacles(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(moving_obstacles_are_where_their_keys_say),
        cmocka_unit_test(incomplete_obstacles_say_what_they_need),
        cmocka_unit_test(frames_of_another_mesh_are_refused),
    };
    return cmocka_run_group_tests_name("obstacles", tests, NULL, NULL);
}
