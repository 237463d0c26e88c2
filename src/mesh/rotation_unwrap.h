/* Rotation vectors of elements that go on past half a turn. */
#ifndef SN_MESH_ROTATION_UNWRAP_H
#define SN_MESH_ROTATION_UNWRAP_H

#include "mesh/rotation_strain.h"

/* Writes w and q of `count` elements, exp(w) exp(q) = R, into coordinates (SN_RS_SIZE each): the
 * elements listed in `active`, or all when it is NULL. Elements that are not listed stand as at
 * rest: w = q = 0. Allocates; the same bits for any number of threads. */
sinew_status sn_rotation_unwrap(const sn_rotation_strain *structure, int count, const int *active,
                                const sn_mat3 *rotations, double *coordinates, sinew_error *error);

#endif
