#include "support.h"

#include "base/mat3.h"
#include "base/memory.h"
#include "base/rotation.h"
#include "base/vec3.h"
#include "groups.h"
#include "mesh/laplacian.h"
#include "mesh/rigidity.h"
#include "mesh/sides.h"
#include "mesh/topology.h"
#include "shapes.h"
#include "sinew/cage.h"
#include "sinew/check.h"
#include "sinew/io.h"
#include "sinew/query.h"
#include "sinew/threads.h"

static sinew_cage *cage_of(const sinew_mesh *mesh, double cell) {
    sinew_error error;
    sinew_cage_options options;
    sinew_cage_options_init(&options);
    options.cell = cell;
    sinew_cage *cage;
    assert_ok(sinew_cage_create(mesh, &options, NULL, &cage, &error));
    return cage;
}

static int tet_parts(const sinew_tets *tets) {
    sinew_error error;
    int *part = malloc(sizeof(int) * (size_t)tets->vertex_count), count;
    assert_ok(
        sn_components_of(tets->vertex_count, tets->tet_count, 4, tets->tets, part, &count, &error));
    for (int v = 0; v < tets->vertex_count; v++) assert_true(part[v] >= 0); /* all are used */
    free(part);
    return count;
}

static double tet_volume_sum(const sinew_tets *tets) {
    double *volume = malloc(sizeof(double) * (size_t)tets->tet_count), sum = 0;
    sn_tet_volumes(tets->positions, tets->tet_count, tets->tets, volume);
    for (int t = 0; t < tets->tet_count; t++) {
        assert_true(volume[t] > 0);
        sum += volume[t];
    }
    free(volume);
    return sum;
}

/* Every vertex sits inside its tet and comes back from it. */
static void assert_holds(const sinew_mesh *mesh, const sinew_cage *cage, double slack) {
    double *positions = malloc(sizeof(double) * 3 * (size_t)mesh->vertex_count);
    sinew_embedding_apply(cage->embedding, cage->tets->positions, positions);
    double size = sinew_diagonal(mesh->vertex_count, mesh->positions);
    for (int i = 0; i < 3 * mesh->vertex_count; i++)
        assert_close(positions[i], mesh->positions[i], 1e-12 * size);
    for (int i = 0; i < 4 * mesh->vertex_count; i++)
        assert_true(cage->embedding->weights[i] >= -slack);
    free(positions);
}

/* Whole cells fit together without gaps: the outside of the cage is a closed surface that encloses
 * the volume of its tets. */
static void assert_fits_together(const sinew_tets *tets) {
    sinew_error error;
    sn_side *sides;
    size_t count;
    double enclosed = 0;
    assert_ok(sn_sides_create(tets->tet_count, tets->tets, 0, NULL, &sides, &count, &error));
    for (size_t i = 0, end; i < count; i = end) {
        end = sn_sides_next(sides, count, i);
        assert_true(end - i <= 2);
        if (end - i == 2) continue;
        sn_vec3 p[3], center = sn_v3(0, 0, 0);
        for (int k = 0; k < 3; k++) p[k] = sn_at(tets->positions, sides[i].v[k]);
        for (int k = 0; k < 4; k++)
            center = sn_add_scaled(center, 0.25,
                                   sn_at(tets->positions, tets->tets[4 * sides[i].tet + k]));
        sn_vec3 normal = sn_cross(sn_sub(p[1], p[0]), sn_sub(p[2], p[0]));
        double way = sn_dot(normal, sn_sub(p[0], center)) > 0 ? 1 : -1;
        enclosed += way * sn_dot(p[0], sn_cross(p[1], p[2])) / 6;
    }
    sn_free(sides);
    assert_close(enclosed, tet_volume_sum(tets), 1e-9);
}

