#include "support.h"

#include "groups.h"
#include "job/obstacles.h"
#include "sinew/samples.h"

static sinew_error error;

static sn_obstacles obstacles_of(const char *list, sinew_scene **scene, const sinew_rig *rig) {
    char text[1024];
    snprintf(text, sizeof text, "{\"sinew\": 1, \"obstacles\": %s}", list);
    assert_ok(sinew_scene_parse(text, "s.json", NULL, scene, &error));
    sn_obstacles obstacles;
    assert_ok(sn_obstacles_create(*scene, rig, &obstacles, &error));
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
    assert_true(sn_obstacles_animated(&o));
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
        {"{\"shape\": \"part\", \"name\": \"nose\"}", "obstacles[0]: the rig has no part 'nose'"},
        {"{\"shape\": \"plane\", \"point\": [0,0,0], \"normal\": [0,0,0]}", "obstacles[0]"},
        {"{\"shape\": \"box\", \"center\": [0,0,0], \"half\": [1,1,1], \"motion\": "
         "[{\"time\": 1}, {\"time\": 1}]}",
         "motion 1 does not increase"},
    };
    sinew_rig *rig;
    assert_ok(sinew_sample_rig("bar", NULL, &rig, &error));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[1024];
        snprintf(text, sizeof text, "{\"sinew\": 1, \"obstacles\": [%s]}", bad[i][0]);
        sinew_scene *scene;
        sn_obstacles obstacles;
        assert_ok(sinew_scene_parse(text, "s.json", NULL, &scene, &error));
        assert_int_equal(sn_obstacles_create(scene, rig, &obstacles, &error), SINEW_BAD_INPUT);
        if (!strstr(error.message, bad[i][1])) fail_msg("%s", error.message);
        sinew_scene_destroy(scene);
    }
    sinew_rig_destroy(rig);
}

int test_obstacles(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(moving_obstacles_are_where_their_keys_say),
        cmocka_unit_test(incomplete_obstacles_say_what_they_need),
    };
    return cmocka_run_group_tests_name("obstacles", tests, NULL, NULL);
}
