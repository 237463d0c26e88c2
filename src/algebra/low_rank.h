/* Solves with a factored matrix plus a low-rank term: (A + U diag(w) U^T) x = b.
 *
 * Based on: Woodbury 1950. With Z = A^-1 U, whose columns are computed once and kept,
 *
 *     x = y - Z S^-1 U^T y,    y = A^-1 b,    S = diag(1 / w) + U^T Z.
 *
 * Used for contacts, pins and locks that come and go while the factor of the system stays the same:
 * changing only the weights costs a rank x rank factorization. Columns can be added one region at a
 * time; a weight of zero switches a column off. */
#ifndef SN_ALGEBRA_LOW_RANK_H
#define SN_ALGEBRA_LOW_RANK_H

#include "algebra/cholesky.h"

typedef struct sn_low_rank sn_low_rank;

/* Allocates for up to `max_rank` columns and `max_count` right-hand sides. The factor is
 * borrowed. */
sinew_status sn_low_rank_create(const sn_cholesky *factor, int max_rank, int max_count,
                                sn_low_rank **update, sinew_error *error);
void sn_low_rank_destroy(sn_low_rank *update);

/* Sets the columns: size x rank, sparse. Solves for Z (the expensive part) and U^T Z. */
sinew_status sn_low_rank_set_columns(sn_low_rank *update, const sn_sparse *U, sinew_error *error);
/* Sets one weight per column; zero disables the column. Allocates only if a weight is negative.
 * Returns SINEW_BAD_INPUT if the sum is singular. */
sinew_status sn_low_rank_set_weights(sn_low_rank *update, const double *weights,
                                     sinew_error *error);
/* Interleaved right-hand sides as in sn_cholesky_solve; x may be b. Does not allocate. */
void sn_low_rank_solve(sn_low_rank *update, int count, const double *b, double *x);

/* size x rank, column-major, and rank x rank: for callers that solve in the small space themselves
 * (contact forces, locks). */
const double *sn_low_rank_columns(const sn_low_rank *update);
const double *sn_low_rank_compliance(const sn_low_rank *update);

#endif
