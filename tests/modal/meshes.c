#include "support.h"

#include <stdbool.h>

#include "base/rotation.h"
#include "groups.h"
#include "mesh/topology.h"
#include "sinew/io.h"
#include "sinew/modal.h"
#include "sinew/samples.h"

/* mean |l / (mean of both ends' l) - 1| over edges. */
static double distortion(const sinew_mesh *mesh, const double *from, const double *to,
                         const double *between) {
    sinew_error error;
    sn_edges edges;
    double sum = 0;
    assert_ok(sn_edges_of_triangles(mesh->triangle_count, mesh->triangles, &edges, &error));
    for (int e = 0; e < edges.count; e++) {
        int i = edges.vertices[2 * e], j = edges.vertices[2 * e + 1];
        double mean = 0.5 * (sn_distance(sn_at(from, i), sn_at(from, j)) +
                             sn_distance(sn_at(to, i), sn_at(to, j)));
        if (mean > 0) sum += fabs(sn_distance(sn_at(between, i), sn_at(between, j)) / mean - 1);
    }
    sum /= edges.count;
    sn_edges_free(&edges);
    return sum;
}

/* Two keys through the model: met to 1e-6 of the diagonal, frames finite, and the distortion of the
 * straight path at its middle. */
static double two_keys(const sinew_mesh *mesh, const double *pose, sinew_modal_options options,
                       sinew_modal_info *about) {
    sinew_error error;
    sinew_modal *modal;
    sinew_modal_state *state;
    sinew_modal_motion *motion;
    assert_ok(sinew_modal_create(mesh, &options, NULL, &modal, &error));
    assert_ok(sinew_modal_state_create(modal, &state, &error));
    const double times[2] = {0, 1}, straight = -1;
    const double *poses[2] = {mesh->positions, pose};
    sinew_modal_keys keys = {.size = sizeof keys, .count = 2, .times = times, .positions = poses};
    assert_ok(sinew_modal_motion_create(modal, &keys, NULL, NULL, &motion, &error));
    double diagonal = sinew_diagonal(mesh->vertex_count, mesh->positions);
    double *frame = malloc(sizeof(double) * 3 * (size_t)mesh->vertex_count);
    for (int k = 0; k < 2; k++) {
        sinew_modal_frame(motion, state, times[k], frame);
        for (int i = 0; i < mesh->vertex_count; i++)
            assert_below(sn_distance(sn_at(frame, i), sn_at(poses[k], i)), 1e-6 * diagonal);
    }
    for (int k = 0; k <= 6; k++) {
        sinew_modal_frame(motion, state, k / 4.0, frame);
        for (int i = 0; i < 3 * mesh->vertex_count; i++) assert_true(isfinite(frame[i]));
    }
    sinew_modal_parameters parameters;
    sinew_modal_parameters_init(&parameters);
    parameters.count = 1, parameters.gamma = parameters.kappa = &straight;
    assert_ok(sinew_modal_motion_update(motion, &parameters, &error));
    sinew_modal_frame(motion, state, 0.5, frame);
    double result = distortion(mesh, mesh->positions, pose, frame);
    *about = info_of(sinew_modal, modal);
    free(frame);
    sinew_modal_motion_destroy(motion);
    sinew_modal_state_destroy(state);
    sinew_modal_destroy(modal);
    return result;
}

static sinew_rig *sample_bar(void) {
    sinew_error error;
    sinew_rig *rig;
    sinew_sample_options size;
    sinew_sample_options_init(&size);
    size.vertices = 1000;
    assert_ok(sinew_sample_rig("bar", &size, &rig, &error));
    return rig;
}

/* The neutral with one target at 1; to be freed. */
static double *target_pose(const sinew_rig *rig, int target) {
    const sinew_target *t = &rig->targets[target];
    size_t bytes = sizeof(double) * 3 * (size_t)rig->neutral->vertex_count;
    double *pose = malloc(bytes);
    memcpy(pose, rig->neutral->positions, bytes);
    for (int i = 0; i < 3 * t->count; i++) pose[3 * t->vertices[i / 3] + i % 3] += t->deltas[i];
    return pose;
}

