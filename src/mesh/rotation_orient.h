/* Guiding elements to an orientation, in rotation–strain coordinates: their rotations change, their
 * strains do not. */
#ifndef SN_MESH_ROTATION_ORIENT_H
#define SN_MESH_ROTATION_ORIENT_H

#include "mesh/rotation_strain.h"

/* The component of an element or of a half of a link. */
int sn_rotation_component(const sn_rotation_strain *structure, int item);

/* The rotation R = exp(w) exp(q) of an item becomes exp(weight log(wanted R^T)) R, so that at
 * weight 1 it is `wanted`. `turns`: rotation vectors of the components as a whole, which are
 * applied after the coordinates are put together. */
void sn_rotation_orient(const sn_rotation_strain *structure, int item, sn_mat3 wanted,
                        double weight, const double *turns, double *coordinates);

#endif