static void solids_are_covered_by_their_cage(void **state) {
    (void)state;
    sinew_mesh *meshes[] = {shape_sphere(10), shape_torus(30, 12), shape_bar(3, 4)};
    for (int i = 0; i < 3; i++) {
        sinew_cage *cage = cage_of(meshes[i], 1.0 / 30);
        double size = sinew_diagonal(meshes[i]->vertex_count, meshes[i]->positions);
        assert_close(cage->cell, size / 30, 1e-12);
        assert_holds(meshes[i], cage, 0);
        double volume = tet_volume_sum(cage->tets), area = shape_area(meshes[i]);
        assert_true(volume > shape_volume(meshes[i]));
        assert_true(volume < shape_volume(meshes[i]) + 2 * cage->cell * area);
        assert_int_equal(tet_parts(cage->tets), 1);
        assert_fits_together(cage->tets);
        /* points inside the solid are inside some tet */
        uint64_t seed = 21;
        sinew_error error;
        sinew_query *query;
        assert_ok(sinew_query_create(meshes[i]->vertex_count, meshes[i]->positions,
                                     meshes[i]->triangle_count, meshes[i]->triangles, &query,
                                     &error));
        double inner[3 * 50];
        int count = 0;
        while (count < 50) {
            double p[3];
            for (int k = 0; k < 3; k++) p[k] = 3 * test_random(&seed);
            if (sinew_query_inside(query, p)) memcpy(inner + 3 * count++, p, sizeof p);
        }
        sinew_embedding *embedding;
        assert_ok(sinew_embedding_create(cage->tets, count, inner, &embedding, &error));
        for (int k = 0; k < 4 * count; k++) assert_true(embedding->weights[k] >= -1e-12);
        sinew_embedding_destroy(embedding);
        sinew_query_destroy(query);
        sinew_cage_destroy(cage);
        sinew_mesh_destroy(meshes[i]);
    }
}

static void open_and_crossing_surfaces_get_a_cage_too(void **state) {
    (void)state;
    sinew_mesh *sphere = shape_sphere(12);
    sphere->triangle_count -= 4; /* a hole that is closed for filling */
    sinew_mesh *meshes[] = {
        shape_grid(9), shape_moebius(20), sphere,
        shape_from(3, (double[9]){0, 0, 0, 1, 0, 0, 0, 1, 0}, 1, (int[3]){0, 1, 2})};
    for (int i = 0; i < 4; i++) {
        sinew_cage *cage = cage_of(meshes[i], 1.0 / 20);
        assert_holds(meshes[i], cage, 0);
        assert_int_equal(tet_parts(cage->tets), 1);
        if (i == 2) assert_true(tet_volume_sum(cage->tets) > shape_volume(sphere));
        sinew_cage_destroy(cage);
    }
    for (int i = 0; i < 4; i++) sinew_mesh_destroy(meshes[i]);
}

static void parts_that_touch_keep_their_own_cells(void **state) {
    (void)state;
    sinew_error error;
    sinew_mesh *mesh = shape_join(shape_sphere(6), shape_sphere(6), 1.5, 0, 0);
    sinew_cage *apart = cage_of(mesh, 1.0 / 25), *together;
    assert_int_equal(tet_parts(apart->tets), 2);
    assert_holds(mesh, apart, 0);
    sinew_cage_options options;
    sinew_cage_options_init(&options);
    options.cell = 1.0 / 25;
    options.separate_parts = false;
    assert_ok(sinew_cage_create(mesh, &options, NULL, &together, &error));
    assert_int_equal(tet_parts(together->tets), 1);
    assert_true(together->tets->tet_count < apart->tets->tet_count);
    sinew_cage_destroy(apart), sinew_cage_destroy(together);
    sinew_mesh_destroy(mesh);
}

static void seams_do_not_cut_a_cage(void **state) {
    (void)state;
    sinew_mesh *mesh = shape_bar(2, 3);
    int n = mesh->triangle_count; /* every triangle with vertices of its own */
    double *positions = malloc(sizeof(double) * 9 * (size_t)n);
    int *triangles = malloc(sizeof(int) * 3 * (size_t)n);
    for (int c = 0; c < 3 * n; c++) {
        triangles[c] = c;
        memcpy(positions + 3 * c, mesh->positions + 3 * mesh->triangles[c], 24);
    }
    sinew_mesh *soup = shape_from(3 * n, positions, n, triangles);
    sinew_cage *whole = cage_of(mesh, 1.0 / 20), *split = cage_of(soup, 1.0 / 20);
    assert_int_equal(split->tets->tet_count, whole->tets->tet_count);
    assert_int_equal(tet_parts(split->tets), 1);
    assert_holds(soup, split, 0);
    sinew_cage_destroy(whole), sinew_cage_destroy(split);
    sinew_mesh_destroy(mesh), sinew_mesh_destroy(soup);
    free(positions), free(triangles);
}