static void closed_cage_and_shell_bodies_meet_their_keys(void **state) {
    (void)state;
    sinew_rig *rig = sample_bar();
    double *pose = target_pose(rig, 0);
    sinew_modal_options options;
    sinew_modal_options_init(&options);
    options.modes = 12, options.cells = 20;
    const sinew_modal_body bodies[] = {SINEW_MODAL_BODY_AUTO, SINEW_MODAL_BODY_CAGE,
                                       SINEW_MODAL_BODY_SHELL};
    const sinew_modal_body expected[] = {SINEW_MODAL_BODY_TETS, SINEW_MODAL_BODY_CAGE,
                                         SINEW_MODAL_BODY_SHELL};
    for (int k = 0; k < 3; k++) {
        sinew_modal_info info = {.size = sizeof info};
        options.body = bodies[k];
        double linear = 0,
               *middle = malloc(sizeof(double) * 3 * (size_t)rig->neutral->vertex_count);
        for (int i = 0; i < 3 * rig->neutral->vertex_count; i++)
            middle[i] = 0.5 * (rig->neutral->positions[i] + pose[i]);
        linear = distortion(rig->neutral, rig->neutral->positions, pose, middle);
        double bent = two_keys(rig->neutral, pose, options, &info);
        assert_int_equal(info.body, expected[k]);
        assert_below(bent, 0.25 * linear);
        free(middle);
    }
    free(pose);
    sinew_rig_destroy(rig);
}

static void make_cage(const sinew_mesh *mesh, sinew_modal **modal, sinew_modal_state **work) {
    sinew_error error;
    sinew_modal_options options;
    sinew_modal_options_init(&options);
    options.modes = 12, options.cells = 20, options.body = SINEW_MODAL_BODY_CAGE;
    assert_ok(sinew_modal_create(mesh, &options, NULL, modal, &error));
    assert_ok(sinew_modal_state_create(*modal, work, &error));
}

/* The cage carries each vertex by four corners; pins on vertices far from the first are met. */
static void pins_hold_vertices_of_a_cage(void **state) {
    (void)state;
    sinew_error error;
    sinew_rig *rig = sample_bar();
    const sinew_mesh *mesh = rig->neutral;
    int n = mesh->vertex_count;
    double *pose = target_pose(rig, 0), *frame = malloc(sizeof(double) * 3 * (size_t)n), targets[6];
    sinew_modal *modal;
    sinew_modal_state *work;
    sinew_modal_motion *motion;
    sinew_modal_pins *pins;
    make_cage(mesh, &modal, &work);
    const double times[2] = {0, 1}, *poses[2] = {mesh->positions, pose};
    sinew_modal_keys keys = {.size = sizeof keys, .count = 2, .times = times, .positions = poses};
    assert_ok(sinew_modal_motion_create(modal, &keys, NULL, NULL, &motion, &error));
    const int held[2] = {n / 3, n - 1};
    assert_ok(sinew_modal_pins_create(modal, 2, held, NULL, &pins, &error));
    for (int k = 0; k < 2; k++) sn_put(targets, k, sn_at(mesh->positions, held[k]));
    sinew_modal_constraints constraints = {
        .size = sizeof constraints, .pins = pins, .targets = targets};
    assert_ok(sinew_modal_frame_constrained(motion, work, &constraints, 0.3, frame, &error));
    for (int k = 0; k < 2; k++)
        assert_below(sn_distance(sn_at(frame, held[k]), sn_at(targets, k)), 1e-9);
    sinew_modal_pins_destroy(pins);
    sinew_modal_motion_destroy(motion);
    sinew_modal_state_destroy(work);
    sinew_modal_destroy(modal);
    free(pose), free(frame);
    sinew_rig_destroy(rig);
}

/* Also in what a cage of this coarseness cannot express. */
static void inner_keys_of_a_cage_are_passed(void **state) {
    (void)state;
    sinew_error error;
    uint64_t seed = 4;
    sinew_rig *rig = sample_bar();
    const sinew_mesh *mesh = rig->neutral;
    int n = mesh->vertex_count;
    double size = sinew_diagonal(n, mesh->positions);
    double *pose = target_pose(rig, 0), *frame = malloc(sizeof(double) * 3 * (size_t)n);
    double *between = malloc(sizeof(double) * 3 * (size_t)n);
    for (int k = 0; k < 3 * n; k++) {
        between[k] = 0.3 * mesh->positions[k] + 0.7 * pose[k] + 0.002 * size * test_random(&seed);
        pose[k] += 0.002 * size * test_random(&seed);
    }
    sinew_modal *modal;
    sinew_modal_state *work;
    sinew_modal_motion *motion;
    make_cage(mesh, &modal, &work);
    const double times[2] = {0, 1}, *poses[2] = {mesh->positions, pose};
    const double inner_times[1] = {0.4}, *inner[1] = {between};
    sinew_modal_keys keys = {.size = sizeof keys, .count = 2, .times = times, .positions = poses};
    keys.inner_count = 1, keys.inner_times = inner_times, keys.inner_positions = inner;
    assert_ok(sinew_modal_motion_create(modal, &keys, NULL, NULL, &motion, &error));
    const double at[3] = {0, 0.4, 1}, *wanted[3] = {mesh->positions, between, pose};
    for (int i = 0; i < 3; i++) {
        sinew_modal_frame(motion, work, at[i], frame);
        for (int k = 0; k < 3 * n; k++) assert_close(frame[k], wanted[i][k], 1e-8 * size);
    }
    sinew_modal_motion_destroy(motion);
    sinew_modal_state_destroy(work);
    sinew_modal_destroy(modal);
    free(pose), free(frame), free(between);
    sinew_rig_destroy(rig);
}

