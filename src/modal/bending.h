/* Bending stiffness of a thin shell, linearised about its rest shape. */
#ifndef SN_MODAL_BENDING_H
#define SN_MODAL_BENDING_H

#include "algebra/sparse.h"
#include "mesh/rotation_strain.h"

enum { SN_BENDING_ENTRIES = 171 }; /* per triangle, of the lower triangle of K */

/* Adds to the lower triangle of K (row 3 i + axis). rigidity: D = E h^3/(12 (1 - nu^2)); `scale`
 * per triangle, NULL: 1. */
sinew_status sn_add_bending(const sn_rotation_strain *triangles, const double *rest,
                            double rigidity, double poisson, const double *scale,
                            sn_triplets *triplets, sinew_error *error);

#endif
