#include "support.h"

#include "base/memory.h"
#include "base/vec3.h"
#include "groups.h"
#include "mesh/subdivide.h"

static sn_surface surface_of(int vertices, const double *positions, int faces, const int *sizes,
                             const int *corners) {
    sn_surface s = {.vertex_count = vertices, .face_count = faces};
    s.face_start = SN_NEW0(int, (size_t)faces + 1);
    for (int f = 0; f < faces; f++) s.face_start[f + 1] = s.face_start[f] + sizes[f];
    s.positions = sn_memdup(positions, 3 * (size_t)vertices, sizeof(double));
    s.corners = sn_memdup(corners, (size_t)s.face_start[faces], sizeof(int));
    s.parent = SN_NEW(int, faces);
    for (int f = 0; f < faces; f++) s.parent[f] = f;
    s.vertex_sharpness = SN_NEW0(double, vertices);
    return s;
}

static void crease(sn_surface *s, int count, const int *edges, const double *sharpness) {
    s->crease_count = count;
    s->crease_edges = sn_memdup(edges, 2 * (size_t)count, sizeof(int));
    s->crease_sharpness = sn_memdup(sharpness, (size_t)count, sizeof(double));
}

static const double cube_positions[] = {-1, -1, -1, 1, -1, -1, 1, 1, -1, -1, 1, -1,
                                        -1, -1, 1,  1, -1, 1,  1, 1, 1,  -1, 1, 1};
static const int cube_sizes[] = {4, 4, 4, 4, 4, 4};
static const int cube_corners[] = {0, 3, 2, 1, 4, 5, 6, 7, 0, 1, 5, 4,
                                   1, 2, 6, 5, 2, 3, 7, 6, 3, 0, 4, 7};

static sn_surface cube(void) {
    return surface_of(8, cube_positions, 6, cube_sizes, cube_corners);
}

static bool has_side(const sn_surface *s, int f, int a, int b) {
    int begin = s->face_start[f], size = s->face_start[f + 1] - begin;
    for (int c = 0; c < size; c++) {
        int p = s->corners[begin + c], q = s->corners[begin + (c + 1) % size];
        if ((p == a && q == b) || (p == b && q == a)) return true;
    }
    return false;
}

static sn_vec3 middle_of(const sn_surface *s, int f) {
    sn_vec3 sum = {0, 0, 0};
    for (int c = s->face_start[f]; c < s->face_start[f + 1]; c++)
        sum = sn_add(sum, sn_at(s->positions, s->corners[c]));
    return sn_scale(1.0 / (s->face_start[f + 1] - s->face_start[f]), sum);
}

/* How sharp an edge is; negative when there is none. */
static double sharpness_of(const sn_surface *s, int a, int b, sn_vec3 *middles) {
    int faces = 0;
    double sharp = 0;
    *middles = sn_v3(0, 0, 0);
    for (int f = 0; f < s->face_count; f++)
        if (has_side(s, f, a, b)) faces++, *middles = sn_add(*middles, middle_of(s, f));
    for (int i = 0; i < s->crease_count; i++)
        if ((s->crease_edges[2 * i] == a && s->crease_edges[2 * i + 1] == b) ||
            (s->crease_edges[2 * i] == b && s->crease_edges[2 * i + 1] == a))
            sharp = fmax(sharp, s->crease_sharpness[i]);
    return faces == 0 ? -1 : faces == 2 ? sharp : INFINITY;
}

static sn_vec3 edge_rule(const sn_surface *s, int a, int b) {
    sn_vec3 middles, ends = sn_add(sn_at(s->positions, a), sn_at(s->positions, b));
    double share = fmin(1, sharpness_of(s, a, b, &middles));
    return sn_add(sn_scale(0.5 * share, ends), sn_scale(0.25 * (1 - share), sn_add(ends, middles)));
}

