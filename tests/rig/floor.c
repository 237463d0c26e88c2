/* Poses stand on a floor, and nothing passes below it in between. */
#include "support.h"

#include "base/vec3.h"
#include "groups.h"
#include "rig/floor.h"
#include "sinew/memory.h"
#include "sinew/rotation.h"

enum { ALONG = 40, AROUND = 8, N = ALONG * AROUND, POST = 16, STEPS = 64 };
static const double RADIUS = 0.12;

/* A square pipe: a post from the floor up to y = 1.2, and an arm from its top that points `angle`
 * above the horizon. At both -34 and -146 degrees its end is above the floor, between them, at
 * -90, below it. All of it is lifted by `lift`. */
static void place(double angle, double lift, int axis, double *positions) {
    for (int i = 0; i < ALONG; i++)
        for (int j = 0; j < AROUND; j++) {
            double around = 2 * M_PI * j / AROUND, s;
            sn_vec3 center, across;
            if (i < POST) {
                s = 1.2 * i / (POST - 1);
                center = sn_v3(0, s, 0), across = sn_v3(1, 0, 0);
            } else {
                s = 1.6 * (i - POST + 1) / (ALONG - POST);
                center = sn_v3(s * cos(angle), 1.2 + s * sin(angle), 0);
                across = sn_v3(-sin(angle), cos(angle), 0);
            }
            sn_vec3 p = sn_add_scaled(center, RADIUS * cos(around), across);
            p.z += RADIUS * sin(around), p.y += lift;
            sn_put(positions, AROUND * i + j, axis == 1 ? p : sn_v3(p.z, p.x, p.y));
        }
}

/* Rings from `cut` on are a part of their own. */
static sinew_rig *make_cut(int axis, double rest_lift, double pose_lift, int cut) {
    sinew_error error;
    static double rest[3 * N], pose[3 * N];
    static int triangles[6 * N];
    int count = 0;
    place(-0.6, rest_lift, axis, rest), place(-M_PI + 0.6, pose_lift, axis, pose);
    for (int i = 0; i + 1 < ALONG; i++)
        for (int j = 0; j < AROUND && i + 1 != cut; j++) {
            int a = AROUND * i + j, b = AROUND * i + (j + 1) % AROUND;
            const int two[6] = {a, b, a + AROUND, b, b + AROUND, a + AROUND};
            memcpy(triangles + 3 * count, two, sizeof two);
            count += 2;
        }
    sinew_mesh *mesh;
    sinew_rig *rig;
    assert_ok(sinew_mesh_create(N, rest, count, NULL, triangles, &mesh, &error));
    assert_ok(sinew_rig_create(mesh, &rig, &error));
    assert_ok(sinew_rig_add_pose(rig, "swing", pose, &error));
    return rig;
}

static sinew_rig *make_lifted(int axis, double rest_lift, double pose_lift) {
    return make_cut(axis, rest_lift, pose_lift, 0);
}

static sinew_rig *make_rig(int axis) {
    return make_lifted(axis, 0, 0);
}

static double lowest(const double *positions, int axis) {
    double low = INFINITY;
    for (int v = 0; v < N; v++) low = fmin(low, positions[3 * v + axis]);
    return low;
}

/* Along both axes: nothing is below the floor, feet and poses stay as they are, the lift is smooth
 * over the path, and only along the axis. */
