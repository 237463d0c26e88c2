/* Do triangles cut each other? Decided by exact predicates: touching counts, rounding does not.
 *
 * Neighbors are judged by what they share beyond their common corners: with one common vertex they
 * intersect when the side opposite it in one meets the other; with a common edge only when they are
 * folded flat onto each other; with all three corners in common they are duplicates, not an
 * intersection. Collapsed triangles (no area) are left out. */
#ifndef SN_MESH_INTERSECTION_H
#define SN_MESH_INTERSECTION_H

#include <stdbool.h>

#include "mesh/broadphase.h"
#include "sinew/monitor.h"

/* Closed segment pq and closed triangle abc, which must have an area. */
bool sn_segment_meets_triangle(sn_vec3 p, sn_vec3 q, sn_vec3 a, sn_vec3 b, sn_vec3 c);
/* Two triangles without common corners; both must have an area. */
bool sn_triangles_meet(const sn_vec3 a[3], const sn_vec3 b[3]);
/* Exactly no area: the corners are on one line. */
bool sn_triangle_collapsed(sn_vec3 a, sn_vec3 b, sn_vec3 c);

/* first[t]: the smallest triangle with the same three corners in any order; t itself when it is
 * that one. corner: 3 each, numbers of vertices or of what they stand for. */
sinew_status sn_equal_triangles(int triangle_count, const int *corner, int *first,
                                sinew_error *error);

/* Pairs of triangles (i < j) of a mesh that intersect, sorted. Vertices with equal coordinates
 * count as one, so that the two sides of a seam are neighbors. */
sinew_status sn_self_intersections(int vertex_count, const double *positions, int triangle_count,
                                   const int *triangles, const sinew_monitor *monitor,
                                   sn_pairs *pairs, sinew_error *error);

/* crosses[t]: triangle t is in one of those pairs. Costs less than the pairs where much crosses:
 * two triangles of which this is known need not be tested. */
sinew_status sn_crossing_triangles(int vertex_count, const double *positions, int triangle_count,
                                   const int *triangles, bool *crosses, sinew_error *error);

/* Pairs (triangle of a, triangle of b), sorted. */
sinew_status sn_intersections(int vertex_count_a, const double *positions_a, int triangle_count_a,
                              const int *triangles_a, int vertex_count_b, const double *positions_b,
                              int triangle_count_b, const int *triangles_b,
                              const sinew_monitor *monitor, sn_pairs *pairs, sinew_error *error);

#endif