/* Also what the cage cannot express of the keys is blended as if the key were not there. */
static void an_inner_key_on_the_path_changes_nothing(void **state) {
    (void)state;
    sinew_error error;
    uint64_t seed = 8;
    sinew_rig *rig = sample_bar();
    const sinew_mesh *mesh = rig->neutral;
    int n = mesh->vertex_count;
    double size = sinew_diagonal(n, mesh->positions);
    double *pose = target_pose(rig, 0), *frame = malloc(sizeof(double) * 3 * (size_t)n);
    double *between = malloc(sizeof(double) * 3 * (size_t)n);
    for (int k = 0; k < 3 * n; k++) pose[k] += 0.01 * size * test_random(&seed);
    sinew_modal *modal;
    sinew_modal_state *work;
    sinew_modal_motion *plain, *motion;
    make_cage(mesh, &modal, &work);
    const double times[2] = {0, 1}, *poses[2] = {mesh->positions, pose};
    const double inner_times[1] = {0.4}, *inner[1] = {between};
    sinew_modal_keys keys = {.size = sizeof keys, .count = 2, .times = times, .positions = poses};
    assert_ok(sinew_modal_motion_create(modal, &keys, NULL, NULL, &plain, &error));
    sinew_modal_frame(plain, work, 0.4, between);
    keys.inner_count = 1, keys.inner_times = inner_times, keys.inner_positions = inner;
    assert_ok(sinew_modal_motion_create(modal, &keys, NULL, NULL, &motion, &error));
    for (int i = 0; i <= 10; i++) {
        sinew_modal_frame(plain, work, i / 10.0, between);
        sinew_modal_frame(motion, work, i / 10.0, frame);
        for (int k = 0; k < 3 * n; k++) assert_close(frame[k], between[k], 3e-4 * size);
    }
    sinew_modal_motion_destroy(motion), sinew_modal_motion_destroy(plain);
    sinew_modal_state_destroy(work);
    sinew_modal_destroy(modal);
    free(pose), free(frame), free(between);
    sinew_rig_destroy(rig);
}

static void open_meshes_get_a_cage_and_the_reason(void **state) {
    (void)state;
    sinew_error error;
    enum { N = 10 };
    double positions[3 * (N + 1) * (N + 1) + 3], pose[3 * (N + 1) * (N + 1) + 3];
    int triangles[6 * N * N], *t = triangles;
    for (int i = 0; i <= N; i++)
        for (int j = 0; j <= N; j++) {
            int at = i * (N + 1) + j;
            double x = (double)i / N;
            sn_put(positions, at, sn_v3(x, (double)j / N, 0));
            sn_put(pose, at, sn_v3(sin(2 * x) / 2, (double)j / N, (1 - cos(2 * x)) / 2));
            if (i == N || j == N) continue;
            int quad[6] = {at, at + N + 1, at + N + 2, at, at + N + 2, at + 1};
            memcpy(t, quad, sizeof quad), t += 6;
        }
    int loose = (N + 1) * (N + 1); /* and a vertex in no face */
    sn_put(positions, loose, sn_v3(0.5, 0.5, 0.1)), sn_put(pose, loose, sn_v3(0.4, 0.5, 0.3));
    sinew_mesh *mesh;
    assert_ok(sinew_mesh_create(loose + 1, positions, 2 * N * N, NULL, triangles, &mesh, &error));
    sinew_modal_options options;
    sinew_modal_options_init(&options);
    options.modes = 8, options.cells = 12;
    sinew_modal_info info = {.size = sizeof info};
    assert_below(two_keys(mesh, pose, options, &info), 0.05);
    assert_int_equal(info.body, SINEW_MODAL_BODY_CAGE);
    assert_true(info.why[0] != 0);
    options.body = SINEW_MODAL_BODY_TETS;
    sinew_modal *modal;
    assert_int_equal(sinew_modal_create(mesh, &options, NULL, &modal, &error), SINEW_BAD_INPUT);
    options.body = SINEW_MODAL_BODY_SHELL;
    assert_below(two_keys(mesh, pose, options, &info), 0.05);
    sinew_mesh_destroy(mesh);
}

