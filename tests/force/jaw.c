#include "support.h"

#include "base/rotation.h"
#include "groups.h"
#include "sinew/force.h"

/* A plate of skin over a jaw: the half in front of the joint turns by `ANGLE` about the x axis, the
 * half behind it stays, with a soft passage between. */
enum { WIDTH = 9, LENGTH = 25, COUNT = WIDTH * LENGTH };
#define ANGLE 0.6

static double turn_share(double y) {
    double s = fmin(fmax((y - 0.3) / 0.4, 0), 1);
    return s * s * (3 - 2 * s);
}

static sn_vec3 opened(sn_vec3 x, double amount) {
    sn_mat3 turn = sn_rotation_exp(sn_v3(-amount * ANGLE, 0, 0));
    double share = turn_share(x.y);
    return sn_add_scaled(x, share, sn_sub(sn_mat3_apply(turn, x), x));
}

static sinew_rig *jaw_rig(void) {
    sinew_error error = {0};
    double x[3 * COUNT], deltas[3 * COUNT];
    int triangles[6 * (WIDTH - 1) * (LENGTH - 1)], vertices[COUNT], faces = 0;
    for (int v = 0; v < COUNT; v++)
        sn_put(x, v, sn_v3(0.1 * (v % WIDTH), 0.1 * (v / WIDTH), 0.02 * sin(0.9 * v)));
    for (int j = 0; j + 1 < LENGTH; j++)
        for (int i = 0; i + 1 < WIDTH; i++) {
            int a = j * WIDTH + i;
            int corner[6] = {a, a + 1, a + WIDTH + 1, a, a + WIDTH + 1, a + WIDTH};
            memcpy(triangles + 6 * (size_t)faces++, corner, sizeof corner);
        }
    sinew_mesh *mesh;
    sinew_rig *rig;
    assert_ok(sinew_mesh_create(COUNT, x, 2 * faces, NULL, triangles, &mesh, &error));
    assert_ok(sinew_rig_create(mesh, &rig, &error));
    for (int v = 0; v < COUNT; v++) {
        vertices[v] = v;
        sn_put(deltas, v, sn_sub(opened(sn_at(x, v), 1), sn_at(x, v)));
    }
    assert_ok(sinew_rig_add_target(rig, "jawOpen", COUNT, vertices, deltas, &error));
    /* a smile that widens the skin sideways, the chin too */
    for (int v = 0; v < COUNT; v++) sn_put(deltas, v, sn_v3(0.1 * (x[3 * v] - 0.4), 0, 0));
    assert_ok(sinew_rig_add_target(rig, "smile", COUNT, vertices, deltas, &error));
    return rig;
}

/* The face under a command at rest; jaw NULL: without one. */
static void settle(const sinew_rig *rig, const double *jaw, const double *u, double *x) {
    sinew_error error = {0};
    sinew_force_options options;
    sinew_force_options_init(&options);
    options.jaw = jaw;
    sinew_force *force;
    sinew_force_state *state;
    assert_ok(sinew_force_create(rig, NULL, &options, NULL, &force, &error));
    assert_ok(sinew_force_state_create(force, &state, &error));
    assert_ok(sinew_force_command(force, state, u, x, NULL, NULL, &error));
    sinew_force_state_destroy(state);
    sinew_force_destroy(force);
}

/* Mean relative change of the chin's lengths away from the joint. */
static double chin_stretch(const sinew_rig *rig, const double *x) {
    double sum = 0;
    int count = 0;
    for (int v = 10 * WIDTH; v + WIDTH < COUNT; v++, count++) {
        double rest = sn_distance(sn_at(rig->neutral->positions, v),
                                  sn_at(rig->neutral->positions, v + WIDTH));
        sum += sn_distance(sn_at(x, v), sn_at(x, v + WIDTH)) / rest - 1;
    }
    return sum / count;
}

static double farthest(const double *a, const double *b) {
    double most = 0;
    for (int v = 0; v < COUNT; v++) most = fmax(most, sn_distance(sn_at(a, v), sn_at(b, v)));
    return most;
}

static void an_opening_jaw_does_not_stretch_the_chin(void **state) {
    (void)state;
    sinew_error error = {0};
    sinew_rig *rig = jaw_rig();
    double jaw[COUNT], x[3 * COUNT], u[2] = {0.5, 0};
    assert_ok(sinew_jaw_shares(rig, 0, jaw, &error));
    settle(rig, NULL, u, x);
    /* on the chord half-way the chin has shrunk by 1 - cos(angle / 2) */
    assert_close(chin_stretch(rig, x), cos(ANGLE / 2) - 1, 0.01);
    settle(rig, jaw, u, x);
    assert_close(chin_stretch(rig, x), 0, 0.001);
    /* and it is where the turned jaw is */
    for (int v = 12 * WIDTH; v < COUNT; v++)
        assert_below(sn_distance(sn_at(x, v), opened(sn_at(rig->neutral->positions, v), 0.5)),
                     0.01);
    /* beyond its target, too */
    u[0] = 1.8;
    settle(rig, NULL, u, x);
    assert_true(chin_stretch(rig, x) > 0.05);
    settle(rig, jaw, u, x);
    assert_close(chin_stretch(rig, x), 0, 0.005);
    sinew_rig_destroy(rig);
}

