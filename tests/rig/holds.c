/* Vertices that follow their linear path while the rest bends. */
#include "support.h"

#include "base/rotation.h"
#include "groups.h"
#include "rig/rigid.h"
#include "rig/rotation_store.h"
#include "rigs.h"
#include "sinew/memory.h"
#include "sinew/rotation.h"
#include "sinew/samples.h"

/* The vertices of a rig whose neutral has x below `limit`. */
static int below(const sinew_rig *rig, double limit, int *vertices) {
    int count = 0;
    for (int v = 0; v < rig->neutral->vertex_count; v++)
        if (rig->neutral->positions[3 * v] < limit) vertices[count++] = v;
    return count;
}

/* Linear blend with the first slider at `weight`. */
static void linear(const sinew_rig *rig, double weight, double *positions) {
    memcpy(positions, rig->neutral->positions,
           sizeof(double) * 3 * (size_t)rig->neutral->vertex_count);
    for (int i = 0; i < rig->targets[0].count; i++)
        sn_put(positions, rig->targets[0].vertices[i],
               sn_add_scaled(sn_at(positions, rig->targets[0].vertices[i]), weight,
                             sn_at(rig->targets[0].deltas, i)));
}

static void blend(const sinew_rig *rig, int count, const int *hold, double weight,
                  double *positions) {
    sinew_error error;
    sinew_rotation *rotation;
    sinew_rotation_state *state;
    sinew_rotation_options options;
    sinew_rotation_options_init(&options);
    options.hold_count = count, options.hold = hold;
    double *weights = calloc((size_t)rig->slider_count, sizeof(double));
    weights[0] = weight;
    assert_ok(sinew_rotation_create(rig, &options, NULL, &rotation, &error));
    assert_ok(sinew_rotation_state_create(rotation, &state, &error));
    sinew_rotation_evaluate(rotation, state, weights, positions);
    sinew_rotation_state_destroy(state);
    sinew_rotation_destroy(rotation);
    free(weights);
}

/* The first target alone, with every vertex moved and turned, so that nothing is at rest. */
static sinew_rig *bent_bar(double turn) {
    sinew_error error;
    sinew_rig *bar, *rig;
    sinew_mesh *mesh;
    assert_ok(sinew_sample_rig("bar", NULL, &bar, &error));
    int n = bar->neutral->vertex_count;
    double *pose = malloc(sizeof(double) * 3 * (size_t)n);
    linear(bar, 1, pose);
    sn_mat3 rotation = sn_rotation_exp(sn_v3(0, 0.4 * turn, turn));
    for (int v = 0; v < n; v++)
        sn_put(pose, v, sn_add(sn_mat3_apply(rotation, sn_at(pose, v)), sn_v3(0.2, 0.1, 0.3)));
    assert_ok(sinew_mesh_copy(bar->neutral, &mesh, &error));
    assert_ok(sinew_rig_create(mesh, &rig, &error));
    assert_ok(sinew_rig_add_pose(rig, "pose", pose, &error));
    free(pose);
    sinew_rig_destroy(bar);
    return rig;
}

static void held_vertices_follow_their_linear_path_and_poses_are_met(void **state) {
    (void)state;
    for (int round = 0; round < 2; round++) {
        sinew_rig *rig = bent_bar(round ? 1.5 : 0);
        int n = rig->neutral->vertex_count, *hold = malloc(sizeof(int) * (size_t)n);
        double low = INFINITY, high = -INFINITY;
        for (int v = 0; v < n; v++) {
            low = fmin(low, rig->neutral->positions[3 * v]);
            high = fmax(high, rig->neutral->positions[3 * v]);
        }
        int count = below(rig, low + 0.1 * (high - low), hold);
        assert_true(count > 3 && count < n / 2);
        double *positions = malloc(sizeof(double) * 3 * (size_t)n);
        double *expected = malloc(sizeof(double) * 3 * (size_t)n);
        double size = sinew_diagonal(n, rig->neutral->positions);
        const double tries[] = {0, 0.3, 0.5, 1, 1.4};
        for (int k = 0; k < 5; k++) {
            blend(rig, count, hold, tries[k], positions);
            linear(rig, tries[k], expected);
            for (int i = 0; i < count; i++)
                assert_below(sn_distance(sn_at(positions, hold[i]), sn_at(expected, hold[i])),
                             1e-12 * size);
            for (int v = 0; v < n && (tries[k] == 0 || tries[k] == 1); v++)
                assert_below(sn_distance(sn_at(positions, v), sn_at(expected, v)), 1e-9 * size);
        }
        /* The rest still bends: half-way it is far from the linear blend. */
        blend(rig, count, hold, 0.5, positions);
        linear(rig, 0.5, expected);
        double most = 0;
        for (int v = 0; v < n; v++)
            most = fmax(most, sn_distance(sn_at(positions, v), sn_at(expected, v)));
        assert_true(most > 0.02 * size);
        free(hold), free(positions), free(expected);
        sinew_rig_destroy(rig);
    }
}

