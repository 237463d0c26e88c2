/* Rows of T for chosen vertices, packed for products that are repeated with every edit: blocks of
 * neighboring vertices, each a small dense matrix over the targets that move any of them. A block
 * fits the cache, so that motion and pull of it read the rows from memory once. Its columns stand
 * in groups of SN_BLOCK_LANES, row by row, the last group filled up with zeros: a group's row is
 * one vector in both products. */
#ifndef SN_RIG_ROW_BLOCKS_H
#define SN_RIG_ROW_BLOCKS_H

#include "rig/slider_space.h"

enum { SN_BLOCK_VERTICES = 16, SN_BLOCK_ROWS = 3 * SN_BLOCK_VERTICES, SN_BLOCK_LANES = 4 };

typedef struct sn_row_blocks {
    int vertex_count, block_count;
    size_t *start;  /* block_count + 1 offsets into columns, multiples of SN_BLOCK_LANES */
    int *columns;   /* targets of a block, increasing, then 0 for those that fill up */
    double *values; /* per group SN_BLOCK_ROWS x SN_BLOCK_LANES: x, y, z of one vertex after the
                     * other */
} sn_row_blocks;

/* In the given order of the vertices: those of block b are the SN_BLOCK_VERTICES from
 * b * SN_BLOCK_VERTICES on, fewer in the last one. */
sinew_status sn_row_blocks_create(const sinew_slider_space *space, int count, const int *vertices,
                                  sn_row_blocks *blocks, sinew_error *error);
void sn_row_blocks_free(sn_row_blocks *blocks);
int sn_row_block_vertices(const sn_row_blocks *blocks, int block);

/* motion[3 per vertex of the block] = T activations. */
void sn_row_block_motion(const sn_row_blocks *blocks, int block, const double *activations,
                         double *motion);
/* pulls[one per column, from the block's start on; aligned] = T^T force, for two
 * forces[SN_BLOCK_ROWS] at once. */
void sn_row_block_pull(const sn_row_blocks *blocks, int block, const double *force,
                       const double *other, double *pulls, double *other_pulls);
/* gradient[target_count] = sum of the pulls of all blocks. */
void sn_row_blocks_sum(const sn_row_blocks *blocks, const double *pulls, int target_count,
                       double *gradient);

#endif