/* The rule of a vertex for edges that are sharper than `least`, and a vertex of this sharpness. */
static sn_vec3 vertex_rule(const sn_surface *s, int v, double least, double own) {
    sn_vec3 at = sn_at(s->positions, v), near = {0, 0, 0}, sharp = near, faces = near, middles;
    int edges = 0, sharps = 0, around = 0;
    for (int u = 0; u < s->vertex_count; u++) {
        double sharpness = u == v ? -1 : sharpness_of(s, v, u, &middles);
        if (sharpness < 0) continue;
        edges++, near = sn_add(near, sn_at(s->positions, u));
        if (sharpness > least) sharps++, sharp = sn_add(sharp, sn_at(s->positions, u));
    }
    for (int f = 0; f < s->face_count; f++)
        for (int c = s->face_start[f]; c < s->face_start[f + 1]; c++)
            if (s->corners[c] == v) around++, faces = sn_add(faces, middle_of(s, f));
    if (own > 0 || sharps > 2) return at;
    if (sharps == 2) return sn_scale(1 / 8.0, sn_add(sn_scale(6, at), sharp));
    sn_vec3 sum = sn_add(sn_scale(1.0 / edges, near), sn_scale(1.0 / around, faces));
    return sn_scale(1.0 / edges, sn_add(sn_scale(edges - 2, at), sum));
}

static sn_vec3 mixed_vertex(const sn_surface *s, int v) {
    sn_vec3 middles;
    double own = s->vertex_sharpness[v], sum = 0, count = 0;
    for (int u = 0; u < s->vertex_count; u++) {
        double sharpness = u == v ? 0 : sharpness_of(s, v, u, &middles);
        if (sharpness > 0 && sharpness <= 1) sum += sharpness, count++;
    }
    if (own > 0 && own <= 1) sum += own, count++;
    double share = count > 0 ? sum / count : 0;
    return sn_add(sn_scale(share, vertex_rule(s, v, 0, own)),
                  sn_scale(1 - share, vertex_rule(s, v, 1, own - 1)));
}

static void assert_at(const sn_surface *s, int v, sn_vec3 place) {
    assert_below(sn_distance(sn_at(s->positions, v), place), 1e-13);
}

/* Every quad of the finer surface has a corner, two edges and a face of the coarser one, by rules
 * that search all of it. */
static void assert_a_level(const sn_surface *coarse, const sn_surface *fine) {
    int quad = 0;
    assert_int_equal(fine->face_count, coarse->face_start[coarse->face_count]);
    for (int f = 0; f < coarse->face_count; f++) {
        int begin = coarse->face_start[f], size = coarse->face_start[f + 1] - begin;
        for (int c = 0; c < size; c++, quad++) {
            const int *q = fine->corners + 4 * quad, *own = coarse->corners + begin;
            int v = own[c], next = own[(c + 1) % size], last = own[(c + size - 1) % size];
            assert_int_equal(fine->face_start[quad + 1], 4 * quad + 4);
            assert_int_equal(fine->parent[quad], coarse->parent[f]);
            assert_int_equal(q[0], v);
            assert_at(fine, q[0], mixed_vertex(coarse, v));
            assert_at(fine, q[1], edge_rule(coarse, v, next));
            assert_at(fine, q[2], middle_of(coarse, f));
            assert_at(fine, q[3], edge_rule(coarse, v, last));
        }
    }
}

static sn_surface copy_of(const sn_surface *s) {
    int sizes[256];
    assert_true(s->face_count < 256);
    for (int f = 0; f < s->face_count; f++) sizes[f] = s->face_start[f + 1] - s->face_start[f];
    sn_surface copy = surface_of(s->vertex_count, s->positions, s->face_count, sizes, s->corners);
    memcpy(copy.vertex_sharpness, s->vertex_sharpness, sizeof(double) * (size_t)s->vertex_count);
    memcpy(copy.parent, s->parent, sizeof(int) * (size_t)s->face_count);
    crease(&copy, s->crease_count, s->crease_edges, s->crease_sharpness);
    return copy;
}

