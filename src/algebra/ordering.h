/* Elimination orders for sparse Cholesky factorizations. */
#ifndef SN_ALGEBRA_ORDERING_H
#define SN_ALGEBRA_ORDERING_H

#include "algebra/sparse.h"

/* permutation[columns] in factor order, and the number of entries in each column of the factor. The
 * matrix is symmetric, its lower half given. SINEW_CANCELLED at once when the call that this serves
 * is cancelled (base/monitor.h), however long the ordering takes. */
sinew_status sn_ordering_find(const sn_sparse *matrix, int *permutation, int *counts,
                              sinew_error *error);

#endif
