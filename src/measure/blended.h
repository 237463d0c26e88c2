/* A list of quantities per pose (lengths, areas, angles), blended by the activations of a rig:
 *
 *   q(w) = q_0 + sum_k a_k(w) D_k
 *
 * D_k = q(pose of target k) - q_0 for plain targets and in-betweens. For a combination, D_k is the
 * difference between its sculpted shape and the blend of all other targets active there, so that q
 * is exact at the sculpted shape. Only nonzero entries are stored. */
#ifndef SN_MEASURE_BLENDED_H
#define SN_MEASURE_BLENDED_H

#include "sinew/rig.h"

typedef struct sn_increment {
    int count;
    int *index;
    double *value;
} sn_increment;

typedef struct sn_blended {
    int count;
    double *base; /* q_0 */
    int target_count;
    sn_increment *increments; /* per target */
} sn_blended;

/* Computes all quantities of a shape: out[count]. */
typedef void sn_quantities(const void *user, const double *positions, double *out);
/* Difference of two values of a quantity; NULL: ordinary subtraction. */
typedef double sn_difference(double a, double b);

sinew_status sn_blended_create(const sinew_rig *rig, int count, sn_quantities *quantities,
                               const void *user, sn_difference *difference, sn_blended *blended,
                               sinew_error *error);
void sn_blended_free(sn_blended *blended);
/* Computes out[count] at activations[target_count]. */
void sn_blended_evaluate(const sn_blended *blended, const double *activations, double *out);

#endif