static void unused_vertices_follow_the_nearest_cell(void **state) {
    (void)state;
    sinew_mesh *lone = shape_from(2, (double[]){0.1, 0, 0, 3, 0, 0}, 0, NULL);
    sinew_mesh *mesh = shape_join(lone, shape_sphere(6), 0, 0, 0);
    sinew_cage *cage = cage_of(mesh, 1.0 / 20);
    assert_holds(mesh, cage, 1e300);
    sinew_cage_destroy(cage);
    sinew_mesh_destroy(mesh);
}

static void surfaces_without_a_cage_are_named(void **state) {
    (void)state;
    sinew_error error;
    sinew_cage *cage;
    sinew_mesh *empty = shape_from(3, (double[9]){0}, 0, NULL);
    assert_int_equal(sinew_cage_create(empty, NULL, NULL, &cage, &error), SINEW_BAD_INPUT);
    sinew_mesh *point = shape_from(3, (double[9]){0}, 1, (int[3]){0, 1, 2});
    assert_int_equal(sinew_cage_create(point, NULL, NULL, &cage, &error), SINEW_BAD_INPUT);
    assert_non_null(strstr(error.message, "extent"));
    sinew_mesh *sphere = shape_sphere(4);
    sinew_cage_options options;
    sinew_cage_options_init(&options);
    options.cell = 1e-6;
    assert_int_equal(sinew_cage_create(sphere, &options, NULL, &cage, &error), SINEW_BAD_INPUT);
    assert_non_null(strstr(error.message, "cells"));
    sphere->positions[4] = NAN;
    assert_int_equal(sinew_cage_create(sphere, NULL, NULL, &cage, &error), SINEW_BAD_INPUT);
    sinew_mesh_destroy(empty), sinew_mesh_destroy(point), sinew_mesh_destroy(sphere);
}

static void embedded_points_reproduce_linear_maps(void **state) {
    (void)state;
    sinew_error error;
    sinew_mesh *mesh = shape_torus(20, 8);
    sinew_cage *cage = cage_of(mesh, 1.0 / 15);
    enum { COUNT = 300 };
    static double points[3 * COUNT], moved[3 * COUNT];
    uint64_t seed = 22;
    for (int i = 0; i < 3 * COUNT; i++) points[i] = 2 * test_random(&seed); /* in and out */
    sinew_embedding *embedding;
    assert_ok(sinew_embedding_create(cage->tets, COUNT, points, &embedding, &error));
    sn_mat3 map = {{{1, 2, 0.5}, {-1, 0.3, 0}, {0.2, 0.1, -2}}};
    sn_vec3 shift = sn_v3(3, -4, 5);
    double *posed = malloc(sizeof(double) * 3 * (size_t)cage->tets->vertex_count);
    for (int v = 0; v < cage->tets->vertex_count; v++)
        sn_put(posed, v, sn_add(shift, sn_mat3_apply(map, sn_at(cage->tets->positions, v))));
    sinew_embedding_apply(embedding, posed, moved);
    for (int i = 0; i < COUNT; i++) {
        sn_vec3 expected = sn_add(shift, sn_mat3_apply(map, sn_at(points, i)));
        assert_close(sn_distance(sn_at(moved, i), expected), 0, 1e-9);
    }
    points[5] = INFINITY;
    sinew_embedding *none;
    assert_int_equal(sinew_embedding_create(cage->tets, COUNT, points, &none, &error),
                     SINEW_BAD_INPUT);
    free(posed);
    sinew_embedding_destroy(embedding);
    sinew_cage_destroy(cage);
    sinew_mesh_destroy(mesh);
}

