/* Slider weights to target activations, and the derivative of that map. */
#ifndef SN_RIG_ACTIVATIONS_H
#define SN_RIG_ACTIVATIONS_H

#include <stdbool.h>

#include "sinew/rig.h"

/* The hat function of one knot along its slider; see activations.c. */
typedef struct sn_hat {
    double previous, at, next; /* neighboring knots; previous = -INFINITY, next = INFINITY: none */
    double low_end, high_end;  /* where the hat ends; infinite when it is carried on */
} sn_hat;

/* What does not change from frame to frame. */
typedef struct sn_activation_plan {
    const sinew_rig *rig;
    sn_hat *hats;          /* per target; unused for combinations */
    int *derivative_start; /* target_count + 1: one per plain and in-between target, driver_count
                              per combination */
    bool linear;           /* plain targets only, rest 0: a = w */
} sn_activation_plan;

sinew_status sn_activation_plan_create(const sinew_rig *rig, sn_activation_plan **plan,
                                       sinew_error *error);
void sn_activation_plan_destroy(sn_activation_plan *plan);
/* activations[target_count] and derivatives[derivative_start[target_count]]: da_k/dw for the
 * target's own sliders, in their order. At a knot or a tie the derivative towards larger weights.
 * Either may be NULL. */
void sn_activations(const sn_activation_plan *plan, const double *weights, double *activations,
                    double *derivatives);
/* activations of the targets begin <= k < end only, the first at activations[0]. */
void sn_activations_range(const sn_activation_plan *plan, int begin, int end, const double *weights,
                          double *activations);

#endif
