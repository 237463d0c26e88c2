/* Matrices that several groups of the algebra tests use. All owned by the caller. */
#ifndef TESTS_ALGEBRA_MATRICES_H
#define TESTS_ALGEBRA_MATRICES_H

#include "support.h"

#include "algebra/sparse.h"

/* Laplacian of a nx x ny x nz grid of points, scaled by random stiffness in [0.5, 1.5], plus
 * `shift` on the diagonal; dof unknowns per point, coupled by a random positive semidefinite
 * block. */
sn_sparse *test_grid_matrix(int nx, int ny, int nz, int dof, double shift);
/* A random symmetric positive definite pattern with about `per_row` entries a row. */
sn_sparse *test_random_spd(int size, double per_row, uint64_t seed);
/* Row-major dense copy, both triangles. */
double *test_dense_copy(const sn_sparse *matrix);
/* max |b - A x| / max |b|, by a plain loop over the stored entries. */
double test_residual(const sn_sparse *matrix, int count, const double *x, const double *b);
double *test_random_vector(size_t size, uint64_t seed);

#endif
