/* Solves with principal blocks of one dense matrix, H_FF x = b for one set of variables F after
 * another, as active-set methods need them.
 *
 * The factor of one block is kept. A block that differs from it by few variables is solved through
 * it: with L L^T the factor of the block of F0, A the variables that came and R those that went,
 *
 *   [ H_00  H_0A  E_R ] [ x_0 ]   [ b_0 ]
 *   [ H_A0  H_AA   0  ] [ x_A ] = [ b_A ]      E_R picks the rows of R, m makes x_R = 0
 *   [ E_R'   0     0  ] [  m  ]   [  0  ]
 *
 * whose Schur complement S = diag(H_AA, 0) - Z^T Z, Z = L^-1 [H_0A E_R], is as small as the number
 * of changes and quasi-definite, so that it has an L D L^T without pivoting. Columns of Z are kept
 * while their variables stay changed. Many changes, or a small system that rounding has spoilt,
 * lead to a new factor. */
#ifndef SN_ALGEBRA_BLOCK_SOLVER_H
#define SN_ALGEBRA_BLOCK_SOLVER_H

#include <stdbool.h>

#include "base/status.h"

typedef struct sn_block_solver sn_block_solver;

sinew_status sn_block_solver_create(int size, sn_block_solver **solver, sinew_error *error);
void sn_block_solver_destroy(sn_block_solver *solver);
/* H: size x size, both triangles, borrowed and not changed while it is used. Drops the factor. */
void sn_block_solver_set_matrix(sn_block_solver *solver, const double *H);
/* b := H_FF^-1 b for the `count` variables of F, increasing. False: the block is not positive
 * definite, b is then undefined. No allocation. */
bool sn_block_solve(sn_block_solver *solver, int count, const int *variables, double *b);
/* How many blocks were factored since the matrix was set. */
int sn_block_solver_factorizations(const sn_block_solver *solver);

#endif
