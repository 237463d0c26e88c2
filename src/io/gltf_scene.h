/* The meshes that a glTF scene shows, with the transforms of their nodes. */
#ifndef SN_IO_GLTF_SCENE_H
#define SN_IO_GLTF_SCENE_H

#include "base/mat3.h"
#include "io/gltf.h"

typedef struct sn_gltf_transform {
    sn_mat3 linear;
    sn_vec3 translation;
    bool identity; /* exactly: applying it would only cost bits */
} sn_gltf_transform;

typedef struct sn_gltf_instance {
    const json_t *mesh;
    int node;                    /* -1: a mesh that no node shows */
    sn_gltf_transform transform; /* to the world; a skinned mesh is positioned by its skin and
                                    has none */
    const char *name;            /* of the node, else of the mesh, else of the nearest named parent;
                                    NULL: none */
} sn_gltf_instance;

/* Instances of the default scene (all root nodes when there is no scene, all meshes when there are
 * no nodes), in the order of a depth-first walk. Refuses cycles and nodes with two parents. Release
 * with sn_free. */
sinew_status sn_gltf_instances(sn_gltf *gltf, sn_gltf_instance **instances, int *count);

/* Name of target t of a mesh: from extras.targetNames, from its accessor, or "target_T" in
 * `number`. */
const char *sn_gltf_target_name(const sn_gltf *gltf, const json_t *mesh, int t, char number[32]);

sn_vec3 sn_gltf_transform_point(const sn_gltf_transform *transform, sn_vec3 p);

#endif
