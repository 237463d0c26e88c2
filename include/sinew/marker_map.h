/* Marker maps: positions of captured markers on the surface of a mesh. */
#ifndef SINEW_MARKER_MAP_H
#define SINEW_MARKER_MAP_H

#include "sinew/curves.h"
#include "sinew/mesh.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sinew_marker_map {
    int count;
    char **names;
    int *vertices;       /* vertex of each, or -1 where a triangle is given */
    int *triangles;      /* triangle of each (of sinew_mesh.triangles), or -1 */
    double *barycentric; /* 3 per marker, sum 1; 1 0 0 for a vertex */
    double *weights; /* weight of each, finite and >= 0; NULL: all 1. Pass it as marker_weights to
                        fits, frames and layers */
} sinew_marker_map;

/* Barycentric weights lie in [0, 1], up to this rounding error. */
#define SINEW_MARKER_OFF_TRIANGLE 1e-3

/* Names empty, every marker at vertex 0, to be filled in. */
SINEW_API sinew_status sinew_marker_map_create(int count, sinew_marker_map **map,
                                               sinew_error *error);
SINEW_API sinew_status sinew_marker_map_copy(const sinew_marker_map *map, sinew_marker_map **copy,
                                             sinew_error *error);
SINEW_API void sinew_marker_map_destroy(sinew_marker_map *map);
/* Replaces a marker's name by a copy. */
SINEW_API sinew_status sinew_marker_map_set_name(sinew_marker_map *map, int marker,
                                                 const char *name, sinew_error *error);
/* Returns SINEW_BAD_INPUT and names the marker for an index out of range, weights that do not sum
 * to 1 or lie outside the triangle, and duplicate names (case-insensitive, as in binding). */
SINEW_API sinew_status sinew_marker_map_check(const sinew_marker_map *map, const sinew_mesh *mesh,
                                              sinew_error *error);
/* points[3 * count] on the mesh posed at positions. */
SINEW_API void sinew_marker_map_points(const sinew_marker_map *map, const sinew_mesh *mesh,
                                       const double *positions, double *points);
/* Attaches each of `count` points (3 coordinates) to the nearest point of the mesh. Returns
 * SINEW_BAD_INPUT and names the marker when it is farther away than `reach` (INFINITY: any) or not
 * finite. */
SINEW_API sinew_status sinew_marker_map_nearest(const sinew_mesh *mesh, int count,
                                                const char *const *names, const double *points,
                                                double reach, sinew_marker_map **map,
                                                sinew_error *error);
/* index[map->count]: the marker of the take with the map's name (case-insensitive), or -1. Returns
 * how many were found. */
SINEW_API int sinew_marker_map_bind(const sinew_marker_map *map, const sinew_markers *markers,
                                    int *index);

/* A rigid motion: x -> R x + t, rotation row by row. */
typedef struct sinew_rigid {
    double rotation[9];
    double translation[3];
} sinew_rigid;

/* positions[3 * count] := R x + t. */
SINEW_API void sinew_rigid_apply(const sinew_rigid *motion, int count, double *positions);

/* ---- accessors, for bindings that do not mirror the structure ---- */

/* Names and arrays belong to the map. */
/* Number of markers. */
SINEW_API int sinew_marker_map_count(const sinew_marker_map *map);
/* NULL outside 0 <= marker < count. */
SINEW_API const char *sinew_marker_map_name(const sinew_marker_map *map, int marker);
/* Per marker, or -1 where it lies on a triangle. */
SINEW_API const int *sinew_marker_map_vertices(const sinew_marker_map *map);
/* Per marker, or -1 where it lies on a vertex. */
SINEW_API const int *sinew_marker_map_triangles(const sinew_marker_map *map);
/* 3 per marker, sum 1. */
SINEW_API const double *sinew_marker_map_barycentric(const sinew_marker_map *map);
/* Per marker; NULL: all 1. */
SINEW_API const double *sinew_marker_map_weights(const sinew_marker_map *map);
/* Attaches a marker to a vertex, or to a point of a triangle. Check the map when it is complete
 * (sinew_marker_map_check). SINEW_MISUSE: no such marker. */
SINEW_API sinew_status sinew_marker_map_set_vertex(sinew_marker_map *map, int marker, int vertex);
SINEW_API sinew_status sinew_marker_map_set_point(sinew_marker_map *map, int marker, int triangle,
                                                  const double barycentric[3]);

#ifdef __cplusplus
}
#endif
#endif
