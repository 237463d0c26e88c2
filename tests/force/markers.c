#include "support.h"

#include "dome.h"
#include "groups.h"
#include "sinew/force.h"
#include "sinew/samples.h"

enum { SIDE = 17, COUNT = SIDE * SIDE, TARGETS = 6, FRAMES = 60, MOST = 64 };

/* A clip of the rig itself followed by its markers; returns the RMS error over all frames. */
typedef struct clip {
    double noise;                  /* RMS of a coordinate */
    double missing;                /* share of markers missing at random */
    int jump;                      /* frame in which marker 3 jumps a meter away; -1: never */
    int blind, blinds;             /* frames without any marker */
    bool free, layer;              /* commands without bounds; with the marker layer */
    double beyond;                 /* how far the weights of the clip leave [0, 1] */
    double bound;                  /* > 0: bounded commands in [0, bound] */
    double ridge, smooth;          /* > 0: instead of the defaults */
    double least, largest, swings; /* out: commands, and the sum of their squared changes */
    double most;                   /* out: largest error of a vertex */
    double fastest;                /* out: largest change of a vertex between frames */
    int outliers;                  /* out */
} clip;

static double follow(clip *c) {
    sinew_error error = {0};
    sinew_rig *rig = dome_rig(SIDE, TARGETS);
    sinew_marker_map *map = dome_markers(rig, SIDE, 3);
    assert_true(map->count < MOST);
    sinew_force_options options;
    sinew_force_options_init(&options);
    options.layer = c->layer;
    if (c->free) options.bounded = false;
    if (c->bound > 0) options.bounded = true, options.lower = 0, options.upper = c->bound;
    if (c->ridge > 0) options.ridge = c->ridge;
    if (c->smooth > 0) options.smooth = c->smooth;
    sinew_force *force;
    sinew_force_state *state;
    assert_ok(sinew_force_create(rig, map, &options, NULL, &force, &error));
    assert_ok(sinew_force_state_create(force, &state, &error));
    static double goal[3 * COUNT], x[3 * COUNT], last[3 * COUNT];
    double markers[3 * MOST], w[TARGETS], u[TARGETS] = {0}, sum = 0;
    uint64_t seed = 77;
    c->most = c->fastest = c->swings = 0, c->outliers = 0, c->least = INFINITY;
    c->largest = -INFINITY;
    for (int f = 0; f < FRAMES; f++) {
        for (int k = 0; k < TARGETS; k++) w[k] = 0.5 + (0.5 + c->beyond) * sin(0.15 * f + 1.3 * k);
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
        sinew_force_frame_info info = {.size = sizeof info};
        assert_ok(sinew_force_frame(force, state, markers, NULL, x, &info, NULL, &error));
        c->outliers += info.outliers;
        const double *command = sinew_force_last_command(state);
        for (int k = 0; k < TARGETS; k++) {
            c->least = fmin(c->least, command[k]), c->largest = fmax(c->largest, command[k]);
            c->swings += f ? pow(command[k] - u[k], 2) : 0;
            u[k] = command[k];
        }
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

/* With the default command and a free one, bare and with the layer. */
static clip variant(int k) {
    return (clip){.jump = -1, .blind = -1, .free = k & 1, .layer = k & 2};
}
enum { VARIANTS = 4 };

/* Targets move the dome by about 0.15; its diagonal is 2.9. */
static void markers_of_the_rig_are_followed(void **state) {
    (void)state;
    for (int k = 0; k < VARIANTS; k++) {
        clip c = variant(k);
        assert_below(follow(&c), 0.01);
        assert_int_equal(c.outliers, 0);
    }
}

static void noise_of_a_hundredth_stays_bounded(void **state) {
    (void)state;
    for (int k = 0; k < VARIANTS; k++) {
        clip clean = variant(k), noisy = variant(k);
        noisy.noise = 0.03;
        double error = follow(&clean);
        /* the layer is set for clean markers */
        assert_below(follow(&noisy), error + (noisy.layer ? 0.06 : 0.04));
        assert_below(noisy.most, 0.3);
    }
}

static void missing_markers_hardly_show(void **state) {
    (void)state;
    for (int k = 0; k < VARIANTS; k++) {
        clip all = variant(k), some = variant(k);
        some.missing = 0.3;
        double error = follow(&all);
        assert_below(follow(&some), error + 0.005); /* a thirtieth of a target's move */
    }
}

static void a_marker_that_jumps_away_is_not_believed(void **state) {
    (void)state;
    for (int k = 0; k < VARIANTS; k++) {
        clip calm = variant(k), jumpy = variant(k);
        jumpy.jump = 30;
        follow(&calm);
        follow(&jumpy);
        assert_true(jumpy.outliers >= 1);
        assert_below(jumpy.most, calm.most + 0.02);
    }
}

static void blind_frames_coast(void **state) {
    (void)state;
    for (int k = 0; k < VARIANTS; k++) {
        clip c = variant(k), calm = variant(k), dark = variant(k);
        c.blind = 20, c.blinds = 4;
        follow(&calm);
        follow(&c);
        assert_below(c.most, 0.3);
        assert_below(c.fastest, 6 * calm.fastest);
        dark.blind = 0, dark.blinds = FRAMES;
        follow(&dark); /* nothing is ever seen: stays at rest, all finite */
        assert_below(dark.fastest, 1e-12);
    }
}

static void commands_keep_their_bounds(void **state) {
    (void)state;
    clip loose = variant(1), standard = variant(0), tight = variant(0);
    tight.bound = 0.6, tight.beyond = standard.beyond = loose.beyond = 0.4;
    double error = follow(&loose);
    assert_true(loose.least < -0.1 && loose.largest > 1);
    follow(&standard);
    assert_close(standard.least, SINEW_FORCE_LOWER, 1e-9);
    assert_true(standard.largest > 1);
    assert_true(follow(&tight) > 2 * error);
    assert_close(tight.least, 0, 1e-9);
    assert_close(tight.largest, 0.6, 1e-9);
}

static void ridge_and_smoothness_calm_the_command(void **state) {
    (void)state;
    clip plain = variant(1), pulled = variant(1), smooth = variant(1);
    plain.noise = pulled.noise = smooth.noise = 0.03;
    pulled.ridge = 1, smooth.smooth = 1;
    follow(&plain), follow(&pulled), follow(&smooth);
    assert_below(pulled.largest, 0.8 * plain.largest);
    assert_below(smooth.swings, 0.5 * plain.swings);
}

/* One marker on the nose, 10 mm off: targets that move the chin by centimetres and the nose by
 * micrometres are no way to meet it. */
static void targets_that_markers_hardly_see_stay_small(void **state) {
    (void)state;
    sinew_error error = {0};
    sinew_sample_options size;
    sinew_sample_options_init(&size);
    sinew_rig *rig;
    sinew_markers *take;
    sinew_marker_map *all, *map;
    sinew_force *force;
    sinew_force_state *made;
    int nose = 0;
    size.vertices = 1000;
    assert_ok(sinew_sample_rig("face", &size, &rig, &error));
    assert_ok(sinew_sample_markers("face", &size, NULL, &take, &all, &error));
    while (strcmp(all->names[nose], "noseTip") != 0) nose++;
    assert_ok(sinew_marker_map_create(1, &map, &error));
    assert_ok(sinew_marker_map_set_name(map, 0, "noseTip", &error));
    map->vertices[0] = all->vertices[nose];
    assert_ok(sinew_force_create(rig, map, NULL, NULL, &force, &error));
    assert_ok(sinew_force_state_create(force, &made, &error));
    const double *rest = rig->neutral->positions;
    double *x = malloc(3 * sizeof *x * (size_t)rig->neutral->vertex_count), marker[3];
    memcpy(marker, rest + 3 * map->vertices[0], sizeof marker);
    marker[1] += 0.01;
    double most = 0;
    for (int f = 0; f < 10; f++) {
        assert_ok(sinew_force_frame(force, made, marker, NULL, x, NULL, NULL, &error));
        for (int i = 0; i < 3 * rig->neutral->vertex_count; i++)
            most = fmax(most, fabs(x[i] - rest[i]));
    }
    assert_below(most, 0.03);
    free(x);
    sinew_force_state_destroy(made);
    sinew_force_destroy(force);
    sinew_marker_map_destroy(map), sinew_marker_map_destroy(all);
    sinew_markers_destroy(take);
    sinew_rig_destroy(rig);
}

/* A coarse face under a constant command, with longer and longer bends: the first frame settles, or
 * says that it did not; later ones come to rest; what would not is refused. */
static void stiff_skins_rest_or_say_that_they_do_not(void **state) {
    (void)state;
    sinew_error error = {0};
    sinew_sample_options size;
    sinew_sample_options_init(&size);
    sinew_rig *rig;
    size.vertices = 1000;
    assert_ok(sinew_sample_rig("face", &size, &rig, &error));
    size_t n = 3 * (size_t)rig->neutral->vertex_count;
    double *x = malloc(n * sizeof *x), *before = malloc(n * sizeof *x);
    double *u = calloc((size_t)rig->target_count, sizeof *u);
    u[sinew_rig_find_target(rig, "jawOpen")] = 0.3;
    const double bends[] = {SINEW_FORCE_BEND_LENGTH, SINEW_FORCE_MOST_BEND};
    double first[2];
    sinew_force_options options;
    sinew_force_options_init(&options);
    sinew_force *force;
    for (int k = 0; k < 2; k++) {
        sinew_force_state *made;
        sinew_force_frame_info info = {.size = sizeof info};
        options.bend_length = bends[k];
        assert_ok(sinew_force_create(rig, NULL, &options, NULL, &force, &error));
        assert_ok(sinew_force_state_create(force, &made, &error));
        assert_ok(sinew_force_command(force, made, u, x, &info, NULL, &error));
        assert_int_equal(info.status, info.residual < 1e-5 ? SINEW_OK : SINEW_NOT_CONVERGED);
        first[k] = info.residual;
        for (int f = 0; f < 60; f++) {
            memcpy(before, x, n * sizeof *x);
            assert_ok(sinew_force_command(force, made, u, x, &info, NULL, &error));
        }
        for (size_t i = 0; i < n; i++) assert_below(fabs(x[i] - before[i]), 1e-4);
        sinew_force_state_destroy(made);
        sinew_force_destroy(force);
    }
    assert_true(first[0] < first[1]); /* stiffer skins settle more slowly */
    options.bend_length = 1.5 * SINEW_FORCE_MOST_BEND;
    assert_int_equal(sinew_force_create(rig, NULL, &options, NULL, &force, &error),
                     SINEW_BAD_INPUT);
    assert_non_null(strstr(error.message, "bend length"));
    free(x), free(before), free(u);
    sinew_rig_destroy(rig);
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
        cmocka_unit_test(commands_keep_their_bounds),
        cmocka_unit_test(ridge_and_smoothness_calm_the_command),
        cmocka_unit_test(targets_that_markers_hardly_see_stay_small),
        cmocka_unit_test(stiff_skins_rest_or_say_that_they_do_not),
        cmocka_unit_test(markers_off_the_mesh_are_refused),
        cmocka_unit_test(a_weight_of_zero_is_a_missing_marker),
    };
    return cmocka_run_group_tests_name("markers", tests, NULL, NULL);
}
