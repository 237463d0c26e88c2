/* Pieces of a surface: the nearest of others, those embedded at rest, crossings taken out. */
#include "support.h"

#include "base/memory.h"
#include "base/vec3.h"
#include "groups.h"
#include "mesh/closest.h"
#include "mesh/embedded.h"
#include "mesh/intersection.h"
#include "mesh/parts.h"
#include "mesh/topology.h"
#include "mesh/uncross.h"
#include "shapes.h"

/* Five spheres of different sizes, one inside another, and a grid. */
static sinew_mesh *scattered_parts(int *part, int most) {
    sinew_error error;
    sinew_mesh *mesh = shape_sphere(4);
    for (int i = 0; i < 3 * mesh->vertex_count; i++) mesh->positions[i] *= 3;
    mesh = shape_join(mesh, shape_sphere(3), 0.3, 0.2, -0.5);
    mesh = shape_join(mesh, shape_sphere(2), 4.5, 0.5, 0.25);
    mesh = shape_join(mesh, shape_grid(5), 3.2, 2, 1);
    mesh = shape_join(mesh, shape_sphere(1), 4, 3.5, 1);
    mesh = shape_join(mesh, shape_sphere(2), -9, 1, 0);
    int count;
    assert_true(mesh->vertex_count <= most);
    assert_ok(sn_components(mesh->vertex_count, mesh->triangle_count, mesh->triangles, part, &count,
                            &error));
    assert_int_equal(count, 6);
    return mesh;
}

static double distance_to_part(const sinew_mesh *mesh, const int *part, int v, int other) {
    double least = INFINITY, weights[3];
    sn_vec3 p = sn_at(mesh->positions, v);
    for (int t = 0; t < mesh->triangle_count; t++) {
        const int *c = mesh->triangles + 3 * t;
        if (part[c[0]] != other) continue;
        sn_vec3 q =
            sn_closest_on_triangle(p, sn_at(mesh->positions, c[0]), sn_at(mesh->positions, c[1]),
                                   sn_at(mesh->positions, c[2]), weights);
        least = fmin(least, sn_distance(p, q));
    }
    return least;
}

static void assert_nearest_parts(const sinew_mesh *mesh, const int *part, int most, double reach) {
    sinew_error error;
    sn_link *links;
    int count, at = 0;
    assert_ok(sn_parts_nearest(mesh->vertex_count, mesh->positions, mesh->triangle_count,
                               mesh->triangles, part, most, reach, &links, &count, &error));
    for (int v = 0; v < mesh->vertex_count; v++) {
        double distance[6];
        for (int k = 0; k < 6; k++)
            distance[k] = k == part[v] ? INFINITY : distance_to_part(mesh, part, v, k);
        for (int k = 0; part[v] >= 0 && k < most; k++) {
            int best = 0;
            for (int i = 1; i < 6; i++)
                if (distance[i] < distance[best]) best = i;
            if (distance[best] > reach) break;
            assert_true(at < count);
            const sn_link *link = &links[at++];
            double offset[3], sum = 0;
            assert_int_equal(link->vertex, v);
            for (int c = 0; c < 3; c++) {
                assert_int_equal(part[link->corners[c]], best);
                assert_true(link->weights[c] >= 0);
                sum += link->weights[c];
            }
            assert_close(sum, 1, 1e-12);
            sn_link_offset(link, mesh->positions, offset);
            assert_close(sn_length(sn_at(offset, 0)), distance[best], 1e-12);
            distance[best] = INFINITY;
        }
    }
    assert_int_equal(at, count);
    sn_free(links);
}

static void nearest_parts_are_those_of_a_search_of_all(void **state) {
    (void)state;
    int part[512];
    sinew_mesh *mesh = scattered_parts(part, 512);
    for (int most = 1; most <= SN_LINKS_PER_VERTEX; most++)
        assert_nearest_parts(mesh, part, most, 100);
    assert_nearest_parts(mesh, part, 3, 1.5);
    for (int v = 0; v < mesh->vertex_count; v++)
        if (part[v] == 2) part[v] = -1; /* takes no part */
    assert_nearest_parts(mesh, part, 4, 8);
    for (int v = 0; v < mesh->vertex_count; v++) part[v] = -1;
    assert_nearest_parts(mesh, part, 4, 8);
    sinew_mesh_destroy(mesh);
}

static void a_link_reaches_just_as_far_as_it_may(void **state) {
    (void)state;
    const double positions[] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0.25, 0.25, 2, 1, 0, 3, 0, 1, 3};
    const int triangles[] = {0, 1, 2, 3, 4, 5}, part[] = {0, 0, 0, 1, 1, 1};
    sinew_error error;
    sn_link *links;
    int count;
    assert_ok(sn_parts_nearest(6, positions, 2, triangles, part, 1, 2, &links, &count, &error));
    assert_int_equal(count, 1);
    assert_int_equal(links[0].vertex, 3);
    assert_close(links[0].weights[0], 0.5, 1e-15);
    assert_close(links[0].weights[1], 0.25, 1e-15);
    sn_free(links);
    assert_ok(sn_parts_nearest(6, positions, 2, triangles, part, 1, 1.999, &links, &count, &error));
    assert_int_equal(count, 0);
    assert_null(links);
}

