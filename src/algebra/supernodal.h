/* Supernodal triangular solves with a sparse Cholesky factor: L L^T x = b.
 *
 * Based on: Ng and Peyton 1993 (supernodes), Ashcraft and Grimes 1989 (relaxed amalgamation),
 * George, Heath, Liu and Ng 1989 (subtrees as tasks).
 * We differ in: supernodes are merged according to a cost model of this sweep; the factor is stored
 * in panels of four columns, eight rows at a time, in the order in which both sweeps read it; the
 * tree is cut into subtrees independently of the number of threads and write to their ancestors
 * through private copies of their rows that are added in order, so results are bit-identical for
 * any number of threads.
 *
 * A supernode is a run of columns with nearly the same rows below it:
 *
 *     columns   first .. first + width
 *     +------+
 *     |\     |  width x width lower triangle
 *     | \    |
 *     +------+
 *     |      |  `below` further rows, listed in row[]
 *     +------+
 *
 * The tree of supernodes is split into subtrees (grouped in tasks that threads share) and a top
 * that one thread processes. A subtree touches its own columns and, above them, only the rows below
 * its root: these get private copies after the solution vector.
 *
 *     x:  [ n unknowns in factor order | rows of subtree 0 | rows of subtree 1 | ... ] */
#ifndef SN_ALGEBRA_SUPERNODAL_H
#define SN_ALGEBRA_SUPERNODAL_H

#include <stddef.h>
#include <stdint.h>

#include "algebra/sparse.h"

/* Rows processed at a time, columns per panel, maximum right-hand sides per sweep, maximum
 * tasks. */
enum {
    SN_SUPERNODAL_LANES = 8,
    SN_SUPERNODAL_PANEL = 4,
    SN_SUPERNODAL_SIDES = 8,
    SN_SUPERNODAL_TASKS = 64
};

typedef struct sn_supernode {
    int first, width, below;
    int rows;      /* its `below` rows start here in row[] */
    size_t values; /* its panels start here in the value array */
} sn_supernode;

/* Supernodes listed in member[begin .. end), children before parents. */
typedef struct sn_supernodal_task {
    int begin, end;
    int copies_begin, copies_end; /* private copies of its subtrees */
    int stride;     /* room for the longest supernode, a multiple of SN_SUPERNODAL_LANES */
    size_t scratch; /* its offset in the scratch array, in units of one right-hand side */
} sn_supernodal_task;

typedef struct sn_supernodal {
    int size, count;
    sn_supernode *node;
    int *row;         /* positions in x: below `size` the unknowns, above it the private copies */
    int *permutation; /* factor order -> caller's order */
    int *member;
    int tasks;                /* subtree tasks; task[tasks] is the top */
    sn_supernodal_task *task; /* tasks + 1 */
    int copies;               /* private copies after x */
    int *copy_of;             /* the unknown that each of them duplicates */
    size_t values;            /* length of a value array */
    size_t scratch;           /* length of the scratch array for one right-hand side */
    size_t entries;           /* entries of the factor stored in the values, without padding */
} sn_supernodal;

/* Pattern of the factor of `matrix` in the order `permutation` (factor order -> matrix order),
 * which must be a postorder of the elimination tree; column_count is the number of entries in each
 * column of L, including the diagonal. */
sinew_status sn_supernodal_create(const sn_sparse *matrix, const int *permutation,
                                  const int *column_count, sn_supernodal **pattern,
                                  sinew_error *error);
void sn_supernodal_destroy(sn_supernodal *pattern);

/* The unknown that a position in x stands for. */
static inline int sn_supernodal_unknown(const sn_supernodal *pattern, int place) {
    return place < pattern->size ? place : pattern->copy_of[place - pattern->size];
}

/* Values per row of x: three right-hand sides are padded to four. */
static inline int sn_supernodal_row_length(int sides) {
    return sides == 3 ? 4 : sides;
}

/* Stores the columns of one supernode in values[pattern->values]. L: their lower part, column-major
 * with width + below rows. */
void sn_supernodal_store(const sn_supernodal *pattern, int supernode, const double *L,
                         double *values);
/* One sweep for `sides` (1 to 4, or SN_SUPERNODAL_SIDES) interleaved right-hand sides. x holds size
 * + copies rows, scratch pattern->scratch * sides; stride: number of right-hand sides in the
 * caller's arrays b and out, which may be the same array. */
void sn_supernodal_solve(const sn_supernodal *pattern, const double *values, int sides, int stride,
                         const double *b, double *out, double *x, double *scratch);
void sn_supernodal_solve_f32(const sn_supernodal *pattern, const float *values, int sides,
                             int stride, const float *b, float *out, float *x, float *scratch);
/* values: bfloat16, the upper half of a float. Three sides only. */
void sn_supernodal_solve_bf16(const sn_supernodal *pattern, const uint16_t *values, int sides,
                              int stride, const float *b, float *out, float *x, float *scratch);

#endif
