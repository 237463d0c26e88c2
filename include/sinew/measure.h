/* Distortion of a shape relative to the blend of its poses.
 *
 * Each pose p has lengths of edges, areas of triangles, angles between neighboring triangles and,
 * where the surface is closed, a volume. At weights w a shape should have the blend of these,
 *
 *   l(w) = sum_p w_p l_p,   sum_p w_p = 1   (the neutral gets what remains of the weight),
 *
 * however its parts are rotated. Distortion is the difference: |l / l(w) - 1| per edge, the
 * same for areas, degrees for angles. In-betweens blend along their slider; a combination adds what
 * its sculpted shape has beyond the blend without it, so that every sculpted shape measures zero.
 *
 *   rig -> sinew_measure_create -> sinew_measure_frame (weights, positions) -> sinew_distortion */
#ifndef SINEW_MEASURE_H
#define SINEW_MEASURE_H

#include <stdint.h>

#include "sinew/curves.h"
#include "sinew/frames.h"
#include "sinew/monitor.h"
#include "sinew/rig.h"
#include "sinew/tets.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Over all elements; p95: 95% of them are at or below. */
typedef struct sinew_spread {
    double mean, p95, max;
} sinew_spread;

typedef struct sinew_distortion {
    uint32_t size;         /* of this structure in bytes; set by the caller */
    sinew_spread edge;     /* |length / blended length - 1| over the edges of the faces */
    sinew_spread area;     /* |area / blended area - 1| over the triangles */
    sinew_spread dihedral; /* |angle - blended angle| between neighboring triangles, degrees */
    double volume;         /* volume / blended volume - 1; NaN when the surface is not closed */
    int flipped;           /* triangles folded by over 90 degrees more than in the blend along
                              at least two of their edges */
    int intersections;     /* pairs of intersecting triangles; -1: not counted */
    double drift;          /* by how much vertices of different parts, within 2% of the diagonal in
                              all poses, are further apart than in any: the largest, as a fraction of
                              the diagonal; NaN when there are none */
    double below[3];       /* how far the shape reaches below the lowest point of all poses along
                              x, y and z, as a fraction of the diagonal: feet through the floor */
    int pops;              /* edges whose dihedral angle jumped by over 30 degrees since the frame
                              that was measured before, beyond the change of the blended angle */
} sinew_distortion;

/* Holds scratch memory: one per thread. The rig must outlive it. */
typedef struct sinew_measure sinew_measure;

SINEW_API sinew_status sinew_measure_create(const sinew_rig *rig, sinew_measure **measure,
                                            sinew_error *error);
SINEW_API void sinew_measure_destroy(sinew_measure *measure);

/* weights[slider_count], positions[3 * vertex_count]. Returns SINEW_BAD_INPUT and names the vertex
 * when a position is not finite. Pops are counted relative to the frame of the previous call.
 * Allocates nothing, unless intersections are to be counted. */
SINEW_API sinew_status sinew_measure_frame(sinew_measure *measure, const double *weights,
                                           const double *positions, bool count_intersections,
                                           sinew_distortion *distortion, sinew_error *error);

/* A whole point cache: distortions[frame_count]. Frame k has the weights of the curves at its time;
 * curves NULL: frame k is a fraction k / (frame_count - 1) of the first target. Curves are matched
 * with sliders as in sinew_rig_bind_curves. */
SINEW_API sinew_status sinew_measure_frames(const sinew_rig *rig, const sinew_frames *frames,
                                            const sinew_curves *curves, bool count_intersections,
                                            sinew_distortion *distortions,
                                            const sinew_monitor *monitor, sinew_error *error);

/* Relative difference of every edge, for heat maps: the mean over the edges at each vertex, after a
 * sinew_measure_frame. values[vertex_count]. */
SINEW_API void sinew_measure_vertices(const sinew_measure *measure, double *values);

/* Tets without positive volume. */
SINEW_API int sinew_count_inverted(int tet_count, const int *tets, const double *positions);
/* Volume inside the triangles, by the divergence theorem; negative when they face inwards. */
SINEW_API double sinew_volume(int triangle_count, const int *triangles, const double *positions);

#ifdef __cplusplus
}
#endif
#endif
