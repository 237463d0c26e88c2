/* A smooth warp through pairs of points, to transfer markers and shapes to another face.
 *
 *   W(x) = A x + b + sum_i c_i |x - p_i|,   W(p_i) = q_i,   sum c_i = 0, sum c_i p_i^T = 0
 *
 * the thin-plate spline in three dimensions: of all maps through the pairs it bends least, and it
 * is affine when the pairs are. A displacement d at x becomes J(x) d with the
 * warp's Jacobian J, so that proportions adapt. */
#ifndef SINEW_WARP_H
#define SINEW_WARP_H

#include "sinew/memory.h"
#include "sinew/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sinew_warp sinew_warp;

/* Smoothing, as a fraction of the pairs' mean square spacing; 0 interpolates. Use about 1e-3 for
 * noisy, hand-placed pairs. */
#define SINEW_WARP_SMOOTHING 0.0

/* Maps from[i] to to[i], 3 coordinates each. Four pairs that span space are needed for a full
 * affine part; fewer or flatter sets get the best similarity instead. Duplicate points in `from`
 * are merged, and their images averaged. */
SINEW_API sinew_status sinew_warp_create(int count, const double *from, const double *to,
                                         double smoothing, sinew_warp **warp, sinew_error *error);
SINEW_API void sinew_warp_destroy(sinew_warp *warp);

SINEW_API void sinew_warp_point(const sinew_warp *warp, const double point[3], double image[3]);
/* jacobian[3 * row + column] */
SINEW_API void sinew_warp_jacobian(const sinew_warp *warp, const double point[3],
                                   double jacobian[9]);

#ifdef __cplusplus
}
#endif
#endif
