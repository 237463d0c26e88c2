/* The shape of one target at full weight, over the neutral. */
#ifndef SN_RIG_POSE_H
#define SN_RIG_POSE_H

#include <string.h>

#include "sinew/rig.h"

/* positions: 3 per vertex of the rig. */
static inline void sn_rig_pose(const sinew_rig *rig, int target, double *positions) {
    const sinew_target *t = &rig->targets[target];
    memcpy(positions, rig->neutral->positions,
           3 * (size_t)rig->neutral->vertex_count * sizeof *positions);
    for (int k = 0; k < 3 * t->count; k++)
        positions[3 * (size_t)t->vertices[k / 3] + (size_t)(k % 3)] += t->deltas[k];
}

#endif
