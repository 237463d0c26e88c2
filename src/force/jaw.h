/* The jaw: its rest is carried by its rigid motion, not along straight lines.
 *
 * A target moves the chin along chords; the jaw turns about its joint. Over vertices with shares
 * w_v each column k of B is best matched by a rigid motion T_k, and a command moves the jaw by
 *
 *   T(u) = exp(sum_k u_k log T_k),
 *
 * a screw. The rest of a jaw vertex is x_v + w_v (T(u) x_v - x_v), and the part of that motion that
 * the targets hold already, w_v sum_k u_k (T_k x_v - x_v), leaves the push. Together they pull with
 *
 *   k_p w_v C(u) x_v,     C(u) = T(u) - 1 - sum_k u_k (T_k - 1):
 *
 * one affine map per iterate. C = 0 without a command and for each target alone, so that every
 * target keeps its shape; half-way between, the chin is on the arc. */
#ifndef SN_FORCE_JAW_H
#define SN_FORCE_JAW_H

#include "force/skin.h"

typedef struct sn_jaw sn_jaw;

/* share: per vertex, 0 to 1. Bad input: other values, or none above 0. */
sinew_status sn_jaw_create(const sinew_rig *rig, const double *share, sn_jaw **jaw,
                           sinew_error *error);
void sn_jaw_destroy(sn_jaw *jaw);
/* forces[3n] += stiffness_v w_v C(u) x_v */
void sn_jaw_pull(const sn_jaw *jaw, const double *command, const double *rest,
                 const double *stiffness, double *forces);

#endif
