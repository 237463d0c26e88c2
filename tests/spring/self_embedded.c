/* Self-contact of bodies that intersect themselves: needles grow out of the surface as lashes do
 * out of lids, or a pose intersects itself. */
#include "support.h"

#include "base/memory.h"
#include "bodies.h"
#include "groups.h"
#include "sinew/anatomy.h"
#include "sinew/query.h"
#include "sinew/samples.h"
#include "sinew/spring.h"
#include "spring/contact.h"

/* Intersecting pairs of the first `triangles` triangles of the mesh. */
static int crossings(const sinew_mesh *mesh, int triangles, const double *x) {
    sinew_error error = {0};
    int *pairs = NULL, count = 0;
    assert_ok(sinew_self_intersections(mesh->vertex_count, x, triangles, mesh->triangles, NULL,
                                       &pairs, &count, &error));
    sinew_free(pairs);
    return count;
}

static void center_of(const double *x, const int v[3], double center[3]) {
    for (int a = 0; a < 3; a++)
        center[a] = (x[3 * v[0] + a] + x[3 * v[1] + a] + x[3 * v[2] + a]) / 3;
}

/* The rig with a needle through every triangle whose corners are all chosen; needles move with
 * their triangle. */
static sinew_rig *with_needles(const sinew_rig *from, const bool *chosen, double length,
                               int *needles) {
    sinew_error error = {0};
    const sinew_mesh *mesh = from->neutral;
    int n = mesh->vertex_count, count = mesh->triangle_count;
    double *x = SN_NEW(double, 3 * (size_t)(n + 3 * count));
    double *pose = SN_NEW(double, 3 * (size_t)(n + 3 * count));
    int *corner = SN_NEW(int, 6 * (size_t)count), *host = SN_NEW(int, count);
    memcpy(x, mesh->positions, 3 * (size_t)n * sizeof *x);
    memcpy(corner, mesh->triangles, 3 * (size_t)count * sizeof *corner);
    *needles = 0;
    for (int t = 0; t < count; t++) {
        const int *v = mesh->triangles + 3 * (size_t)t;
        if (!chosen[v[0]] || !chosen[v[1]] || !chosen[v[2]]) continue;
        double center[3], e[2][3], normal[3], size = 0;
        center_of(x, v, center);
        for (int k = 0; k < 2; k++)
            for (int a = 0; a < 3; a++) e[k][a] = x[3 * v[k + 1] + a] - x[3 * v[0] + a];
        for (int a = 0; a < 3; a++)
            normal[a] =
                e[0][(a + 1) % 3] * e[1][(a + 2) % 3] - e[0][(a + 2) % 3] * e[1][(a + 1) % 3];
        for (int a = 0; a < 3; a++) size += normal[a] * normal[a];
        for (int k = 0; k < 3; k++)
            for (int a = 0; a < 3; a++)
                x[3 * (n + 3 * *needles + k) + a] =
                    center[a] + (k ? length : -length) / sqrt(size) * normal[a] +
                    (k == 2 ? 0.1 * e[0][a] : 0);
        for (int k = 0; k < 3; k++) corner[3 * (count + *needles) + k] = n + 3 * *needles + k;
        host[(*needles)++] = t;
    }
    sinew_mesh *made;
    sinew_rig *rig;
    assert_ok(
        sinew_mesh_create(n + 3 * *needles, x, count + *needles, NULL, corner, &made, &error));
    assert_ok(sinew_rig_create(made, &rig, &error));
    for (int k = 0; k < from->target_count; k++) {
        const sinew_target *target = &from->targets[k];
        memcpy(pose, x, 3 * (size_t)(n + 3 * *needles) * sizeof *x);
        for (int i = 0; i < 3 * target->count; i++)
            pose[3 * target->vertices[i / 3] + i % 3] += target->deltas[i];
        for (int h = 0; h < *needles; h++) {
            double before[3], after[3];
            center_of(x, mesh->triangles + 3 * (size_t)host[h], before);
            center_of(pose, mesh->triangles + 3 * (size_t)host[h], after);
            for (int i = 0; i < 9; i++) pose[3 * (n + 3 * h) + i] += after[i % 3] - before[i % 3];
        }
        assert_ok(sinew_rig_add_pose(rig, target->name, pose, &error));
    }
    sn_free(x), sn_free(pose), sn_free(corner), sn_free(host);
    return rig;
}

