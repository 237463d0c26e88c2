/* Rig transfer: the sliders of a rig on another face.
 *
 *   match     the point of the source that corresponds to each triangle of the target
 *   measure   per source triangle, the change of its edges and normal from neutral to shape
 *   rebuild   the displacement of the target whose triangles deform alike
 *
 * Points match by index on the same topology, otherwise through a warp by pairs of corresponding
 * vertices. Rebuilding solves for the vertices that a shape moves only: sparse targets stay sparse.
 *
 * Vertices that a shape does not move stay exactly still. Sliders, limits, groups, in-betweens and
 * combinations are kept. A vertex belongs to the regions of its corresponding point on the source;
 * empty regions are dropped. */
#ifndef SINEW_TRANSFER_H
#define SINEW_TRANSFER_H

#include <stdint.h>

#include "sinew/monitor.h"
#include "sinew/rig.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Weight of the scaled displacement of the corresponding point, relative to the shape of the
 * surrounding triangles; dimensionless. It positions parts that move as a whole. */
#define SINEW_TRANSFER_PULL 1e-3
/* Displacements below this fraction of the bounding-box diagonal are dropped from the transferred
 * targets. */
#define SINEW_TRANSFER_DROP 1e-6
/* Iterations that project the warped source onto the target's surface (different topology). */
enum { SINEW_TRANSFER_ROUNDS = 6 };

typedef struct sinew_transfer_options {
    uint32_t size; /* of this structure in bytes; set by sinew_transfer_options_init */
    double pull;
    double drop;
    int rounds;
    /* Pairs of corresponding vertices without duplicate source vertices; at least 4 are required
     * when the topology differs. */
    int pair_count;
    const int *source_vertices, *target_vertices;
} sinew_transfer_options;

SINEW_API void sinew_transfer_options_init(sinew_transfer_options *options);

typedef struct sinew_transfer_info {
    uint32_t size; /* of this structure in bytes; set by the caller */
    bool same_topology;
    double match_mean,
        match_max; /* distance of corresponding points after the warp, fraction of the diagonal */
    int unmatched; /* vertices farther than a twentieth of the diagonal from it */
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
