#include "support.h"

#include "dome.h"
#include "groups.h"
#include "sinew/force.h"
#include "sinew/query.h"
#include "sinew/samples.h"

enum { SIDE = 21, COUNT = SIDE * SIDE, TARGETS = 4, MOST = 64 };

/* A smooth field that no target holds and that vanishes on the border. */
static void add_field(const sinew_rig *rig, double size, double *positions) {
    for (int v = 0; v < COUNT; v++) {
        double x = rig->neutral->positions[3 * v], y = rig->neutral->positions[3 * v + 1];
        double window = (1 - x * x) * (1 - y * y);
        positions[3 * v] += size * window * sin(2 * y);
        positions[3 * v + 2] += size * window * cos(2 * x + 1);
    }
}

static void a_smooth_residual_is_spread_over_the_skin(void **state) {
    (void)state;
    sinew_error error = {0};
    sinew_rig *rig = dome_rig(SIDE, TARGETS);
    sinew_marker_map *map = dome_markers(rig, SIDE, 3);
    sinew_marker_layer *layer;
    assert_ok(sinew_marker_layer_create(rig, map, SINEW_MARKER_LAYER_SMOOTHING, false, NULL, &layer,
                                        &error));
    double x[3 * COUNT], goal[3 * COUNT], markers[3 * MOST];
    memcpy(x, rig->neutral->positions, sizeof x);
    memcpy(goal, x, sizeof x);
    add_field(rig, 0.05, goal);
    sinew_marker_map_points(map, rig->neutral, goal, markers);
    double before = root_mean_square(x, goal, COUNT);
    assert_ok(sinew_marker_layer_apply(layer, markers, NULL, x, &error));
    assert_below(root_mean_square(x, goal, COUNT), 0.1 * before);
    for (int v = 0; v < COUNT; v++) /* the held border */
        if (v % SIDE == 0 || v / SIDE == 0)
            assert_memory_equal(x + 3 * v, rig->neutral->positions + 3 * v, 3 * sizeof(double));
    /* what meets the markers already is left alone */
    double again[3 * COUNT];
    sinew_marker_map_points(map, rig->neutral, x, markers);
    memcpy(again, x, sizeof x);
    assert_ok(sinew_marker_layer_apply(layer, markers, NULL, again, &error));
    assert_below(root_mean_square(x, again, COUNT), 1e-12);
    /* missing markers change little, no markers nothing */
    memcpy(x, rig->neutral->positions, sizeof x);
    sinew_marker_map_points(map, rig->neutral, goal, markers);
    for (int i = 0; i < map->count; i += 4) markers[3 * i] = NAN;
    assert_ok(sinew_marker_layer_apply(layer, markers, NULL, x, &error));
    assert_below(root_mean_square(x, goal, COUNT), 0.2 * before);
    for (int i = 0; i < map->count; i++) markers[3 * i] = NAN;
    memcpy(again, x, sizeof x);
    assert_ok(sinew_marker_layer_apply(layer, markers, NULL, again, &error));
    assert_memory_equal(x, again, sizeof x);
    sinew_marker_layer_destroy(layer);
    assert_int_equal(sinew_marker_layer_create(rig, map, 0, false, NULL, &layer, &error),
                     SINEW_BAD_INPUT);
    sinew_marker_map_destroy(map);
    sinew_rig_destroy(rig);
}

