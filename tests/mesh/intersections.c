#include "support.h"

#include "base/memory.h"
#include "groups.h"
#include "mesh/broadphase.h"
#include "mesh/intersection.h"
#include "mesh/predicates.h"
#include "shapes.h"
#include "sinew/query.h"
#include "sinew/threads.h"

/* Small integers, scaled and shifted: the determinant is known exactly and is often zero. */
static void predicates_are_exact(void **state) {
    (void)state;
    uint64_t seed = 11;
    int zeros = 0;
    for (int i = 0; i < 20000; i++) {
        long long p[4][3];
        for (int v = 0; v < 4; v++)
            for (int k = 0; k < 3; k++) p[v][k] = (long long)(3 * test_random(&seed));
        long long scale = 1ll << (i % 30);
        for (int k = 0; k < 3; k++) /* d near the plane of the others */
            p[3][k] = p[0][k] + 2 * (p[1][k] - p[0][k]) + 3 * (p[2][k] - p[0][k]) + p[3][k] / 2;
        sn_vec3 q[4];
        for (int v = 0; v < 4; v++)
            q[v] = sn_v3((double)(p[v][0] * scale + 1000003), (double)(p[v][1] * scale - 77),
                         (double)(p[v][2] * scale + 5));
        long long u[3], w[3], x[3];
        for (int k = 0; k < 3; k++) {
            u[k] = p[1][k] - p[0][k], w[k] = p[2][k] - p[0][k], x[k] = p[3][k] - p[0][k];
        }
        long long det = (u[1] * w[2] - u[2] * w[1]) * x[0] + (u[2] * w[0] - u[0] * w[2]) * x[1] +
                        (u[0] * w[1] - u[1] * w[0]) * x[2];
        assert_int_equal(sn_orient3d(q[0], q[1], q[2], q[3]), (det > 0) - (det < 0));
        zeros += det == 0;
    }
    assert_true(zeros > 1000);
    /* one unit in the last place off the diagonal */
    const double a[2] = {0.1, 0.1}, b[2] = {0.3, 0.3};
    double c[2] = {0.7, 0.7};
    assert_int_equal(sn_orient2d(a, b, c), 0);
    c[1] = nextafter(0.7, 1);
    assert_int_equal(sn_orient2d(a, b, c), 1);
    c[1] = nextafter(0.7, 0);
    assert_int_equal(sn_orient2d(a, b, c), -1);
    sn_vec3 o = sn_v3(0.1, 0.1, 0.1), e = sn_v3(12.3, 12.3, 12.3), f = sn_v3(1, 2, 3);
    assert_int_equal(sn_orient3d(o, e, f, sn_v3(0.7, 0.7, 0.7)), 0);
    assert_true(sn_orient3d(o, e, f, sn_v3(0.7, 0.7, nextafter(0.7, 1))) ==
                -sn_orient3d(o, e, f, sn_v3(0.7, 0.7, nextafter(0.7, 0))));
}

static bool meet(const double a[9], const double b[9]) {
    sn_vec3 p[3], q[3];
    for (int k = 0; k < 3; k++) p[k] = sn_at(a, k), q[k] = sn_at(b, k);
    bool there = sn_triangles_meet(p, q), back = sn_triangles_meet(q, p);
    assert_int_equal(there, back);
    return there;
}