static void subdivide_by_the_rules(sn_surface *s, int levels) {
    sinew_error error;
    for (int level = 0; level < levels; level++) {
        sn_surface coarse = copy_of(s);
        assert_ok(sn_subdivide(s, false, &error));
        assert_a_level(&coarse, s);
        sn_surface_free(&coarse);
    }
    sn_surface_free(s);
}

/* Corners at 5/9 of their place, edges at 3/4, faces where they were. */
static void a_cube_becomes_round(void **state) {
    (void)state;
    sinew_error error;
    sn_surface s = cube();
    assert_ok(sn_subdivide(&s, false, &error));
    assert_int_equal(s.vertex_count, 8 + 12 + 6);
    assert_int_equal(s.face_count, 24);
    assert_int_equal(s.crease_count, 0);
    for (int v = 0; v < s.vertex_count; v++) {
        double most = v < 8 ? 5 / 9.0 : v < 20 ? 0.75 : 1, size = v < 8 ? 3 : v < 20 ? 2 : 1;
        sn_vec3 p = sn_at(s.positions, v);
        assert_close(fmax(fabs(p.x), fmax(fabs(p.y), fabs(p.z))), most, 1e-14);
        assert_close(fabs(p.x) + fabs(p.y) + fabs(p.z), most * size, 1e-14);
        if (v < 8) assert_at(&s, v, sn_scale(5 / 9.0, sn_at(cube_positions, v)));
    }
    sn_surface_free(&s);
}

static void creases_soften_level_by_level(void **state) {
    (void)state;
    const int ring[] = {4, 5, 6, 5, 6, 7, 4, 7, 0, 6, 1, 0, 0, 1}; /* 0 6 is no edge */
    const double full[] = {2.5, 2.5, 2.5, 2.5, 9, 0.25, 0.75},
                 part[] = {0.5, 1, 0.25, 1.5, 9, 1, 1};
    sn_surface s = cube();
    crease(&s, 7, ring, full);
    subdivide_by_the_rules(&s, 3);
    s = cube();
    crease(&s, 7, ring, part);
    s.vertex_sharpness[2] = 0.5, s.vertex_sharpness[3] = 1.75, s.vertex_sharpness[5] = 1;
    subdivide_by_the_rules(&s, 2);
    s = cube();
    crease(&s, 1, (int[]){0, 1}, (double[]){INFINITY});
    subdivide_by_the_rules(&s, 2);
}

/* The sharpness that is left goes to both halves of an edge. */
static void creases_are_handed_on(void **state) {
    (void)state;
    sinew_error error;
    sn_surface s = cube();
    crease(&s, 3, (int[]){4, 5, 6, 2, 0, 1}, (double[]){2.5, 1, 1.25});
    s.vertex_sharpness[7] = 3, s.vertex_sharpness[6] = 0.5;
    assert_ok(sn_subdivide(&s, false, &error));
    assert_int_equal(s.crease_count, 4);
    double sum = 0;
    for (int i = 0; i < 4; i++) {
        int end = s.crease_edges[2 * i], middle = s.crease_edges[2 * i + 1];
        bool top = end == 4 || end == 5;
        assert_true(top || end == 0 || end == 1);
        assert_at(&s, middle, top ? sn_v3(0, -1, 1) : sn_v3(0, -1, -1));
        assert_close(s.crease_sharpness[i], top ? 1.5 : 0.25, 0);
        sum += s.crease_sharpness[i];
    }
    assert_close(sum, 3.5, 0);
    for (int v = 0; v < s.vertex_count; v++) assert_close(s.vertex_sharpness[v], v == 7 ? 2 : 0, 0);
    sn_surface_free(&s);
}

