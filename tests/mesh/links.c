/* Links between parts as elements of the rotation-strain coordinates, and rotations made to fit. */
#include "support.h"

#include "base/memory.h"
#include "base/rotation.h"
#include "groups.h"
#include "mesh/rotation_links.h"
#include "mesh/rotation_refine.h"
#include "mesh/rotation_strain.h"
#include "shapes.h"

/* Two bars end to end, a gap of 1/2 between them, joined by a link at each of the far corners of
 * the gap. */
typedef struct joined {
    sinew_mesh *mesh;
    int firsts; /* vertices of the first bar */
    sn_link links[4];
    sn_rotation_strain *rs;
} joined;

static int vertex_at(const sinew_mesh *mesh, int first, int end, sn_vec3 p) {
    for (int v = first; v < end; v++)
        if (sn_distance(sn_at(mesh->positions, v), p) < 1e-9) return v;
    fail_msg("no vertex there");
    return -1;
}

static joined two_bars(void) {
    sinew_error error;
    joined j = {.mesh = shape_bar(2, 2)};
    j.firsts = j.mesh->vertex_count;
    j.mesh = shape_join(j.mesh, shape_bar(2, 2), 2.5, 0, 0);
    for (int k = 0; k < 4; k++) {
        int a = vertex_at(j.mesh, 0, j.firsts, sn_v3(2, k & 1, k >> 1));
        int b = vertex_at(j.mesh, j.firsts, j.mesh->vertex_count, sn_v3(2.5, k & 1, k >> 1));
        int c = vertex_at(j.mesh, j.firsts, j.mesh->vertex_count, sn_v3(2.5, k & 1, 0.5));
        int d = vertex_at(j.mesh, j.firsts, j.mesh->vertex_count, sn_v3(2.5, 0.5, 0.5));
        j.links[k] = (sn_link){a, {c, b, d}, {0.25, 0.625, 0.125}};
    }
    assert_ok(sn_rotation_strain_create_joined(
        j.mesh->vertex_count, j.mesh->positions, 3, j.mesh->triangle_count, j.mesh->triangles,
        &(sn_rotation_joints){.link_count = 4, .links = j.links}, &j.rs, &error));
    assert_int_equal(j.rs->component_count, 1);
    assert_int_equal(j.rs->item_count, j.mesh->triangle_count + 8);
    return j;
}

static void release(joined *j) {
    sn_rotation_strain_destroy(j->rs);
    sinew_mesh_destroy(j->mesh);
}

static double *pose_of(const joined *j) {
    return sn_memdup(j->mesh->positions, 3 * (size_t)j->mesh->vertex_count, sizeof(double));
}

/* Turns one bar, 0 or 1, about a point. */
static void turn(const joined *j, double *pose, int bar, sn_vec3 w, sn_vec3 about) {
    sn_mat3 rotation = sn_rotation_exp(w);
    for (int v = bar ? j->firsts : 0; v < (bar ? j->mesh->vertex_count : j->firsts); v++)
        sn_put(pose, v, sn_add(about, sn_mat3_apply(rotation, sn_sub(sn_at(pose, v), about))));
}

static sn_vec3 offset_in(const sn_link *link, const double *pose) {
    sn_vec3 sum = sn_at(pose, link->vertex);
    for (int c = 0; c < 3; c++)
        sum = sn_add_scaled(sum, -link->weights[c], sn_at(pose, link->corners[c]));
    return sum;
}

static double *measured(const joined *j, const double *pose) {
    sinew_error error;
    double *coordinates = SN_NEW(double, (size_t)SN_RS_SIZE * j->rs->item_count);
    assert_ok(sn_rotation_strain_measure(j->rs, pose, 0, NULL, coordinates, &error));
    return coordinates;
}

static void rebuild(const joined *j, const double *pose, double *coordinates, int refinements,
                    double *result) {
    sinew_error error;
    sn_rotation_strain_work *work;
    double centers[3];
    assert_ok(sn_rotation_strain_work_create(j->rs, &work, &error));
    sn_rotation_strain_centers(j->rs, pose, centers);
    sn_rotation_strain_rebuild(j->rs, work, coordinates, centers, result);
    sn_mat3 *scratch = SN_NEW(sn_mat3, j->rs->element_count);
    for (int i = 0; i < refinements; i++)
        sn_rotation_refine(j->rs, work, scratch, coordinates, centers, i % 2 == 0, result);
    sn_free(scratch);
    sn_rotation_strain_work_destroy(work);
}

