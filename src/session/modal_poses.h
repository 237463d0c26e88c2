/* The poses of a rig that the modal body is chosen and linked by. */
#ifndef SN_SESSION_MODAL_POSES_H
#define SN_SESSION_MODAL_POSES_H

#include "sinew/rig.h"

typedef struct sn_modal_poses {
    int count;
    double **positions; /* 3 * vertex_count each */
} sn_modal_poses;

/* The sculpted poses of the targets, in their order; of large rigs those that move farthest. They
 * depend on the rig alone, so that keys may change without a new body. */
sinew_status sn_modal_poses_create(const sinew_rig *rig, sn_modal_poses *poses, sinew_error *error);
void sn_modal_poses_free(sn_modal_poses *poses);

/* Slider weights that show a target as it was sculpted. */
void sn_modal_pose_weights(const sinew_rig *rig, int target, double *weights);

#endif
