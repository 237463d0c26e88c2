/* The rig on another face.
 *
 *   match     each triangle of the target neutral finds the place of the source it moves with: by
 *             index on the same topology, else through a warp by pairs of vertices that correspond,
 *             drawn onto the target's surface
 *   measure   per source triangle the change of its edges and normal from neutral to shape
 *   rebuild   the displacement of the target whose triangles change in the same way: a sparse solve
 *             over the vertices that the shape moves, so that sparse targets stay sparse
 *
 * Vertices that a shape does not move stay exactly still. Sliders, limits, groups, in-betweens and
 * combinations are kept. A vertex belongs to the regions that its place on the source lies in; a
 * region that nothing lies in is left out. */
#ifndef SINEW_TRANSFER_H
#define SINEW_TRANSFER_H

#include <stdint.h>

#include "sinew/monitor.h"
#include "sinew/rig.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How strongly a vertex is drawn to the scaled displacement of the place it corresponds to, against
 * the shape of the triangles around it; dimensionless. It places parts that move as a whole. */
#define SINEW_TRANSFER_PULL 1e-3
/* Displacements below this share of the diagonal are dropped from the transferred targets. */
#define SINEW_TRANSFER_DROP 1e-6
/* Rounds of drawing the warped source onto the target's surface (different topology). */
enum { SINEW_TRANSFER_ROUNDS = 6 };

typedef struct sinew_transfer_options {
    uint32_t size; /* of this structure in bytes; set by sinew_transfer_options_init */
    double pull;
    double drop;
    int rounds;
    /* Pairs of vertices that correspond, no source vertex twice; needed (at least 4) when the
     * topology differs. */
    int pair_count;
    const int *source_vertices, *target_vertices;
} sinew_transfer_options;

SINEW_API void sinew_transfer_options_init(sinew_transfer_options *options);

typedef struct sinew_transfer_info {
    uint32_t size; /* of this structure in bytes; set by the caller */
    bool same_topology;
    double match_mean, match_max; /* distance of matched places after the warp, share of diagonal */
    int unmatched;                /* vertices farther than a twentieth of the diagonal from it */
} sinew_transfer_info;

/* `info` may be NULL. */
SINEW_API sinew_status sinew_transfer(const sinew_rig *source, const sinew_mesh *target_neutral,
                                      const sinew_transfer_options *options,
                                      const sinew_monitor *monitor, sinew_rig **transferred,
                                      sinew_transfer_info *info, sinew_error *error);

#ifdef __cplusplus
}
#endif
#endif
