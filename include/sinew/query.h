/* Queries on a triangle surface: closest point, ray hit, inside or outside, and intersecting
 * triangles.
 *
 *   sinew_query *query;
 *   sinew_query_create(mesh->vertex_count, mesh->positions, mesh->triangle_count, mesh->triangles,
 *                      &query, &error);
 *   sinew_closest closest;
 *   if (sinew_query_closest(query, point, INFINITY, &closest)) ...
 *   sinew_query_move(query, next_positions, &error);      a new pose of the same triangles
 *
 * Results are computed in double precision and do not depend on the number of threads: among
 * equally close triangles the one with the smallest index is returned. Several threads may query at
 * the same time; `move` must not run concurrently. */
#ifndef SINEW_QUERY_H
#define SINEW_QUERY_H

#include <stdbool.h>

#include "sinew/memory.h"
#include "sinew/monitor.h"
#include "sinew/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sinew_query sinew_query;

/* Copies the surface. */
SINEW_API sinew_status sinew_query_create(int vertex_count, const double *positions,
                                          int triangle_count, const int *triangles,
                                          sinew_query **query, sinew_error *error);
SINEW_API void sinew_query_destroy(sinew_query *query);
/* New positions for the same triangles; the search tree is refitted, not rebuilt. Good for poses of
 * one mesh. After large deformations create a new query: results remain correct, but queries become
 * slow. */
SINEW_API sinew_status sinew_query_move(sinew_query *query, const double *positions,
                                        sinew_error *error);

typedef struct sinew_closest {
    int triangle;          /* -1: none */
    double barycentric[3]; /* >= 0, sum 1: weights of the triangle's corners */
    double point[3];
    double distance; /* >= 0; for rays, along the direction in units of its length */
} sinew_closest;

/* Finds the closest point of the surface. Returns false, and triangle -1, when there is none within
 * max_distance (INFINITY: anywhere), or when the point is not finite. */
SINEW_API bool sinew_query_closest(const sinew_query *query, const double point[3],
                                   double max_distance, sinew_closest *closest);
/* The same for `count` points, on all threads. */
SINEW_API void sinew_query_closest_all(const sinew_query *query, int count, const double *points,
                                       double max_distance, sinew_closest *closest);

/* First hit of origin + t direction, 0 <= t <= max_distance; `distance` is t. */
SINEW_API bool sinew_query_ray(const sinew_query *query, const double origin[3],
                               const double direction[3], double max_distance, sinew_closest *hit);

/* How often the surface winds around the point: an integer for closed surfaces, +1 inside an
 * outward one; a fraction where the surface is open. Exact sum over all triangles: slow. */
SINEW_API double sinew_query_winding(const sinew_query *query, const double point[3]);

/* Closed surface: the winding number is not zero, so that parts which overlap count as inside and
 * cavities do not; without a consistent orientation, the number of crossings is odd. Open surface:
 * the winding number is at least a half. */
SINEW_API bool sinew_query_inside(const sinew_query *query, const double point[3]);
SINEW_API void sinew_query_inside_all(const sinew_query *query, int count, const double *points,
                                      bool *inside);

/* Pairs of triangles i < j of one surface that intersect or touch beyond their common corners,
 * sorted. Evaluated with exact predicates. *pairs holds 2 indices each; release with sinew_free. */
SINEW_API sinew_status sinew_self_intersections(int vertex_count, const double *positions,
                                                int triangle_count, const int *triangles,
                                                const sinew_monitor *monitor, int **pairs,
                                                int *pair_count, sinew_error *error);

#ifdef __cplusplus
}
#endif
#endif
