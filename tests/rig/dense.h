/* Dense references for the tests: plain loops and Gaussian elimination, nothing of the library. */
#ifndef TESTS_RIG_DENSE_H
#define TESTS_RIG_DENSE_H

#include "sinew/rig.h"

/* D (3n x m, row-major) of a rig of plain targets. */
double *dense_displacements(const sinew_rig *rig);
/* x := A^-1 b, A row-major, destroyed; b is overwritten by x. */
void dense_eliminate(int size, double *A, double *b);
/* sum over rows r with pick[r] of D_r^T D_r */
void dense_gram(int rows, int columns, const double *D, const double *pick, double *gram);

#endif