static void assert_same(const joined *j, const double *a, const double *b, double tolerance) {
    for (int k = 0; k < 3 * j->mesh->vertex_count; k++) assert_close(a[k], b[k], tolerance);
}

static void random_pose(const joined *j, double *pose, uint64_t *seed, double noise) {
    for (int bar = 0; bar < 2; bar++)
        turn(j, pose, bar, sn_v3(test_random(seed), 1.5 * test_random(seed), 2 * test_random(seed)),
             sn_v3(test_random(seed), test_random(seed), test_random(seed)));
    for (int k = 0; k < 3 * j->mesh->vertex_count; k++) pose[k] += noise * test_random(seed);
}

/* Also when rotations are made to fit, and when all items are listed. */
static void poses_of_linked_parts_come_back(void **state) {
    (void)state;
    sinew_error error;
    uint64_t seed = 5;
    joined j = two_bars();
    int *all = SN_NEW(int, j.rs->item_count);
    for (int k = 0; k < j.rs->item_count; k++) all[k] = k;
    for (int round = 0; round < 6; round++) {
        double *pose = pose_of(&j), *result = SN_NEW0(double, 3 * (size_t)j.mesh->vertex_count);
        random_pose(&j, pose, &seed, 0.05 * round);
        double *coordinates = measured(&j, pose);
        double *listed = SN_NEW(double, (size_t)SN_RS_SIZE *j.rs->item_count);
        assert_ok(sn_rotation_strain_measure(j.rs, pose, j.rs->item_count, all, listed, &error));
        for (int k = 0; k < SN_RS_SIZE * j.rs->item_count; k++)
            assert_close(listed[k], coordinates[k], 1e-12);
        for (int l = 0; l < 4; l++) {
            const double *half = coordinates + SN_RS_SIZE * (j.rs->element_count + 2 * l);
            sn_vec3 whole = sn_rotation_link_blended(j.rs, l, half, half + SN_RS_SIZE, 1);
            sn_vec3 none = sn_rotation_link_blended(j.rs, l, half, half + SN_RS_SIZE, 0);
            assert_below(sn_distance(whole, offset_in(&j.links[l], pose)), 1e-12);
            assert_below(sn_distance(none, offset_in(&j.links[l], j.mesh->positions)), 1e-12);
        }
        rebuild(&j, pose, coordinates, 0, result);
        assert_same(&j, result, pose, 1e-10);
        rebuild(&j, pose, coordinates, 2, result);
        assert_same(&j, result, pose, 1e-9);
        sn_free(coordinates), sn_free(listed), sn_free(pose), sn_free(result);
    }
    sn_free(all);
    release(&j);
}

/* Half turns about three axes through a point show it; poses pull a pivot to the middle a little,
 * 1/10 each against 4 for each axis across. */
static void a_pivot_is_where_parts_turn(void **state) {
    (void)state;
    sinew_error error;
    joined j = two_bars();
    sn_vec3 joint = sn_v3(2.3, 0.4, 0.7);
    const sn_vec3 turns[] = {{M_PI, 0, 0}, {0, M_PI, 0}, {0, 0, M_PI}};
    for (int p = 0; p < 4; p++) {
        double *pose = pose_of(&j);
        if (p < 3) turn(&j, pose, p == 1, turns[p], joint);
        assert_ok(sn_rotation_strain_watch(j.rs, j.mesh->positions, pose, &error));
        sn_free(pose);
    }
    sn_rotation_strain_settle(j.rs);
    for (int l = 0; l < 4; l++) {
        sn_vec3 a = sn_at(j.mesh->positions, j.links[l].vertex);
        sn_vec3 offset = offset_in(&j.links[l], j.mesh->positions);
        sn_vec3 pivot = sn_sub(joint, sn_add_scaled(a, -0.5, offset));
        pivot = sn_scale(8 / 8.4, pivot);
        sn_vec3 first = sn_sub(sn_scale(0.5, offset), pivot);
        assert_below(sn_distance(sn_at(j.rs->half_rest, 2 * l), first), 1e-12);
        assert_below(sn_distance(sn_at(j.rs->half_rest, 2 * l + 1), sn_sub(offset, first)), 1e-12);
    }
    release(&j);
}