/* A comb: fingers of two by LENGTH quads, closer to each other than a cell of a cage, on a common
 * base. In the pose every second finger is rolled up. */
static sinew_mesh *comb(double **pose) {
    enum { FINGERS = 5, COLUMNS = 4 * FINGERS - 1, LENGTH = 40, BASE = 3, ROWS = LENGTH + BASE };
    double *positions = malloc(sizeof(double) * 3 * (COLUMNS + 1) * (ROWS + 1));
    int *triangles = malloc(sizeof(int) * 6 * COLUMNS * ROWS), count = 0, used = 0;
    int *number = malloc(sizeof(int) * (COLUMNS + 1) * (ROWS + 1));
    *pose = malloc(sizeof(double) * 3 * (COLUMNS + 1) * (ROWS + 1));
    for (int i = 0; i <= COLUMNS; i++)
        for (int j = 0; j <= ROWS; j++) {
            bool gap = i % 4 == 3 && j > BASE; /* no finger has this column of vertices */
            number[i * (ROWS + 1) + j] = gap ? -1 : used;
            if (gap) continue;
            double x = 0.008 * i, y = 0.025 * j, base = 0.025 * BASE;
            sn_put(positions, used, sn_v3(x, y, 0));
            double along = i / 4 % 2 == 1 && y > base ? y - base : 0, bend = 3.0 * along;
            sn_put(*pose, used, sn_v3(x, y - along + sin(bend) / 3, (1 - cos(bend)) / 3));
            used++;
        }
    for (int i = 0; i < COLUMNS; i++)
        for (int j = 0; j < ROWS; j++) {
            int a = number[i * (ROWS + 1) + j], b = number[(i + 1) * (ROWS + 1) + j];
            int c = number[(i + 1) * (ROWS + 1) + j + 1], d = number[i * (ROWS + 1) + j + 1];
            if (a < 0 || b < 0 || c < 0 || d < 0) continue;
            int quad[6] = {a, b, c, a, c, d};
            memcpy(triangles + 6 * count++, quad, sizeof quad);
        }
    sinew_mesh *mesh;
    sinew_error error;
    assert_ok(sinew_mesh_create(used, positions, 2 * count, NULL, triangles, &mesh, &error));
    free(positions), free(triangles), free(number);
    return mesh;
}

/* The open comb used to get a cage, in whose cells neighboring fingers hang together. */
static void no_key_is_torn_by_the_choice_of_a_body(void **state) {
    (void)state;
    double *pose;
    sinew_mesh *mesh = comb(&pose);
    sinew_modal_options options;
    sinew_modal_options_init(&options);
    options.modes = 8;
    sinew_modal_info info = {.size = sizeof info};
    double blind = two_keys(mesh, pose, options, &info);
    assert_int_equal(info.body, SINEW_MODAL_BODY_CAGE);
    const double *poses[1] = {pose};
    options.pose_count = 1, options.poses = poses;
    double chosen = two_keys(mesh, pose, options, &info);
    print_message("comb: %.2f%% with a cage; %s\n", 100 * blind, info.choice);
    assert_below(chosen, 0.02);
    assert_below(0.1, blind);
    assert_true(strstr(info.choice, "; a cage of 50 cells: ") != NULL); /* why not that one */
    free(pose);
    sinew_mesh_destroy(mesh);
}

enum { N = 24, SIDE = N + 1 };

