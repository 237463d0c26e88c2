/* Preconditioned conjugate gradients: A x = b with A and the preconditioner as functions.
 *
 * Based on: Hestenes and Stiefel 1952; Golub and Ye 1999 for the flexible form; Steihaug 1983 for
 * truncation at negative curvature.
 * We differ in: sums are accumulated in double in fixed blocks, also in the f32 form; the result
 * never contains NaN.
 *
 * A direction p with p^T A p <= 0 ends the iteration: `negative_curvature` is set, and x is the
 * last iterate before it (the preconditioned right-hand side if it was the first direction), which
 * is still a descent direction of 1/2 x^T A x - b^T x.
 *
 * Solves do not allocate: the vectors live in a work object that is created once. */
#ifndef SN_ALGEBRA_PCG_H
#define SN_ALGEBRA_PCG_H

#include <stdbool.h>
#include <stddef.h>

#include "base/monitor.h"
#include "base/status.h"

/* y = A x. x and y never overlap. */
typedef void sn_pcg_operator(const double *x, double *y, void *user);
typedef void sn_pcg_operator_f32(const float *x, float *y, void *user);

typedef struct sn_pcg_options {
    double tolerance;   /* relative to |b|: |b - A x| <= tolerance |b|; > 0 */
    int max_iterations; /* >= 0 */
    bool start_from_x;  /* x holds an initial guess; otherwise it starts at zero */
    bool flexible;      /* the preconditioner varies, or is symmetric only approximately */
    const sinew_monitor *monitor; /* polled for cancellation only; may be NULL */
} sn_pcg_options;

typedef struct sn_pcg_info {
    int iterations;
    double residual; /* |b - A x| / |b|, from the recurrence */
    bool negative_curvature;
} sn_pcg_info;

typedef struct sn_pcg_work sn_pcg_work;
typedef struct sn_pcg_work_f32 sn_pcg_work_f32;

sinew_status sn_pcg_work_create(size_t size, sn_pcg_work **work, sinew_error *error);
void sn_pcg_work_destroy(sn_pcg_work *work);
sinew_status sn_pcg_work_create_f32(size_t size, sn_pcg_work_f32 **work, sinew_error *error);
void sn_pcg_work_destroy_f32(sn_pcg_work_f32 *work);

/* `precondition` may be NULL. SINEW_OK, SINEW_NOT_CONVERGED (iteration limit, negative curvature,
 * or no progress possible), SINEW_CANCELLED. info may be NULL. */
sinew_status sn_pcg_solve(sn_pcg_work *work, const sn_pcg_options *options, sn_pcg_operator *apply,
                          sn_pcg_operator *precondition, void *user, const double *b, double *x,
                          sn_pcg_info *info);
sinew_status sn_pcg_solve_f32(sn_pcg_work_f32 *work, const sn_pcg_options *options,
                              sn_pcg_operator_f32 *apply, sn_pcg_operator_f32 *precondition,
                              void *user, const float *b, float *x, sn_pcg_info *info);

#endif
