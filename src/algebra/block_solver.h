/* Solves with principal blocks of one dense matrix, H_FF x = b for one set of variables F after
 * another, as active-set methods need them.
 *
 * The factor of one block is kept. A block that differs from it by few variables is solved through
 * it. With L L^T the factor of the block of F0, A the added variables and R the removed ones,
 *
 *   [ H_00  H_0A  E_R ] [ x_0 ]   [ b_0 ]
 *   [ H_A0  H_AA   0  ] [ x_A ] = [ b_A ]      E_R selects the rows of R; m enforces x_R = 0
 *   [ E_R'   0     0  ] [  m  ]   [  0  ]
 *
 * The Schur complement S = diag(H_AA, 0) - Z^T Z, Z = L^-1 [H_0A E_R], is as small as the number of
 * changes and quasi-definite, so it has an L D L^T factorization without pivoting. Columns of Z are
 * kept while their variables stay changed. Too many changes, or a small system that is dominated by
 * rounding, trigger a new factorization. */
#ifndef SN_ALGEBRA_BLOCK_SOLVER_H
#define SN_ALGEBRA_BLOCK_SOLVER_H

#include <stdbool.h>

#include "base/status.h"

typedef struct sn_block_solver sn_block_solver;

sinew_status sn_block_solver_create(int size, sn_block_solver **solver, sinew_error *error);
void sn_block_solver_destroy(sn_block_solver *solver);
/* H: size x size, both triangles, borrowed; must not change while it is in use. Discards the
 * factor. */
void sn_block_solver_set_matrix(sn_block_solver *solver, const double *H);
/* b := H_FF^-1 b for the `count` variables of F, increasing. Returns false if the block is not
 * positive definite; b is then undefined. Does not allocate. */
bool sn_block_solve(sn_block_solver *solver, int count, const int *variables, double *b);
/* Number of blocks factored since the matrix was set. */
int sn_block_solver_factorizations(const sn_block_solver *solver);

#endif
