#include "support.h"

#include "base/vec3.h"
#include "groups.h"
#include "shapes.h"
#include "sinew/query.h"
#include "sinew/threads.h"

static sinew_query *query_of(const sinew_mesh *mesh) {
    sinew_error error;
    sinew_query *query;
    assert_ok(sinew_query_create(mesh->vertex_count, mesh->positions, mesh->triangle_count,
                                 mesh->triangles, &query, &error));
    return query;
}

static void random_point(uint64_t *seed, double size, double p[3]) {
    for (int k = 0; k < 3; k++) p[k] = size * test_random(seed);
}

/* Another way to the same distance: the face by normal equations, the sides by projection. */
static double reference_distance(const sinew_mesh *mesh, const double *point) {
    sn_vec3 p = sn_v3(point[0], point[1], point[2]);
    double best = INFINITY;
    for (int t = 0; t < mesh->triangle_count; t++) {
        sn_vec3 v[3];
        for (int k = 0; k < 3; k++) v[k] = sn_at(mesh->positions, mesh->triangles[3 * t + k]);
        for (int k = 0; k < 3; k++) {
            sn_vec3 e = sn_sub(v[(k + 1) % 3], v[k]);
            double s = sn_dot(sn_sub(p, v[k]), e) / sn_dot(e, e);
            s = s < 0 || isnan(s) ? 0 : s > 1 ? 1 : s;
            best = fmin(best, sn_distance(p, sn_add_scaled(v[k], s, e)));
        }
        sn_vec3 e = sn_sub(v[1], v[0]), f = sn_sub(v[2], v[0]), q = sn_sub(p, v[0]);
        double ee = sn_dot(e, e), ef = sn_dot(e, f), ff = sn_dot(f, f);
        double det = ee * ff - ef * ef;
        double a = (ff * sn_dot(q, e) - ef * sn_dot(q, f)) / det;
        double b = (ee * sn_dot(q, f) - ef * sn_dot(q, e)) / det;
        if (a >= 0 && b >= 0 && a + b <= 1)
            best = fmin(best, sn_distance(q, sn_add(sn_scale(a, e), sn_scale(b, f))));
    }
    return best;
}

static void assert_closest_is_right(const sinew_mesh *mesh, const sinew_query *query,
                                    const double *point) {
    sinew_closest closest;
    assert_true(sinew_query_closest(query, point, INFINITY, &closest));
    double scale = 1 + sn_length(sn_v3(point[0], point[1], point[2]));
    assert_close(closest.distance, reference_distance(mesh, point), 1e-13 * scale);
    sn_vec3 sum = sn_v3(0, 0, 0);
    for (int k = 0; k < 3; k++) {
        assert_true(closest.barycentric[k] >= 0);
        sum = sn_add_scaled(sum, closest.barycentric[k],
                            sn_at(mesh->positions, mesh->triangles[3 * closest.triangle + k]));
    }
    assert_close(sn_distance(sum, sn_at(closest.point, 0)), 0, 1e-13);
}

static void closest_points_match_brute_force(void **state) {
    (void)state;
    sinew_mesh *mesh = shape_join(shape_torus(40, 16), shape_bar(2, 3), 0.5, 0.5, 0.5);
    sinew_query *query = query_of(mesh);
    uint64_t seed = 1;
    const double sizes[] = {0.5, 2, 50, 1e3, 1e7};
    for (int s = 0; s < 5; s++)
        for (int i = 0; i < 200; i++) {
            double p[3];
            random_point(&seed, sizes[s], p);
            assert_closest_is_right(mesh, query, p);
        }
    for (int v = 0; v < mesh->vertex_count; v += 3) { /* on the surface, many triangles tie */
        sinew_closest closest;
        assert_true(sinew_query_closest(query, mesh->positions + 3 * v, INFINITY, &closest));
        assert_close(closest.distance, 0, 0);
        int smallest = mesh->triangle_count;
        for (int c = 0; c < 3 * mesh->triangle_count; c++)
            if (memcmp(mesh->positions + 3 * mesh->triangles[c], mesh->positions + 3 * v, 24) ==
                    0 &&
                c / 3 < smallest)
                smallest = c / 3;
        assert_int_equal(closest.triangle, smallest);
    }
    sinew_closest none;
    const double away[3] = {5, 0, 0}, bad[3] = {NAN, 0, 0};
    assert_false(sinew_query_closest(query, away, 1, &none));
    assert_int_equal(none.triangle, -1);
    assert_false(sinew_query_closest(query, bad, INFINITY, &none));
    sinew_query_destroy(query);
    sinew_mesh_destroy(mesh);
}

