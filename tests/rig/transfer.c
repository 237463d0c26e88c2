#include "support.h"

#include "base/rotation.h"
#include "groups.h"
#include "sinew/rig.h"
#include "sinew/transfer.h"
#include "sinew/warp.h"

/* ---- warp ------------------------------------------------------------------------------------ */

static void warp_goes_through_its_pairs(void **state) {
    (void)state;
    sinew_error error;
    double from[36], to[36];
    uint64_t seed = 5;
    for (int i = 0; i < 36; i++) {
        from[i] = 100 + 30 * test_random(&seed);
        to[i] = 2 * from[i] + 5 * test_random(&seed);
    }
    sinew_warp *warp;
    assert_ok(sinew_warp_create(12, from, to, 0, &warp, &error));
    for (int i = 0; i < 12; i++) {
        double image[3];
        sinew_warp_point(warp, from + 3 * i, image);
        for (int k = 0; k < 3; k++) assert_close(image[k], to[3 * i + k], 1e-8);
    }
    sinew_warp_destroy(warp);
}

static void warp_of_affine_pairs_is_that_affine_map(void **state) {
    (void)state;
    sinew_error error;
    const double a[9] = {1.2, 0.3, -0.1, 0, 0.8, 0.2, 0.4, 0, 1.5};
    double from[30], to[30];
    uint64_t seed = 6;
    for (int i = 0; i < 10; i++) {
        for (int k = 0; k < 3; k++) from[3 * i + k] = test_random(&seed);
        for (int r = 0; r < 3; r++)
            to[3 * i + r] = 7 + a[3 * r] * from[3 * i] + a[3 * r + 1] * from[3 * i + 1] +
                            a[3 * r + 2] * from[3 * i + 2];
    }
    sinew_warp *warp;
    assert_ok(sinew_warp_create(10, from, to, 0, &warp, &error));
    const double far[3] = {10, -20, 30};
    double image[3], jacobian[9];
    sinew_warp_point(warp, far, image);
    sinew_warp_jacobian(warp, far, jacobian);
    for (int r = 0; r < 3; r++) {
        assert_close(image[r],
                     7 + a[3 * r] * far[0] + a[3 * r + 1] * far[1] + a[3 * r + 2] * far[2], 1e-8);
        for (int k = 0; k < 3; k++) assert_close(jacobian[3 * r + k], a[3 * r + k], 1e-9);
    }
    sinew_warp_destroy(warp);
}

static void warp_jacobian_agrees_with_differences(void **state) {
    (void)state;
    sinew_error error;
    double from[60], to[60];
    uint64_t seed = 7;
    for (int i = 0; i < 60; i++) {
        from[i] = test_random(&seed);
        to[i] = from[i] + 0.2 * test_random(&seed);
    }
    sinew_warp *warp;
    assert_ok(sinew_warp_create(20, from, to, 1e-3, &warp, &error));
    double x[3] = {0.21, -0.13, 0.4}, jacobian[9], high[3], low[3];
    sinew_warp_jacobian(warp, x, jacobian);
    for (int k = 0; k < 3; k++) {
        double kept = x[k];
        x[k] = kept + 1e-5;
        sinew_warp_point(warp, x, high);
        x[k] = kept - 1e-5;
        sinew_warp_point(warp, x, low);
        x[k] = kept;
        for (int r = 0; r < 3; r++)
            assert_close(jacobian[3 * r + k], (high[r] - low[r]) / 2e-5, 1e-8);
    }
    sinew_warp_destroy(warp);
}

static void few_flat_or_repeated_pairs_give_a_similarity(void **state) {
    (void)state;
    sinew_error error;
    /* Twice the size, turned a quarter about z; one point stands twice. */
    const double from[12] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 1, 0, 0};
    const double to[12] = {5, 5, 5, 5, 7, 5, 3, 5, 5, 5, 7, 5};
    sinew_warp *warp;
    assert_ok(sinew_warp_create(4, from, to, 0, &warp, &error));
    const double up[3] = {0, 0, 1};
    double image[3];
    sinew_warp_point(warp, up, image);
    assert_close(image[0], 5, 1e-9);
    assert_close(image[1], 5, 1e-9);
    assert_close(image[2], 7, 1e-9);
    sinew_warp_destroy(warp);
    assert_int_equal(sinew_warp_create(0, from, to, 0, &warp, &error), SINEW_BAD_INPUT);
    const double bad[3] = {0, NAN, 0};
    assert_int_equal(sinew_warp_create(1, bad, to, 0, &warp, &error), SINEW_BAD_INPUT);
}