static void parts_far_from_all_markers_stay_put(void **state) {
    (void)state;
    sinew_error error = {0};
    sinew_rig *rig = dome_rig(SIDE, TARGETS);
    /* nine markers in one corner of the dome, which tilt */
    enum { NINE = 9 };
    sinew_marker_map *map;
    sinew_marker_layer *layer;
    double x[3 * COUNT], markers[3 * NINE];
    assert_ok(sinew_marker_map_create(NINE, &map, &error));
    for (int i = 0; i < NINE; i++) {
        char name[8];
        snprintf(name, sizeof name, "m%d", i);
        assert_ok(sinew_marker_map_set_name(map, i, name, &error));
        map->vertices[i] = (3 + 2 * (i / 3)) * SIDE + 3 + 2 * (i % 3);
    }
    assert_ok(sinew_marker_layer_create(rig, map, SINEW_MARKER_LAYER_SMOOTHING, false, NULL, &layer,
                                        &error));
    sinew_marker_map_points(map, rig->neutral, rig->neutral->positions, markers);
    for (int i = 0; i < NINE; i++) markers[3 * i + 2] += 0.02 + 0.03 * (i % 3);
    memcpy(x, rig->neutral->positions, sizeof x);
    assert_ok(sinew_marker_layer_apply(layer, markers, NULL, x, &error));
    for (int v = 0; v < COUNT; v++) {
        double move = fabs(x[3 * v + 2] - rig->neutral->positions[3 * v + 2]);
        if (v % SIDE >= 15 || v / SIDE >= 15) assert_below(move, 0.002);
        if (v == map->vertices[4]) assert_true(move > 0.04);
    }
    sinew_marker_layer_destroy(layer);
    sinew_marker_map_destroy(map);
    sinew_rig_destroy(rig);
}

/* The part of a vertex, by its first face. */
static const char *part_name(const sinew_mesh *mesh, int v) {
    for (int f = 0; f < mesh->face_count; f++)
        for (int k = mesh->face_start[f]; k < mesh->face_start[f + 1]; k++)
            if (mesh->face_vertices[k] == v) return mesh->part_names[mesh->face_part[f]];
    return "";
}

/* The sample face, as it is or without the targets that move its brows. */
static sinew_rig *face(bool brows) {
    sinew_error error = {0};
    sinew_sample_options size;
    sinew_sample_options_init(&size);
    sinew_rig *whole, *rig;
    sinew_mesh *mesh;
    size.vertices = 1000;
    assert_ok(sinew_sample_rig("face", &size, &whole, &error));
    if (brows) return whole;
    assert_ok(sinew_mesh_copy(whole->neutral, &mesh, &error));
    assert_ok(sinew_rig_create(mesh, &rig, &error));
    for (int k = 0; k < whole->target_count; k++) {
        const sinew_target *t = &whole->targets[k];
        if (!strstr(t->name, "brow"))
            assert_ok(sinew_rig_add_target(rig, t->name, t->count, t->vertices, t->deltas, &error));
    }
    sinew_rig_destroy(whole);
    return rig;
}

/* Markers of the brows rise by 4 mm: the brows, parts of their own without markers, go along with
 * the skin below them; eyes, teeth and tongue do not. */
static void check_riders(bool brows) {
    sinew_error error = {0};
    sinew_rig *rig = face(brows);
    sinew_sample_options size;
    sinew_sample_options_init(&size);
    sinew_markers *take;
    sinew_marker_map *map;
    sinew_marker_layer *layer;
    size.vertices = 1000;
    assert_ok(sinew_sample_markers("face", &size, NULL, &take, &map, &error));
    assert_ok(sinew_marker_layer_create(rig, map, SINEW_MARKER_LAYER_SMOOTHING, false, NULL, &layer,
                                        &error));
    const sinew_mesh *mesh = rig->neutral;
    size_t n = (size_t)mesh->vertex_count;
    double *x = malloc(3 * n * sizeof *x), *markers = malloc(3 * sizeof *x * (size_t)map->count);
    memcpy(x, mesh->positions, 3 * n * sizeof *x);
    sinew_marker_map_points(map, mesh, x, markers);
    for (int i = 0; i < map->count; i++)
        if (strstr(map->names[i], "brow")) markers[3 * i + 1] += 0.004;
    assert_ok(sinew_marker_layer_apply(layer, markers, NULL, x, &error));
    int ridden = 0;
    for (int v = 0; v < mesh->vertex_count; v++) {
        const char *part = part_name(mesh, v);
        double moved = x[3 * v + 1] - mesh->positions[3 * v + 1], nearest = INFINITY, skin = 0;
        if (strcmp(part, "skin") == 0) continue;
        if (!strstr(part, "eyebrow")) {
            assert_below(fabs(moved), 1e-9);
            continue;
        }
        for (int w = 0; w < mesh->vertex_count; w++) {
            double d = root_mean_square(mesh->positions + 3 * v, mesh->positions + 3 * w, 1);
            if (d > 0 && d < nearest && strcmp(part_name(mesh, w), "skin") == 0)
                nearest = d, skin = x[3 * w + 1] - mesh->positions[3 * w + 1];
        }
        assert_below(fabs(moved - skin), 0.0018);
        ridden += moved > 0.002;
    }
    assert_true(ridden > 20);
    free(x), free(markers);
    sinew_marker_layer_destroy(layer);
    sinew_marker_map_destroy(map);
    sinew_markers_destroy(take);
    sinew_rig_destroy(rig);
}