static sinew_spring *create(const sinew_rig *rig, bool apart, sinew_spring_state **state) {
    sinew_error error = {0};
    sinew_spring *spring = NULL;
    sinew_spring_options options;
    sinew_spring_options_init(&options);
    options.self_contact = apart;
    assert_ok(sinew_spring_create(rig, &options, NULL, &spring, &error));
    assert_ok(sinew_spring_state_create(spring, state, &error));
    return spring;
}

/* Pairs of the first `triangles` triangles with and without self-contact. */
static void solve_both(const sinew_rig *rig, const double *weights, int triangles, int found[2]) {
    sinew_error error = {0};
    double *x = SN_NEW(double, 3 * (size_t)rig->neutral->vertex_count);
    for (int apart = 0; apart < 2; apart++) {
        sinew_spring_state *solver;
        sinew_spring *spring = create(rig, apart, &solver);
        sinew_spring_frame frame = {.size = sizeof frame, .weights = weights, .index = -1};
        assert_ok(sinew_spring_solve(spring, solver, &frame, x, NULL, NULL, &error));
        found[apart] = crossings(rig->neutral, triangles, x);
        sinew_spring_state_destroy(solver), sinew_spring_destroy(spring);
    }
    sn_free(x);
}

/* A bar bent to a ring of `angle` radians. */
static sinew_rig *ring_rig(double angle, test_block *block) {
    sinew_error error = {0};
    enum { LONG = 16 };
    test_block_create(LONG, 2, 1, block);
    int n = block->mesh->vertex_count;
    sinew_mesh *neutral;
    sinew_rig *rig;
    assert_ok(sinew_mesh_copy(block->mesh, &neutral, &error));
    assert_ok(sinew_rig_create(neutral, &rig, &error));
    double *x = SN_NEW(double, 3 * (size_t)n);
    test_bend(n, neutral->positions, LONG, angle, x);
    for (int v = 0; v < n; v++) x[3 * v + 1] += 0.43 * neutral->positions[3 * v] / LONG;
    assert_ok(sinew_rig_add_pose(rig, "ring", x, &error));
    sn_free(x);
    return rig;
}

static void needles_in_a_surface_do_not_end_its_contact(void **state) {
    (void)state;
    test_block block;
    sinew_rig *ring = ring_rig(5.4, &block);
    const sinew_mesh *mesh = ring->neutral;
    bool *ends = SN_NEW(bool, mesh->vertex_count);
    for (int v = 0; v < mesh->vertex_count; v++)
        ends[v] = mesh->positions[3 * v] == 0 || mesh->positions[3 * v] == 16;
    int needles, found[2];
    sinew_rig *rig = with_needles(ring, ends, 0.2, &needles);
    assert_true(needles >= 8);
    assert_int_equal(crossings(rig->neutral, rig->neutral->triangle_count, rig->neutral->positions),
                     needles);
    solve_both(rig, (const double[]){1.2}, mesh->triangle_count, found);
    assert_true(found[0] > 0);
    assert_int_equal(found[1], 0);
    sn_free(ends);
    sinew_rig_destroy(rig), sinew_rig_destroy(ring);
    test_block_free(&block);
}

static void a_pose_that_intersects_itself_is_held_apart(void **state) {
    (void)state;
    test_block block;
    sinew_rig *rig = ring_rig(6.5, &block);
    int found[2];
    solve_both(rig, (const double[]){1}, rig->neutral->triangle_count, found);
    assert_true(found[0] > 0);
    assert_int_equal(found[1], 0);
    sinew_rig_destroy(rig);
    test_block_free(&block);
}