/* ---- transfer -------------------------------------------------------------------------------- */

/* A dome over the unit disc as a grid of quads, `cells` on a side, with a second small part (a tab
 * of one quad) that moves as a whole. `wide` stretches x. */
static sinew_mesh *dome(int cells, double wide, double size) {
    int side = cells + 1, n = side * side + 4;
    double *x = calloc(3 * (size_t)n, sizeof *x);
    int *faces = calloc(4 * (size_t)(cells * cells + 1), sizeof *faces);
    int *start = calloc((size_t)(cells * cells + 2), sizeof *start);
    for (int j = 0; j < side; j++)
        for (int i = 0; i < side; i++) {
            double u = 2.0 * i / cells - 1, v = 2.0 * j / cells - 1;
            double *p = x + 3 * (j * side + i);
            p[0] = size * wide * u, p[1] = size * v, p[2] = size * 0.5 * (2 - u * u - v * v);
        }
    const double tab[12] = {-0.1, -0.1, -1, 0.1, -0.1, -1, 0.1, 0.1, -1, -0.1, 0.1, -1};
    for (int i = 0; i < 12; i++) x[3 * side * side + i] = size * tab[i];
    int f = 0;
    for (int j = 0; j < cells; j++)
        for (int i = 0; i < cells; i++, f++) {
            int a = j * side + i;
            const int quad[4] = {a, a + 1, a + 1 + side, a + side};
            memcpy(faces + 4 * f, quad, sizeof quad);
            start[f + 1] = 4 * (f + 1);
        }
    for (int k = 0; k < 4; k++) faces[4 * f + k] = side * side + k;
    start[f + 1] = 4 * (f + 1);
    sinew_error error;
    sinew_mesh *mesh;
    assert_ok(sinew_mesh_create(n, x, f + 1, start, faces, &mesh, &error));
    free(x), free(faces), free(start);
    return mesh;
}

/* A smooth bump near the middle, support |uv| < 0.7, and the tab moved down with it. */
static void bump(const sinew_mesh *mesh, double wide, double size, double *x) {
    memcpy(x, mesh->positions, sizeof(double) * 3 * (size_t)mesh->vertex_count);
    for (int v = 0; v < mesh->vertex_count; v++) {
        double *p = x + 3 * v;
        if (p[2] < -0.5 * size) {
            p[1] -= 0.2 * size;
            continue;
        }
        double u = p[0] / (wide * size), w = p[1] / size, r = u * u + w * w;
        if (r >= 0.49) continue;
        double h = 1 - r / 0.49;
        p[2] += 0.3 * size * h * h * h;
        p[0] += 0.1 * size * wide * h * h * h;
    }
}

static sinew_rig *bumpy_rig(int cells) {
    sinew_error error;
    sinew_mesh *mesh = dome(cells, 1, 1);
    double *x = calloc(3 * (size_t)mesh->vertex_count, sizeof *x);
    bump(mesh, 1, 1, x);
    sinew_rig *rig;
    assert_ok(sinew_rig_create(mesh, &rig, &error));
    assert_ok(sinew_rig_add_pose(rig, "bump", x, &error));
    free(x);
    return rig;
}

static double worst_difference(const sinew_rig *rig, int target, const double *expected) {
    double *x = calloc(3 * (size_t)rig->neutral->vertex_count, sizeof *x), worst = 0;
    sinew_rig_shape(rig, target, x);
    for (int i = 0; i < 3 * rig->neutral->vertex_count; i++)
        worst = fmax(worst, fabs(x[i] - expected[i]));
    free(x);
    return worst;
}

static void transfer_to_the_same_face_changes_nothing(void **state) {
    (void)state;
    sinew_error error;
    sinew_rig *rig = bumpy_rig(12), *carried;
    const double tilt[3] = {0.01, 0.02, 0.03};
    const int vertex = 60, drivers[1] = {0};
    assert_ok(sinew_rig_add_combination(rig, "fix", SINEW_COMBINE_MULTIPLY, 1, drivers, 1, &vertex,
                                        tilt, &error));
    sinew_transfer_info info = {.size = sizeof info};
    assert_ok(sinew_transfer(rig, rig->neutral, NULL, NULL, &carried, &info, &error));
    assert_true(info.same_topology);
    for (int k = 0; k < 2; k++) {
        double *x = calloc(3 * (size_t)rig->neutral->vertex_count, sizeof *x);
        sinew_rig_shape(rig, k, x);
        assert_below(worst_difference(carried, k, x), 1e-9);
        free(x);
    }
    assert_int_equal(carried->targets[0].count, rig->targets[0].count);
    assert_int_equal(carried->targets[1].driver_count, 1);
    sinew_rig_destroy(rig), sinew_rig_destroy(carried);
}

