/* The solve behind locks and direct manipulation: sliders near those asked for, whose shape makes a
 * quadratic form smallest.
 *
 *   min over w of   1/2 da^T A da + g^T da + 1/2 ridge |w - base|^2 + few max|g'| |w - base|_1
 *                   da = a(w) - a(base),  lower <= w <= upper,  w = base where fixed
 *
 * A and g live in target space (they come from coordinates of the surface) and stay constant while
 * w moves; in-betweens and combinations enter through a(w) alone. g' is the gradient at base over
 * the sliders that are not fixed. */
#ifndef SN_RIG_SLIDER_SOLVE_H
#define SN_RIG_SLIDER_SOLVE_H

#include "rig/slider_space.h"

typedef struct sn_slider_problem {
    const double *matrix;   /* A, target_count squared, both triangles, positive semi-definite */
    long version;           /* changes with A and ridge; factors are kept between solves by it */
    const double *gradient; /* g */
    const double *base;     /* slider weights */
    double ridge;           /* >= 0, absolute */
    const double *lower, *upper; /* NULL: no limits; base lies within them */
    const bool *fixed;           /* NULL: none */
    double few;                  /* [0, 1] */
    double tolerance;
    int iteration_limit;
} sn_slider_problem;

typedef struct sn_slider_solution {
    int iterations;
    double residual; /* largest change of a weight in the last iteration */
    bool converged;
} sn_slider_solution;

typedef struct sn_slider_work sn_slider_work;
sinew_status sn_slider_work_create(const sinew_slider_space *space, sn_slider_work **work,
                                   sinew_error *error);
void sn_slider_work_destroy(sn_slider_work *work);

/* Builds what depends on A and ridge alone (and on whether there are limits), so that the next
 * solve is quick; solving does it too when needed. */
void sn_slider_prepare(sn_slider_work *work, const sn_slider_problem *problem);
/* Allocates nothing. weights[slider_count] must not be base. */
sn_slider_solution sn_slider_solve(sn_slider_work *work, const sn_slider_problem *problem,
                                   double *weights);

#endif