static void a_swinging_arm_stays_above_the_floor(void **state) {
    (void)state;
    sinew_error error;
    for (int axis = 1; axis <= 2; axis++) {
        sinew_rig *rig = make_rig(axis);
        int *resting, count, up;
        assert_ok(sinew_find_resting(rig, &resting, &count, &up, &error));
        assert_int_equal(up, axis);
        assert_int_equal(count, AROUND); /* the ring at the bottom of the post */
        sn_floor *floor;
        sn_floor_work *work;
        assert_ok(sn_floor_create(rig, up, count, resting, NULL, &floor, &error));
        assert_ok(sn_floor_work_create(floor, &work, &error));
        sinew_rotation_options options;
        sinew_rotation_options_init(&options);
        options.hold = resting, options.hold_count = count;
        sinew_rotation *rotation;
        sinew_rotation_state *blend;
        assert_ok(sinew_rotation_create(rig, &options, NULL, &rotation, &error));
        assert_ok(sinew_rotation_state_create(rotation, &blend, &error));
        static double before[3 * N], now[3 * N], last[3 * N];
        double deepest = 0, jump = 0, own_jump = 0, last_own[3 * N];
        for (int k = 0; k <= STEPS; k++) {
            double weight = (double)k / STEPS;
            sinew_rotation_evaluate(rotation, blend, &weight, before);
            memcpy(now, before, sizeof now);
            double depth = sn_floor_lift(floor, work, now);
            deepest = fmax(deepest, -lowest(before, axis));
            assert_true(lowest(now, axis) > -1e-6);
            if (k == 0 || k == STEPS) {
                assert_true(depth == 0);
                assert_memory_equal(now, before, sizeof now);
            }
            for (int i = 0; i < count; i++)
                assert_memory_equal(now + 3 * resting[i], before + 3 * resting[i],
                                    3 * sizeof(double));
            for (int v = 0; v < 3 * N; v++) {
                if (v % 3 != axis) assert_true(now[v] == before[v]);
                assert_true(now[v] > before[v] - 1e-6);
                if (k > 0) jump = fmax(jump, fabs(now[v] - last[v]));
                if (k > 0) own_jump = fmax(own_jump, fabs(before[v] - last_own[v]));
            }
            memcpy(last, now, sizeof now), memcpy(last_own, before, sizeof now);
        }
        assert_true(deepest > 0.2); /* it would pass below */
        assert_below(jump, 1.5 * own_jump);
        sinew_rotation_state_destroy(blend), sinew_rotation_destroy(rotation);
        sn_floor_work_destroy(work), sn_floor_destroy(floor);
        sinew_free(resting);
        sinew_rig_destroy(rig);
    }
}

/* Without feet nothing bends: the shape moves as a whole, up to the fading of the field. */
static void what_no_foot_holds_is_lifted_as_a_whole(void **state) {
    (void)state;
    sinew_error error;
    sinew_rig *rig = make_rig(1);
    sn_floor *floor;
    sn_floor_work *work;
    assert_ok(sn_floor_create(rig, 1, 0, NULL, NULL, &floor, &error));
    assert_ok(sn_floor_work_create(floor, &work, &error));
    static double before[3 * N], now[3 * N];
    place(-0.6, -0.4, 1, before);
    memcpy(now, before, sizeof now);
    double depth = sn_floor_lift(floor, work, now);
    double diagonal = sinew_diagonal(N, rig->neutral->positions);
    assert_below(fabs(depth * diagonal - 0.4), 1e-9);
    for (int v = 0; v < N; v++) assert_below(fabs(now[3 * v + 1] - before[3 * v + 1] - 0.4), 0.02);
    sn_floor_work_destroy(work), sn_floor_destroy(floor);
    sinew_rig_destroy(rig);
}

/* The arm hangs down through the floor. Its lower half, which is a part of its own, takes the upper
 * one along, as if they were one. */
static void parts_that_touch_are_lifted_together(void **state) {
    (void)state;
    sinew_error error;
    enum { CUT = 24 };
    static double before[3 * N], now[3 * N];
    place(-M_PI / 2, 0, 1, before);
    double jumps[2];
    for (int k = 0; k < 2; k++) {
        sinew_rig *rig = make_cut(1, 0, 0, k ? CUT : 0);
        sn_floor *floor;
        sn_floor_work *work;
        assert_ok(sn_floor_create(rig, 1, 0, NULL, NULL, &floor, &error));
        assert_ok(sn_floor_work_create(floor, &work, &error));
        memcpy(now, before, sizeof now);
        sn_floor_lift(floor, work, now);
        jumps[k] = 0;
        for (int j = 0; j < AROUND; j++) {
            int above = AROUND * (CUT - 1) + j, below = AROUND * CUT + j;
            double upper = now[3 * above + 1] - before[3 * above + 1];
            double lower = now[3 * below + 1] - before[3 * below + 1];
            assert_true(lower > 0.1);
            jumps[k] = fmax(jumps[k], fabs(lower - upper) / lower);
        }
        sn_floor_work_destroy(work), sn_floor_destroy(floor);
        sinew_rig_destroy(rig);
    }
    assert_below(jumps[0], 0.1);
    assert_below(jumps[1], 0.1);
}

/* K of floor.h, dense: a triangle's edges weigh 2/3 area / length^2, and its corners are held by a
 * third of its area over (10 diagonals)^2. */
