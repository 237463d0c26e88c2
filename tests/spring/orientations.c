/* Regions that are guided to an orientation: how far they turn, what stays as it was, and what is
 * refused. */
#include "support.h"

#include "base/memory.h"
#include "base/rotation.h"
#include "bodies.h"
#include "groups.h"
#include "sinew/spring.h"

enum { CELLS = 24, ACROSS = 2, HEAD = 18 };

static sinew_error error;

/* A bar along x, bent by its slider, whose last cells are the head. */
typedef struct fixture {
    test_block block;
    sinew_rig *rig;
    sinew_spring *spring;
    sinew_spring_state *state;
    int count, head_count;
    int *head;
    double *x, *other;
} fixture;

static void fixture_create(fixture *f) {
    test_block_create(CELLS, ACROSS, ACROSS, &f->block);
    f->count = f->block.mesh->vertex_count;
    sinew_mesh *neutral = NULL;
    assert_ok(sinew_mesh_copy(f->block.mesh, &neutral, &error));
    assert_ok(sinew_rig_create(neutral, &f->rig, &error));
    f->x = SN_NEW(double, 3 * f->count), f->other = SN_NEW(double, 3 * f->count);
    f->head = SN_NEW(int, f->count);
    f->head_count = 0;
    for (int v = 0; v < f->count; v++)
        if (neutral->positions[3 * v] >= HEAD) f->head[f->head_count++] = v;
    test_bend(f->count, neutral->positions, CELLS, 1, f->x);
    assert_ok(sinew_rig_add_pose(f->rig, "pose", f->x, &error));
    assert_ok(sinew_spring_create(f->rig, NULL, NULL, &f->spring, &error));
    assert_ok(sinew_spring_state_create(f->spring, &f->state, &error));
}

static void fixture_free(fixture *f) {
    sinew_spring_state_destroy(f->state);
    sinew_spring_destroy(f->spring);
    sinew_rig_destroy(f->rig);
    sn_free(f->x), sn_free(f->other), sn_free(f->head);
    test_block_free(&f->block);
}

static sinew_status solve(fixture *f, double weight, int count,
                          const sinew_spring_orientation *list, double *x) {
    sinew_spring_frame frame = {.size = sizeof frame,
                                .weights = &weight,
                                .index = -1,
                                .orientation_count = count,
                                .orientations = list};
    sinew_spring_frame_info info = {.size = sizeof info};
    return sinew_spring_solve(f->spring, f->state, &frame, x, &info, NULL, &error);
}

/* Best rotation of the head's far half from rest, less the first cells, which lead over. */
static sn_mat3 rotation_of_head(const fixture *f, const double *x) {
    double *a = SN_NEW(double, 3 * f->count), *b = SN_NEW(double, 3 * f->count);
    int n = 0;
    for (int k = 0; k < f->head_count; k++) {
        int v = f->head[k];
        if (f->rig->neutral->positions[3 * v] < (HEAD + CELLS) / 2) continue;
        sn_put(a, n, sn_at(f->rig->neutral->positions, v)), sn_put(b, n++, sn_at(x, v));
    }
    sn_mat3 rotation;
    sn_vec3 shift;
    sn_rigid_fit(n, a, b, NULL, &rotation, &shift);
    sn_free(a), sn_free(b);
    return rotation;
}

static double angle_between(sn_mat3 a, sn_mat3 b) {
    return sn_length(sn_rotation_log(sn_mat3_multiply(a, sn_mat3_transpose(b))));
}

static double stretch_of(const fixture *f, const double *x) {
    const sinew_mesh *mesh = f->rig->neutral;
    double worst = 0;
    for (int c = 0; c < 3 * mesh->triangle_count; c++) {
        int a = mesh->triangles[c], b = mesh->triangles[c % 3 == 2 ? c - 2 : c + 1];
        double rest = sn_distance(sn_at(mesh->positions, a), sn_at(mesh->positions, b));
        worst = fmax(worst, fabs(sn_distance(sn_at(x, a), sn_at(x, b)) / rest - 1));
    }
    return worst;
}

static void region_reaches_its_orientation(void **state) {
    (void)state;
    fixture f;
    fixture_create(&f);
    const double turns[][3] = {{0, 0, 0.7}, {0.6, 0, 0}, {0, -0.5, 0.4}, {0, 0, 0}};
    for (int k = 0; k < 4; k++)
        for (double weight = 0; weight <= 0.5; weight += 0.5) {
            sinew_spring_orientation o = {
                f.head_count, f.head, {turns[k][0], turns[k][1], turns[k][2]}, 1};
            assert_ok(solve(&f, weight, 1, &o, f.x));
            double off =
                angle_between(rotation_of_head(&f, f.x), sn_rotation_exp(sn_at(o.turn, 0)));
            assert_below(off, 0.05);
            /* the neck bends, nothing tears */
            assert_below(stretch_of(&f, f.x), 0.25);
        }
    fixture_free(&f);
}

static void half_the_weight_turns_half_way(void **state) {
    (void)state;
    fixture f;
    fixture_create(&f);
    sinew_spring_orientation o = {f.head_count, f.head, {0, 0, 0.8}, 0.5};
    assert_ok(solve(&f, 0, 1, &o, f.x));
    assert_below(angle_between(rotation_of_head(&f, f.x), sn_rotation_exp(sn_v3(0, 0, 0.4))), 0.05);
    o.weight = 0;
    assert_ok(solve(&f, 0.5, 1, &o, f.x));
    assert_ok(solve(&f, 0.5, 0, NULL, f.other));
    for (int k = 0; k < 3 * f.count; k++) assert_close(f.x[k], f.other[k], 1e-6 * CELLS);
    fixture_free(&f);
}

/* Small changes of the orientation change the shape a little: it can move over time. */
static void shape_follows_the_orientation_smoothly(void **state) {
    (void)state;
    fixture f;
    fixture_create(&f);
    double before = 0;
    for (int k = 0; k <= 10; k++) {
        sinew_spring_orientation o = {f.head_count, f.head, {0, 0.1 * k, 0}, 1};
        assert_ok(solve(&f, 0.3, 1, &o, k % 2 ? f.other : f.x));
        double most = 0;
        for (int v = 0; k > 0 && v < f.count; v++)
            most = fmax(most, sn_distance(sn_at(f.x, v), sn_at(f.other, v)));
        if (k > 1) assert_below(most, 1.5 * before);
        before = most;
    }
    fixture_free(&f);
}

static void orientations_that_make_no_sense_are_refused(void **state) {
    (void)state;
    fixture f;
    fixture_create(&f);
    int outside = f.count;
    sinew_spring_orientation wrong[] = {{1, f.head, {0, 0, 0}, 1.5},
                                        {1, f.head, {0, 0, 0}, NAN},
                                        {1, f.head, {0, INFINITY, 0}, 1},
                                        {1, &outside, {0, 0, 0}, 1}};
    for (int k = 0; k < 4; k++)
        assert_int_equal(solve(&f, 0.5, 1, &wrong[k], f.x), SINEW_BAD_INPUT);
    assert_ok(solve(&f, 0.5, 0, NULL, f.x));
    fixture_free(&f);
}

int test_orientations(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(region_reaches_its_orientation),
        cmocka_unit_test(half_the_weight_turns_half_way),
        cmocka_unit_test(shape_follows_the_orientation_smoothly),
        cmocka_unit_test(orientations_that_make_no_sense_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
