/* Rotations: matrices, unit quaternions and rotation vectors, and the decompositions that find
 * them.
 *
 * A rotation vector points along the axis; its length is the angle in radians. exp and log are
 * exact (to rounding) for every angle, including near 0 and pi; log returns |w| <= pi. */
#ifndef SN_BASE_ROTATION_H
#define SN_BASE_ROTATION_H

#include "base/mat3.h"

typedef struct sn_quat {
    double w, x, y, z;
} sn_quat;

sn_mat3 sn_rotation_exp(sn_vec3 rotation_vector);
sn_vec3 sn_rotation_log(sn_mat3 rotation);

sn_quat sn_quat_from_mat3(sn_mat3 rotation);
sn_mat3 sn_quat_to_mat3(sn_quat q);
sn_quat sn_quat_multiply(sn_quat a, sn_quat b);
sn_quat sn_quat_normalize(sn_quat q);
sn_quat sn_quat_slerp(sn_quat a, sn_quat b, double t);

/* A = U diag(s) V^T with det U = det V = +1, s[0] >= s[1] >= |s[2]|: s[2] has the sign of det A.
 * Handles any finite matrix, including zero and rank one. */
void sn_svd3(sn_mat3 a, sn_mat3 *u, double s[3], sn_mat3 *v);

/* A = R Y with det R = +1 and Y symmetric; for det A < 0 the smallest axis of Y is negative. */
void sn_polar3(sn_mat3 a, sn_mat3 *rotation, sn_mat3 *stretch);

/* The best rotation and translation, min sum_i w_i |R a_i + t - b_i|^2 (Kabsch). weights may be
 * NULL. For degenerate sets (collinear, one point) the result is one of the minimizers. */
void sn_rigid_fit(int count, const double *a, const double *b, const double *weights,
                  sn_mat3 *rotation, sn_vec3 *translation);

#endif