/* A part that slides along turns about nothing. */
static void a_slide_leaves_pivots_in_the_middle(void **state) {
    (void)state;
    sinew_error error;
    joined j = two_bars();
    for (int p = 0; p < 2; p++) {
        double *pose = pose_of(&j);
        for (int v = 0; v < j.firsts; v++) pose[3 * v + p] -= 3;
        if (p) turn(&j, pose, 1, sn_v3(0, 0, 0.1), sn_v3(9, 9, 9));
        assert_ok(sn_rotation_strain_watch(j.rs, j.mesh->positions, pose, &error));
        sn_free(pose);
    }
    sn_rotation_strain_settle(j.rs);
    for (int l = 0; l < 4; l++)
        for (int half = 0; half < 2; half++)
            assert_below(sn_distance(sn_at(j.rs->half_rest, 2 * l + half),
                                     sn_scale(0.5, offset_in(&j.links[l], j.mesh->positions))),
                         1e-12);
    release(&j);
}

/* On the way to a pose a link is not longer, by more than a tenth, than at its longer end. */
static void links_do_not_stretch_on_the_way(void **state) {
    (void)state;
    sinew_error error;
    uint64_t seed = 11;
    joined j = two_bars();
    sn_vec3 joint = sn_v3(2.25, 4, -3); /* far from the gap: halves are long */
    for (int p = 0; p < 12; p++) {
        double *pose = pose_of(&j);
        turn(&j, pose, 0,
             sn_v3(2 * test_random(&seed), 2 * test_random(&seed), 2 * test_random(&seed)), joint);
        assert_ok(sn_rotation_strain_watch(j.rs, j.mesh->positions, pose, &error));
        sn_free(pose);
    }
    sn_rotation_strain_settle(j.rs);
    int means = 0, own = 0;
    for (int round = 0; round < 40; round++) {
        double *pose = pose_of(&j);
        for (int bar = 0; bar < 2 && round % 2; bar++) /* against each other, far from the joint */
            turn(&j, pose, bar, sn_v3(0, 0.3 * test_random(&seed), bar ? 1.4 : -1.4),
                 sn_v3(2.25, 0.5, 0.5));
        if (round % 2 == 0) random_pose(&j, pose, &seed, 0);
        double *coordinates = measured(&j, pose);
        for (int l = 0; l < 4; l++) {
            const double *first = coordinates + SN_RS_SIZE * (j.rs->element_count + 2 * l);
            const double *second = first + SN_RS_SIZE;
            double longest = fmax(sn_length(offset_in(&j.links[l], pose)),
                                  sn_length(offset_in(&j.links[l], j.mesh->positions)));
            for (int k = 1; k < 4; k++)
                assert_below(sn_length(sn_rotation_link_blended(j.rs, l, first, second, 0.25 * k)),
                             1.1 * longest + 1e-9);
            bool mean = sn_distance(sn_at(first, 0), sn_at(second, 0)) < 1e-12;
            means += mean, own += !mean;
        }
        sn_free(coordinates), sn_free(pose);
    }
    assert_true(means > 0 && own > 0);
    release(&j);
}

/* What counts as flat is measured against the shape, not in units. */
static void scale_does_not_change_coordinates(void **state) {
    (void)state;
    uint64_t seed = 17;
    joined j = two_bars();
    double *pose = pose_of(&j), sizes[] = {1e-9, 1e9};
    random_pose(&j, pose, &seed, 0.1);
    double *wanted = measured(&j, pose);
    for (int s = 0; s < 2; s++) {
        sinew_error error;
        int n = 3 * j.mesh->vertex_count;
        double *rest = pose_of(&j), *posed = sn_memdup(pose, (size_t)n, sizeof(double));
        for (int k = 0; k < n; k++) rest[k] *= sizes[s], posed[k] *= sizes[s];
        joined scaled = j;
        assert_ok(sn_rotation_strain_create_joined(
            j.mesh->vertex_count, rest, 3, j.mesh->triangle_count, j.mesh->triangles,
            &(sn_rotation_joints){.link_count = 4, .links = j.links}, &scaled.rs, &error));
        double *found = measured(&scaled, posed);
        for (int k = 0; k < SN_RS_SIZE * j.rs->element_count; k++)
            assert_close(found[k], wanted[k], 1e-6);
        sn_free(found), sn_free(rest), sn_free(posed);
        sn_rotation_strain_destroy(scaled.rs);
    }
    sn_free(wanted), sn_free(pose);
    release(&j);
}

int test_links(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(poses_of_linked_parts_come_back),
        cmocka_unit_test(a_pivot_is_where_parts_turn),
        cmocka_unit_test(a_slide_leaves_pivots_in_the_middle),
        cmocka_unit_test(links_do_not_stretch_on_the_way),
        cmocka_unit_test(scale_does_not_change_coordinates),
    };
    return cmocka_run_group_tests_name("links", tests, NULL, NULL);
}
