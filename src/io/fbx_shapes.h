/* Blend-shape channels of FBX: the targets of a rig, or the pose that a file or its clip has set.
 */
#ifndef SN_IO_FBX_SHAPES_H
#define SN_IO_FBX_SHAPES_H

#include "io/fbx_scene.h"
#include "io/names.h"
#include "sinew/rig.h"

/* One target being gathered, over all meshes. */
typedef struct sn_fbx_target {
    int slider; /* index of its name in `sliders` */
    double at;  /* slider value */
    bool plain; /* at 1; others are in-betweens */
    char *name;
    int last_mesh; /* the last mesh that added to it */
    int *vertices;
    double *deltas;
    size_t count, vertex_capacity, delta_capacity;
} sn_fbx_target;

typedef struct sn_fbx_targets {
    const sn_fbx_scene *scene;
    sn_names sliders;
    int count;
    sn_fbx_target *list;
    size_t capacity;
} sn_fbx_targets;

/* The channels of the mesh-th model: `posed` [3 * vertex_count] is moved by the weights of the file
 * or of its clip; NULL: they are added to the targets, for vertices that begin at first_vertex. */
sinew_status sn_fbx_read_channels(sn_fbx_targets *targets, const sn_fbx_model *model, int mesh,
                                  int first_vertex, int vertex_count, double *posed);
/* Adds all targets to a rig, which takes their arrays. */
sinew_status sn_fbx_give_targets(sn_fbx_targets *targets, sinew_rig *rig, sinew_error *error);
void sn_fbx_targets_release(sn_fbx_targets *targets);

#endif
