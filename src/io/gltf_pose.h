/* A glTF file at a time of one of its animations: nodes, morph weights and skins applied. */
#ifndef SN_IO_GLTF_POSE_H
#define SN_IO_GLTF_POSE_H

#include "io/gltf_scene.h"

/* A vertex array of an instance. */
typedef struct sn_gltf_block {
    const json_t *attributes, *targets;
    int first, count; /* file vertices */
    int instance;
} sn_gltf_block;

typedef struct sn_gltf_pose {
    const char *clip; /* name of the animation; NULL: the first */
    double time;      /* seconds */
} sn_gltf_pose;

/* positions[3 * file vertices] of all blocks. Bad input names the animations there are when the
 * file has none of that name; a file without animations is posed as its nodes are stored. */
sinew_status sn_gltf_pose_apply(sn_gltf *gltf, const sn_gltf_pose *pose,
                                const sn_gltf_instance *instances, const sn_gltf_block *blocks,
                                size_t block_count, double *positions);

/* First and last key of the animation, seconds. */
sinew_status sn_gltf_clip_range(sn_gltf *gltf, const char *clip, double *start, double *end);

#endif