/* A bar and a plate beside it, one mesh of two parts; the pose bends both together. */
static sinew_mesh *bar_and_plate(double *positions, double *pose) {
    int triangles[2 * 2 * 2 * 3 * N], count = 0;
    for (int part = 0; part < 2; part++)
        for (int i = 0; i <= N; i++)
            for (int j = 0; j < 3; j++) {
                int at = (part * SIDE + i) * 3 + j;
                double x = (part ? 0.3 : 0.0) + (part ? 0.4 : 1.0) * i / N, y = 0.1 * j,
                       z = 0.015 * part, angle = 2.5 * x, radius = 0.4 - z;
                sn_put(positions, at, sn_v3(x, y, z));
                sn_put(pose, at, sn_v3(radius * sin(angle), y, 0.4 - radius * cos(angle)));
                if (i == N || j == 2) continue;
                int quad[6] = {at, at + 3, at + 4, at, at + 4, at + 1};
                memcpy(triangles + 6 * count++, quad, sizeof quad);
            }
    sinew_mesh *mesh;
    sinew_error error;
    assert_ok(sinew_mesh_create(6 * SIDE, positions, 2 * count, NULL, triangles, &mesh, &error));
    return mesh;
}

/* The plate stays beside the bar, and linked parts have one set of rigid motions. */
static void parts_that_stay_close_are_linked(void **state) {
    (void)state;
    double positions[2 * 3 * 3 * SIDE], pose[2 * 3 * 3 * SIDE];
    sinew_mesh *mesh = bar_and_plate(positions, pose);
    sinew_error error;
    const double *poses[1] = {pose};
    const sinew_modal_body bodies[] = {SINEW_MODAL_BODY_SHELL, SINEW_MODAL_BODY_CAGE};
    for (int b = 0; b < 2; b++) {
        double drift[2];
        for (int linked = 0; linked < 2; linked++) {
            sinew_modal_options options;
            sinew_modal_options_init(&options);
            options.modes = 6, options.body = bodies[b], options.cells = 40;
            options.pose_count = linked, options.poses = poses;
            sinew_modal *modal;
            sinew_modal_motion *motion;
            sinew_modal_state *frame_state;
            assert_ok(sinew_modal_create(mesh, &options, NULL, &modal, &error));
            sinew_modal_info info = info_of(sinew_modal, modal);
            assert_int_equal(info.components, linked ? 1 : 2);
            assert_int_equal(info.links > 0, linked);
            assert_below(info.residual, 1e-6);
            const double times[2] = {0, 1}, still = 0;
            const double *ends[2] = {positions, pose};
            sinew_modal_keys keys = {
                .size = sizeof keys, .count = 2, .times = times, .positions = ends};
            sinew_modal_parameters parameters;
            sinew_modal_parameters_init(&parameters);
            parameters.count = 1, parameters.amplitude = &still;
            assert_ok(sinew_modal_motion_create(modal, &keys, &parameters, NULL, &motion, &error));
            assert_ok(sinew_modal_state_create(modal, &frame_state, &error));
            double frame[6 * 3 * SIDE];
            sinew_modal_frame(motion, frame_state, 0.5, frame);
            /* Over the middle of the bar, its vertex nearest to the plate's. */
            drift[linked] = 0;
            for (int i = 0; i <= N; i++)
                for (int k = 0; k <= N; k++) {
                    int plate = 3 * (SIDE + i) + 1, bar = 3 * k + 1;
                    double before = sn_distance(sn_at(positions, plate), sn_at(positions, bar));
                    double after = sn_distance(sn_at(frame, plate), sn_at(frame, bar));
                    if (before < 0.02) drift[linked] = fmax(drift[linked], fabs(after - before));
                }
            sinew_modal_frame(motion, frame_state, 1, frame);
            for (int i = 0; i < 6 * SIDE; i++)
                assert_below(sn_distance(sn_at(frame, i), sn_at(pose, i)), 1e-6);
            sinew_modal_state_destroy(frame_state);
            sinew_modal_motion_destroy(motion);
            sinew_modal_destroy(modal);
        }
        print_message("drift %.4f apart, %.4f linked\n", drift[0], drift[1]);
        assert_below(drift[1], 0.004);
        assert_below(2 * drift[1], drift[0]);
    }
    sinew_mesh_destroy(mesh);
}

/* A strip of two pieces with their own copies of the vertices on the cut, bent: copies stay
 * together as a shell, may be pinned together, and keys are met. */
