#include "support.h"

#include "dome.h"
#include "groups.h"
#include "sinew/force.h"

enum { SIDE = 17, COUNT = SIDE * SIDE, TARGETS = 6, FRAMES = 60, MOST = 64 };

/* A clip of the rig itself followed by its markers; returns the RMS error over all frames. */
typedef struct clip {
    double noise;      /* RMS of a coordinate */
    double missing;    /* share of markers missing at random */
    int jump;          /* frame in which marker 3 jumps a metre away; -1: never */
    int blind, blinds; /* frames without any marker */
    double bound;      /* > 0: bounded commands in [0, bound] */
    double most;       /* out: largest error of a vertex */
    double fastest;    /* out: largest change of a vertex between frames */
    int outliers;      /* out */
} clip;

static double follow(clip *c) {
    sinew_error error = {0};
    sinew_rig *rig = dome_rig(SIDE, TARGETS);
    sinew_marker_map *map = dome_markers(rig, SIDE, 3);
    assert_true(map->count < MOST);
    sinew_force_options options;
    sinew_force_options_default(&options);
    options.bounded = c->bound > 0, options.lower = 0, options.upper = c->bound;
    sinew_force *force;
    sinew_force_state *state;
    assert_ok(sinew_force_create(rig, map, &options, NULL, &force, &error));
    assert_ok(sinew_force_state_create(force, &state, &error));
    static double goal[3 * COUNT], x[3 * COUNT], last[3 * COUNT];
    double markers[3 * MOST], w[TARGETS], sum = 0;
    uint64_t seed = 77;
    c->most = c->fastest = 0, c->outliers = 0;
    for (int f = 0; f < FRAMES; f++) {
        for (int k = 0; k < TARGETS; k++) w[k] = 0.5 + 0.5 * sin(0.15 * f + 1.3 * k);
        dome_blend(rig, w, goal);
        sinew_marker_map_points(map, rig->neutral, goal, markers);
        for (int i = 0; i < map->count; i++) {
            bool gone = 0.5 + 0.5 * test_random(&seed) < c->missing;
            for (int a = 0; a < 3; a++) {
                markers[3 * i + a] += sqrt(3) * c->noise * test_random(&seed);
                if (gone || (f >= c->blind && f < c->blind + c->blinds)) markers[3 * i + a] = NAN;
            }
        }
        if (f == c->jump) markers[3 * 3] += 1;
        sinew_force_info info;
        assert_ok(sinew_force_frame(force, state, markers, NULL, x, &info, NULL, &error));
        c->outliers += info.outliers;
        for (int i = 0; i < 3 * COUNT; i++) {
            assert_true(isfinite(x[i]));
            c->most = fmax(c->most, fabs(x[i] - goal[i]));
            if (f) c->fastest = fmax(c->fastest, fabs(x[i] - last[i]));
        }
        memcpy(last, x, sizeof x);
        sum += pow(root_mean_square(x, goal, COUNT), 2);
    }
    sinew_force_state_destroy(state);
    sinew_force_destroy(force);
    sinew_marker_map_destroy(map);
    sinew_rig_destroy(rig);
    return sqrt(sum / FRAMES);
}

/* Targets move the dome by about 0.15; its diagonal is 2.9. */
static void markers_of_the_rig_are_followed(void **state) {
    (void)state;
    clip c = {.jump = -1, .blind = -1};
    assert_below(follow(&c), 0.01);
    assert_int_equal(c.outliers, 0);
}

static void noise_of_a_hundredth_stays_bounded(void **state) {
    (void)state;
    clip clean = {.jump = -1, .blind = -1}, noisy = {.noise = 0.03, .jump = -1, .blind = -1};
    double error = follow(&clean);
    assert_below(follow(&noisy), error + 0.04);
    assert_below(noisy.most, 0.3);
}

static void missing_markers_hardly_show(void **state) {
    (void)state;
    clip all = {.jump = -1, .blind = -1}, some = {.missing = 0.3, .jump = -1, .blind = -1};
    double error = follow(&all);
    assert_below(follow(&some), error + 0.005); /* a thirtieth of a target's move */
}

