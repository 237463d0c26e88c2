/* Sparse matrices in compressed-column form, and the triplets from which they are built.
 *
 * A symmetric matrix stores its lower triangle only (row >= column). */
#ifndef SN_ALGEBRA_SPARSE_H
#define SN_ALGEBRA_SPARSE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

typedef struct sn_sparse {
    int rows, columns;
    bool symmetric; /* lower triangle only */
    int *start;     /* columns + 1 */
    int *row;       /* increasing within a column */
    double *value;
} sn_sparse;

/* Entries at the same position are summed in the order in which they were added, so the result is
 * reproducible bit for bit. */
typedef struct sn_triplets {
    int rows, columns;
    size_t count, capacity;
    int *row, *column;
    double *value;
} sn_triplets;

sinew_status sn_triplets_create(int rows, int columns, size_t expected, sn_triplets *triplets,
                                sinew_error *error);
void sn_triplets_free(sn_triplets *triplets);
/* Returns false if out of memory. */
bool sn_triplets_add(sn_triplets *triplets, int row, int column, double value);

/* symmetric: entries above the diagonal are dropped (so add either both or only the lower ones). */
sinew_status sn_sparse_from_triplets(const sn_triplets *triplets, bool symmetric,
                                     sn_sparse **matrix, sinew_error *error);
/* Allocates room for `nonzeros` entries; start[] is zeroed. */
sinew_status sn_sparse_create(int rows, int columns, int nonzeros, bool symmetric,
                              sn_sparse **matrix, sinew_error *error);
void sn_sparse_destroy(sn_sparse *matrix);
static inline int sn_sparse_nonzeros(const sn_sparse *matrix) {
    return matrix->start[matrix->columns];
}

/* y = A x for `vectors` interleaved right-hand sides (x[vectors * column + k]). Handles symmetric
 * matrices. */
void sn_sparse_multiply(const sn_sparse *matrix, int vectors, const double *x, double *y);
/* y = A^T x */
void sn_sparse_multiply_transposed(const sn_sparse *matrix, int vectors, const double *x,
                                   double *y);
sinew_status sn_sparse_transpose(const sn_sparse *matrix, sn_sparse **transposed,
                                 sinew_error *error);
/* C = A^T diag(weights) A, symmetric; weights may be NULL. */
sinew_status sn_sparse_gram(const sn_sparse *matrix, const double *weights, sn_sparse **gram,
                            sinew_error *error);
/* a A + b B, same shape and symmetry. */
sinew_status sn_sparse_combine(double a, const sn_sparse *A, double b, const sn_sparse *B,
                               sn_sparse **sum, sinew_error *error);

#endif
