/* The linear system of T^-1, and vertices whose positions are known. Internal to the
 * rotation–strain coordinates. */
#ifndef SN_MESH_ROTATION_SYSTEM_H
#define SN_MESH_ROTATION_SYSTEM_H

#include "mesh/rotation_strain.h"

sinew_status sn_rotation_holds_prepare(sn_rotation_strain *structure,
                                       const sn_rotation_joints *joints, sinew_error *error);
/* Factors sum |e| g_i . g_j and the links, over the vertices that are not held. */
sinew_status sn_rotation_system_factor(sn_rotation_strain *structure, sinew_error *error);
/* Again, after the stiffness of links has changed. */
sinew_status sn_rotation_system_refactor(sn_rotation_strain *structure, sinew_error *error);
/* Moves the terms of held vertices to the right-hand side, 3 per vertex. */
void sn_rotation_holds_force(const sn_rotation_strain *structure, const double *positions,
                             double *right);

#endif