/* Bends x into an arc of the given angle over the length 3 of the bar. */
static void bend(const double *rest, int count, double angle, double *posed) {
    for (int v = 0; v < count; v++) {
        sn_vec3 p = sn_at(rest, v);
        double radius = 3 / angle, turn = p.x / radius, r = radius - (p.y - 0.5);
        sn_put(posed, v, sn_v3(r * sin(turn), radius - r * cos(turn), p.z));
    }
}

static void rigid_poses_leave_nothing_over(void **state) {
    (void)state;
    sinew_error error;
    sinew_mesh *mesh = shape_torus(24, 10);
    sinew_cage *cage = cage_of(mesh, 1.0 / 20);
    sinew_cage_fit *fit;
    assert_ok(sinew_cage_fit_create(cage, mesh, NULL, &fit, &error));
    double *target = malloc(sizeof(double) * 3 * (size_t)mesh->vertex_count);
    sn_mat3 turn = sn_rotation_exp(sn_v3(1.5, -2, 0.7));
    for (int v = 0; v < mesh->vertex_count; v++)
        sn_put(target, v, sn_add(sn_v3(1, 2, 3), sn_mat3_apply(turn, sn_at(mesh->positions, v))));
    sinew_cage_pose *pose;
    assert_ok(sinew_cage_fit_pose(fit, target, NULL, &pose, &error));
    assert_int_equal(pose->inverted, 0);
    assert_close(pose->leftover_max, 0, 1e-9);
    for (int v = 0; v < cage->tets->vertex_count; v++) {
        sn_vec3 expected =
            sn_add(sn_v3(1, 2, 3), sn_mat3_apply(turn, sn_at(cage->tets->positions, v)));
        assert_close(sn_distance(sn_at(pose->positions, v), expected), 0, 1e-8);
    }
    sinew_cage_pose_destroy(pose);
    free(target);
    sinew_cage_fit_destroy(fit);
    sinew_cage_destroy(cage);
    sinew_mesh_destroy(mesh);
}

static void bent_poses_are_met_exactly_without_inversion(void **state) {
    (void)state;
    sinew_error error;
    sinew_mesh *mesh = shape_bar(3, 6);
    sinew_cage *cage = cage_of(mesh, 1.0 / 20);
    double *target = malloc(sizeof(double) * 3 * (size_t)mesh->vertex_count);
    double *back = malloc(sizeof(double) * 3 * (size_t)mesh->vertex_count);
    bend(mesh->positions, mesh->vertex_count, 1.5, target);
    double *first = NULL;
    for (int threads = 1; threads <= 2; threads++) {
        sinew_set_threads(threads);
        sinew_cage_fit *fit;
        assert_ok(sinew_cage_fit_create(cage, mesh, NULL, &fit, &error));
        sinew_cage_pose *pose;
        assert_ok(sinew_cage_fit_pose(fit, target, NULL, &pose, &error));
        assert_int_equal(pose->inverted, 0);
        assert_below(pose->leftover_max, 0.03); /* strained by a quarter */
        sinew_cage_surface(fit, pose->positions, pose->leftover, back);
        for (int i = 0; i < 3 * mesh->vertex_count; i++) assert_close(back[i], target[i], 1e-12);
        size_t bytes = 3 * sizeof(double) * (size_t)cage->tets->vertex_count;
        if (!first) {
            first = malloc(bytes);
            memcpy(first, pose->positions, bytes);
        } else {
            assert_memory_equal(first, pose->positions, bytes);
        }
        sinew_cage_pose_destroy(pose);
        sinew_cage_fit_destroy(fit);
    }
    sinew_set_threads(0);
    free(first), free(target), free(back);
    sinew_cage_destroy(cage);
    sinew_mesh_destroy(mesh);
}

