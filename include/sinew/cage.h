/* A tetrahedral cage around any surface, and the surface embedded in it.
 *
 *   sinew_cage_create       cells around and inside the surface, cut into tets
 *   sinew_embedding_apply   cage positions -> surface positions
 *   sinew_cage_fit_*        a pose of the surface -> a pose of the cage + what it cannot express
 *
 * The surface may be open, cross itself or have any number of parts. Vertex v follows its tet:
 *   p_v = sum_k w_k x_k + R_v e_v
 * with w its barycentric weights, R_v the rotation of its tet and e_v the leftover of the pose,
 * kept in the tet's frame, so that a fitted pose is reproduced to rounding error. */
#ifndef SINEW_CAGE_H
#define SINEW_CAGE_H

#include <stdint.h>

#include "sinew/tets.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- embedding ---- */

typedef struct sinew_embedding {
    int vertex_count;
    int *tet;        /* per vertex */
    int *corners;    /* 4 per vertex: those of its tet */
    double *weights; /* 4 per vertex, sum 1; some are negative for a vertex outside its tet */
} sinew_embedding;

/* Embeds points in a tet mesh: each in the tet that contains it or, by extrapolation, in the tet
 * with the nearest side. */
SINEW_API sinew_status sinew_embedding_create(const sinew_tets *tets, int vertex_count,
                                              const double *positions, sinew_embedding **embedding,
                                              sinew_error *error);
SINEW_API void sinew_embedding_destroy(sinew_embedding *embedding);
/* positions[3 * vertex_count] of the embedded points; allocates nothing. */
SINEW_API void sinew_embedding_apply(const sinew_embedding *embedding, const double *tet_positions,
                                     double *positions);

/* ---- cage ---- */

/* Edge length of a cell, as a fraction of the bounding-box diagonal. */
#define SINEW_CAGE_CELL_DEFAULT (1.0 / 50.0)

typedef struct sinew_cage_options {
    uint32_t size;  /* of this structure in bytes; set by sinew_cage_options_init */
    double cell;    /* fraction of the bounding-box diagonal, > 0; 1/50 or finer for characters */
    int hole_edges; /* holes with at most this many edges are closed before filling, >= 0 */
    bool separate_parts; /* true: parts of the surface that are not connected get separate cells,
                            even where they touch or overlap, so that eyes, teeth and clothes can
                            move apart. Within one part, sheets closer than a cell share cells and
                            move together; use a smaller cell to separate them. */
} sinew_cage_options;
SINEW_API void sinew_cage_options_init(sinew_cage_options *options);

typedef struct sinew_cage {
    sinew_tets *tets;           /* 6 per cell, all split alike; one vertex per grid corner */
    sinew_embedding *embedding; /* of the surface's vertices */
    double cell;                /* edge length, in units of the mesh */
} sinew_cage;

/* Cells that touch the surface, or that cannot be reached from outside without crossing it. Any
 * mesh with at least one triangle of some extent gets a cage; vertices that no face uses follow the
 * nearest cell. */
SINEW_API sinew_status sinew_cage_create(const sinew_mesh *mesh, const sinew_cage_options *options,
                                         const sinew_monitor *monitor, sinew_cage **cage,
                                         sinew_error *error);
SINEW_API void sinew_cage_destroy(sinew_cage *cage);

/* ---- poses of the surface as poses of the cage ---- */

/* Weight w of the distance to the surface against the stiffness of the cage. Larger values leave a
 * smaller residual and strain the cage more. */
#define SINEW_CAGE_FIT_WEIGHT_DEFAULT     1.0
#define SINEW_CAGE_FIT_ITERATIONS_DEFAULT 60
/* A fit stops when no vertex moves more than this in an iteration, as a fraction of the
 * bounding-box diagonal. */
#define SINEW_CAGE_FIT_TOLERANCE_DEFAULT 1e-4

typedef struct sinew_cage_fit_options {
    uint32_t size;    /* of this structure in bytes; set by sinew_cage_fit_options_init */
    double weight;    /* > 0 */
    int iterations;   /* >= 1, per pose */
    double tolerance; /* > 0 */
} sinew_cage_fit_options;
SINEW_API void sinew_cage_fit_options_init(sinew_cage_fit_options *options);

typedef struct sinew_cage_pose {
    double *positions; /* of the cage's vertices */
    double *leftover;  /* 3 per surface vertex, in the frame of its tet */
    int inverted;      /* tets without positive volume */
    int iterations;
    double leftover_rms, leftover_max; /* in units of the mesh */
} sinew_cage_pose;
SINEW_API void sinew_cage_pose_destroy(sinew_cage_pose *pose);

/* The system shared by all poses, factored once. `rest` is the mesh the cage was made for; cage and
 * mesh must outlive the fit. */
typedef struct sinew_cage_fit sinew_cage_fit;
SINEW_API sinew_status sinew_cage_fit_create(const sinew_cage *cage, const sinew_mesh *rest,
                                             const sinew_cage_fit_options *options,
                                             sinew_cage_fit **fit, sinew_error *error);
SINEW_API void sinew_cage_fit_destroy(sinew_cage_fit *fit);

/* min over x of  sum_T |T| ||F_T - R_T||^2 + w h sum_v |(B x)_v - p_v|^2,  then the leftover. */
SINEW_API sinew_status sinew_cage_fit_pose(const sinew_cage_fit *fit, const double *positions,
                                           const sinew_monitor *monitor, sinew_cage_pose **pose,
                                           sinew_error *error);

/* The surface of a posed cage; leftover may be NULL. Allocates nothing. */
SINEW_API void sinew_cage_surface(const sinew_cage_fit *fit, const double *cage_positions,
                                  const double *leftover, double *positions);

#ifdef __cplusplus
}
#endif
#endif
