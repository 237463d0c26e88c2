/* Vertices that coincide in all poses: a surface cut into parts behaves as one that was not cut. */
#include "support.h"

#include "base/vec3.h"
#include "groups.h"
#include "rig/seams.h"
#include "sinew/rotation.h"

enum { ALONG = 24, AROUND = 10, N = ALONG * AROUND };

/* A tube along x, bent by `angle` over its length, of stations first to last (included). */
static void place_tube(double angle, double *positions) {
    for (int i = 0; i < ALONG; i++)
        for (int j = 0; j < AROUND; j++) {
            double s = (double)i / (ALONG - 1), turn = angle * s;
            double a = 2 * M_PI * (j + 0.3 * sin(1.7 * i)) / AROUND, radius = 0.5;
            double along = angle != 0 ? 8 * sin(turn) / angle : 8 * s;
            double up = angle != 0 ? 8 * (1 - cos(turn)) / angle : 0;
            sn_put(positions, AROUND * i + j,
                   sn_v3(along - sin(turn) * radius * cos(a), up + cos(turn) * radius * cos(a),
                         radius * sin(a)));
        }
}

/* The tube whole, or cut into parts of `length` stations with their own copies of the vertices on
 * the cuts; original[v]: the vertex of the whole tube. */
static sinew_rig *make_rig(int length, double open, int *original, int *count) {
    sinew_error error;
    static double rest[3 * N], pose[3 * N], own_rest[6 * N], own_pose[6 * N];
    static int triangles[6 * N];
    int triangle_count = 0, first = 0;
    place_tube(0, rest), place_tube(2.5, pose);
    *count = 0;
    for (int from = 0; from + 1 < ALONG; from += length) {
        int to = from + length < ALONG - 1 ? from + length : ALONG - 1;
        first = *count;
        for (int v = AROUND * from; v < AROUND * (to + 1); v++) {
            sn_put(own_rest, *count, sn_at(rest, v));
            sn_vec3 p = sn_at(pose, v);
            p.z += from > 0 ? open : 0;
            sn_put(own_pose, *count, p);
            original[(*count)++] = v;
        }
        for (int i = 0; i < to - from; i++)
            for (int j = 0; j < AROUND; j++) {
                int a = first + AROUND * i + j, b = first + AROUND * i + (j + 1) % AROUND;
                const int two[6] = {a, b, a + AROUND, b, b + AROUND, a + AROUND};
                memcpy(triangles + 3 * triangle_count, two, sizeof two);
                triangle_count += 2;
            }
    }
    sinew_mesh *mesh;
    sinew_rig *rig;
    assert_ok(sinew_mesh_create(*count, own_rest, triangle_count, NULL, triangles, &mesh, &error));
    assert_ok(sinew_rig_create(mesh, &rig, &error));
    assert_ok(sinew_rig_add_pose(rig, "bend", own_pose, &error));
    return rig;
}

/* Every vertex and every pose its own error, up to `size`. */
static sinew_rig *make_rounded(int length, double size, int *original, int *count) {
    sinew_error error;
    sinew_rig *cut = make_rig(length, 0, original, count), *rig;
    sinew_mesh *mesh;
    static double pose[6 * N];
    assert_ok(sinew_mesh_copy(cut->neutral, &mesh, &error));
    memcpy(pose, mesh->positions, 3 * (size_t)*count * sizeof *pose);
    for (int k = 0; k < 3 * cut->targets[0].count; k++)
        pose[3 * cut->targets[0].vertices[k / 3] + k % 3] += cut->targets[0].deltas[k];
    for (int k = 0; k < 3 * *count; k++)
        mesh->positions[k] += size * sin(12.9 * k), pose[k] += size * sin(78.2 * k + 1);
    assert_ok(sinew_rig_create(mesh, &rig, &error));
    assert_ok(sinew_rig_add_pose(rig, "bend", pose, &error));
    sinew_rig_destroy(cut);
    return rig;
}

static void blend(const sinew_rig *rig, double weight, double *positions) {
    sinew_error error;
    sinew_rotation *rotation;
    sinew_rotation_state *state;
    assert_ok(sinew_rotation_create(rig, NULL, NULL, &rotation, &error));
    assert_ok(sinew_rotation_state_create(rotation, &state, &error));
    sinew_rotation_evaluate(rotation, state, &weight, positions);
    sinew_rotation_state_destroy(state);
    sinew_rotation_destroy(rotation);
}