static void pieces_of_a_cut_shell_stay_together(void **state) {
    (void)state;
    enum { STATIONS = 12, COUNT = 2 * (STATIONS + 1) };
    double rest[3 * COUNT], pose[3 * COUNT];
    int triangles[6 * STATIONS], count = 0, station = 0;
    for (int i = 0; i <= STATIONS; i++, station += i != STATIONS / 2 + 1)
        for (int j = 0; j < 2; j++) { /* station 6 is there twice */
            double angle = 0.2 * station;
            sn_put(rest, 2 * i + j, sn_v3(0.1 * station, 0, 0.1 * j));
            sn_put(pose, 2 * i + j, sn_v3(0.5 * sin(angle), 0.5 * (1 - cos(angle)), 0.1 * j));
        }
    const int cut = STATIONS / 2;
    for (int i = 0; i < STATIONS; i++) {
        int a = 2 * i;
        const int two[6] = {a, a + 1, a + 2, a + 1, a + 3, a + 2};
        if (i == cut) continue;
        memcpy(triangles + 3 * count, two, sizeof two), count += 2;
    }
    assert_memory_equal(rest + 6 * cut, rest + 6 * (cut + 1), 6 * sizeof(double));
    sinew_mesh *mesh;
    sinew_error error;
    assert_ok(sinew_mesh_create(COUNT, rest, count, NULL, triangles, &mesh, &error));
    const double *poses[1] = {pose}, *ends[2] = {rest, pose}, times[2] = {0, 1}, still = 0;
    sinew_modal_options options;
    sinew_modal_options_init(&options);
    options.modes = 4, options.body = SINEW_MODAL_BODY_SHELL;
    options.pose_count = 1, options.poses = poses;
    sinew_modal *modal;
    sinew_modal_motion *motion;
    sinew_modal_state *own;
    sinew_modal_pins *pins;
    assert_ok(sinew_modal_create(mesh, &options, NULL, &modal, &error));
    sinew_modal_info info = info_of(sinew_modal, modal);
    assert_int_equal(info.components, 1);
    assert_int_equal(info.links, 0);
    sinew_modal_keys keys = {.size = sizeof keys, .count = 2, .times = times, .positions = ends};
    sinew_modal_parameters parameters;
    sinew_modal_parameters_init(&parameters);
    parameters.count = 1, parameters.amplitude = &still;
    assert_ok(sinew_modal_motion_create(modal, &keys, &parameters, NULL, &motion, &error));
    assert_ok(sinew_modal_state_create(modal, &own, &error));
    const int pinned[4] = {0, 1, 2 * cut, 2 * (cut + 1)};
    const double targets[12] = {0, 0, 0, 0, 0, 0.1, 0.5, 0.4, 0, 0.5, 0.4, 0};
    assert_ok(sinew_modal_pins_create(modal, 4, pinned, NULL, &pins, &error));
    for (int k = 0; k < 3; k++) {
        double frame[3 * COUNT];
        sinew_modal_constraints constraints = {.size = sizeof constraints};
        if (k == 2) constraints.pins = pins, constraints.targets = targets;
        assert_ok(sinew_modal_frame_constrained(motion, own, &constraints, k == 1 ? 1 : 0.5, frame,
                                                &error));
        for (int j = 0; j < 2; j++)
            assert_below(sn_distance(sn_at(frame, 2 * cut + j), sn_at(frame, 2 * (cut + 1) + j)),
                         k == 1 ? 1e-9 : 1e-15);
        for (int v = 0; k == 1 && v < COUNT; v++)
            assert_below(sn_distance(sn_at(frame, v), sn_at(pose, v)), 1e-6);
        for (int v = 0; k == 2 && v < 4; v++)
            assert_below(sn_distance(sn_at(frame, pinned[v]), sn_at(targets, v)), 1e-9);
    }
    sinew_modal_pins_destroy(pins);
    sinew_modal_state_destroy(own);
    sinew_modal_motion_destroy(motion);
    sinew_modal_destroy(modal);
    sinew_mesh_destroy(mesh);
}

/* Linked parts in single precision follow those in double precision, and come back from the cache
 * with the same bits. */