/* A bar of cells as a tet mesh whose outer vertices come first. */
static sinew_tets *solid_bar(int n) {
    int size[3] = {3 * n, n, n}, count = (size[0] + 1) * (n + 1) * (n + 1), made = 0;
    sinew_tets *tets = calloc(1, sizeof *tets);
    tets->positions = malloc(sizeof(double) * 3 * (size_t)count);
    int *number = malloc(sizeof(int) * (size_t)count);
    for (int inner = 0; inner < 2; inner++) {
        for (int c = 0; c < count; c++) {
            int at[3] = {c / (n + 1) / (n + 1), c / (n + 1) % (n + 1), c % (n + 1)};
            bool outside = false;
            for (int k = 0; k < 3; k++) outside |= at[k] == 0 || at[k] == size[k];
            if (outside == inner) continue;
            sn_put(tets->positions, made,
                   sn_v3((double)at[0] / n, (double)at[1] / n, (double)at[2] / n));
            number[c] = made++;
        }
        if (!inner) tets->surface_count = made;
    }
    tets->vertex_count = count;
    tets->tets = malloc(sizeof(int) * 24 * (size_t)(3 * n * n * n));
    static const int walk[6][3] = {{0, 1, 2}, {1, 2, 0}, {2, 0, 1},
                                   {0, 2, 1}, {2, 1, 0}, {1, 0, 2}};
    for (int cell = 0; cell < 3 * n * n * n; cell++)
        for (int p = 0; p < 6; p++) {
            int at[3] = {cell / n / n, cell / n % n, cell % n},
                *t = tets->tets + 4 * tets->tet_count++;
            for (int c = 0; c < 4; c++) {
                if (c > 0) at[walk[p][c - 1]]++;
                t[p < 3 || c < 2 ? c : 5 - c] = number[(at[0] * (n + 1) + at[1]) * (n + 1) + at[2]];
            }
        }
    free(number);
    return tets;
}
static void free_bar(sinew_tets *tets) {
    free(tets->positions), free(tets->tets), free(tets);
}

static void interior_points_follow_a_bent_bar(void **state) {
    (void)state;
    sinew_error error;
    sinew_tets *bar = solid_bar(4);
    assert_int_equal(sn_count_inverted(bar->positions, bar->tet_count, bar->tets), 0);
    sinew_carry *carry;
    assert_ok(sinew_carry_create(bar, &carry, &error));
    size_t n = (size_t)bar->vertex_count;
    double *exact = malloc(sizeof(double) * 3 * n), *got = malloc(sizeof(double) * 3 * n);
    int inverted;
    /* rest stays rest, a rigid motion stays rigid */
    assert_ok(sinew_carry_pose(carry, bar->positions, 10, got, &inverted, &error));
    for (size_t i = 0; i < 3 * n; i++) assert_close(got[i], bar->positions[i], 1e-12);
    sn_mat3 turn = sn_rotation_exp(sn_v3(0.4, 3, -0.2));
    for (int v = 0; v < bar->vertex_count; v++)
        sn_put(exact, v, sn_mat3_apply(turn, sn_at(bar->positions, v)));
    assert_ok(sinew_carry_pose(carry, exact, 10, got, &inverted, &error));
    assert_int_equal(inverted, 0);
    for (size_t i = 0; i < 3 * n; i++) assert_close(got[i], exact[i], 1e-9);
    /* bent by 90 degrees */
    bend(bar->positions, bar->vertex_count, 1.5707963267948966, exact);
    assert_ok(
        sinew_carry_pose(carry, exact, SINEW_CARRY_ITERATIONS_DEFAULT, got, &inverted, &error));
    assert_int_equal(inverted, 0);
    assert_memory_equal(got, exact, 3 * sizeof(double) * (size_t)bar->surface_count);
    for (int v = 0; v < bar->vertex_count; v++)
        assert_below(sn_distance(sn_at(got, v), sn_at(exact, v)), 0.05);
    exact[2] = NAN;
    assert_int_equal(sinew_carry_pose(carry, exact, 1, got, &inverted, &error), SINEW_BAD_INPUT);
    free(exact), free(got);
    sinew_carry_destroy(carry);
    free_bar(bar);
}

