/* Displacement fields read as rotation and strain: the linear map behind the modes.
 *
 * A displacement u has per element the gradient H = sum u_i g_i^T; on a triangle its normal turns
 * along, H += dn n^T with dn = -H^T n. The antisymmetric part of H is a rotation vector w, the
 * symmetric part a strain S, and
 *
 *   ||H||_F^2 = 2 |w|^2 + ||S||_F^2,
 *
 * which weighted by volume is the metric in which poses are projected on modes. */
#ifndef SN_MODAL_FIELD_H
#define SN_MODAL_FIELD_H

#include "algebra/sparse.h"
#include "mesh/rotation_strain.h"

/* coordinates (w, 0, S) += of a displacement; SN_RS_SIZE per element. */
void sn_field_add(const sn_rotation_strain *rs, const double *displacement, double *coordinates);
/* The same for one element: u of its corners, 3 each, and its own coordinates. */
void sn_field_add_element(const sn_rotation_strain *rs, int element, const double *u,
                          double *coordinates);

/* forces[3 * vertex_count] = the adjoint with weights |e|: for any field u,
 * u . forces = sum |e| <H(u), H>, with H from (w + q, S) of the coordinates. */
void sn_field_adjoint(const sn_rotation_strain *rs, const double *coordinates, double *forces);

/* The metric as a symmetric matrix B: sum |e| <H(u), H(v)> = u . B v. On triangles it has three
 * rows a vertex; on tets the axes do not meet, so it has one and is applied to 3 vectors. */
sinew_status sn_field_metric(const sn_rotation_strain *rs, sn_sparse **metric, sinew_error *error);

#endif