static void linked_parts_are_fast_and_cached(void **state) {
    (void)state;
    double positions[2 * 3 * 3 * SIDE], pose[2 * 3 * 3 * SIDE], frames[3][2 * 3 * 3 * SIDE];
    sinew_mesh *mesh = bar_and_plate(positions, pose);
    sinew_error error;
    sinew_cache *cache;
    char folder[4096];
    snprintf(folder, sizeof folder, "%s/links", test_folder());
    assert_ok(sinew_cache_open(folder, 0, &cache, &error));
    const double *poses[1] = {pose}, *ends[2] = {positions, pose};
    const double times[2] = {0, 1};
    const sinew_modal_body bodies[] = {SINEW_MODAL_BODY_SHELL, SINEW_MODAL_BODY_CAGE};
    for (int b = 0; b < 2; b++) {
        sinew_modal *modal[3];
        sinew_modal_motion *motion[3];
        sinew_modal_state *states[3];
        for (int k = 0; k < 3; k++) { /* exact; fast; fast and from the cache */
            sinew_modal_options options;
            sinew_modal_options_init(&options);
            options.modes = 6, options.body = bodies[b], options.cells = 40;
            options.pose_count = 1, options.poses = poses;
            options.fast = k > 0, options.cache = k > 0 ? cache : NULL;
            assert_ok(sinew_modal_create(mesh, &options, NULL, &modal[k], &error));
            assert_true(info_of(sinew_modal, modal[k]).links > 0);
            sinew_modal_keys keys = {
                .size = sizeof keys, .count = 2, .times = times, .positions = ends};
            assert_ok(sinew_modal_motion_create(modal[k], &keys, NULL, NULL, &motion[k], &error));
            assert_ok(sinew_modal_state_create(modal[k], &states[k], &error));
        }
        assert_true(info_of(sinew_modal, modal[2]).from_cache);
        for (int f = 0; f <= 4; f++) {
            for (int k = 0; k < 3; k++) sinew_modal_frame(motion[k], states[k], 0.3 * f, frames[k]);
            for (int i = 0; i < 6 * SIDE; i++)
                assert_below(sn_distance(sn_at(frames[0], i), sn_at(frames[1], i)), 1e-4);
            assert_memory_equal(frames[1], frames[2], sizeof frames[1]);
        }
        for (int k = 0; k < 3; k++) {
            sinew_modal_state_destroy(states[k]);
            sinew_modal_motion_destroy(motion[k]);
            sinew_modal_destroy(modal[k]);
        }
    }
    sinew_cache_close(cache);
    sinew_mesh_destroy(mesh);
}

/* A rig's own targets as the basis: a pose in their span is captured. */
static void given_basis_expresses_its_own_poses(void **state) {
    (void)state;
    sinew_error error;
    sinew_rig *rig = sample_bar();
    size_t wide = 3 * (size_t)rig->neutral->vertex_count;
    double *fields = malloc(sizeof(double) * 3 * wide), *pose = malloc(sizeof(double) * wide);
    uint64_t seed = 3;
    for (size_t i = 0; i < wide; i++) {
        sn_vec3 p = sn_at(rig->neutral->positions, (int)(i / 3));
        fields[i] = i % 3 == 1 ? p.x * p.x : 0; /* bending, twisting, noise */
        fields[wide + i] = i % 3 == 1 ? -p.x * p.z : i % 3 == 2 ? p.x * p.y : 0;
        fields[2 * wide + i] = test_random(&seed);
        pose[i] = rig->neutral->positions[i] + 0.02 * fields[i] - 0.05 * fields[wide + i];
    }
    sinew_modal_options options;
    sinew_modal_options_init(&options);
    options.body = SINEW_MODAL_BODY_SHELL;
    options.basis = fields, options.basis_count = 3;
    sinew_modal *modal;
    sinew_modal_motion *motion;
    assert_ok(sinew_modal_create(rig->neutral, &options, NULL, &modal, &error));
    const double times[2] = {0, 1}, *poses[2] = {rig->neutral->positions, pose};
    sinew_modal_keys keys = {.size = sizeof keys, .count = 2, .times = times, .positions = poses};
    assert_ok(sinew_modal_motion_create(modal, &keys, NULL, NULL, &motion, &error));
    assert_true(info_of(sinew_modal_motion, motion).captured[1] > 0.99);
    sinew_modal_motion_destroy(motion);
    sinew_modal_destroy(modal);
    free(fields), free(pose);
    sinew_rig_destroy(rig);
}

/* The same tets three ways: with the mesh's vertices first, all vertices the mesh's own, and in an
 * order of their own, so that the mesh is carried. Keys are met. */
