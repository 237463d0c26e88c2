/* Dense matrices: products, Cholesky, least squares, eigenvectors, on BLAS and LAPACK.
 *
 * All matrices are column-major without gaps: entry (i, j) of an m x n matrix is a[i + m * j], so a
 * matrix whose columns are targets stores the targets one after another. Large products are split
 * into fixed-size tiles that threads share, so results are bit-identical for any number of
 * threads. */
#ifndef SN_ALGEBRA_DENSE_H
#define SN_ALGEBRA_DENSE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

typedef enum sn_transpose { SN_AS_IS, SN_TRANSPOSED } sn_transpose;

/* C = alpha op(A) op(B) + beta C, C is rows x columns, `inner` the length of the sums. */
void sn_dense_multiply(sn_transpose op_a, sn_transpose op_b, int rows, int columns, int inner,
                       double alpha, const double *A, const double *B, double beta, double *C);
void sn_dense_multiply_f32(sn_transpose op_a, sn_transpose op_b, int rows, int columns, int inner,
                           float alpha, const float *A, const float *B, float beta, float *C);

/* y = alpha op(A) x + beta y; A is rows x columns as stored. */
void sn_dense_apply(sn_transpose op, int rows, int columns, double alpha, const double *A,
                    const double *x, double beta, double *y);
void sn_dense_apply_f32(sn_transpose op, int rows, int columns, float alpha, const float *A,
                        const float *x, float beta, float *y);

/* G = alpha A^T A + beta G, A rows x columns, both triangles of G written. To apply weights, scale
 * the rows by their square roots. To change the weights of a few rows, pass only those rows. */
void sn_dense_gram(int rows, int columns, double alpha, const double *A, double beta, double *G);
void sn_dense_gram_f32(int rows, int columns, float alpha, const float *A, float beta, float *G);

/* A = L L^T in the lower triangle, in place; the upper one is left alone. SINEW_BAD_INPUT names the
 * column if A is not positive definite. */
sinew_status sn_dense_cholesky(int size, double *A, sinew_error *error);
sinew_status sn_dense_cholesky_f32(int size, float *A, sinew_error *error);
/* Eliminates only the first `columns` columns; the rest of the lower triangle becomes the Schur
 * complement, A_22 - A_21 A_11^-1 A_12. Returns the column that is not positive definite, or -1. */
int sn_dense_eliminate(int size, int columns, double *A);
/* b := A^-1 b for `count` columns. No allocation. */
void sn_dense_cholesky_solve(int size, const double *L, int count, double *b);
void sn_dense_cholesky_solve_f32(int size, const float *L, int count, float *b);
/* b := L^-1 b, or L^-T b. */
void sn_dense_triangle_solve(sn_transpose op, int size, const double *L, int count, double *b);

/* b := A^-1 b by elimination with pivoting, A any square matrix (destroyed). SINEW_BAD_INPUT if A
 * is singular. */
sinew_status sn_dense_solve(int size, double *A, int count, double *b, sinew_error *error);

/* min |A x - b|, the solution of least norm if A is rank-deficient; singular values below `cutoff`
 * times the largest count as zero (negative: machine precision). A is destroyed; b holds max(rows,
 * columns) x count and gets x in its first `columns` rows. rank may be NULL. */
sinew_status sn_dense_least_squares(int rows, int columns, double *A, int count, double *b,
                                    double cutoff, int *rank, sinew_error *error);

/* A = V diag(values) V^T from the lower triangle, in place: A becomes V, values increase. */
sinew_status sn_dense_eigen(int size, double *A, double *values, sinew_error *error);
/* A v = value B v, B positive definite: A becomes V with V^T B V = 1, B its Cholesky factor. */
sinew_status sn_dense_eigen_generalized(int size, double *A, double *B, double *values,
                                        sinew_error *error);
/* A = U diag(values) V^T of rows x columns, thin: k = min(rows, columns), U rows x k, V^T k x
 * columns, values decrease. U and Vt may be NULL, but only both. A is destroyed. */
sinew_status sn_dense_svd(int rows, int columns, double *A, double *values, double *U, double *Vt,
                          sinew_error *error);

#endif