static void size_and_place_of_a_mesh_do_not_matter(void **state) {
    (void)state;
    sinew_mesh *mesh = shape_torus(30, 12);
    for (int i = 0; i < 3 * mesh->vertex_count; i++)
        mesh->positions[i] = 1e-3 * mesh->positions[i] + 1e3;
    sinew_query *query = query_of(mesh);
    uint64_t seed = 2;
    for (int i = 0; i < 200; i++) {
        double p[3];
        random_point(&seed, 2e-3, p);
        for (int k = 0; k < 3; k++) p[k] += 1e3;
        sinew_closest closest;
        assert_true(sinew_query_closest(query, p, INFINITY, &closest));
        assert_close(closest.distance, reference_distance(mesh, p), 4e-13); /* few ulps of 1e3 */
        double across = hypot(hypot(p[0] - 1e3, p[1] - 1e3) - 1e-3, p[2] - 1e3);
        if (fabs(across - 0.4e-3) > 0.05e-3)
            assert_int_equal(sinew_query_inside(query, p), across < 0.4e-3);
    }
    sinew_query_destroy(query);
    sinew_mesh_destroy(mesh);
}

static void collapsed_triangles_are_queried_safely(void **state) {
    (void)state;
    const double positions[] = {0, 0, 0, 1, 0, 0, 2, 0, 0, 5, 5, 5};
    const int triangles[] = {0, 1, 2, 3, 3, 3};
    sinew_mesh *mesh = shape_from(4, positions, 2, triangles);
    sinew_query *query = query_of(mesh);
    sinew_closest closest;
    const double p[3] = {1.5, 1, 0}, q[3] = {5, 5, 6};
    assert_true(sinew_query_closest(query, p, INFINITY, &closest));
    assert_close(closest.distance, 1, 1e-15);
    assert_true(sinew_query_closest(query, q, INFINITY, &closest));
    assert_close(closest.distance, 1, 1e-15);
    assert_false(sinew_query_inside(query, p));
    sinew_query_destroy(query);
    sinew_mesh_destroy(mesh);
    sinew_mesh *empty = shape_from(0, NULL, 0, NULL);
    query = query_of(empty);
    assert_false(sinew_query_closest(query, p, INFINITY, &closest));
    assert_false(sinew_query_ray(query, p, q, INFINITY, &closest));
    assert_false(sinew_query_inside(query, p));
    sinew_query_destroy(query);
    sinew_mesh_destroy(empty);
}

static void inside_agrees_with_the_solid(void **state) {
    (void)state;
    sinew_mesh *bar = shape_bar(3, 4), *torus = shape_torus(60, 30);
    sinew_query *in_bar = query_of(bar), *in_torus = query_of(torus);
    uint64_t seed = 3;
    for (int i = 0; i < 3000; i++) {
        double p[3];
        random_point(&seed, 2, p);
        bool solid = p[0] > 0 && p[0] < 3 && p[1] > 0 && p[1] < 1 && p[2] > 0 && p[2] < 1;
        assert_int_equal(sinew_query_inside(in_bar, p), solid);
        double across = hypot(hypot(p[0], p[1]) - 1, p[2]);
        if (fabs(across - 0.4) > 0.02)
            assert_int_equal(sinew_query_inside(in_torus, p), across < 0.4);
    }
    /* just in and just out, and exactly below vertices and edges */
    for (int i = 0; i < 200; i++) {
        double x = 0.25 * (i % 12), off = (i % 2 ? 1e-9 : -1e-9);
        const double top[3] = {x + 0.125 * (i % 3), 0.25 * (i % 4) + 0.1, 1 - off};
        if (top[0] > 0 && top[0] < 3) assert_int_equal(sinew_query_inside(in_bar, top), off > 0);
        const double aligned[3] = {0.25 + 0.25 * (i % 11), 0.5, 0.5};
        assert_true(sinew_query_inside(in_bar, aligned));
    }
    sinew_query_destroy(in_bar), sinew_query_destroy(in_torus);
    sinew_mesh_destroy(bar), sinew_mesh_destroy(torus);
}

static void overlaps_are_inside_and_cavities_are_not(void **state) {
    (void)state;
    sinew_mesh *two = shape_join(shape_sphere(8), shape_sphere(8), 0.8, 0, 0);
    sinew_mesh *inner = shape_sphere(8);
    for (int i = 0; i < 3 * inner->vertex_count; i++) inner->positions[i] *= 0.5;
    for (int t = 0; t < inner->triangle_count; t++) {
        int swap = inner->triangles[3 * t];
        inner->triangles[3 * t] = inner->triangles[3 * t + 1];
        inner->triangles[3 * t + 1] = swap;
    }
    sinew_mesh *hollow = shape_join(shape_sphere(8), inner, 0, 0, 0);
    sinew_query *in_two = query_of(two), *in_hollow = query_of(hollow);
    const double middle[3] = {0.4, 0.03, 0.02}, origin[3] = {0.01, 0.02, 0.03};
    const double shell[3] = {0.75, 0.03, 0.02};
    assert_true(sinew_query_inside(in_two, middle));
    assert_close(sinew_query_winding(in_two, middle), 2, 1e-12);
    assert_false(sinew_query_inside(in_hollow, origin));
    assert_true(sinew_query_inside(in_hollow, shell));
    sinew_query_destroy(in_two), sinew_query_destroy(in_hollow);
    sinew_mesh_destroy(two), sinew_mesh_destroy(hollow);
}