static void touching_and_coplanar_triangles_are_told(void **state) {
    (void)state;
    const double base[9] = {0, 0, 0, 4, 0, 0, 0, 4, 0};
    const double through[9] = {1, 1, -1, 1, 1, 1, 3, 3, 1}, above[9] = {1, 1, 1, 2, 1, 1, 1, 2, 1};
    const double tip[9] = {1, 1, 0, 1, 1, 1, 2, 1, 1}, beside[9] = {5, 5, -1, 5, 5, 1, 6, 6, 0};
    const double within[9] = {1, 1, 0, 1.5, 1, 0, 1, 1.5, 0},
                 around[9] = {-9, -9, 0, 20, -9, 0, -9, 20, 0};
    const double corner[9] = {4, 0, 0, 5, 0, 0, 5, 1, 0}, apart[9] = {5, 0, 0, 6, 0, 0, 5, 1, 0};
    const double star[9] = {-1, 1, 0, 3, -1, 0, 3, 3, 0}, edge[9] = {1, 0, 0, 3, 0, 0, 2, 0, -5};
    assert_true(meet(base, through));
    assert_false(meet(base, above));
    assert_true(meet(base, tip));
    assert_false(meet(base, beside));
    assert_true(meet(base, within));
    assert_true(meet(base, around));
    assert_true(meet(base, corner));
    assert_false(meet(base, apart));
    assert_true(meet(base, star));
    assert_true(meet(base, edge));
    const double hair[9] = {1, 1, 1e-300, 1, 1, 1, 2, 1, 1};
    assert_false(meet(base, hair));
}

/* Also: the triangles that cross are those of the pairs. */
static sn_pairs self_pairs(const sinew_mesh *mesh) {
    sinew_error error;
    sn_pairs pairs;
    assert_ok(sn_self_intersections(mesh->vertex_count, mesh->positions, mesh->triangle_count,
                                    mesh->triangles, NULL, &pairs, &error));
    bool *crosses = malloc((size_t)mesh->triangle_count + 1);
    bool *paired = calloc((size_t)mesh->triangle_count + 1, 1);
    assert_ok(sn_crossing_triangles(mesh->vertex_count, mesh->positions, mesh->triangle_count,
                                    mesh->triangles, crosses, &error));
    for (int i = 0; i < 2 * pairs.count; i++) paired[pairs.pair[i]] = true;
    for (int t = 0; t < mesh->triangle_count; t++)
        if (crosses[t] != paired[t]) fail_msg("triangle %d: %d, not %d", t, crosses[t], paired[t]);
    free(crosses), free(paired);
    return pairs;
}

static int self_count(sinew_mesh *mesh) {
    sn_pairs pairs = self_pairs(mesh);
    int count = pairs.count;
    sn_pairs_free(&pairs);
    sinew_mesh_destroy(mesh);
    return count;
}

static void clean_surfaces_have_no_intersections(void **state) {
    (void)state;
    assert_int_equal(self_count(shape_sphere(9)), 0);
    assert_int_equal(self_count(shape_torus(30, 12)), 0);
    assert_int_equal(self_count(shape_bar(3, 5)), 0); /* coplanar neighbors */
    assert_int_equal(self_count(shape_grid(9)), 0);
    assert_int_equal(self_count(shape_moebius(15)), 0);
    for (int n = 0; n < 4; n++) { /* the smallest trees */
        const double positions[12] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1};
        const int triangles[] = {0, 1, 2, 0, 2, 3, 0, 3, 1};
        assert_int_equal(self_count(shape_from(4, positions, n, triangles)), 0);
    }
}

static void neighbours_intersect_only_beyond_what_they_share(void **state) {
    (void)state;
    /* fan around vertex 0; positions 1..4 vary */
    const int touching[] = {0, 1, 2, 0, 3, 4};
    const double fan[] = {0, 0, 0, 2, 0, 0, 0, 2, 0, -2, 0, 0, 0, -2, 0};
    const double pierced[] = {0, 0, 0, 2, 0, 0, 0, 2, 0, 1, 1, 1, 1, 1, -1};
    const double overlap[] = {0, 0, 0, 2, 0, 0, 0, 2, 0, 1, 0.5, 0, 0.5, 1, 0};
    const double sharing_a_ray[] = {0, 0, 0, 2, 0, 0, 0, 2, 0, 1, 0, 0, 1, 0, 5};
    assert_int_equal(self_count(shape_from(5, fan, 2, touching)), 0);
    assert_int_equal(self_count(shape_from(5, pierced, 2, touching)), 1);
    assert_int_equal(self_count(shape_from(5, overlap, 2, touching)), 1);
    assert_int_equal(self_count(shape_from(5, sharing_a_ray, 2, touching)), 1);
    const int hinge[] = {0, 1, 2, 1, 0, 3};
    const double open[] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 1, 1e-9};
    const double folded[] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0.2, 3, 0};
    const double flat[] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0.2, -3, 0};
    assert_int_equal(self_count(shape_from(4, open, 2, hinge)), 0);
    assert_int_equal(self_count(shape_from(4, folded, 2, hinge)), 1);
    assert_int_equal(self_count(shape_from(4, flat, 2, hinge)), 0);
    const int twice[] = {0, 1, 2, 2, 0, 1};
    assert_int_equal(self_count(shape_from(4, open, 2, twice)), 0);
    /* a seam: the same hinge with its own vertices on each side */
    const int seam[] = {0, 1, 2, 4, 3, 5};
    const double split[] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, -1, 0};
    assert_int_equal(self_count(shape_from(6, split, 2, seam)), 0);
}