/* Lashes on both lids of the sample face, blinks that go too far and lips that press. */
static void lids_with_lashes_and_lips_stay_apart(void **state) {
    (void)state;
    sinew_error error = {0};
    sinew_rig *face;
    sinew_anatomy *anatomy;
    sinew_sample_options size = {.size = sizeof size, .vertices = 1500};
    assert_ok(sinew_sample_rig("face", &size, &face, &error));
    assert_ok(sinew_anatomy_create(face, NULL, &anatomy, &error));
    const char *const regions[2] = {"lids", "lips"};
    bool *chosen = SN_NEW0(bool, face->neutral->vertex_count);
    for (int r = 0; r < 2; r++) {
        int *list, count;
        assert_ok(sinew_anatomy_region(anatomy, regions[r], &list, &count, &error));
        for (int i = 0; i < count; i++) chosen[list[i]] = true;
        sinew_free(list);
    }
    int needles, found[2];
    sinew_rig *rig = with_needles(face, chosen, 0.0004, &needles);
    assert_true(needles > 20);
    double *weights = SN_NEW0(double, rig->slider_count);
    for (int s = 0; s < rig->slider_count; s++)
        if (strstr(rig->sliders[s].name, "eyeBlink") || strstr(rig->sliders[s].name, "eyeSquint") ||
            strstr(rig->sliders[s].name, "mouthPress") ||
            !strcmp(rig->sliders[s].name, "mouthShrugLower"))
            weights[s] = 1;
    solve_both(rig, weights, face->neutral->triangle_count, found);
    assert_true(found[0] > 10);
    assert_int_equal(found[1], 0);
    sn_free(weights), sn_free(chosen);
    sinew_anatomy_destroy(anatomy);
    sinew_rig_destroy(rig), sinew_rig_destroy(face);
}

/* What contact moved is given back where it intersects more than without, and only there. */
static void contact_that_makes_it_worse_is_given_back(void **state) {
    (void)state;
    sinew_error error = {0};
    test_block block;
    sinew_rig *rig = ring_rig(5.4, &block);
    const sinew_mesh *mesh = rig->neutral;
    int n = mesh->vertex_count, released;
    sinew_spring_state *solver;
    sinew_spring *spring = create(rig, true, &solver);
    double *plain = SN_NEW(double, 3 * (size_t)n), *x = SN_NEW(double, 3 * (size_t)n);
    /* the near end is pushed through the bar, the far end is lifted a little */
    memcpy(plain, mesh->positions, 3 * (size_t)n * sizeof *plain);
    memcpy(x, plain, 3 * (size_t)n * sizeof *x);
    for (int v = 0; v < n; v++) {
        if (plain[3 * v] == 0 && plain[3 * v + 2] == 1) x[3 * v + 2] = -1;
        if (plain[3 * v] == 16) x[3 * v + 2] += 0.1;
    }
    double *asked = sn_memdup(x, 3 * (size_t)n, sizeof *x);
    assert_true(crossings(mesh, mesh->triangle_count, x) > 0);
    assert_ok(sn_self_release(spring, plain, x, &released, &error));
    assert_int_equal(released, 3);
    assert_int_equal(crossings(mesh, mesh->triangle_count, x), 0);
    for (int v = 0; v < n; v++)
        for (int a = 0; a < 3; a++)
            assert_close(x[3 * v + a], (plain[3 * v] == 16 ? asked : plain)[3 * v + a], 0);
    /* the other way round, contact has mended it and stays */
    memcpy(x, plain, 3 * (size_t)n * sizeof *x);
    assert_ok(sn_self_release(spring, asked, x, &released, &error));
    assert_int_equal(released, 0);
    assert_memory_equal(x, plain, 3 * (size_t)n * sizeof *x);
    sn_free(plain), sn_free(x), sn_free(asked);
    sinew_spring_state_destroy(solver), sinew_spring_destroy(spring);
    sinew_rig_destroy(rig);
    test_block_free(&block);
}

int test_self_embedded(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(needles_in_a_surface_do_not_end_its_contact),
        cmocka_unit_test(a_pose_that_intersects_itself_is_held_apart),
        cmocka_unit_test(lids_with_lashes_and_lips_stay_apart),
        cmocka_unit_test(contact_that_makes_it_worse_is_given_back),
    };
    return cmocka_run_group_tests_name("self contact of bodies that intersect", tests, NULL, NULL);
}