/* The gradient of the energy at fixed rotations is 2 (L x - b), against differences. */
static void rigidity_energy_has_its_gradient(void **state) {
    (void)state;
    sinew_error error;
    sinew_tets *bar = solid_bar(1);
    sn_rigidity rigidity;
    assert_ok(sn_rigidity_create(bar, &rigidity, &error));
    sn_triplets triplets;
    assert_ok(sn_triplets_create(bar->vertex_count, bar->vertex_count, 100, &triplets, &error));
    assert_true(sn_rigidity_laplacian(&rigidity, &triplets));
    sn_sparse *laplacian;
    assert_ok(sn_sparse_from_triplets(&triplets, true, &laplacian, &error));
    sn_triplets_free(&triplets);
    int n = 3 * bar->vertex_count;
    double *x = malloc(sizeof(double) * (size_t)n), *lx = malloc(sizeof(double) * (size_t)n);
    double *b = malloc(sizeof(double) * (size_t)n);
    sn_mat3 *rotations = malloc(sizeof(sn_mat3) * (size_t)bar->tet_count);
    uint64_t seed = 23;
    for (int i = 0; i < n; i++) x[i] = bar->positions[i] + 0.2 * test_random(&seed);
    sn_rigidity_rotations(&rigidity, x, rotations);
    sn_rigidity_pull(&rigidity, rotations, b);
    sn_sparse_multiply(laplacian, 3, x, lx);
    for (int i = 0; i < n; i++) {
        double at = x[i], step = 1e-5;
        x[i] = at + step;
        double up = sn_rigidity_energy(&rigidity, x, rotations);
        x[i] = at - step;
        double down = sn_rigidity_energy(&rigidity, x, rotations);
        x[i] = at;
        assert_close((up - down) / (2 * step), 2 * (lx[i] - b[i]), 1e-8);
    }
    free(x), free(lx), free(b), free(rotations);
    sn_sparse_destroy(laplacian);
    sn_rigidity_free(&rigidity);
    free_bar(bar);
}

static void cat_and_horse_get_cages(void **state) {
    (void)state;
    static const char *const paths[] = {"research/sumner-cat/reference.obj",
                                        "research/sumner-horse/reference.obj",
                                        "free/facecap/head.obj", "free/aframe-hand/fist.obj"};
    skip_without_data(test_data(paths[0]));
    for (int i = 0; i < 4; i++) {
        if (!test_data(paths[i])) continue;
        sinew_error error;
        sinew_mesh *mesh;
        assert_ok(sinew_mesh_read(test_data(paths[i]), &mesh, &error));
        sinew_cage *cage;
        assert_ok(sinew_cage_create(mesh, NULL, NULL, &cage, &error));
        assert_holds(mesh, cage, 0);
        double volume = tet_volume_sum(cage->tets);
        sinew_check_options quick;
        sinew_check_options_init(&quick);
        quick.self_intersection = false;
        sinew_check *check;
        assert_ok(sinew_check_mesh(mesh, &quick, NULL, &check, &error));
        assert_int_equal(tet_parts(cage->tets), check->component_count);
        if (i < 2) /* filled, the horse in spite of its hole */
            assert_true(volume > fabs(shape_volume(mesh)));
        sinew_check_destroy(check);
        sinew_cage_destroy(cage);
        sinew_mesh_destroy(mesh);
    }
}

int test_cages(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(solids_are_covered_by_their_cage),
        cmocka_unit_test(open_and_crossing_surfaces_get_a_cage_too),
        cmocka_unit_test(parts_that_touch_keep_their_own_cells),
        cmocka_unit_test(seams_do_not_cut_a_cage),
        cmocka_unit_test(unused_vertices_follow_the_nearest_cell),
        cmocka_unit_test(surfaces_without_a_cage_are_named),
        cmocka_unit_test(embedded_points_reproduce_linear_maps),
        cmocka_unit_test(rigid_poses_leave_nothing_over),
        cmocka_unit_test(bent_poses_are_met_exactly_without_inversion),
        cmocka_unit_test(interior_points_follow_a_bent_bar),
        cmocka_unit_test(rigidity_energy_has_its_gradient),
        cmocka_unit_test(cat_and_horse_get_cages),
    };
    return cmocka_run_group_tests_name("cages", tests, NULL, NULL);
}
