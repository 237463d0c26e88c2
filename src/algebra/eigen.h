/* The smallest eigenpairs of K y = lambda M y, K symmetric positive semidefinite, M positive.
 *
 * Based on: Grimes, Lewis and Simon 1994 (shifted block Lanczos), Wu and Simon 2000 (thick
 * restart). We differ in: blocks of eight, because one sweep over the factor solves eight
 * right-hand sides at little more than the cost of one; full reorthogonalization; and after
 * convergence a second run from new random vectors, which finds copies of multiple eigenvalues
 * (rigid motions, symmetric bodies, several components) that a Krylov space can miss.
 *
 * K + shift M is factored once; with a small positive shift a free body's rigid motions are found
 * as eigenvalues that are zero to rounding. */
#ifndef SN_ALGEBRA_EIGEN_H
#define SN_ALGEBRA_EIGEN_H

#include "algebra/sparse.h"
#include "base/monitor.h"

#define SN_EIGEN_TOLERANCE 1e-9

typedef struct sn_eigen_options {
    int count; /* wanted, 1 .. size */
    double
        tolerance; /* relative, for the eigenvalues of (K + shift M)^-1 M; 0: SN_EIGEN_TOLERANCE */
    double shift;  /* > 0, well below the smallest nonzero eigenvalue; 0: chosen */
    const sinew_monitor *monitor; /* may be NULL */
} sn_eigen_options;

typedef struct sn_eigen_info {
    int solves; /* number of right-hand sides solved */
    double shift;
    double worst_residual;
} sn_eigen_info;

/* K symmetric; pass either `mass` (the diagonal of M, all > 0) or `mass_matrix`.
 *   values     count, increasing
 *   vectors    size x count, column-major, M-orthonormal, the entry of largest magnitude positive
 *   residuals  count, |K y - lambda M y| / ((|lambda| + shift) |M y|); may be NULL
 * SINEW_NOT_CONVERGED: the pairs are the best found. info may be NULL. */
sinew_status sn_eigen_smallest(const sn_sparse *K, const double *mass, const sn_sparse *mass_matrix,
                               const sn_eigen_options *options, double *values, double *vectors,
                               double *residuals, sn_eigen_info *info, sinew_error *error);

#endif