/* A triangle, a quad and a pentagon in a row, and a vertex that no face uses. */
static void borders_and_polygons_follow_the_rules(void **state) {
    (void)state;
    const double positions[] = {0, 0, 0, 1, 0,   0.3, 0.2, 1,   0, 1,   1.2, 0.4, 2, 0,
                                1, 3, 1, 0, 2.5, 2,   0,   1.5, 2, 0.1, 7,   8,   9};
    const int sizes[] = {3, 4, 5}, corners[] = {0, 1, 2, 1, 4, 3, 2, 4, 5, 6, 7, 3};
    sinew_error error;
    for (int sharp = 0; sharp < 2; sharp++) {
        sn_surface s = surface_of(9, positions, 3, sizes, corners);
        s.uv = SN_NEW(double, 24);
        for (int k = 0; k < 24; k++) s.uv[k] = k * k;
        double uv[24];
        memcpy(uv, s.uv, sizeof uv);
        assert_ok(sn_subdivide(&s, sharp, &error));
        assert_at(&s, 8, sn_v3(7, 8, 9));
        if (sharp) assert_at(&s, 0, sn_v3(0, 0, 0));
        if (!sharp) assert_at(&s, 0, sn_v3(1.2 / 8, 1 / 8.0, 0.3 / 8));
        assert_at(&s, 1, sn_v3((6 + 0 + 2) / 8.0, 0, (1.8 + 0 + 1) / 8)); /* of two faces */
        for (int f = 0, quad = 0, begin = 0; f < 3; begin += sizes[f++])
            for (int c = 0; c < sizes[f]; c++, quad++)
                for (int k = 0; k < 2; k++) {
                    int next = begin + (c + 1) % sizes[f], n = sizes[f];
                    double own = uv[2 * (begin + c) + k],
                           last = uv[2 * (begin + (c + n - 1) % n) + k];
                    double mean = 0;
                    for (int i = 0; i < n; i++) mean += uv[2 * (begin + i) + k] / n;
                    const double *found = s.uv + 8 * quad + k;
                    assert_close(found[0], own, 0);
                    assert_close(found[2], (own + uv[2 * next + k]) / 2, 1e-12);
                    assert_close(found[4], mean, 1e-11);
                    assert_close(found[6], (own + last) / 2, 1e-12);
                }
        sn_surface_free(&s);
    }
    sn_surface s = surface_of(8, positions, 3, sizes, corners);
    subdivide_by_the_rules(&s, 2);
}

/* Where three sheets meet there is no surface: ends of the common edge stay. */
static void three_sheets_at_an_edge_keep_it(void **state) {
    (void)state;
    const double positions[] = {0, 0, 0, 1, 0, 0, 1, 1,  0, 0, 1,  0,
                                1, 0, 1, 0, 0, 1, 1, -1, 0, 0, -1, 0};
    const int sizes[] = {4, 4, 4}, corners[] = {0, 1, 2, 3, 0, 1, 4, 5, 1, 0, 7, 6};
    sinew_error error;
    sn_surface s = surface_of(8, positions, 3, sizes, corners);
    assert_ok(sn_subdivide(&s, false, &error));
    assert_at(&s, 0, sn_v3(0, 0, 0)), assert_at(&s, 1, sn_v3(1, 0, 0));
    assert_int_equal(s.vertex_count, 8 + 10 + 3);
    int edge = s.corners[1];
    assert_at(&s, edge, sn_v3(0.5, 0, 0));
    sn_surface_free(&s);
}

static void too_large_a_surface_is_refused_and_kept(void **state) {
    (void)state;
    sinew_error error;
    sn_surface s = cube();
    s.crease_count = 1 << 29;
    assert_int_equal(sn_subdivide(&s, false, &error), SINEW_BAD_INPUT);
    assert_non_null(strstr(error.message, "too large"));
    s.crease_count = 0;
    assert_int_equal(s.vertex_count, 8);
    sn_surface_free(&s);
}

int test_subdivision(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cube_becomes_round),
        cmocka_unit_test(creases_soften_level_by_level),
        cmocka_unit_test(creases_are_handed_on),
        cmocka_unit_test(borders_and_polygons_follow_the_rules),
        cmocka_unit_test(three_sheets_at_an_edge_keep_it),
        cmocka_unit_test(too_large_a_surface_is_refused_and_kept),
    };
    return cmocka_run_group_tests_name("subdivision", tests, NULL, NULL);
}
