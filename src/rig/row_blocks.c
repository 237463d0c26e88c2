#include "rig/row_blocks.h"

#include <string.h>

#include "base/memory.h"
#include "base/status.h"

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

/* Place of entry (row, column) of a block. */
static size_t entry(size_t row, size_t column) {
    return (column / SN_BLOCK_LANES * SN_BLOCK_ROWS + row) * SN_BLOCK_LANES +
           column % SN_BLOCK_LANES;
}

static void fill_block(const sinew_slider_space *space, int count, const int *vertices,
                       const int *place, double *values) {
    for (int i = 0; i < count; i++)
        for (int e = space->start[vertices[i]]; e < space->start[vertices[i] + 1]; e++)
            for (size_t c = 0; c < 3; c++)
                values[entry(3 * (size_t)i + c, (size_t)place[space->target[e]])] =
                    space->delta[3 * (size_t)e + c];
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
    for (int b = 0; status == SINEW_OK && b < blocks->block_count; b++) {
        size_t found = block_columns(space, sn_row_block_vertices(blocks, b),
                                     vertices + (size_t)b * SN_BLOCK_VERTICES, place, NULL);
        size_t groups = (found + SN_BLOCK_LANES - 1) / SN_BLOCK_LANES;
        blocks->start[b + 1] = blocks->start[b] + groups * SN_BLOCK_LANES;
    }
    if (status == SINEW_OK) {
        size_t total = blocks->start[blocks->block_count];
        blocks->columns = SN_NEW0(int, total);
        blocks->values = sn_alloc_aligned(total * SN_BLOCK_ROWS, sizeof(double));
        if (!blocks->columns || !blocks->values)
            status = sn_no_memory(error);
        else
            memset(blocks->values, 0, total * SN_BLOCK_ROWS * sizeof(double));
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
    sn_free_aligned(blocks->values);
    *blocks = (sn_row_blocks){0};
}

typedef double lanes __attribute__((vector_size(SN_BLOCK_LANES * sizeof(double)), may_alias));

static const lanes *group_of(const sn_row_blocks *blocks, size_t first_column) {
    return (const lanes *)(blocks->values + first_column * SN_BLOCK_ROWS);
}

void sn_row_block_motion(const sn_row_blocks *blocks, int block, const double *activations,
                         double *motion) {
    lanes sum[SN_BLOCK_ROWS] = {{0}};
    for (size_t c = blocks->start[block]; c < blocks->start[block + 1]; c += SN_BLOCK_LANES) {
        const lanes *row = group_of(blocks, c);
        lanes a;
        for (int q = 0; q < SN_BLOCK_LANES; q++) a[q] = activations[blocks->columns[c + (size_t)q]];
        for (int r = 0; r < SN_BLOCK_ROWS; r++) sum[r] += a * row[r];
    }
    for (int r = 0; r < 3 * sn_row_block_vertices(blocks, block); r++) {
        motion[r] = 0;
        for (int q = 0; q < SN_BLOCK_LANES; q++) motion[r] += sum[r][q];
    }
}

void sn_row_block_pull(const sn_row_blocks *blocks, int block, const double *force,
                       const double *other, double *pulls, double *other_pulls) {
    /* Four sums side by side: one would wait for each of its additions. */
    enum { SUMS = 4 };
    for (size_t c = blocks->start[block]; c < blocks->start[block + 1]; c += SN_BLOCK_LANES) {
        const lanes *row = group_of(blocks, c);
        lanes a[SUMS] = {{0}}, b[SUMS] = {{0}};
        for (int r = 0; r < SN_BLOCK_ROWS; r += SUMS)
            for (int s = 0; s < SUMS; s++) {
                a[s] += force[r + s] * row[r + s];
                b[s] += other[r + s] * row[r + s];
            }
        *(lanes *)(pulls + c) = (a[0] + a[1]) + (a[2] + a[3]);
        *(lanes *)(other_pulls + c) = (b[0] + b[1]) + (b[2] + b[3]);
    }
}

void sn_row_blocks_sum(const sn_row_blocks *blocks, const double *pulls, int target_count,
                       double *gradient) {
    memset(gradient, 0, sizeof(double) * (size_t)target_count);
    for (size_t c = 0; blocks->block_count > 0 && c < blocks->start[blocks->block_count]; c++)
        gradient[blocks->columns[c]] += pulls[c];
}