static void find_embedded(const sinew_mesh *mesh, bool *embedded, bool *crosses) {
    sinew_error error;
    assert_ok(sn_embedded_pieces(mesh->vertex_count, mesh->positions, mesh->triangle_count,
                                 mesh->triangles, NULL, embedded, crosses, &error));
}

/* crosses: the vertices of triangles that meet one of the other piece, when all are tried. */
static void assert_crossings(const sinew_mesh *mesh, int first_count, const bool *crosses) {
    bool *wanted = calloc((size_t)mesh->vertex_count, sizeof(bool));
    for (int a = 0; a < mesh->triangle_count; a++)
        for (int b = 0; b < mesh->triangle_count; b++) {
            const int *p = mesh->triangles + 3 * a, *q = mesh->triangles + 3 * b;
            if ((p[0] < first_count) == (q[0] < first_count)) continue;
            sn_vec3 u[3], v[3];
            for (int c = 0; c < 3; c++)
                u[c] = sn_at(mesh->positions, p[c]), v[c] = sn_at(mesh->positions, q[c]);
            for (int c = 0; c < 3 && sn_triangles_meet(u, v); c++) wanted[p[c]] = true;
        }
    for (int v = 0; v < mesh->vertex_count; v++) assert_int_equal(crosses[v], wanted[v]);
    free(wanted);
}

static void the_smaller_of_two_crossing_pieces_is_embedded(void **state) {
    (void)state;
    bool embedded[600], crosses[600];
    for (int order = 0; order < 2; order++) {
        sinew_mesh *small = shape_sphere(4), *large = shape_sphere(5);
        int smalls = small->vertex_count, larges = large->vertex_count;
        for (int i = 0; i < 3 * smalls; i++) small->positions[i] *= 0.4;
        sinew_mesh *both = order ? shape_join(large, small, 1.01, 0.02, 0.03)
                                 : shape_join(small, large, 1.01, 0.02, 0.03);
        sinew_mesh *mesh = shape_join(both, shape_sphere(2), 9, 0, 0);
        find_embedded(mesh, embedded, crosses);
        for (int v = 0; v < mesh->vertex_count; v++) {
            bool is_small = order ? v >= larges && v < larges + smalls : v < smalls;
            assert_int_equal(embedded[v], is_small);
        }
        assert_crossings(mesh, order ? larges : smalls, crosses);
        sinew_mesh_destroy(mesh);
    }
}

static void of_equal_pieces_the_first_counts_as_the_larger(void **state) {
    (void)state;
    bool embedded[200], crosses[200];
    sinew_mesh *mesh = shape_join(shape_sphere(3), shape_sphere(3), 1.5, 0, 0);
    find_embedded(mesh, embedded, crosses);
    for (int v = 0; v < mesh->vertex_count; v++)
        assert_int_equal(embedded[v], v >= mesh->vertex_count / 2);
    sinew_mesh_destroy(mesh);
}

static void a_piece_that_pokes_through_a_little_is_not_embedded(void **state) {
    (void)state;
    static bool embedded[3000], crosses[3000];
    sinew_mesh *large = shape_sphere(12);
    for (int i = 0; i < 3 * large->vertex_count; i++) large->positions[i] *= 2;
    sinew_mesh *mesh = shape_join(large, shape_sphere(12), 2.999, 0.001, 0.002);
    find_embedded(mesh, embedded, crosses);
    int crossing = 0;
    for (int v = 0; v < mesh->vertex_count; v++) {
        assert_false(embedded[v]);
        crossing += crosses[v];
    }
    assert_true(crossing >= 6);
    sinew_mesh_destroy(mesh);
    mesh = shape_join(shape_sphere(3), shape_sphere(3), 5, 0, 0); /* apart */
    find_embedded(mesh, embedded, crosses);
    for (int v = 0; v < mesh->vertex_count; v++) assert_false(embedded[v] || crosses[v]);
    sinew_mesh_destroy(mesh);
}

/* Halves of a small sphere that do not share vertices, only one of which crosses. */
static void a_seam_does_not_split_a_piece(void **state) {
    (void)state;
    bool embedded[400], crosses[400];
    sinew_mesh *one = shape_sphere(3);
    int n = one->vertex_count, count = one->triangle_count, *triangles;
    triangles = malloc(sizeof(int) * 3 * (size_t)count);
    double *positions = malloc(sizeof(double) * 6 * (size_t)n);
    for (int i = 0; i < 3 * n; i++) positions[i] = positions[3 * n + i] = 0.4 * one->positions[i];
    for (int t = 0; t < count; t++) {
        double x = 0;
        for (int c = 0; c < 3; c++) x += one->positions[3 * one->triangles[3 * t + c]];
        for (int c = 0; c < 3; c++)
            triangles[3 * t + c] = one->triangles[3 * t + c] + (x > 0 ? n : 0);
    }
    sinew_mesh *mesh = shape_join(shape_from(2 * n, positions, count, triangles), shape_sphere(4),
                                  1.25, 0.02, 0.01);
    find_embedded(mesh, embedded, crosses);
    for (int v = 0; v < 2 * n; v++) {
        bool used = false;
        for (int c = 0; c < 3 * count; c++) used |= triangles[c] == v;
        if (used) assert_true(embedded[v]);
    }
    for (int v = 2 * n; v < mesh->vertex_count; v++) assert_false(embedded[v]);
    sinew_mesh_destroy(one);
    sinew_mesh_destroy(mesh);
    free(positions), free(triangles);
}