static void transfer_to_a_larger_face_scales_the_shapes(void **state) {
    (void)state;
    sinew_error error;
    sinew_rig *rig = bumpy_rig(12), *carried;
    sinew_mesh *large = dome(12, 1, 3);
    assert_ok(sinew_transfer(rig, large, NULL, NULL, &carried, NULL, &error));
    double *x = calloc(3 * (size_t)large->vertex_count, sizeof *x);
    bump(large, 1, 3, x);
    assert_below(worst_difference(carried, 0, x), 1e-8);
    free(x);
    sinew_rig_destroy(rig), sinew_rig_destroy(carried);
    sinew_mesh_destroy(large);
}

/* The middle of the dome and the tab are regions; so they are on a grid that lines up nowhere. */
static void regions_come_along_to_another_topology(void **state) {
    (void)state;
    sinew_error error;
    sinew_rig *rig = bumpy_rig(24), *carried;
    sinew_mesh *other = dome(17, 1, 2);
    int s = 24, t = 17, S = 25, T = 18, middle[25 * 25], count = 0;
    for (int v = 0; v < S * S; v++)
        if (hypot(rig->neutral->positions[3 * v], rig->neutral->positions[3 * v + 1]) < 0.5)
            middle[count++] = v;
    int from[8] = {0, s, s * S, S * S - 1, S * S, S * S + 1, S * S + 2, S * S + 3};
    const int to[8] = {0, t, t * T, T * T - 1, T * T, T * T + 1, T * T + 2, T * T + 3};
    assert_ok(sinew_rig_add_region(rig, "middle", count, middle, &error));
    assert_ok(sinew_rig_add_region(rig, "tab", 4, from + 4, &error));
    assert_ok(sinew_rig_add_region(rig, "nothing", 0, NULL, &error));
    sinew_transfer_options options;
    sinew_transfer_options_init(&options);
    options.pair_count = 8;
    options.source_vertices = from, options.target_vertices = to;
    assert_ok(sinew_transfer(rig, other, &options, NULL, &carried, NULL, &error));
    assert_int_equal(carried->region_count, 2);
    const sinew_region *tab = &carried->regions[sinew_rig_find_region(carried, "tab")];
    assert_int_equal(tab->count, 4);
    assert_memory_equal(tab->vertices, to + 4, 4 * sizeof(int));
    const sinew_region *region = &carried->regions[sinew_rig_find_region(carried, "middle")];
    for (int v = 0, k = 0; v < other->vertex_count; v++) {
        bool inside = k < region->count && region->vertices[k] == v;
        double r = hypot(other->positions[3 * v], other->positions[3 * v + 1]) / 2;
        k += inside;
        if (v >= T * T || r > 0.55) assert_false(inside);
        if (v < T * T && r < 0.45) assert_true(inside);
    }
    sinew_rig_destroy(carried);
    from[3] = from[1]; /* one place cannot go to two */
    assert_int_equal(sinew_transfer(rig, other, &options, NULL, &carried, NULL, &error),
                     SINEW_BAD_INPUT);
    assert_non_null(strstr(error.message, "pair 3"));
    sinew_rig_destroy(rig);
    sinew_mesh_destroy(other);
}

typedef struct carrying {
    sinew_rig *rig;
    sinew_mesh *other;
} carrying;

static sinew_status carry_once(void *user) {
    const carrying *c = user;
    const int from[8] = {0, 6, 42, 48, 49, 50, 51, 52}, to[8] = {0, 5, 30, 35, 36, 37, 38, 39};
    sinew_error error = {0};
    sinew_rig *carried = NULL;
    sinew_transfer_options options;
    sinew_transfer_options_init(&options);
    options.pair_count = 8, options.rounds = 1;
    options.source_vertices = from, options.target_vertices = to;
    sinew_status status = sinew_transfer(c->rig, c->other, &options, NULL, &carried, NULL, &error);
    sinew_rig_destroy(carried);
    return status;
}

static void without_memory_nothing_is_carried(void **state) {
    (void)state;
    sinew_error error;
    carrying c = {bumpy_rig(6), dome(5, 1, 2)};
    const int middle[] = {23, 24, 25};
    assert_ok(sinew_rig_add_region(c.rig, "middle", 3, middle, &error));
    assert_true(test_out_of_memory(carry_once, &c) > 20);
    sinew_rig_destroy(c.rig);
    sinew_mesh_destroy(c.other);
}