static void a_tube_in_pieces_bends_as_the_whole_one(void **state) {
    (void)state;
    static int whole_of[2 * N], of[2 * N];
    static double expected[3 * N], positions[6 * N];
    int n, count;
    sinew_rig *whole = make_rig(ALONG, 0, whole_of, &n), *cut = make_rig(5, 0, of, &count);
    assert_int_equal(n, N);
    assert_true(count > N + 3 * AROUND);
    const double weights[] = {0.25, 0.5, 1, 1.3};
    for (int k = 0; k < 4; k++) {
        blend(whole, weights[k], expected);
        blend(cut, weights[k], positions);
        for (int v = 0; v < count; v++)
            assert_below(sn_distance(sn_at(positions, v), sn_at(expected, of[v])), 1e-9);
        for (int v = 0; v < count; v++)
            for (int u = 0; u < v; u++)
                if (of[u] == of[v])
                    assert_memory_equal(positions + 3 * u, positions + 3 * v, 3 * sizeof(double));
    }
    sinew_rig_destroy(whole), sinew_rig_destroy(cut);
}

static void copies_that_differ_by_rounding_are_joined_and_poses_met(void **state) {
    (void)state;
    static int whole_of[2 * N], of[2 * N];
    static double expected[3 * N], positions[6 * N], linear[6 * N];
    sinew_error error;
    int n, count;
    sinew_rig *whole = make_rounded(ALONG, 1e-6, whole_of, &n);
    sinew_rig *cut = make_rounded(5, 1e-6, of, &count); /* the tube is 8 long */
    sn_seams *seams;
    assert_ok(sn_seams_create_rig(cut, &seams, &error));
    assert_non_null(seams);
    assert_int_equal(seams->count, count - N);
    sn_seams_destroy(seams);
    blend(whole, 0.5, expected);
    blend(cut, 0.5, positions);
    for (int v = 0; v < count; v++)
        assert_below(sn_distance(sn_at(positions, v), sn_at(expected, of[v])), 2e-5);
    for (int v = 0; v < count; v++)
        for (int u = 0; u < v; u++)
            if (of[u] == of[v])
                assert_below(sn_distance(sn_at(positions, u), sn_at(positions, v)), 4e-6);
    for (int end = 0; end < 2; end++) {
        blend(cut, end, positions);
        sinew_linear *straight;
        const double weight = end;
        assert_ok(sinew_linear_create(cut, &straight, &error));
        sinew_linear_evaluate(straight, &weight, linear);
        sinew_linear_destroy(straight);
        for (int k = 0; k < 3 * count; k++) /* single precision */
            assert_below(fabs(positions[k] - linear[k]), 4e-7);
    }
    sinew_rig_destroy(cut);
    /* more than rounding */
    cut = make_rounded(5, 1e-4, of, &count);
    assert_ok(sn_seams_create_rig(cut, &seams, &error));
    assert_true(!seams || seams->count < (count - N) / 10);
    sn_seams_destroy(seams);
    sinew_rig_destroy(cut), sinew_rig_destroy(whole);
}

/* Copies that a pose moves apart are vertices like others. */
static void parts_that_a_pose_moves_apart_are_not_joined(void **state) {
    (void)state;
    sinew_error error;
    static int of[2 * N];
    int count;
    sn_seams *seams;
    sinew_rig *cut = make_rig(5, 0.5, of, &count);
    assert_ok(sn_seams_create_rig(cut, &seams, &error));
    assert_non_null(seams); /* the later parts, which move together */
    for (int v = 0; v < count; v++)
        if (of[v] < 5 * AROUND || v < 6 * AROUND) assert_int_equal(sn_seams_root(seams, v), v);
    sn_seams_destroy(seams);
    sinew_rig_destroy(cut);
    sinew_rig *whole = make_rig(ALONG, 0, of, &count);
    assert_ok(sn_seams_create_rig(whole, &seams, &error));
    assert_null(seams);
    assert_int_equal(sn_seams_root(NULL, 7), 7);
    sinew_rig_destroy(whole);
}