static void targets_keep_their_shapes_with_a_jaw(void **state) {
    (void)state;
    sinew_error error = {0};
    sinew_rig *rig = jaw_rig();
    double jaw[COUNT], with[3 * COUNT], without[3 * COUNT];
    const double commands[3][2] = {{0, 0}, {1, 0}, {0, 1}};
    assert_ok(sinew_jaw_shares(rig, 0, jaw, &error));
    for (int k = 0; k < 3; k++) {
        settle(rig, jaw, commands[k], with);
        settle(rig, NULL, commands[k], without);
        assert_below(farthest(with, without), 1e-6);
    }
    sinew_rig_destroy(rig);
}

static void shares_are_one_on_the_jaw_and_zero_behind_it(void **state) {
    (void)state;
    sinew_error error = {0};
    sinew_rig *rig = jaw_rig();
    double jaw[COUNT];
    assert_ok(sinew_jaw_shares(rig, 0, jaw, &error));
    for (int v = 0; v < COUNT; v++) {
        if (v / WIDTH < 3) assert_close(jaw[v], 0, 0);
        if (v / WIDTH > 7) assert_close(jaw[v], 1, 1e-3);
    }
    sinew_rig_destroy(rig);
}

static void markers_of_an_opening_jaw_are_met_on_the_arc(void **state) {
    (void)state;
    sinew_error error = {0};
    sinew_rig *rig = jaw_rig();
    enum { MARKERS = 12, FRAMES = 20 };
    double jaw[COUNT], x[3 * COUNT], markers[3 * MARKERS];
    assert_ok(sinew_jaw_shares(rig, 0, jaw, &error));
    sinew_marker_map *map;
    assert_ok(sinew_marker_map_create(MARKERS, &map, &error));
    for (int i = 0; i < MARKERS; i++) {
        char name[16];
        snprintf(name, sizeof name, "m%d", i);
        assert_ok(sinew_marker_map_set_name(map, i, name, &error));
        map->vertices[i] = (2 * i + 1) * WIDTH + 2 + 4 * (i % 2);
    }
    double error_at[2];
    for (int with = 0; with < 2; with++) {
        sinew_force_options options;
        sinew_force_options_init(&options);
        options.jaw = with ? jaw : NULL;
        sinew_force *force;
        sinew_force_state *moving;
        sinew_force_frame_info info = {.size = sizeof info};
        assert_ok(sinew_force_create(rig, map, &options, NULL, &force, &error));
        assert_ok(sinew_force_state_create(force, &moving, &error));
        error_at[with] = 0;
        for (int f = 0; f < FRAMES; f++) {
            for (int i = 0; i < MARKERS; i++)
                sn_put(markers, i,
                       opened(sn_at(rig->neutral->positions, map->vertices[i]), 0.7 * f / FRAMES));
            assert_ok(sinew_force_frame(force, moving, markers, NULL, x, &info, NULL, &error));
            error_at[with] = fmax(error_at[with], info.marker_error);
        }
        sinew_force_state_destroy(moving);
        sinew_force_destroy(force);
    }
    assert_below(error_at[1], 0.5 * error_at[0]);
    sinew_marker_map_destroy(map);
    sinew_rig_destroy(rig);
}

static void bad_jaws_are_refused(void **state) {
    (void)state;
    sinew_error error = {0};
    sinew_rig *rig = jaw_rig();
    double jaw[COUNT] = {0};
    sinew_force_options options;
    sinew_force_options_init(&options);
    options.jaw = jaw;
    sinew_force *force;
    assert_int_equal(sinew_force_create(rig, NULL, &options, NULL, &force, &error),
                     SINEW_BAD_INPUT);
    jaw[7] = NAN;
    assert_int_equal(sinew_force_create(rig, NULL, &options, NULL, &force, &error),
                     SINEW_BAD_INPUT);
    assert_non_null(strstr(error.message, "vertex 7"));
    int still = 3;
    double zero[3] = {0};
    assert_ok(sinew_rig_add_target(rig, "still", 1, &still, zero, &error));
    assert_int_equal(sinew_jaw_shares(rig, 2, jaw, &error), SINEW_BAD_INPUT);
    sinew_rig_destroy(rig);
}

int test_jaw(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_opening_jaw_does_not_stretch_the_chin),
        cmocka_unit_test(targets_keep_their_shapes_with_a_jaw),
        cmocka_unit_test(shares_are_one_on_the_jaw_and_zero_behind_it),
        cmocka_unit_test(markers_of_an_opening_jaw_are_met_on_the_arc),
        cmocka_unit_test(bad_jaws_are_refused),
    };
    return cmocka_run_group_tests_name("jaw", tests, NULL, NULL);
}
