/* A GLB file with the targets and positions of a rig, and everything else as it was. */
#ifndef SN_IO_GLTF_KEEP_H
#define SN_IO_GLTF_KEEP_H

#include "io/gltf_pose.h"
#include "io/gltf_vrm.h"

/* How the vertices of a rig lie in the file that it was read from. */
typedef struct sn_gltf_layout {
    sn_gltf gltf;
    sn_gltf_instance *instances;
    int instance_count;
    sn_gltf_block *blocks;
    size_t block_count;
    int file_count;
    int *vertex_of; /* mesh vertex of each file vertex */
    bool own;       /* written by us: the mesh's extras describe the rig */
    int expression_count;
    sn_gltf_expression *expressions;
} sn_gltf_layout;

/* gltf_read.c. On failure, too, the layout must be closed. The source must outlive it. */
sinew_status sn_gltf_read_layout(const sn_source *source, sn_gltf_layout *layout, sinew_rig **rig,
                                 sinew_error *error);
void sn_gltf_layout_close(sn_gltf_layout *layout);

/* gltf_animation.c: the weights that animation `index` gives to targets, or to the sliders that our
 * extras name; NULL when it moves none. */
sinew_status sn_gltf_animation_curves(sn_gltf *gltf, int index, sinew_curves **curves);

/* As of sn_format: write_into. */
sinew_status sn_gltf_write_into(const sn_source *original, const sinew_rig *rig,
                                const sn_keyed_clip *clip, sn_buffer *out, sinew_error *error);

#endif