/* Two corners of a triangle at one point, in all poses. */
static void triangles_between_copies_are_left_out(void **state) {
    (void)state;
    sinew_error error;
    const double rest[] = {0, 0, 0, 1, 0, 0, -0.0, 1, 0, 0, 1, 0, 1, 1, 0};
    const int triangles[] = {0, 1, 2, 2, 1, 3, 3, 1, 4};
    double pose[15];
    for (int k = 0; k < 15; k++) pose[k] = 2 * rest[k];
    sinew_mesh *mesh;
    sinew_rig *rig;
    sn_seams *seams;
    assert_ok(sinew_mesh_create(5, rest, 3, NULL, triangles, &mesh, &error));
    assert_ok(sinew_rig_create(mesh, &rig, &error));
    assert_ok(sinew_rig_add_pose(rig, "grow", pose, &error));
    assert_ok(sn_seams_create_rig(rig, &seams, &error));
    assert_int_equal(seams->count, 1);
    assert_int_equal(seams->copies[0], 3);
    assert_int_equal(seams->mesh.triangle_count, 2);
    const int expected[] = {0, 1, 2, 2, 1, 4};
    assert_memory_equal(seams->mesh.triangles, expected, sizeof expected);
    assert_int_equal(seams->mesh.triangle_face[1], 2);
    double positions[15];
    blend(rig, 0.5, positions);
    for (int k = 0; k < 15; k++) assert_below(fabs(positions[k] - 1.5 * rest[k]), 1e-12);
    sn_seams_destroy(seams);
    sinew_rig_destroy(rig);
}

static sinew_status find_seams(void *user) {
    sn_seams *seams = NULL;
    sinew_status status = sn_seams_create_rig(user, &seams, NULL);
    sn_seams_destroy(seams);
    return status;
}

static void seams_report_that_memory_ran_out(void **state) {
    (void)state;
    static int of[2 * N];
    int count;
    sinew_rig *cut = make_rig(5, 0, of, &count);
    assert_true(test_out_of_memory(find_seams, cut) >= 7);
    sinew_rig_destroy(cut);
}

/* Steps of 0.6 of the tolerance, laid so that a gap along one axis opens only when the vertex
 * before has been cut off along another: cut by cut, one vertex leaves the rest, and n vertices
 * would take n sorts and n calls inside each other. */
static void stairs_of_close_vertices_cost_a_few_sorts(void **state) {
    (void)state;
    sinew_error error;
    enum { STEPS = 60000, ALL = STEPS + 2 };
    double *rest = malloc(3 * sizeof *rest * ALL), far = 1000;
    int *triangles = malloc(3 * sizeof *triangles * STEPS);
    double step = 0.6e-6 * far * sqrt(3);
    for (int i = 0; i < STEPS; i++)
        for (int axis = 0; axis < 3; axis++) {
            int along = (i - axis + 3) / 3 - 1, rank = (i - axis + 3) % 3;
            rest[3 * i + axis] = step * (rank == 0 ? 2 * along - 1 : 2 * (along + 1));
        }
    for (int k = 0; k < 6; k++) rest[3 * STEPS + k] = far;
    for (int i = 0; i < STEPS; i++)
        for (int c = 0; c < 3; c++) triangles[3 * i + c] = i + c;
    sinew_mesh *mesh;
    sinew_rig *rig;
    sn_seams *seams;
    assert_ok(sinew_mesh_create(ALL, rest, STEPS, NULL, triangles, &mesh, &error));
    assert_ok(sinew_rig_create(mesh, &rig, &error));
    assert_ok(sn_seams_create_rig(rig, &seams, &error));
    assert_non_null(seams);
    assert_int_equal(sn_seams_root(seams, ALL - 1), ALL - 2); /* two at one place, far away */
    for (int i = 0; i < seams->count; i++) {
        int v = seams->copies[i], root = sn_seams_root(seams, v);
        assert_true(root < v);
        assert_true(sn_length(sn_sub(sn_at(rest, v), sn_at(rest, root))) < 4 * step);
    }
    sn_seams_destroy(seams);
    sinew_rig_destroy(rig);
    free(rest), free(triangles);
}

int test_seams(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tube_in_pieces_bends_as_the_whole_one),
        cmocka_unit_test(copies_that_differ_by_rounding_are_joined_and_poses_met),
        cmocka_unit_test(parts_that_a_pose_moves_apart_are_not_joined),
        cmocka_unit_test(triangles_between_copies_are_left_out),
        cmocka_unit_test(seams_report_that_memory_ran_out),
        cmocka_unit_test(stairs_of_close_vertices_cost_a_few_sorts),
    };
    return cmocka_run_group_tests_name("seams", tests, NULL, NULL);
}