/* Vertices on the floor y = 0 stay put; the others lean over. */
static void vertices_on_the_floor_are_found(void **state) {
    (void)state;
    sinew_error error;
    sinew_rig *rig, *bar;
    sinew_mesh *mesh;
    assert_ok(sinew_sample_rig("bar", NULL, &bar, &error));
    int n = bar->neutral->vertex_count, count, axis, on_floor = 0, *vertices;
    double *rest = malloc(sizeof(double) * 3 * (size_t)n), low = INFINITY;
    double *pose = malloc(sizeof(double) * 3 * (size_t)n);
    for (int v = 0; v < n; v++) low = fmin(low, bar->neutral->positions[3 * v]);
    double diagonal = sinew_diagonal(n, bar->neutral->positions);
    for (int v = 0; v < n; v++) { /* the bar stands up: x becomes y */
        sn_vec3 p = sn_at(bar->neutral->positions, v);
        sn_put(rest, v, sn_v3(p.y, p.x - low, p.z));
        sn_put(pose, v, sn_v3(p.y + 0.5 * (p.x - low) * (p.x - low), p.x - low + 0.25, p.z));
        on_floor += p.x - low <= 0.005 * diagonal;
    }
    assert_ok(sinew_mesh_copy(bar->neutral, &mesh, &error));
    memcpy(mesh->positions, rest, sizeof(double) * 3 * (size_t)n);
    assert_ok(sinew_rig_create(mesh, &rig, &error));
    assert_ok(sinew_rig_add_pose(rig, "lean", pose, &error));
    assert_ok(sinew_find_resting(rig, &vertices, &count, &axis, &error));
    assert_int_equal(axis, 1);
    assert_int_equal(count, on_floor);
    for (int k = 0; k < count; k++) assert_below(rest[3 * vertices[k] + 1], 0.005 * diagonal);
    sinew_free(vertices);
    sinew_rig_destroy(rig), sinew_rig_destroy(bar);
    free(rest), free(pose);
}

static void bad_holds_are_named(void **state) {
    (void)state;
    sinew_error error;
    sinew_rig *rig = bent_bar(0);
    sinew_rotation *rotation;
    sinew_rotation_options options;
    sinew_rotation_options_init(&options);
    const int hold[] = {3, 1 << 20};
    options.hold_count = 2, options.hold = hold;
    assert_int_equal(sinew_rotation_create(rig, &options, NULL, &rotation, &error),
                     SINEW_BAD_INPUT);
    assert_non_null(strstr(error.message, "1048576"));
    options.hold = NULL;
    assert_int_equal(sinew_rotation_create(rig, &options, NULL, &rotation, &error), SINEW_MISUSE);
    const int twice[] = {3, 3, 7}; /* held once */
    double *positions = malloc(sizeof(double) * 3 * (size_t)rig->neutral->vertex_count);
    blend(rig, 3, twice, 0.5, positions);
    free(positions);
    sinew_rig_destroy(rig);
}

static sinew_status create_held(void *user) {
    const int hold[] = {0, 1, 2};
    sinew_rotation *rotation = NULL;
    sinew_rotation_options options;
    sinew_rotation_options_init(&options);
    options.hold_count = 3, options.hold = hold;
    sinew_status status = sinew_rotation_create(user, &options, NULL, &rotation, NULL);
    sinew_rotation_destroy(rotation);
    return status;
}

static void holds_report_that_memory_ran_out(void **state) {
    (void)state;
    sinew_rig *rig = bent_bar(0);
    assert_true(test_out_of_memory(create_held, rig) > 40);
    sinew_rig_destroy(rig);
}

