/* Sparse Cholesky: one symbolic analysis, a numeric factorization whenever values change, and
 * solves that do not allocate.
 *
 *   sn_cholesky_analyze   ordering and pattern, kept for all matrices of the same pattern
 *   sn_cholesky_factor    numeric; SINEW_BAD_INPUT names the column if not positive definite
 *   sn_cholesky_solve     double, our own supernodal sweep (supernodal.h)
 *   sn_cholesky_solve_f32 single, the same sweep over an f32 copy of the factor: half the bytes,
 *                         relative error about 1e-6
 *   sn_cholesky_solve_bf16 single, over a copy of 16 bits a value, for preconditioners: a large
 *                         factor is read from memory in every step, and a quarter of the bytes
 *                         takes a quarter of the time; relative error of a value 0.4%
 *
 * CHOLMOD computes the ordering; the numeric factorization is our own (multifrontal.h).
 * Factorizations and solves use sn_threads() threads over independent subtrees and are
 * bit-identical for any number of them.
 *
 * Right-hand sides are interleaved: b[k + count * row], k < count, like positions.
 *
 * A factor is immutable while solves run; each thread that solves owns an sn_cholesky_work. */
#ifndef SN_ALGEBRA_CHOLESKY_H
#define SN_ALGEBRA_CHOLESKY_H

#include "algebra/sparse.h"

typedef struct sn_cholesky sn_cholesky;
typedef struct sn_cholesky_work sn_cholesky_work;

sinew_status sn_cholesky_analyze(const sn_sparse *matrix, sn_cholesky **factor, sinew_error *error);
/* The matrix must have the pattern that was analyzed. */
sinew_status sn_cholesky_factor(sn_cholesky *factor, const sn_sparse *matrix, sinew_error *error);
/* analyze + factor */
sinew_status sn_cholesky_create(const sn_sparse *matrix, sn_cholesky **factor, sinew_error *error);
/* The same for a factor that is used for only a few solves: uses a faster ordering. */
sinew_status sn_cholesky_create_brief(const sn_sparse *matrix, sn_cholesky **factor,
                                      sinew_error *error);
void sn_cholesky_destroy(sn_cholesky *factor);
int sn_cholesky_size(const sn_cholesky *factor);
/* Values that one sweep reads from the factor, padding included; a solve makes two sweeps. */
size_t sn_cholesky_nonzeros(const sn_cholesky *factor);

/* Workspace for up to `max_count` right-hand sides. May be created any time after the analysis. */
sinew_status sn_cholesky_work_create(const sn_cholesky *factor, int max_count,
                                     sn_cholesky_work **work, sinew_error *error);
void sn_cholesky_work_destroy(sn_cholesky_work *work);

/* x may be b. */
void sn_cholesky_solve(const sn_cholesky *factor, sn_cholesky_work *work, int count,
                       const double *b, double *x);

/* Makes an f32 copy of the current numeric factor. Call again after each sn_cholesky_factor. */
sinew_status sn_cholesky_prepare_f32(sn_cholesky *factor, sinew_error *error);
/* x may be b. */
void sn_cholesky_solve_f32(const sn_cholesky *factor, sn_cholesky_work *work, int count,
                           const float *b, float *x);

/* The same with bfloat16, for three right-hand sides. The solve is that of a nearby matrix, which
 * is symmetric and positive definite as well. */
sinew_status sn_cholesky_prepare_bf16(sn_cholesky *factor, sinew_error *error);
void sn_cholesky_solve_bf16(const sn_cholesky *factor, sn_cholesky_work *work, const float *b,
                            float *x);

#endif
