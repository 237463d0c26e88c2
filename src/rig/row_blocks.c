#include "rig/row_blocks.h"

#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "base/threads.h"

/* Below so many entries threads cost more than they bring. */
enum { THREADED_ENTRIES = 200000 };

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
        if (a == 0) continue;
        for (int r = 0; r < SN_BLOCK_ROWS; r++) sum[r] += a * column[r];
    }
    memcpy(motion, sum, 3 * sizeof(double) * (size_t)sn_row_block_vertices(blocks, block));
}

void sn_row_block_pull(const sn_row_blocks *blocks, int block, const double *force,
                       const double *other, double *pulls, double *other_pulls) {
    /* Many sums side by side: one would wait for each of its additions. */
    enum { LANES = 16 };
    for (size_t c = blocks->start[block]; c < blocks->start[block + 1]; c++) {
        const double *column = blocks->values + c * SN_BLOCK_ROWS;
        double lane[LANES] = {0}, other_lane[LANES] = {0};
        for (int r = 0; r < SN_BLOCK_ROWS; r += LANES)
            for (int l = 0; l < LANES; l++) {
                lane[l] += force[r + l] * column[r + l];
                other_lane[l] += other[r + l] * column[r + l];
            }
        for (int width = LANES / 2; width > 0; width /= 2)
            for (int l = 0; l < width; l++) {
                lane[l] += lane[l + width];
                other_lane[l] += other_lane[l + width];
            }
        pulls[c] = lane[0];
        other_pulls[c] = other_lane[0];
    }
}

void sn_row_blocks_sum(const sn_row_blocks *blocks, const double *pulls, int target_count,
                       double *gradient) {
    memset(gradient, 0, sizeof(double) * (size_t)target_count);
    for (size_t c = 0; blocks->block_count > 0 && c < blocks->start[blocks->block_count]; c++)
        gradient[blocks->columns[c]] += pulls[c];
}
