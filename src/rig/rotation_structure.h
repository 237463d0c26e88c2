/* What the rotation-aware blend has built, for those who evaluate it elsewhere. */
#ifndef SN_RIG_ROTATION_STRUCTURE_H
#define SN_RIG_ROTATION_STRUCTURE_H

#include "mesh/rotation_strain.h"
#include "rig/activations.h"
#include "rig/seams.h"
#include "sinew/rotation.h"

/* What one target adds per unit of activation. */
typedef struct sn_blend_target {
    int count;           /* elements that it moves */
    int *elements;       /* increasing */
    double *coordinates; /* SN_RS_SIZE each */
    double *centers;     /* 3 per component */
    double *turns;       /* 3 per component: rotation vector of the part as a whole */
    double *loose;       /* 3 per loose vertex, or NULL when it moves none */
} sn_blend_target;

/* With more refinements than these, neighbors turn together. */
enum { SN_FEW_REFINEMENTS = 3 };

struct sinew_rotation {
    sn_activation_plan *plan;
    sn_rotation_strain *structure;
    int refinements; /* of every frame: sn_rotation_refine */
    double *line;    /* refinements start at rest + activation line, 3 per vertex; NULL: at the
                        shape that the blended rotations give */
    bool published;  /* no links, no rotation of the whole, no unwrapping */
    int vertex_count;
    double *rest;
    sinew_rig *own;  /* with stretched pairs (rig/stretched_pairs.h), or NULL: none are needed */
    sn_seams *seams; /* NULL: no vertices coincide in all poses */

    int target_count;
    sn_blend_target *targets;
    double *rest_centers; /* 3 per component */

    bool *held;         /* per vertex: no target moves it, and its part is held by such vertices */
    double *held_total; /* mass of a component's held vertices; 0: placed by its center */

    int loose_count; /* vertices that are blended linearly: in no element, or held by the caller */
    int *loose_vertices;
};

#endif
