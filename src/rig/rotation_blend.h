/* The rotation-aware blend on elements of the caller's choice: for models whose shapes have more
 * vertices than the artist's mesh, such as a volume inside it. Evaluated as the public one. */
#ifndef SN_RIG_ROTATION_BLEND_H
#define SN_RIG_ROTATION_BLEND_H

#include "mesh/rotation_strain.h"
#include "sinew/rotation.h"

/* `rest` and `poses` have vertex_count vertices each, `elements` has `corners` (3 or 4) vertices
 * each. poses[k]: the full sculpted pose of target k, which for a combination is the pose with all
 * its drivers at 1. options NULL: the defaults. Everything is copied; the rig, which gives the
 * activations, must outlive the structure. */
sinew_status sn_rotation_create_elements(const sinew_rig *rig, int vertex_count, const double *rest,
                                         int corners, int element_count, const int *elements,
                                         const double *const *poses,
                                         const sinew_rotation_options *options,
                                         const sinew_monitor *monitor, sinew_rotation **rotation,
                                         sinew_error *error);

/* As sinew_rotation_evaluate, at activations of the targets. */
void sn_rotation_evaluate_targets(const sinew_rotation *rotation, sinew_rotation_state *state,
                                  const double *activations, double *positions);

/* A region whose elements are guided to a rotation from rest. */
typedef struct sn_rotation_region {
    const bool *marked; /* per vertex: elements that have it as a corner belong to the region */
    sn_vec3 turn;       /* axis times radians */
    double weight;      /* [0, 1]: from what the blend has to this */
} sn_rotation_region;

/* As sinew_rotation_evaluate, with regions that are guided. */
void sn_rotation_evaluate_oriented(const sinew_rotation *rotation, sinew_rotation_state *state,
                                   const double *weights, int region_count,
                                   const sn_rotation_region *regions, double *positions);

/* The deformation gradient that the last evaluation asked of an element, before the solve that
 * makes elements fit each other. */
sn_mat3 sn_rotation_asked_gradient(const sinew_rotation *rotation,
                                   const sinew_rotation_state *state, int element);

const sn_rotation_strain *sn_rotation_structure(const sinew_rotation *rotation);

#endif
