/* The rotation-aware blend: linear blending's cheap cousin that bends instead of shrinking.
 *
 * Every target is read as a rotation and a strain of each triangle of the neutral. The weights
 * blend these instead of positions, and one linear solve with a factor that never changes puts the
 * triangles together again:
 *
 *   sinew_rotation_create        measure the targets, factor                        once per rig
 *   sinew_rotation_state_create  scratch memory                                     once per thread
 *   sinew_rotation_evaluate      weights -> positions, allocates nothing            per frame
 *
 * Each target is met exactly at its own weight. In-betweens work along their slider; a combination
 * adds what its sculpted pose has beyond the blend of its drivers. Weights outside [0, 1]
 * extrapolate. Each connected part is placed by its vertices that no target moves, or by the blend
 * of its centers of area when there are none. Vertices in no face are blended linearly.
 *
 * Frames do not depend on each other: any order, any thread, the same bits. */
#ifndef SINEW_ROTATION_H
#define SINEW_ROTATION_H

#include "sinew/monitor.h"
#include "sinew/rig.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sinew_rotation sinew_rotation;
typedef struct sinew_rotation_state sinew_rotation_state;

/* The rig must outlive the structure. */
SINEW_API sinew_status sinew_rotation_create(const sinew_rig *rig, const sinew_monitor *monitor,
                                             sinew_rotation **rotation, sinew_error *error);
SINEW_API void sinew_rotation_destroy(sinew_rotation *rotation);

SINEW_API sinew_status sinew_rotation_state_create(const sinew_rotation *rotation,
                                                   sinew_rotation_state **state,
                                                   sinew_error *error);
SINEW_API void sinew_rotation_state_destroy(sinew_rotation_state *state);

/* positions[3 * vertex_count] from weights[slider_count]. */
SINEW_API void sinew_rotation_evaluate(const sinew_rotation *rotation, sinew_rotation_state *state,
                                       const double *weights, double *positions);

#ifdef __cplusplus
}
#endif
#endif