/* Two feet side by side, one of which a pose puts 3% lower, and a shelf that is no foot. */
static void each_foot_has_its_own_lowest_point(void **state) {
    (void)state;
    sinew_error error;
    double rest[36], pose[36];
    int triangles[18], count, axis, *vertices;
    for (int part = 0; part < 3; part++) {
        double height = part == 2 ? 0.8 : 0;
        for (int k = 0; k < 4; k++)
            sn_put(rest, 4 * part + k, sn_v3(0.4 * part + 0.1 * (k % 2), height, 0.1 * (k / 2)));
        const int own[6] = {0, 1, 2, 1, 3, 2};
        for (int k = 0; k < 6; k++) triangles[6 * part + k] = 4 * part + own[k];
    }
    double diagonal = sinew_diagonal(12, rest);
    memcpy(pose, rest, sizeof pose);
    for (int v = 4; v < 8; v++) pose[3 * v + 1] -= 0.03 * diagonal;
    sinew_mesh *mesh;
    sinew_rig *rig;
    assert_ok(sinew_mesh_create(12, rest, 6, NULL, triangles, &mesh, &error));
    assert_ok(sinew_rig_create(mesh, &rig, &error));
    assert_ok(sinew_rig_add_pose(rig, "lower", pose, &error));
    assert_ok(sinew_find_resting(rig, &vertices, &count, &axis, &error));
    assert_int_equal(axis, 1);
    assert_int_equal(count, 8);
    for (int k = 0; k < 8; k++) assert_int_equal(vertices[k], k);
    sinew_free(vertices);
    sinew_rig_destroy(rig);
}

/* Between two motions, what is at the center goes straight, and the rotation takes the shortest arc
 * at an even pace. */
static void motions_between_two_carry_their_center_straight(void **state) {
    (void)state;
    sinew_rigid a, b;
    sn_mat3 from = sn_rotation_exp(sn_v3(0.1, 0.2, -0.3)), to = sn_rotation_exp(sn_v3(0, 1.2, 0.4));
    memcpy(a.rotation, &from, sizeof from), memcpy(b.rotation, &to, sizeof to);
    sn_put(a.translation, 0, sn_v3(1, 2, 3)), sn_put(b.translation, 0, sn_v3(-1, 0.5, 2));
    sn_vec3 center = sn_v3(0.3, -0.7, 0.9);
    sn_vec3 p = sn_add(sn_mat3_apply(from, center), sn_v3(1, 2, 3));
    sn_vec3 q = sn_add(sn_mat3_apply(to, center), sn_v3(-1, 0.5, 2));
    double whole = sn_length(sn_rotation_log(sn_mat3_multiply(to, sn_mat3_transpose(from))));
    for (int k = 0; k <= 4; k++) {
        sinew_rigid now = sn_rigid_between(&a, &b, k / 4.0, center);
        sn_mat3 turn;
        memcpy(&turn, now.rotation, sizeof turn);
        sn_vec3 here = sn_add(sn_mat3_apply(turn, center), sn_at(now.translation, 0));
        assert_below(sn_distance(here, sn_lerp(p, q, k / 4.0)), 1e-12);
        double turned = sn_length(sn_rotation_log(sn_mat3_multiply(turn, sn_mat3_transpose(from))));
        assert_close(turned, whole * k / 4, 1e-9);
    }
}

/* Every number of a rig decides its key, to the last byte. */
static void the_key_of_a_rig_holds_all_of_its_numbers(void **state) {
    (void)state;
    sinew_rig *rig = random_rig(40, 3, 0.8, 5);
    const int pair[] = {0, 2};
    const double delta[3] = {1, 2, 3};
    sinew_error error;
    assert_ok(sinew_rig_add_combination(rig, "both", SINEW_COMBINE_MULTIPLY, 2, pair, 1, pair,
                                        delta, &error));
    sinew_cache_key keys[8];
    for (int k = 0; k < 8; k++) {
        sinew_target *last = &rig->targets[k % 2 ? 3 : 2];
        if (k == 1) last->drivers[1] = 1;
        if (k == 2) last->deltas[3 * last->count - 1] += 1e-9;
        if (k == 3) last->deltas[2] = 4;
        if (k == 4) last->vertices[last->count - 1]--;
        if (k == 5) last->combine = SINEW_COMBINE_SMOOTH_LOWEST;
        if (k == 6) rig->sliders[2].rest = 0.25;
        if (k == 7) last->vertices[0] = 7;
        sinew_hash hash;
        sinew_hash_start(&hash);
        sn_rig_hash(&hash, rig);
        keys[k] = sinew_hash_key(&hash);
        for (int j = 0; j < k; j++) assert_memory_not_equal(&keys[j], &keys[k], sizeof keys[k]);
    }
    sinew_rig_destroy(rig);
}

int test_holds(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(motions_between_two_carry_their_center_straight),
        cmocka_unit_test(the_key_of_a_rig_holds_all_of_its_numbers),
        cmocka_unit_test(held_vertices_follow_their_linear_path_and_poses_are_met),
        cmocka_unit_test(vertices_on_the_floor_are_found),
        cmocka_unit_test(each_foot_has_its_own_lowest_point),
        cmocka_unit_test(bad_holds_are_named),
        cmocka_unit_test(holds_report_that_memory_ran_out),
    };
    return cmocka_run_group_tests_name("holds", tests, NULL, NULL);
}
