/* The part of N^-1 that couples chosen vertices: what a push on one of them does to the others.
 *
 * N is the same for the three coordinates, so one number per pair of vertices is all. Vertices are
 * added as they are asked for; the block is symmetric, so the row of a vertex that comes late is
 * read off its own column. */
#ifndef SN_FORCE_INVERSE_BLOCK_H
#define SN_FORCE_INVERSE_BLOCK_H

#include <stdbool.h>

#include "algebra/cholesky.h"

/* Most vertices of a block: 256 MB. Rows begin at multiples of so many numbers. */
enum { SN_INVERSE_BLOCK_LIMIT = 8192, SN_INVERSE_BLOCK_LANES = 16 };

typedef struct sn_inverse_block {
    const sn_cholesky *factor;
    int count, capacity, limit;
    int *slot;     /* per unknown: its place in the block, or -1 */
    int *unknown;  /* per place */
    float *values; /* capacity x capacity, symmetric */
    sn_cholesky_work *solver;
    float *right;
} sn_inverse_block;

/* factor: prepared for single precision, borrowed. */
sinew_status sn_inverse_block_create(const sn_cholesky *factor, int limit, sn_inverse_block **block,
                                     sinew_error *error);
void sn_inverse_block_destroy(sn_inverse_block *block);
/* Adds those of the unknowns that are not in yet, up to the limit; repeated ones are added once. */
sinew_status sn_inverse_block_add(sn_inverse_block *block, int count, const int *unknowns,
                                  sinew_error *error);

/* Of an empty block: these unknowns in this order, with rows to be filled in by the caller. */
sinew_status sn_inverse_block_reserve(sn_inverse_block *block, int count, const int *unknowns,
                                      sinew_error *error);

static inline const float *sn_inverse_block_row(const sn_inverse_block *block, int slot) {
    return block->values + (size_t)slot * (size_t)block->capacity;
}

#endif