static double *dense_laplacian(const sinew_mesh *mesh, double diagonal) {
    double *K = calloc((size_t)N * N, sizeof *K);
    for (int t = 0; t < mesh->triangle_count; t++) {
        const int *v = mesh->triangles + 3 * t;
        sn_vec3 p[3];
        for (int c = 0; c < 3; c++) p[c] = sn_at(mesh->positions, v[c]);
        double area = sn_length(sn_cross(sn_sub(p[1], p[0]), sn_sub(p[2], p[0]))) / 2;
        for (int c = 0; c < 3; c++) {
            int a = v[c], b = v[(c + 1) % 3];
            double length = sn_distance(p[c], p[(c + 1) % 3]);
            double weight = 2 * area / (3 * length * length);
            K[N * a + a] += weight, K[N * b + b] += weight;
            K[N * a + b] -= weight, K[N * b + a] -= weight;
            K[N * a + a] += area / 300 / (diagonal * diagonal);
        }
    }
    return K;
}

/* The field solves the obstacle problem: where it presses it pushes up, elsewhere no force is left,
 * and the floor is the lowest point of the neutral and the pose, whichever is lower. */
static void the_lift_strains_the_surface_least(void **state) {
    (void)state;
    sinew_error error;
    static const double lifts[][2] = {{0, 0}, {0, -0.1}, {-0.2, 0.1}};
    for (int trial = 0; trial < 3; trial++) {
        sinew_rig *rig = make_lifted(1, lifts[trial][0], lifts[trial][1]);
        double height = fmin(lifts[trial][0], lifts[trial][1]);
        int resting[AROUND];
        for (int k = 0; k < AROUND; k++) resting[k] = k;
        sn_floor *floor;
        sn_floor_work *work;
        assert_ok(sn_floor_create(rig, 1, AROUND, resting, NULL, &floor, &error));
        assert_ok(sn_floor_work_create(floor, &work, &error));
        static double before[3 * N], now[3 * N], d[N], force[N];
        place(-1.2 - 0.1 * trial, height, 1, before);
        memcpy(now, before, sizeof now);
        double depth = sn_floor_lift(floor, work, now);
        double diagonal = sinew_diagonal(N, rig->neutral->positions), strongest = 0;
        assert_below(fabs(depth * diagonal - (height - lowest(before, 1))), 1e-12);
        assert_true(depth > 0.05);
        double *K = dense_laplacian(rig->neutral, diagonal);
        for (int v = 0; v < N; v++) d[v] = now[3 * v + 1] - before[3 * v + 1];
        for (int v = 0; v < N; v++) {
            force[v] = 0;
            for (int u = 0; u < N; u++) force[v] += K[N * v + u] * d[u];
            strongest = fmax(strongest, force[v]);
        }
        int pressing = 0;
        for (int v = AROUND; v < N; v++) {
            assert_true(now[3 * v + 1] > height - 1e-8 * diagonal);
            bool touches = now[3 * v + 1] < height + 1e-8 * diagonal;
            if (touches) assert_true(force[v] > -1e-5 * strongest);
            if (!touches) assert_below(fabs(force[v]), 1e-5 * strongest);
            pressing += force[v] > 1e-3 * strongest;
        }
        assert_true(pressing > 0);
        for (int v = 0; v < AROUND; v++) assert_true(d[v] == 0);
        free(K);
        sn_floor_work_destroy(work), sn_floor_destroy(floor);
        sinew_rig_destroy(rig);
    }
}

static sinew_status make_floor(void *user) {
    const int resting[] = {0, 1, 2};
    sn_floor *floor = NULL;
    sn_floor_work *work = NULL;
    sinew_status status = sn_floor_create(user, 1, 3, resting, NULL, &floor, NULL);
    if (status == SINEW_OK) status = sn_floor_work_create(floor, &work, NULL);
    sn_floor_work_destroy(work), sn_floor_destroy(floor);
    return status;
}

static void floors_report_that_memory_ran_out(void **state) {
    (void)state;
    sinew_rig *rig = make_rig(1);
    assert_true(test_out_of_memory(make_floor, rig) > 15);
    sinew_rig_destroy(rig);
}

int test_floor(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_swinging_arm_stays_above_the_floor),
        cmocka_unit_test(what_no_foot_holds_is_lifted_as_a_whole),
        cmocka_unit_test(parts_that_touch_are_lifted_together),
        cmocka_unit_test(the_lift_strains_the_surface_least),
        cmocka_unit_test(floors_report_that_memory_ran_out),
    };
    return cmocka_run_group_tests_name("floor", tests, NULL, NULL);
}