static void pairs_match_brute_force_for_any_thread_count(void **state) {
    (void)state;
    sinew_mesh *mesh = shape_join(shape_torus(24, 10), shape_sphere(6), 0.9, 0.1, 0.05);
    sinew_set_threads(1);
    sn_pairs one = self_pairs(mesh);
    sinew_set_threads(2);
    sn_pairs two = self_pairs(mesh);
    sinew_set_threads(0);
    assert_int_equal(one.count, two.count);
    assert_memory_equal(one.pair, two.pair, sizeof(int) * 2 * (size_t)one.count);
    int next = 0;
    for (int s = 0; s < mesh->triangle_count; s++)
        for (int t = s + 1; t < mesh->triangle_count; t++) {
            /* only triangles of different bodies can meet here; general position */
            if (s >= 480 || t < 480) continue;
            sn_vec3 a[3], b[3];
            for (int k = 0; k < 3; k++) {
                a[k] = sn_at(mesh->positions, mesh->triangles[3 * s + k]);
                b[k] = sn_at(mesh->positions, mesh->triangles[3 * t + k]);
            }
            bool hit = false; /* Moeller-Trumbore on the six edges */
            for (int e = 0; e < 6; e++) {
                const sn_vec3 *from = e < 3 ? a : b, *to = e < 3 ? b : a;
                sn_vec3 p = from[e % 3], d = sn_sub(from[(e + 1) % 3], p);
                sn_vec3 u = sn_sub(to[1], to[0]), v = sn_sub(to[2], to[0]);
                sn_vec3 h = sn_cross(d, v), q = sn_sub(p, to[0]), r = sn_cross(q, u);
                double det = sn_dot(u, h), x = sn_dot(q, h) / det, y = sn_dot(d, r) / det;
                double z = sn_dot(v, r) / det;
                hit |= x >= 0 && y >= 0 && x + y <= 1 && z >= 0 && z <= 1;
            }
            if (!hit) continue;
            assert_true(next < one.count);
            assert_int_equal(one.pair[2 * next], s);
            assert_int_equal(one.pair[2 * next + 1], t);
            next++;
        }
    assert_int_equal(next, one.count);
    assert_true(next > 20);
    sn_pairs_free(&one), sn_pairs_free(&two);
    sinew_mesh_destroy(mesh);
}

static void copies_of_triangles_cross_what_the_first_one_crosses(void **state) {
    (void)state;
    /* two triangles that cross, three times each with vertices of their own, in turn */
    const double pair[] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0.2, 0.2, -1, 0.3, 0.2, 1, 0.2, 0.3, 1};
    double positions[54];
    int triangles[18], next = 0;
    for (int copy = 0; copy < 3; copy++) memcpy(positions + 18 * copy, pair, sizeof pair);
    for (int i = 0; i < 18; i++) triangles[i] = i;
    triangles[6] = 8, triangles[8] = 6; /* a copy that runs the other way */
    sinew_mesh *mesh = shape_from(18, positions, 6, triangles);
    sn_pairs pairs = self_pairs(mesh);
    assert_int_equal(pairs.count, 9);
    for (int i = 0; i < 6; i++)
        for (int j = i + 1; j < 6; j += 2, next++) {
            assert_int_equal(pairs.pair[2 * next], i);
            assert_int_equal(pairs.pair[2 * next + 1], j);
        }
    sn_pairs_free(&pairs);
    sinew_mesh_destroy(mesh);
}

