/* Tetrahedral meshes: the volume inside a closed surface, or a cage around any surface.
 *
 *   sinew_tets_from_surface   for closed, clean surfaces; keeps every vertex and face
 *   sinew_cage_create         (cage.h) for everything else: open, messy, crossing itself; the
 *                             surface is embedded in a cage of regular cells
 *
 * A tet mesh made from a surface has the surface's vertices first, with their indices and
 * coordinates unchanged; interior points follow. */
#ifndef SINEW_TETS_H
#define SINEW_TETS_H

#include <stdint.h>

#include "sinew/mesh.h"
#include "sinew/monitor.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sinew_tets {
    int vertex_count;
    int surface_count; /* the first vertices are the surface's; 0 for a lattice cage */
    double *positions; /* 3 per vertex */
    int tet_count;
    int *tets; /* 4 vertices each, positive volume: (b-a) x (c-a) . (d-a) > 0 */
} sinew_tets;

SINEW_API void sinew_tets_destroy(sinew_tets *tets);

/* ---- inside a closed surface ---- */

/* Largest ratio of circumradius to shortest edge of interior tets. */
#define SINEW_TETS_RADIUS_EDGE_DEFAULT 1.6
/* Holes with at most this many edges are closed for meshing. */
#define SINEW_TETS_HOLE_EDGES_DEFAULT 64
#define SINEW_TETS_SECONDS_DEFAULT    120.0
#define SINEW_TETS_MEGABYTES_DEFAULT  4096

typedef struct sinew_tets_options {
    uint32_t size;        /* of this structure in bytes; set by sinew_tets_options_init */
    bool interior_points; /* true: add points inside for well-shaped tets; false: as few as possible
                           */
    double radius_edge;   /* >= 1.2, with interior points; smaller is rounder and more tets */
    double cell_size;    /* edge length inside, in units of the mesh; 0: derived from the surface */
    int hole_edges;      /* >= 0; closing triangles do not become part of the surface */
    double seconds;      /* > 0: limit for the mesher */
    int megabytes;       /* > 0: limit for the mesher */
    const char *program; /* the mesher's name or path; NULL: "tetgen" */
} sinew_tets_options;
SINEW_API void sinew_tets_options_init(sinew_tets_options *options);

/* Runs the `tetgen` program in a separate process with limits, so that it cannot harm the caller.
 * The surface is checked first; SINEW_BAD_INPUT states why it cannot be meshed (open, non-manifold,
 * crossing itself, degenerate, coincident vertices, not finite, bad index, empty).
 * SINEW_UNAVAILABLE: tetgen is not installed. SINEW_NOT_CONVERGED: it exceeded its limits.
 * Several closed parts may be apart, nested (an inner part that faces inward is a cavity). */
SINEW_API sinew_status sinew_tets_from_surface(const sinew_mesh *mesh,
                                               const sinew_tets_options *options,
                                               const sinew_monitor *monitor, sinew_tets **tets,
                                               sinew_error *error);

/* ---- interior points in other poses ---- */

#define SINEW_CARRY_ITERATIONS_DEFAULT 10

/* Positions of interior points when the surface is posed: harmonic displacement, then
 * `iterations` as-rigid-as-possible steps, the surface held. Factored once, used for any number of
 * poses and from any number of threads; `rest` must outlive it. */
typedef struct sinew_carry sinew_carry;
SINEW_API sinew_status sinew_carry_create(const sinew_tets *rest, sinew_carry **carry,
                                          sinew_error *error);
SINEW_API void sinew_carry_destroy(sinew_carry *carry);
/* positions[3 * vertex_count] of all vertices from those of the surface's surface_count; *inverted
 * (may be NULL): tets without positive volume in the pose. */
SINEW_API sinew_status sinew_carry_pose(const sinew_carry *carry, const double *surface,
                                        int iterations, double *positions, int *inverted,
                                        sinew_error *error);

/* ---- accessors, for bindings that do not mirror the structure ---- */

/* The arrays belong to the tet mesh. */
SINEW_API int sinew_tets_vertex_count(const sinew_tets *tets);
/* The first vertices are those of the surface. */
SINEW_API int sinew_tets_surface_count(const sinew_tets *tets);
/* 3 per vertex. */
SINEW_API const double *sinew_tets_positions(const sinew_tets *tets);
/* Number of tets. */
SINEW_API int sinew_tets_count(const sinew_tets *tets);
/* 4 vertices per tet. */
SINEW_API const int *sinew_tets_corners(const sinew_tets *tets);
/* A tet mesh from arrays, which are copied. surface_count: how many of the first vertices form the
 * surface, 0 to vertex_count. SINEW_BAD_INPUT names a vertex that is not finite or a tet that is
 * out of range, flat or inverted. */
SINEW_API sinew_status sinew_tets_create(int vertex_count, const double *positions,
                                         int surface_count, int tet_count, const int *corners,
                                         sinew_tets **tets, sinew_error *error);

#ifdef __cplusplus
}
#endif
#endif