static void open_surfaces_still_have_an_inside(void **state) {
    (void)state;
    sinew_mesh *mesh = shape_sphere(10);
    mesh->triangle_count -= 6; /* a small hole */
    sinew_query *query = query_of(mesh);
    uint64_t seed = 4;
    for (int i = 0; i < 300; i++) {
        double p[3];
        random_point(&seed, 1.5, p);
        double radius = sn_length(sn_at(p, 0));
        if (fabs(radius - 0.95) > 0.2) assert_int_equal(sinew_query_inside(query, p), radius < 1);
    }
    sinew_query_destroy(query);
    sinew_mesh_destroy(mesh);
}

static void rays_hit_the_first_triangle(void **state) {
    (void)state;
    sinew_mesh *bar = shape_bar(2, 5);
    sinew_query *query = query_of(bar);
    uint64_t seed = 5;
    for (int i = 0; i < 500; i++) {
        double from[3] = {1 + 0.5 * test_random(&seed), 0.5, 0.5}, to[3];
        random_point(&seed, 3, to);
        sinew_closest hit;
        assert_true(sinew_query_ray(query, from, to, INFINITY, &hit));
        /* from inside a box: the nearest of the planes ahead */
        const double size[3] = {2, 1, 1};
        double t = INFINITY;
        for (int k = 0; k < 3; k++) t = fmin(t, ((to[k] > 0 ? size[k] : 0) - from[k]) / to[k]);
        assert_close(hit.distance, t, 1e-12 * (1 + t));
        assert_false(sinew_query_ray(query, from, to, 0.99 * t, &hit));
    }
    const double far[3] = {-1e6, 0.51, 0.52}, ahead[3] = {2, 0, 0};
    sinew_closest hit;
    assert_true(sinew_query_ray(query, far, ahead, INFINITY, &hit));
    assert_close(hit.distance, 0.5e6, 1e-9);
    sinew_query_destroy(query);
    sinew_mesh_destroy(bar);
}

static void moved_surfaces_answer_for_their_new_place(void **state) {
    (void)state;
    sinew_error error;
    sinew_mesh *mesh = shape_torus(40, 16);
    sinew_query *query = query_of(mesh);
    uint64_t seed = 6;
    for (int step = 0; step < 5; step++) {
        for (int v = 0; v < mesh->vertex_count; v++) {
            double *p = mesh->positions + 3 * v, x = p[0], y = p[1], turn = 0.7 * p[2];
            p[0] = cos(turn) * x - sin(turn) * y + 1;
            p[1] = sin(turn) * x + cos(turn) * y;
            p[2] *= 1.3;
        }
        assert_ok(sinew_query_move(query, mesh->positions, &error));
        for (int i = 0; i < 50; i++) {
            double p[3];
            random_point(&seed, 3, p);
            assert_closest_is_right(mesh, query, p);
        }
    }
    mesh->positions[7] = INFINITY;
    assert_int_equal(sinew_query_move(query, mesh->positions, &error), SINEW_BAD_INPUT);
    sinew_query_destroy(query);
    sinew_mesh_destroy(mesh);
}

static void answers_do_not_depend_on_threads(void **state) {
    (void)state;
    enum { COUNT = 2000 };
    sinew_mesh *mesh = shape_torus(50, 20);
    static double points[3 * COUNT];
    static sinew_closest one[COUNT], two[COUNT];
    static bool in_one[COUNT], in_two[COUNT];
    uint64_t seed = 7;
    for (int i = 0; i < COUNT; i++) random_point(&seed, 1.5, points + 3 * i);
    sinew_set_threads(1);
    sinew_query *query = query_of(mesh);
    sinew_query_closest_all(query, COUNT, points, INFINITY, one);
    sinew_query_inside_all(query, COUNT, points, in_one);
    sinew_query_destroy(query);
    sinew_set_threads(2);
    query = query_of(mesh);
    sinew_query_closest_all(query, COUNT, points, INFINITY, two);
    sinew_query_inside_all(query, COUNT, points, in_two);
    sinew_query_destroy(query);
    sinew_set_threads(0);
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(one[i].triangle, two[i].triangle);
        assert_memory_equal(&one[i].distance, &two[i].distance, sizeof(double));
        assert_memory_equal(one[i].barycentric, two[i].barycentric, sizeof one[i].barycentric);
    }
    assert_memory_equal(in_one, in_two, sizeof in_one);
    sinew_mesh_destroy(mesh);
}

int test_queries(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(closest_points_match_brute_force),
        cmocka_unit_test(size_and_place_of_a_mesh_do_not_matter),
        cmocka_unit_test(collapsed_triangles_are_queried_safely),
        cmocka_unit_test(inside_agrees_with_the_solid),
        cmocka_unit_test(overlaps_are_inside_and_cavities_are_not),
        cmocka_unit_test(open_surfaces_still_have_an_inside),
        cmocka_unit_test(rays_hit_the_first_triangle),
        cmocka_unit_test(moved_surfaces_answer_for_their_new_place),
        cmocka_unit_test(answers_do_not_depend_on_threads),
    };
    return cmocka_run_group_tests_name("queries", tests, NULL, NULL);
}