static void two_meshes_are_compared_in_order(void **state) {
    (void)state;
    sinew_error error;
    sinew_mesh *ball = shape_sphere(6), *bar = shape_bar(3, 2);
    sn_pairs pairs;
    assert_ok(sn_intersections(ball->vertex_count, ball->positions, ball->triangle_count,
                               ball->triangles, bar->vertex_count, bar->positions,
                               bar->triangle_count, bar->triangles, NULL, &pairs, &error));
    assert_true(pairs.count > 10);
    for (int i = 1; i < pairs.count; i++) {
        const int *p = pairs.pair + 2 * i;
        assert_true(p[-2] < p[0] || (p[-2] == p[0] && p[-1] < p[1]));
    }
    sn_pairs_free(&pairs);
    for (int i = 0; i < 3 * bar->vertex_count; i++) bar->positions[i] += 5;
    assert_ok(sn_intersections(ball->vertex_count, ball->positions, ball->triangle_count,
                               ball->triangles, bar->vertex_count, bar->positions,
                               bar->triangle_count, bar->triangles, NULL, &pairs, &error));
    assert_int_equal(pairs.count, 0);
    sn_pairs_free(&pairs);
    sinew_mesh_destroy(ball), sinew_mesh_destroy(bar);
}

static void box_pairs_match_brute_force(void **state) {
    (void)state;
    sinew_error error;
    enum { MOST = 300 };
    static sn_box boxes[MOST];
    uint64_t seed = 12;
    for (int n = 1; n <= MOST; n = n * 3 / 2 + 1) {
        for (int i = 0; i < n; i++)
            for (int k = 0; k < 3; k++) {
                boxes[i].low[k] = (float)test_random(&seed);
                boxes[i].high[k] = boxes[i].low[k] + (i % 5 ? 0.3f : 0);
            }
        sn_pairs pairs;
        assert_ok(sn_box_pairs(n, boxes, 0, NULL, NULL, NULL, &pairs, &error));
        int next = 0;
        for (int i = 0; i < n; i++)
            for (int j = i + 1; j < n; j++) {
                bool overlap = true;
                for (int k = 0; k < 3; k++)
                    overlap &=
                        boxes[i].low[k] <= boxes[j].high[k] && boxes[j].low[k] <= boxes[i].high[k];
                if (!overlap) continue;
                assert_true(next < pairs.count);
                assert_int_equal(pairs.pair[2 * next], i);
                assert_int_equal(pairs.pair[2 * next + 1], j);
                next++;
            }
        assert_int_equal(next, pairs.count);
        sn_pairs_free(&pairs);
    }
}

static void repeated_pairs_are_dropped(void **state) {
    (void)state;
    sinew_error error;
    const int first[] = {3, 0, 3, 0, 0, 3, 1}, second[] = {1, 2, 1, 2, 0, 1, 2};
    const int wanted[] = {0, 0, 0, 2, 1, 2, 3, 1};
    sn_pairs pairs;
    assert_ok(sn_pairs_sort(7, first, second, 4, 3, &pairs, &error));
    assert_int_equal(pairs.count, 4);
    assert_memory_equal(pairs.pair, wanted, sizeof wanted);
    sn_pairs_free(&pairs);
}

