/* The rotation-aware blend: nearly as fast as linear blending, but bends instead of shrinking.
 *
 * Every target is converted to a rotation and a strain of each triangle of the neutral. The weights
 * blend these instead of positions, and one linear solve with a constant factorization assembles
 * the triangles:
 *
 *   sinew_rotation_create        measure the targets, factor                        once per rig
 *   sinew_rotation_state_create  scratch memory                                     once per thread
 *   sinew_rotation_evaluate      weights -> positions, allocates nothing            per frame
 *
 * Each target is met exactly at its own weight. In-betweens work along their slider; a combination
 * adds what its sculpted pose has beyond the blend of its drivers. Weights outside [0, 1]
 * extrapolate. Vertices in no face are blended linearly.
 *
 * Parts that lie close together in all poses (eyes, teeth, clothes) are linked and move together,
 * as if they were one surface. Each group of linked parts is placed by the vertices that are held,
 * else by those that no target moves, else by the blend of its centers of area.
 *
 * Held vertices follow their linear path exactly, and the rest follows smoothly: feet that are on
 * the floor in all poses stay there.
 *
 * Frames do not depend on each other: any order, any thread, the same bits. */
#ifndef SINEW_ROTATION_H
#define SINEW_ROTATION_H

#include <stdbool.h>
#include <stdint.h>

#include "sinew/cache.h"
#include "sinew/monitor.h"
#include "sinew/rig.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sinew_rotation sinew_rotation;
typedef struct sinew_rotation_state sinew_rotation_state;

typedef struct sinew_rotation_options {
    uint32_t size;   /* of this structure in bytes; set by sinew_rotation_options_init */
    int hold_count;  /* default 0 */
    const int *hold; /* vertices that follow their linear path; read by create only */
    bool published;  /* as first published, for comparison: the shortest rotation of each triangle,
                        no rotation of the whole taken out, parts not linked; default false */
    sinew_cache *cache; /* stores the measured targets; default NULL: no cache */
} sinew_rotation_options;
SINEW_API void sinew_rotation_options_init(sinew_rotation_options *options);

/* options NULL: the defaults. The rig must outlive the structure. Returns SINEW_BAD_INPUT for a
 * held vertex out of range. */
SINEW_API sinew_status sinew_rotation_create(const sinew_rig *rig,
                                             const sinew_rotation_options *options,
                                             const sinew_monitor *monitor,
                                             sinew_rotation **rotation, sinew_error *error);
SINEW_API void sinew_rotation_destroy(sinew_rotation *rotation);

SINEW_API sinew_status sinew_rotation_state_create(const sinew_rotation *rotation,
                                                   sinew_rotation_state **state,
                                                   sinew_error *error);
SINEW_API void sinew_rotation_state_destroy(sinew_rotation_state *state);

/* positions[3 * vertex_count] from weights[slider_count]. */
SINEW_API void sinew_rotation_evaluate(const sinew_rotation *rotation, sinew_rotation_state *state,
                                       const double *weights, double *positions);

/* Vertices on the floor in all poses: no higher than 0.5% of the diagonal above the
 * lowest point of each pose. The floor lies across y or z, *axis 1 or 2: across z when no vertices
 * rest along y, or when the poses move along z but share their lowest height along z only. Fewer
 * than three vertices count as none. *vertices is increasing, or NULL; release it with sinew_free.
 */
SINEW_API sinew_status sinew_find_resting(const sinew_rig *rig, int **vertices, int *count,
                                          int *axis, sinew_error *error);

#ifdef __cplusplus
}
#endif
#endif