static void given_tets_are_the_body(void **state) {
    (void)state;
    sinew_error error;
    sinew_rig *rig = sample_bar();
    const sinew_mesh *mesh = rig->neutral;
    double *pose = target_pose(rig, 0);
    sinew_tets *tets;
    assert_ok(sinew_tets_from_surface(mesh, NULL, NULL, &tets, &error));
    assert_true(tets->vertex_count > mesh->vertex_count);
    sinew_modal_options options;
    sinew_modal_options_init(&options);
    options.modes = 20, options.tets = tets;
    sinew_modal_info info = {.size = sizeof info};
    assert_below(two_keys(mesh, pose, options, &info), 0.02);
    assert_int_equal(info.elements, tets->tet_count);
    assert_int_equal(info.vertex_count, mesh->vertex_count);
    int n = tets->vertex_count; /* reversed */
    for (int i = 0; i < n / 2; i++)
        for (int axis = 0; axis < 3; axis++) {
            double kept = tets->positions[3 * i + axis];
            tets->positions[3 * i + axis] = tets->positions[3 * (n - 1 - i) + axis];
            tets->positions[3 * (n - 1 - i) + axis] = kept;
        }
    for (int k = 0; k < 4 * tets->tet_count; k++) tets->tets[k] = n - 1 - tets->tets[k];
    assert_below(two_keys(mesh, pose, options, &info), 0.02);
    assert_int_equal(info.elements, tets->tet_count);
    tets->tets[0] = tets->tets[1];
    sinew_modal *modal;
    assert_int_equal(sinew_modal_create(mesh, &options, NULL, &modal, &error), SINEW_BAD_INPUT);
    sinew_tets_destroy(tets);
    free(pose);
    sinew_rig_destroy(rig);
}

static void tets_and_modes_come_from_the_cache(void **state) {
    (void)state;
    sinew_error error;
    sinew_rig *rig = sample_bar();
    sinew_cache *cache;
    assert_ok(sinew_cache_open(test_folder(), 0, &cache, &error));
    sinew_modal *modal[2];
    sinew_modal_options options;
    sinew_modal_options_init(&options);
    options.modes = 5, options.cache = cache;
    double *shape[2];
    for (int k = 0; k < 2; k++) {
        assert_ok(sinew_modal_create(rig->neutral, &options, NULL, &modal[k], &error));
        shape[k] = malloc(sizeof(double) * 3 * (size_t)rig->neutral->vertex_count);
        assert_ok(sinew_modal_shape(modal[k], 0, 0.1, shape[k], &error));
    }
    sinew_modal_info first = info_of(sinew_modal, modal[0]),
                     second = info_of(sinew_modal, modal[1]);
    assert_false(first.from_cache);
    assert_true(second.from_cache);
    assert_int_equal(first.elements, second.elements);
    assert_memory_equal(shape[0], shape[1],
                        sizeof(double) * 3 * (size_t)rig->neutral->vertex_count);
    for (int k = 0; k < 2; k++) free(shape[k]), sinew_modal_destroy(modal[k]);
    sinew_cache_close(cache);
    sinew_rig_destroy(rig);
}

static void real_hand_closes_to_a_fist(void **state) {
    (void)state;
    sinew_error error;
    const char *open = test_data("free/aframe-hand/open.obj");
    skip_without_data(open);
    sinew_mesh *hand, *fist;
    assert_ok(sinew_mesh_read(open, &hand, &error));
    assert_ok(sinew_mesh_read(test_data("free/aframe-hand/fist.obj"), &fist, &error));
    sinew_modal_options options;
    sinew_modal_options_init(&options);
    options.modes = 40;
    sinew_modal_info info = {.size = sizeof info};
    double mean = two_keys(hand, fist->positions, options, &info);
    print_message("hand: body %d, %d tets, distortion %.2f%%\n", info.body, info.elements,
                  100 * mean);
    assert_below(mean, 0.02);
    sinew_mesh_destroy(hand), sinew_mesh_destroy(fist);
}

int test_meshes(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(closed_cage_and_shell_bodies_meet_their_keys),
        cmocka_unit_test(pins_hold_vertices_of_a_cage),
        cmocka_unit_test(inner_keys_of_a_cage_are_passed),
        cmocka_unit_test(an_inner_key_on_the_path_changes_nothing),
        cmocka_unit_test(open_meshes_get_a_cage_and_the_reason),
        cmocka_unit_test(no_key_is_torn_by_the_choice_of_a_body),
        cmocka_unit_test(parts_that_stay_close_are_linked),
        cmocka_unit_test(pieces_of_a_cut_shell_stay_together),
        cmocka_unit_test(linked_parts_are_fast_and_cached),
        cmocka_unit_test(given_basis_expresses_its_own_poses),
        cmocka_unit_test(given_tets_are_the_body),
        cmocka_unit_test(tets_and_modes_come_from_the_cache),
        cmocka_unit_test(real_hand_closes_to_a_fist),
    };
    return cmocka_run_group_tests_name("any mesh in", tests, NULL, NULL);
}