/* The frame of boxes maps the points of both meshes into [-1, 1], and no smaller. */
static void frames_of_boxes_hold_both_meshes(void **state) {
    (void)state;
    enum { POINTS = 7 };
    uint64_t seed = 23;
    double a[3 * POINTS], b[3 * POINTS];
    for (int run = 0; run < 20; run++) {
        double size = pow(10, 4 * test_random(&seed)), most = 0;
        for (int i = 0; i < 3 * POINTS; i++)
            a[i] = size * (2 + test_random(&seed)), b[i] = size * test_random(&seed);
        int count_b = run % POINTS;
        sn_box_frame frame = sn_box_frame_of(POINTS, a, count_b, b);
        for (int i = 0; i < POINTS + count_b; i++) {
            sn_vec3 p = i < POINTS ? sn_at(a, i) : sn_at(b, i - POINTS);
            p = sn_scale(frame.scale, sn_sub(p, frame.center));
            most = fmax(most, fmax(fabs(p.x), fmax(fabs(p.y), fabs(p.z))));
        }
        assert_close(most, 1, 1e-12);
    }
    /* nothing to hold, and a single point, have a scale too */
    sn_box_frame none = sn_box_frame_of(0, NULL, 0, NULL);
    assert_close(sn_length(none.center), 0, 0);
    assert_close(none.scale, 1, 0);
    sn_box_frame one = sn_box_frame_of(0, NULL, 1, b);
    assert_close(sn_distance(one.center, sn_at(b, 0)), 0, 0);
    assert_close(one.scale, 1, 0);
    /* a box holds its point and the margin around it, and is rounded outward */
    sn_box box = sn_box_empty();
    sn_box_include(&box, &(sn_box_frame){{1, 2, 3}, 0.5}, sn_v3(1.2, 2, 2.4), 0.3);
    const double middle[3] = {0.1, 0, -0.3};
    for (int k = 0; k < 3; k++) {
        assert_true((double)box.low[k] <= middle[k] - 0.3 + 1e-15);
        assert_true((double)box.high[k] >= middle[k] + 0.3 - 1e-15);
        assert_close(box.low[k], middle[k] - 0.3, 1e-7);
        assert_close(box.high[k], middle[k] + 0.3, 1e-7);
    }
}

/* Each triangle of a heap is near all others, so that a small file could ask for any amount of work
 * and memory. The needles have no area: they are counted, and cost nothing more. */
static void a_heap_of_triangles_is_refused(void **state) {
    (void)state;
    enum { COUNT = 9000 };
    double *positions = malloc(sizeof(double[9]) * COUNT);
    int *triangles = malloc(sizeof(int[3]) * COUNT);
    bool *crosses = malloc(COUNT);
    for (int t = 0; t < COUNT; t++)
        for (int k = 0; k < 3; k++) {
            triangles[3 * t + k] = 3 * t + k;
            for (int c = 0; c < 3; c++) positions[9 * t + 3 * k + c] = (k - 1) * (1 + 1e-4 * t);
        }
    sinew_error error;
    sn_pairs pairs;
    assert_int_equal(
        sn_self_intersections(3 * COUNT, positions, COUNT, triangles, NULL, &pairs, &error),
        SINEW_BAD_INPUT);
    assert_non_null(strstr(error.message, "of its 9000 triangles are in the same place"));
    assert_int_equal(sn_crossing_triangles(3 * COUNT, positions, COUNT, triangles, crosses, &error),
                     SINEW_BAD_INPUT);
    free(positions), free(triangles), free(crosses);
}

int test_intersections(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(predicates_are_exact),
        cmocka_unit_test(touching_and_coplanar_triangles_are_told),
        cmocka_unit_test(clean_surfaces_have_no_intersections),
        cmocka_unit_test(neighbours_intersect_only_beyond_what_they_share),
        cmocka_unit_test(pairs_match_brute_force_for_any_thread_count),
        cmocka_unit_test(copies_of_triangles_cross_what_the_first_one_crosses),
        cmocka_unit_test(two_meshes_are_compared_in_order),
        cmocka_unit_test(box_pairs_match_brute_force),
        cmocka_unit_test(frames_of_boxes_hold_both_meshes),
        cmocka_unit_test(repeated_pairs_are_dropped),
        cmocka_unit_test(a_heap_of_triangles_is_refused),
    };
    return cmocka_run_group_tests_name("intersections", tests, NULL, NULL);
}
