/* Expressions of VRM avatars: "happy", "aa", "blink", each a set of morph weights.
 *
 * VRM 1.0 keeps them in extensions.VRMC_vrm.expressions, bound to nodes with weights from 0 to 1;
 * VRM 0.x in extensions.VRM.blendShapeMaster, bound to meshes with weights from 0 to 100. */
#ifndef SN_IO_GLTF_VRM_H
#define SN_IO_GLTF_VRM_H

#include "io/gltf.h"

typedef struct sn_gltf_expression {
    char *name;       /* of the slider; freed with the table */
    json_t *object;   /* of the document */
    bool by_mesh;     /* VRM 0.x */
    bool is_a_target; /* nothing but one target of the same name, whose slider it shares */
} sn_gltf_expression;

/* One morph weight of an expression; false: it is not valid, or there are no more. */
typedef struct sn_gltf_bind {
    int64_t node; /* or the mesh */
    int64_t index;
    double weight;
} sn_gltf_bind;
int sn_gltf_bind_count(const sn_gltf_expression *expression);
bool sn_gltf_bind_at(const sn_gltf_expression *expression, int i, sn_gltf_bind *bind);
/* Changes the index of a bind, as the order of targets has changed. */
bool sn_gltf_bind_move(const sn_gltf_expression *expression, int i, int64_t index);

/* All expressions that move some target, presets first. Release with sn_gltf_expressions_free. */
sinew_status sn_gltf_expressions(const sn_gltf *gltf, sn_gltf_expression **expressions, int *count);
void sn_gltf_expressions_free(sn_gltf_expression *expressions, int count);

#endif
