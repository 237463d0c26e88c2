/* How deep the rig may sit in the scene's obstacles: as deep as in the poses, blended as they are.
 * Poses are measured when the weights first use them. */
#ifndef SN_SESSION_POSE_DEPTHS_H
#define SN_SESSION_POSE_DEPTHS_H

#include "session/obstacles.h"

typedef enum sn_depth_rule { SN_DEPTH_PARTS, SN_DEPTH_ALL, SN_DEPTH_NONE } sn_depth_rule;

typedef struct sn_pose_depths {
    const sinew_rig *rig;
    sn_depth_rule rule;
    int count;                  /* obstacles */
    struct sn_pose_depth *list; /* per obstacle */
    const double **vertices;    /* per obstacle: allowed depth of each vertex, or NULL */
    const double **triangles;   /* likewise of each triangle */
    bool *carried;              /* per obstacle: a part of the rig */
    double *pose;               /* scratch: positions of one pose */
    bool *changed;              /* scratch: vertices that a pose moves */
} sn_pose_depths;

/* For the obstacles as they are after an update; what is known of shapes that stayed is kept. Stays
 * as it was on failure. */
sinew_status sn_pose_depths_update(const sinew_rig *rig, const sn_obstacles *obstacles,
                                   sn_depth_rule rule, sn_pose_depths *depths, sinew_error *error);
void sn_pose_depths_free(sn_pose_depths *depths);
/* `vertices` and `triangles` for the activations of the rig's targets. May move the obstacles: put
 * them where they belong afterwards. */
sinew_status sn_pose_depths_blend(sn_pose_depths *depths, sn_obstacles *obstacles,
                                  const double *activations, sinew_error *error);

#endif
