#include "rig/row_blocks.h"

#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "base/threads.h"

/* An edit of under a millisecond must not wait for another thread to be given a core. */
enum { THREADED_ENTRIES = 4000000 };

/* Marks the targets of a block in `place` with their position, or -1; returns their number. */
static size_t block_columns(const sinew_slider_space *space, int count, const int *vertices,
                            int *place, int *columns) {
    size_t found = 0;
    int m = space->rig->target_count;
    for (int k = 0; k < m; k++) place[k] = -1;
    for (int i = 0; i < count; i++)
        for (int e = space->start[vertices[i]]; e < space->start[vertices[i] + 1]; e++)
            place[space->target[e]] = 0;
    for (int k = 0; k < m; k++)
        if (place[k] == 0) {
            place[k] = (int)found;
            if (columns) columns[found] = k;
            found++;
        }
    return found;
}

static void fill_block(const sinew_slider_space *space, int count, const int *vertices,
                       const int *place, double *values) {
    for (int i = 0; i < count; i++)
        for (int e = space->start[vertices[i]]; e < space->start[vertices[i] + 1]; e++)
            memcpy(values + (size_t)place[space->target[e]] * SN_BLOCK_ROWS + 3 * (size_t)i,
                   space->delta + 3 * (size_t)e, 3 * sizeof(double));
}

int sn_row_block_vertices(const sn_row_blocks *blocks, int block) {
    int left = blocks->vertex_count - block * SN_BLOCK_VERTICES;
    return left < SN_BLOCK_VERTICES ? left : SN_BLOCK_VERTICES;
}

sinew_status sn_row_blocks_create(const sinew_slider_space *space, int count, const int *vertices,
                                  sn_row_blocks *blocks, sinew_error *error) {
    *blocks = (sn_row_blocks){.vertex_count = count};
    blocks->block_count = (count + SN_BLOCK_VERTICES - 1) / SN_BLOCK_VERTICES;
    int *place = SN_NEW(int, space->rig->target_count);
    blocks->start = SN_NEW0(size_t, (size_t)blocks->block_count + 1);
    sinew_status status = place && blocks->start ? SINEW_OK : sn_no_memory(error);
    for (int b = 0; status == SINEW_OK && b < blocks->block_count; b++)
        blocks->start[b + 1] =
            blocks->start[b] + block_columns(space, sn_row_block_vertices(blocks, b),
                                             vertices + (size_t)b * SN_BLOCK_VERTICES, place, NULL);
    if (status == SINEW_OK) {
        size_t total = blocks->start[blocks->block_count];
        blocks->columns = SN_NEW(int, total);
        blocks->values = SN_NEW0(double, total *SN_BLOCK_ROWS);
        if (!blocks->columns || !blocks->values) status = sn_no_memory(error);
    }
    for (int b = 0; status == SINEW_OK && b < blocks->block_count; b++) {
        const int *own = vertices + (size_t)b * SN_BLOCK_VERTICES;
        block_columns(space, sn_row_block_vertices(blocks, b), own, place,
                      blocks->columns + blocks->start[b]);
        fill_block(space, sn_row_block_vertices(blocks, b), own, place,
                   blocks->values + blocks->start[b] * SN_BLOCK_ROWS);
    }
    sn_free(place);
    if (status != SINEW_OK) sn_row_blocks_free(blocks);
    return status;
}

void sn_row_blocks_free(sn_row_blocks *blocks) {
    sn_free(blocks->start);
    sn_free(blocks->columns);
    sn_free(blocks->values);
    *blocks = (sn_row_blocks){0};
}

int sn_row_blocks_threads(const sn_row_blocks *blocks) {
    size_t entries =
        blocks->block_count > 0 ? blocks->start[blocks->block_count] * SN_BLOCK_ROWS : 0;
    return entries > THREADED_ENTRIES ? sn_threads() : 1;
}

/* Fixed lengths, so that sums stay in registers. */
void sn_row_block_motion(const sn_row_blocks *blocks, int block, const double *activations,
                         double *motion) {
    double sum[SN_BLOCK_ROWS] = {0};
    for (size_t c = blocks->start[block]; c < blocks->start[block + 1]; c++) {
        double a = activations[blocks->columns[c]];
        const double *column = blocks->values + c * SN_BLOCK_ROWS;
        for (int r = 0; r < SN_BLOCK_ROWS; r++) sum[r] += a * column[r];
    }
    memcpy(motion, sum, 3 * sizeof(double) * (size_t)sn_row_block_vertices(blocks, block));
}

void sn_row_block_pull(const sn_row_blocks *blocks, int block, const double *force,
                       const double *other, double *pulls, double *other_pulls) {
    /* Three sums side by side: one would wait for each of its additions. */
    enum { THIRD = SN_BLOCK_ROWS / 3 };
    for (size_t c = blocks->start[block]; c < blocks->start[block + 1]; c++) {
        const double *column = blocks->values + c * SN_BLOCK_ROWS;
        double a0 = 0, a1 = 0, a2 = 0, b0 = 0, b1 = 0, b2 = 0;
#pragma omp simd reduction(+ : a0, a1, a2, b0, b1, b2)
        for (int r = 0; r < THIRD; r++) {
            a0 += force[r] * column[r];
            a1 += force[r + THIRD] * column[r + THIRD];
            a2 += force[r + 2 * THIRD] * column[r + 2 * THIRD];
            b0 += other[r] * column[r];
            b1 += other[r + THIRD] * column[r + THIRD];
            b2 += other[r + 2 * THIRD] * column[r + 2 * THIRD];
        }
        pulls[c] = a0 + a1 + a2;
        other_pulls[c] = b0 + b1 + b2;
    }
}

void sn_row_blocks_sum(const sn_row_blocks *blocks, const double *pulls, int target_count,
                       double *gradient) {
    memset(gradient, 0, sizeof(double) * (size_t)target_count);
    for (size_t c = 0; blocks->block_count > 0 && c < blocks->start[blocks->block_count]; c++)
        gradient[blocks->columns[c]] += pulls[c];
}