static void transfer_to_another_topology_follows_the_pairs(void **state) {
    (void)state;
    sinew_error error;
    sinew_rig *rig = bumpy_rig(24), *carried;
    sinew_mesh *other = dome(17, 1, 2);
    /* Corners, middle and the tab's corners correspond. */
    int s = 24, t = 17, S = 25, T = 18;
    const int from[8] = {0, s, s * S, S * S - 1, S * S, S * S + 1, S * S + 2, S * S + 3};
    const int to[8] = {0, t, t * T, T * T - 1, T * T, T * T + 1, T * T + 2, T * T + 3};
    sinew_transfer_options options;
    sinew_transfer_options_init(&options);
    assert_int_equal(sinew_transfer(rig, other, &options, NULL, &carried, NULL, &error),
                     SINEW_BAD_INPUT);
    options.pair_count = 8;
    options.source_vertices = from, options.target_vertices = to;
    sinew_transfer_info info = {.size = sizeof info};
    assert_ok(sinew_transfer(rig, other, &options, NULL, &carried, &info, &error));
    assert_false(info.same_topology);
    assert_below(info.match_max, 0.01);
    double *x = calloc(3 * (size_t)other->vertex_count, sizeof *x);
    bump(other, 1, 2, x);
    /* The bump is 0.6 high: within 6% of it everywhere, although nothing lines up. */
    assert_below(worst_difference(carried, 0, x), 0.036);
    free(x);
    sinew_rig_destroy(rig), sinew_rig_destroy(carried);
    sinew_mesh_destroy(other);
}

static void a_face_that_looks_elsewhere_gets_shapes_turned_with_it(void **state) {
    (void)state;
    sinew_error error;
    sinew_rig *rig = bumpy_rig(24), *straight, *turned;
    sinew_mesh *other = dome(17, 1, 2), *away = dome(17, 1, 2);
    sn_mat3 turn = sn_rotation_exp(sn_v3(0.7, -1.9, 0.4));
    for (int v = 0; v < away->vertex_count; v++)
        sn_put(away->positions, v,
               sn_add(sn_mat3_apply(turn, sn_at(other->positions, v)), sn_v3(5, 6, 7)));
    int s = 24, t = 17, S = 25, T = 18;
    const int from[8] = {0, s, s * S, S * S - 1, S * S, S * S + 1, S * S + 2, S * S + 3};
    const int to[8] = {0, t, t * T, T * T - 1, T * T, T * T + 1, T * T + 2, T * T + 3};
    sinew_transfer_options options;
    sinew_transfer_options_init(&options);
    options.pair_count = 8;
    options.source_vertices = from, options.target_vertices = to;
    assert_ok(sinew_transfer(rig, other, &options, NULL, &straight, NULL, &error));
    assert_ok(sinew_transfer(rig, away, &options, NULL, &turned, NULL, &error));
    double *x = calloc(3 * (size_t)other->vertex_count, sizeof *x);
    sinew_rig_shape(straight, 0, x);
    for (int v = 0; v < other->vertex_count; v++)
        sn_put(x, v, sn_add(sn_mat3_apply(turn, sn_at(x, v)), sn_v3(5, 6, 7)));
    assert_below(worst_difference(turned, 0, x), 1e-3);
    free(x);
    sinew_rig_destroy(rig), sinew_rig_destroy(straight), sinew_rig_destroy(turned);
    sinew_mesh_destroy(other), sinew_mesh_destroy(away);
}

int test_transfer(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(warp_goes_through_its_pairs),
        cmocka_unit_test(warp_of_affine_pairs_is_that_affine_map),
        cmocka_unit_test(warp_jacobian_agrees_with_differences),
        cmocka_unit_test(few_flat_or_repeated_pairs_give_a_similarity),
        cmocka_unit_test(transfer_to_the_same_face_changes_nothing),
        cmocka_unit_test(transfer_to_a_larger_face_scales_the_shapes),
        cmocka_unit_test(transfer_to_another_topology_follows_the_pairs),
        cmocka_unit_test(regions_come_along_to_another_topology),
        cmocka_unit_test(without_memory_nothing_is_carried),
        cmocka_unit_test(a_face_that_looks_elsewhere_gets_shapes_turned_with_it),
    };
    return cmocka_run_group_tests_name("transfer", tests, NULL, NULL);
}
