/* Based on: ear clipping (Meisters 1975) in the plane of Newell's normal.
 * We differ in: among the ears of a small polygon the one with the shortest cut goes first, which
 * gives rounder triangles; a polygon without a proper ear (crossing itself, or flat) still gives
 * n - 2 triangles; the work is bounded, after which the rest is cut as a fan. */
#include "mesh/polygon.h"

#include <math.h>

#include "base/memory.h"
#include "base/vec3.h"

/* Up to this many corners left, all ears are compared; above, the first one is taken. */
enum { COMPARED_CORNERS = 32 };
/* Corner visits before a polygon is finished as a fan: about a second. */
static const long long visit_limit = 200000000;

bool sn_polygon_work_create(sn_polygon_work *work, int corners) {
    work->flat = SN_NEW(double, 2 * (size_t)corners);
    work->next = SN_NEW(int, corners);
    work->previous = SN_NEW(int, corners);
    if (work->flat && work->next && work->previous) return true;
    sn_polygon_work_free(work);
    return false;
}

void sn_polygon_work_free(sn_polygon_work *work) {
    sn_free(work->flat);
    sn_free(work->next);
    sn_free(work->previous);
    *work = (sn_polygon_work){0};
}

/* Sum of the cross products of consecutive corners, taken from the first: twice the area vector. */
static sn_vec3 newell_normal(int corners, const int *vertices, const double *positions) {
    sn_vec3 origin = sn_at(positions, vertices[0]), normal = sn_v3(0, 0, 0);
    sn_vec3 before = sn_v3(0, 0, 0);
    for (int c = 1; c < corners; c++) {
        sn_vec3 here = sn_sub(sn_at(positions, vertices[c]), origin);
        normal = sn_add(normal, sn_cross(before, here));
        before = here;
    }
    return normal;
}

static void put(int *triangle, int a, int b, int c) {
    triangle[0] = a, triangle[1] = b, triangle[2] = c;
}

/* Both triangles have the orientation of the whole. */
static bool proper_cut(sn_vec3 a, sn_vec3 b, sn_vec3 c, sn_vec3 d, sn_vec3 normal) {
    return sn_dot(sn_cross(sn_sub(b, a), sn_sub(c, a)), normal) > 0 &&
           sn_dot(sn_cross(sn_sub(c, a), sn_sub(d, a)), normal) > 0;
}

static void cut_quad(const int *v, const double *positions, int *triangles) {
    sn_vec3 p[4];
    for (int k = 0; k < 4; k++) p[k] = sn_at(positions, v[k]);
    sn_vec3 normal = newell_normal(4, v, positions);
    bool first = proper_cut(p[0], p[1], p[2], p[3], normal);
    bool second = proper_cut(p[1], p[2], p[3], p[0], normal);
    bool use_first = first != second ? first : sn_distance(p[0], p[2]) <= sn_distance(p[1], p[3]);
    if (use_first) {
        put(triangles, v[0], v[1], v[2]);
        put(triangles + 3, v[0], v[2], v[3]);
    } else {
        put(triangles, v[1], v[2], v[3]);
        put(triangles + 3, v[1], v[3], v[0]);
    }
}

/* Twice the signed area of three corners in the plane. */
static double turn(const double *flat, int a, int b, int c) {
    return (flat[2 * b] - flat[2 * a]) * (flat[2 * c + 1] - flat[2 * a + 1]) -
           (flat[2 * b + 1] - flat[2 * a + 1]) * (flat[2 * c] - flat[2 * a]);
}

static bool same_point(const double *flat, int a, int b) {
    return flat[2 * a] == flat[2 * b] && flat[2 * a + 1] == flat[2 * b + 1];
}

/* A convex corner whose triangle holds no other corner of what is left. */
static bool is_ear(const sn_polygon_work *work, int corner, long long *visits) {
    const double *flat = work->flat;
    int a = work->previous[corner], b = corner, c = work->next[corner];
    if (!(turn(flat, a, b, c) > 0)) return false;
    for (int p = work->next[c]; p != a; p = work->next[p]) {
        (*visits)++;
        if (same_point(flat, p, a) || same_point(flat, p, b) || same_point(flat, p, c)) continue;
        if (turn(flat, a, b, p) >= 0 && turn(flat, b, c, p) >= 0 && turn(flat, c, a, p) >= 0)
            return false;
    }
    return true;
}

static double cut_length(const sn_polygon_work *work, int corner) {
    int a = work->previous[corner], c = work->next[corner];
    return hypot(work->flat[2 * a] - work->flat[2 * c],
                 work->flat[2 * a + 1] - work->flat[2 * c + 1]);
}

/* The corner to cut off next; without a proper ear, the one with the shortest cut. */
static int choose_ear(const sn_polygon_work *work, int start, int left, long long *visits) {
    int best = -1, fallback = start;
    double best_length = INFINITY, fallback_length = INFINITY;
    int corner = start;
    for (int k = 0; k < left; k++, corner = work->next[corner]) {
        double length = cut_length(work, corner);
        if (length < fallback_length) fallback = corner, fallback_length = length;
        if (!(length < best_length) || !is_ear(work, corner, visits)) continue;
        best = corner, best_length = length;
        if (left > COMPARED_CORNERS) break;
    }
    return best >= 0 ? best : fallback;
}

static void flatten(int corners, const int *vertices, const double *positions, double *flat) {
    sn_vec3 normal = sn_normalize(newell_normal(corners, vertices, positions));
    /* Any axis far from the normal spans the plane with it. */
    sn_vec3 helper = fabs(normal.x) < 0.6 ? sn_v3(1, 0, 0) : sn_v3(0, 1, 0);
    sn_vec3 u = sn_normalize(sn_cross(helper, normal)), v = sn_cross(normal, u);
    sn_vec3 origin = sn_at(positions, vertices[0]);
    for (int c = 0; c < corners; c++) {
        sn_vec3 p = sn_sub(sn_at(positions, vertices[c]), origin);
        flat[2 * c] = sn_dot(p, u);
        flat[2 * c + 1] = sn_dot(p, v);
    }
}

void sn_polygon_triangulate(int corners, const int *vertices, const double *positions,
                            sn_polygon_work *work, int *triangles) {
    if (corners == 3) {
        put(triangles, vertices[0], vertices[1], vertices[2]);
        return;
    }
    if (corners == 4) {
        cut_quad(vertices, positions, triangles);
        return;
    }
    flatten(corners, vertices, positions, work->flat);
    for (int c = 0; c < corners; c++) {
        work->next[c] = (c + 1) % corners;
        work->previous[c] = (c + corners - 1) % corners;
    }
    long long visits = 0;
    int start = 0;
    for (int left = corners; left >= 3; left--) {
        int ear = start;
        if (left > 3 && visits < visit_limit) {
            ear = choose_ear(work, start, left, &visits);
            visits += left;
        }
        int a = work->previous[ear], c = work->next[ear];
        put(triangles, vertices[a], vertices[ear], vertices[c]);
        triangles += 3;
        work->next[a] = c;
        work->previous[c] = a;
        /* Going on from the far side keeps a convex polygon from becoming a fan. */
        start = visits < visit_limit ? work->next[c] : c;
    }
}