static void brows_ride_on_the_skin_below_them(void **state) {
    (void)state;
    check_riders(true);
    check_riders(false);
}

/* A clip that the rig does not span: what the layer adds to the command. */
static double follow(bool layer, bool feeds, sinew_force_frame_info *info) {
    sinew_error error = {0};
    sinew_rig *rig = dome_rig(SIDE, TARGETS);
    sinew_marker_map *map = dome_markers(rig, SIDE, 3);
    sinew_force_options options;
    sinew_force_options_init(&options);
    options.layer = layer, options.layer_feeds = feeds;
    sinew_force *force;
    sinew_force_state *state;
    assert_ok(sinew_force_create(rig, map, &options, NULL, &force, &error));
    assert_ok(sinew_force_state_create(force, &state, &error));
    double x[3 * COUNT], goal[3 * COUNT], markers[3 * MOST], w[TARGETS], sum = 0;
    for (int f = 0; f < 30; f++) {
        for (int k = 0; k < TARGETS; k++) w[k] = 0.5 + 0.5 * sin(0.2 * f + k);
        dome_blend(rig, w, goal);
        add_field(rig, 0.04 * sin(0.15 * f), goal);
        sinew_marker_map_points(map, rig->neutral, goal, markers);
        assert_ok(sinew_force_frame(force, state, markers, NULL, x, info, NULL, &error));
        sum += pow(root_mean_square(x, goal, COUNT), 2);
    }
    sinew_force_state_destroy(state);
    sinew_force_destroy(force);
    sinew_marker_map_destroy(map);
    sinew_rig_destroy(rig);
    return sqrt(sum / 30);
}

static void the_layer_meets_what_the_rig_cannot(void **state) {
    (void)state;
    sinew_force_frame_info bare = {.size = sizeof bare}, layered = {.size = sizeof layered};
    double without = follow(false, false, &bare), with = follow(true, false, &layered);
    assert_below(with, 0.4 * without);
    /* the command is the same: the layer is laid on top */
    assert_close(bare.marker_error, layered.marker_error, 1e-12);
    assert_below(layered.marker_error_layer, 0.2 * layered.marker_error);
    assert_true(layered.out_of_span > bare.out_of_span);
}

/* A bulge that no target holds. In frames without markers the correction fades instead of going
 * off, and comes back the same way; one marker that jumps far away is not followed. */
static void corrections_fade_and_wild_markers_are_left_out(void **state) {
    (void)state;
    sinew_error error = {0};
    sinew_rig *rig = dome_rig(SIDE, TARGETS);
    sinew_marker_map *map = dome_markers(rig, SIDE, 3);
    sinew_force_options options;
    sinew_force_options_init(&options);
    sinew_force *force[2]; /* bare, and with the layer */
    sinew_force_state *run[2];
    for (int k = 0; k < 2; k++) {
        options.layer = k;
        assert_ok(sinew_force_create(rig, map, &options, NULL, &force[k], &error));
        assert_ok(sinew_force_state_create(force[k], &run[k], &error));
    }
    enum { SEEN = 10, JUMP = 10, BLIND = 20, BACK = 35, END = 50 };
    double x[2][3 * COUNT], markers[3 * MOST], none[3 * MOST], last = 0, full = 0, step = 0;
    memcpy(x[0], rig->neutral->positions, sizeof x[0]);
    add_field(rig, 0.04, x[0]);
    sinew_marker_map_points(map, rig->neutral, x[0], markers);
    for (int i = 0; i < 3 * map->count; i++) none[i] = NAN;
    for (int f = 0; f < END; f++) {
        const double *seen = f >= BLIND && f < BACK ? none : markers;
        if (f == JUMP) markers[0] += 50;
        for (int k = 0; k < 2; k++)
            assert_ok(sinew_force_frame(force[k], run[k], seen, NULL, x[k], NULL, NULL, &error));
        if (f == JUMP) markers[0] -= 50;
        double correction = root_mean_square(x[0], x[1], COUNT);
        if (f == SEEN - 1) full = correction;
        if (f == JUMP) assert_below(fabs(correction - full), 0.1 * full);
        if (f >= SEEN) step = fmax(step, fabs(correction - last));
        if (f == BACK - 1) assert_below(correction, 0.05 * full);
        last = correction;
    }
    assert_below(step, 0.45 * full);
    assert_true(last > 0.95 * full);
    for (int k = 0; k < 2; k++) {
        sinew_force_state_destroy(run[k]);
        sinew_force_destroy(force[k]);
    }
    sinew_marker_map_destroy(map);
    sinew_rig_destroy(rig);
}

