/* How far given shapes are from resting under their commands, as a quadratic in the factors of the
 * stiffness.
 *
 * In an example (command u, shape x) vertex v feels, with factors s of the stretch and b of the
 * bending per vertex,
 *
 *   r_v = (B u)_v - k_p (x - rest)_v + sum_w (s_v + s_w)/2 t_vw (x_v - x_w)
 *                                    + sum_w weight_vw (b_v g_v - b_w g_w)
 *
 * where the tensions t and pulls g are those of the sheet with all factors 1. It is linear in
 * f = (s_0, b_0, s_1, b_1, ...). Weighed as displacements d_v = r_v / N_vv, N = sum k F^T F with
 * all factors 1 (as forces, the stiff little triangles of lids and lips would decide everything),
 *
 *   R(f) = sum_j sum_v A_v |d_jv|^2 = f^T Q f + 2 q^T f + c,
 *
 * and Q couples a vertex with its neighbors' neighbors at most. */
#ifndef SN_FORCE_BALANCE_H
#define SN_FORCE_BALANCE_H

#include "force/potentials.h"

typedef struct sn_balance {
    int size;          /* 2 per vertex: its stretch, its bending */
    sn_sparse *matrix; /* Q; the pattern depends on the skin only */
    double *linear;    /* q */
    double constant;   /* c */
} sn_balance;

typedef struct sn_balance_builder sn_balance_builder;

/* The potentials must have all factors 1. */
sinew_status sn_balance_builder_create(const sn_potentials *potentials,
                                       sn_balance_builder **builder, sinew_error *error);
void sn_balance_builder_destroy(sn_balance_builder *builder);
/* push[3n]: the forces B u of the example's command; x[3n]: its shape. */
void sn_balance_add(sn_balance_builder *builder, const double *push, const double *x);
/* What was added since the last call, and starts anew. */
sinew_status sn_balance_finish(sn_balance_builder *builder, sn_balance **balance,
                               sinew_error *error);

void sn_balance_destroy(sn_balance *balance);
/* R(f); scratch[size]. */
double sn_balance_value(const sn_balance *balance, const double *factors, double *scratch);
/* The sum of two of the same skin, into the first. */
void sn_balance_join(sn_balance *first, const sn_balance *second);
/* The same for one factor of all stretches and one of all bending: size 2. */
sinew_status sn_balance_uniform(const sn_balance *balance, sn_balance **uniform,
                                sinew_error *error);

#endif