/* More than a fifth of the triangles of a piece: all of it; else, the triangles alone. */
static void pieces_that_cross_much_are_tangled_whole(void **state) {
    (void)state;
    sinew_error error;
    sinew_mesh *mesh = shape_join(shape_grid(10), shape_grid(1), 5, 0, 0);
    int n = mesh->vertex_count, all = mesh->triangle_count;
    for (int crossing = 39; crossing <= 41; crossing++) {
        bool crosses[256] = {false}, tangled[256] = {false}, at[256] = {false},
             wanted[256] = {false};
        for (int t = 0; t < crossing; t++) crosses[t] = true;
        crosses[all - 1] = true; /* half of the second piece */
        for (int t = 0; t < all; t++)
            for (int c = 0; c < 3 && crosses[t]; c++) wanted[mesh->triangles[3 * t + c]] = true;
        assert_ok(sn_find_tangled(n, all, mesh->triangles, crosses, tangled, at, &error));
        for (int v = 0; v < n; v++) {
            assert_int_equal(at[v], wanted[v]);
            assert_int_equal(tangled[v], wanted[v] || v >= n - 4 || crossing > 40);
        }
    }
    sinew_mesh_destroy(mesh);
}

static int crossings_of(const sinew_mesh *mesh, const double *positions) {
    sinew_error error;
    sn_pairs pairs;
    assert_ok(sn_self_intersections(mesh->vertex_count, positions, mesh->triangle_count,
                                    mesh->triangles, NULL, &pairs, &error));
    int count = pairs.count;
    sn_pairs_free(&pairs);
    return count;
}

static void a_small_crossing_is_smoothed_out(void **state) {
    (void)state;
    sinew_error error;
    sinew_mesh *mesh = shape_sphere(12);
    int n = mesh->vertex_count, moved = -1, spike = 0;
    double *positions = malloc(sizeof(double) * 3 * (size_t)n);
    assert_ok(sn_uncross(mesh, NULL, positions, &moved, &error));
    assert_int_equal(moved, 0);
    assert_memory_equal(positions, mesh->positions, sizeof(double) * 3 * (size_t)n);
    for (int v = 0; v < n; v++)
        if (mesh->positions[3 * v] > mesh->positions[3 * spike]) spike = v;
    mesh->positions[3 * spike] = 0.9, mesh->positions[3 * spike + 1] = 0.6; /* below, then out */
    sn_vec3 from = sn_v3(1, 0, 0);
    assert_true(crossings_of(mesh, mesh->positions) > 0);
    assert_ok(sn_uncross(mesh, NULL, positions, &moved, &error));
    assert_int_equal(crossings_of(mesh, positions), 0);
    int differ = 0;
    for (int v = 0; v < n; v++) {
        sn_vec3 p = sn_at(positions, v), q = sn_at(mesh->positions, v);
        bool same = sn_distance(p, q) == 0;
        differ += !same;
        if (sn_distance(q, from) > 1.4) assert_true(same);
        assert_true(sn_length(p) < 1.1);
    }
    assert_int_equal(moved, differ);
    assert_true(moved > 0 && moved < n / 5);
    free(positions);
    sinew_mesh_destroy(mesh);
}

static void surfaces_that_cross_much_are_refused(void **state) {
    (void)state;
    sinew_error error;
    sinew_mesh *mesh = shape_join(shape_sphere(4), shape_sphere(4), 0.3, 0.1, 0.2);
    int moved;
    double *positions = malloc(sizeof(double) * 3 * (size_t)mesh->vertex_count);
    assert_int_equal(sn_uncross(mesh, NULL, positions, &moved, &error), SINEW_BAD_INPUT);
    assert_non_null(strstr(error.message, "intersections"));
    free(positions);
    sinew_mesh_destroy(mesh);
}

int test_pieces(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nearest_parts_are_those_of_a_search_of_all),
        cmocka_unit_test(a_link_reaches_just_as_far_as_it_may),
        cmocka_unit_test(the_smaller_of_two_crossing_pieces_is_embedded),
        cmocka_unit_test(of_equal_pieces_the_first_counts_as_the_larger),
        cmocka_unit_test(a_piece_that_pokes_through_a_little_is_not_embedded),
        cmocka_unit_test(a_seam_does_not_split_a_piece),
        cmocka_unit_test(pieces_that_cross_much_are_tangled_whole),
        cmocka_unit_test(a_small_crossing_is_smoothed_out),
        cmocka_unit_test(surfaces_that_cross_much_are_refused),
    };
    return cmocka_run_group_tests_name("pieces", tests, NULL, NULL);
}
