/* Numeric Cholesky factorization over the supernodes of supernodal.h: A = L L^T.
 *
 * Based on: Duff and Reid 1983, Liu 1992 (the multifrontal method).
 * We differ in: the tasks used by the sweeps are also factored in parallel, each on its own stack,
 * and all sums have a fixed order, so results are bit-identical for any number of threads.
 *
 * A supernode has a front, a dense lower triangle over its columns and the rows below them:
 *
 *     +-----+
 *     |\    |        columns of the supernode: entries of A are added, then they are eliminated
 *     | \   |
 *     +-----+-----+
 *     |     |\    |  the update matrix (Schur complement) of the rows below: it is
 *     |     | \   |  added to the front of the parent
 *     +-----+-----+
 *
 * In a postorder the updates of a supernode's children are on top of the stack when it is
 * reached. */
#ifndef SN_ALGEBRA_MULTIFRONTAL_H
#define SN_ALGEBRA_MULTIFRONTAL_H

#include "algebra/supernodal.h"

/* Fills values[pattern->values] with the factor of `matrix`, which must have the pattern's entries.
 * SINEW_BAD_INPUT names the column of the matrix where it is not positive definite. */
sinew_status sn_multifrontal_factor(const sn_supernodal *pattern, const sn_sparse *matrix,
                                    double *values, sinew_error *error);

#endif
