/* The deepest point of a triangle in an obstacle.
 *
 * Distances change at most as fast as points move, so a piece of the triangle whose center is
 * farther out than its radius is clear, and the others are cut in halves, nearest first; the best
 * point then slides downhill.
 *
 * Based on: Macklin and others 2020, Local optimization for robust signed distance field collision.
 * We differ in: a search that cannot miss thin obstacles before the local one. */
#include <math.h>
#include <string.h>

#include "base/scope.h"
#include "contact/obstacle.h"
#include "mesh/closest.h"

enum { SEARCH_CUTS = 24, DESCENT_STEPS = 10 };

typedef struct piece {
    double b[3][3]; /* barycentric corners */
    double bound;   /* no point of it is nearer than this */
} piece;

static void try_point(const sinew_obstacle *obstacle, const sn_vec3 corner[3], const double b[3],
                      double reach, sn_deepest *best) {
    sn_vec3 n;
    double d = sn_obstacle_query(obstacle, sn_triangle_point(corner, b), reach, &n);
    if (!(d < best->distance)) return;
    best->distance = d, best->normal = n;
    memcpy(best->b, b, sizeof best->b);
}

/* Best first; ends when no point can be deeper than what was found, or than `least`. */
static void search(const sinew_obstacle *obstacle, const sn_vec3 corner[3], double least,
                   double tolerance, sn_deepest *best) {
    piece pieces[2 * SEARCH_CUTS];
    int count = 1;
    pieces[0] = (piece){{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}, -INFINITY};
    for (int k = 0; k < SEARCH_CUTS && count > 0; k++) {
        int next = 0;
        if (sn_scope_poll()) return; /* the call is cancelled, its results are dropped */
        for (int p = 1; p < count; p++)
            if (pieces[p].bound < pieces[next].bound) next = p;
        if (pieces[next].bound > fmin(least, best->distance - tolerance)) return;
        piece cut = pieces[next];
        pieces[next] = pieces[--count];
        sn_vec3 p[3];
        for (int c = 0; c < 3; c++) p[c] = sn_triangle_point(corner, cut.b[c]);
        int side = 0; /* the longest is split */
        for (int c = 1; c < 3; c++)
            if (sn_distance(p[c], p[(c + 1) % 3]) > sn_distance(p[side], p[(side + 1) % 3]))
                side = c;
        for (int half = 0; half < 2; half++) {
            piece part = cut;
            double center[3] = {0}, radius = 0;
            for (int e = 0; e < 3; e++)
                part.b[half ? side : (side + 1) % 3][e] =
                    0.5 * (cut.b[side][e] + cut.b[(side + 1) % 3][e]);
            for (int c = 0; c < 3; c++)
                for (int e = 0; e < 3; e++) center[e] += part.b[c][e] / 3;
            sn_vec3 at = sn_triangle_point(corner, center), n;
            for (int c = 0; c < 3; c++)
                radius = fmax(radius, sn_distance(sn_triangle_point(corner, part.b[c]), at));
            double d = sn_obstacle_query(obstacle, at, radius, &n);
            if (d < best->distance) {
                best->distance = d, best->normal = n;
                memcpy(best->b, center, sizeof center);
            }
            part.bound = d - radius;
            pieces[count++] = part;
        }
    }
}

/* b moved by `step` against the normal within the triangle's plane, then back into the triangle. */
static void slide(const sn_vec3 corner[3], sn_vec3 from, sn_vec3 normal, double step, double b[3]) {
    sn_closest_on_triangle(sn_add_scaled(from, -step, normal), corner[0], corner[1], corner[2], b);
}

/* Steps against the gradient of the distance, shortened when they do not pay. */
static void descend(const sinew_obstacle *obstacle, const sn_vec3 corner[3], double longest,
                    sn_deepest *best) {
    double step = longest;
    for (int k = 0; k < DESCENT_STEPS && step > 1e-3 * longest; k++) {
        double before = best->distance, b[3];
        slide(corner, sn_triangle_point(corner, best->b), best->normal, step, b);
        try_point(obstacle, corner, b, longest, best);
        if (!(best->distance < before)) step *= 0.4;
    }
}

bool sn_obstacle_deepest(const sinew_obstacle *obstacle, const sn_vec3 corner[3], double least,
                         double tolerance, sn_deepest *best) {
    double longest = 0;
    for (int c = 0; c < 3; c++)
        longest = fmax(longest, sn_distance(corner[c], corner[(c + 1) % 3]));
    *best = (sn_deepest){{1.0 / 3, 1.0 / 3, 1.0 / 3}, INFINITY, {0, 0, 1}};
    search(obstacle, corner, least, tolerance, best);
    if (best->distance < least + longest) descend(obstacle, corner, longest, best);
    return best->distance < least;
}

double sinew_obstacle_triangle_depth(const sinew_obstacle *obstacle, const double corners[9]) {
    const sn_vec3 corner[3] = {sn_at(corners, 0), sn_at(corners, 1), sn_at(corners, 2)};
    sn_deepest best;
    return sn_obstacle_deepest(obstacle, corner, 0, 0, &best) ? -best.distance : 0;
}