static void a_marker_that_jumps_away_is_not_believed(void **state) {
    (void)state;
    clip calm = {.jump = -1, .blind = -1}, jumpy = {.jump = 30, .blind = -1};
    follow(&calm);
    follow(&jumpy);
    assert_true(jumpy.outliers >= 1);
    assert_below(jumpy.most, calm.most + 0.02);
}

static void blind_frames_coast(void **state) {
    (void)state;
    clip c = {.jump = -1, .blind = 20, .blinds = 4}, calm = {.jump = -1, .blind = -1};
    follow(&calm);
    follow(&c);
    assert_below(c.most, 0.3);
    assert_below(c.fastest, 6 * calm.fastest);
    clip dark = {.jump = -1, .blind = 0, .blinds = FRAMES};
    follow(&dark); /* nothing is ever seen: stays at rest, all finite */
    assert_below(dark.fastest, 1e-12);
}

static void bounded_commands_keep_their_bounds(void **state) {
    (void)state;
    clip c = {.jump = -1, .blind = -1, .bound = 5};
    assert_below(follow(&c), 0.03);
}

static void markers_off_the_mesh_are_refused(void **state) {
    (void)state;
    sinew_error error = {0};
    sinew_rig *rig = dome_rig(SIDE, 2);
    sinew_marker_map *map = dome_markers(rig, SIDE, 3);
    sinew_force *force;
    map->vertices[0] = COUNT;
    assert_int_equal(sinew_force_create(rig, map, NULL, NULL, &force, &error), SINEW_BAD_INPUT);
    assert_non_null(strstr(error.message, "m0"));
    map->vertices[0] = 0;
    assert_ok(sinew_marker_map_set_name(map, 1, "m0", &error));
    assert_int_equal(sinew_force_create(rig, map, NULL, NULL, &force, &error), SINEW_BAD_INPUT);
    sinew_marker_map_destroy(map);
    sinew_rig_destroy(rig);
}

static void a_weight_of_zero_is_a_missing_marker(void **state) {
    (void)state;
    sinew_error error = {0};
    sinew_rig *rig = dome_rig(SIDE, TARGETS);
    sinew_marker_map *map = dome_markers(rig, SIDE, 3);
    sinew_force *force;
    assert_ok(sinew_force_create(rig, map, NULL, NULL, &force, &error));
    static double x[2][3 * COUNT];
    double markers[3 * MOST], weights[MOST];
    for (int run = 0; run < 2; run++) {
        sinew_force_state *made;
        assert_ok(sinew_force_state_create(force, &made, &error));
        for (int f = 0; f < 3; f++) {
            sinew_marker_map_points(map, rig->neutral, rig->neutral->positions, markers);
            for (int i = 0; i < map->count; i++) {
                markers[3 * i + 2] += 0.02 * sin(i + f);
                weights[i] = i % 4 == 0 ? 0 : 1;
                if (run && i % 4 == 0) markers[3 * i] = NAN;
            }
            assert_ok(sinew_force_frame(force, made, markers, run ? NULL : weights, x[run], NULL,
                                        NULL, &error));
        }
        sinew_force_state_destroy(made);
    }
    assert_memory_equal(x[0], x[1], sizeof x[0]);
    sinew_force_destroy(force);
    sinew_marker_map_destroy(map);
    sinew_rig_destroy(rig);
}

int test_markers(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(markers_of_the_rig_are_followed),
        cmocka_unit_test(noise_of_a_hundredth_stays_bounded),
        cmocka_unit_test(missing_markers_hardly_show),
        cmocka_unit_test(a_marker_that_jumps_away_is_not_believed),
        cmocka_unit_test(blind_frames_coast),
        cmocka_unit_test(bounded_commands_keep_their_bounds),
        cmocka_unit_test(markers_off_the_mesh_are_refused),
        cmocka_unit_test(a_weight_of_zero_is_a_missing_marker),
    };
    return cmocka_run_group_tests_name("markers", tests, NULL, NULL);
}