static void a_layer_that_feeds_the_motion_stays_bounded(void **state) {
    (void)state;
    sinew_force_frame_info info = {.size = sizeof info};
    double calm = follow(true, false, &info), fed = follow(true, true, &info);
    assert_below(fed, 2 * calm);
}

/* Markers of the lower lip and chin that rise by more and more: the layer alone drives the lips
 * through each other and the teeth; held, it adds no crossing, and meets the markers elsewhere. */
static void the_layer_crosses_nothing_that_the_rig_does_not(void **state) {
    (void)state;
    sinew_error error = {0};
    sinew_sample_options size;
    sinew_sample_options_init(&size);
    size.vertices = 5000;
    sinew_rig *rig;
    sinew_markers *take;
    sinew_marker_map *map;
    assert_ok(sinew_sample_rig("face", &size, &rig, &error));
    assert_ok(sinew_sample_markers("face", &size, NULL, &take, &map, &error));
    size_t n = (size_t)rig->neutral->vertex_count;
    double *x = malloc(3 * n * sizeof *x),
           *markers = malloc(3 * sizeof(double) * (size_t)map->count);
    int most = 0;
    for (int hold = 0; hold < 2; hold++) {
        sinew_marker_layer *layer;
        assert_ok(sinew_marker_layer_create(rig, map, SINEW_MARKER_LAYER_SMOOTHING, hold, NULL,
                                            &layer, &error));
        for (int f = 0; f < 6; f++) {
            double rise = 0.002 * f;
            sinew_marker_map_points(map, rig->neutral, rig->neutral->positions, markers);
            for (int i = 0; i < map->count; i++)
                if (strstr(map->names[i], "Lower") || strstr(map->names[i], "chin"))
                    markers[3 * i + 1] += rise;
                else
                    markers[3 * i] += 0.001;
            memcpy(x, rig->neutral->positions, 3 * n * sizeof *x);
            assert_ok(sinew_marker_layer_follow(layer, f ? 1 / 60.0 : INFINITY, markers, NULL, x,
                                                &error));
            int found = crossings(rig, x);
            if (hold)
                assert_int_equal(found, 0);
            else
                most = found > most ? found : most;
        }
        /* away from the mouth the markers are met */
        double met = 0;
        for (size_t v = 0; v < n; v++)
            if (rig->neutral->positions[3 * v + 1] > 0.05)
                met = fmax(met, x[3 * v] - rig->neutral->positions[3 * v]);
        assert_true(met > 0.0008);
        sinew_marker_layer_destroy(layer);
    }
    assert_true(most > 0);
    free(x), free(markers);
    sinew_markers_destroy(take), sinew_marker_map_destroy(map), sinew_rig_destroy(rig);
}

int test_layer(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_smooth_residual_is_spread_over_the_skin),
        cmocka_unit_test(parts_far_from_all_markers_stay_put),
        cmocka_unit_test(brows_ride_on_the_skin_below_them),
        cmocka_unit_test(the_layer_meets_what_the_rig_cannot),
        cmocka_unit_test(corrections_fade_and_wild_markers_are_left_out),
        cmocka_unit_test(a_layer_that_feeds_the_motion_stays_bounded),
        cmocka_unit_test(the_layer_crosses_nothing_that_the_rig_does_not),
    };
    return cmocka_run_group_tests_name("layer", tests, NULL, NULL);
}
