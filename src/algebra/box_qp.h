/* Box-constrained quadratic programs: min 1/2 x^T H x - g^T x with lower <= x <= upper, H dense,
 * symmetric, positive semidefinite; and bounded least squares based on it.
 *
 * Based on: Bertsekas 1982, projected Newton with an epsilon-active set.
 * We differ in: a factor of the free block is kept across iterations and calls; while few variables
 * enter or leave, the Newton system is solved through it (algebra/block_solver.h): a warm start
 * needs no factorization.
 *
 * A ridge of SN_BOX_QP_RIDGE times the mean diagonal is added to H, so that singular problems have
 * a unique solution, approximately the one of least norm. Each step lowers the objective, so no
 * active set recurs; the iteration limit bounds the rest.
 *
 *   sn_box_qp_create / _set_matrix / _solve (any number of times, no allocation) / _destroy */
#ifndef SN_ALGEBRA_BOX_QP_H
#define SN_ALGEBRA_BOX_QP_H

#include <stdbool.h>

#include "base/monitor.h"
#include "base/status.h"

#define SN_BOX_QP_RIDGE      1e-10
#define SN_BOX_QP_TOLERANCE  1e-9
#define SN_BOX_QP_ITERATIONS 200

typedef struct sn_box_qp sn_box_qp;

typedef struct sn_box_qp_options {
    double tolerance;   /* for `kkt`, relative to 1 + max |x|; 0: SN_BOX_QP_TOLERANCE */
    int max_iterations; /* 0: SN_BOX_QP_ITERATIONS */
    bool warm; /* x holds an initial guess (clamped to the box); otherwise the solver starts at the
                  point nearest to zero */
    const sinew_monitor *monitor; /* polled for cancelling; may be NULL */
} sn_box_qp_options;

typedef struct sn_box_qp_info {
    int iterations, factorizations;
    int free_variables;
    /* max_i |x_i - clamp(x_i - (H x - g)_i / H_ii)|: zero at the solution, in units of x */
    double kkt;
} sn_box_qp_info;

sinew_status sn_box_qp_create(int size, sn_box_qp **qp, sinew_error *error);
void sn_box_qp_destroy(sn_box_qp *qp);
/* Copies H (size x size, both triangles). Returns SINEW_BAD_INPUT if H is not finite or has a
 * negative diagonal entry. */
sinew_status sn_box_qp_set_matrix(sn_box_qp *qp, const double *H, sinew_error *error);
/* Discards the state that earlier solves keep to speed up the next one, so that its result depends
 * on its input alone. */
void sn_box_qp_forget(sn_box_qp *qp);
/* Bounds may be infinite; NULL: none on that side. options and info may be NULL.
 * SINEW_NOT_CONVERGED: x is feasible and the best point found. */
sinew_status sn_box_qp_solve(sn_box_qp *qp, const double *g, const double *lower,
                             const double *upper, const sn_box_qp_options *options, double *x,
                             sn_box_qp_info *info, sinew_error *error);

/* min |A x - b|^2 with lower <= x <= upper, A rows x columns, column-major. */
sinew_status sn_box_least_squares(int rows, int columns, const double *A, const double *b,
                                  const double *lower, const double *upper, double *x,
                                  sn_box_qp_info *info, sinew_error *error);
/* min |A x - b|^2 with x >= 0 */
sinew_status sn_nonnegative_least_squares(int rows, int columns, const double *A, const double *b,
                                          double *x, sn_box_qp_info *info, sinew_error *error);

#endif
