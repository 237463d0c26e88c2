/* The linear rig: neutral + sum_t a_t d_t.
 *
 * Coordinates are cut into tiles, one thread per coordinate. A tile has one row of displacements
 * for every target that moves any of its coordinates, in the order of the targets; the row of a
 * target at rest is not read. Several frames share one reading of the rows. */
#ifndef SN_GPU_KERNELS_LINEAR_H
#define SN_GPU_KERNELS_LINEAR_H

#include "gpu/kernels/grid.h"

enum { SN_TILE = 128, SN_LINEAR_FRAMES = 4 };

typedef struct sn_linear_device {
    int coordinate_count, tile_count, target_count;
    const double *neutral;
    const int *row_start; /* tile_count + 1 */
    const int *row_target;
    const float *value; /* SN_TILE per row */
} sn_linear_device;

typedef struct sn_linear_frames {
    int count;
    const double *activations; /* target_count per frame */
    float *positions;          /* coordinate_count per frame */
} sn_linear_frames;

/* One coordinate in `count` <= SN_LINEAR_FRAMES frames. */
SN_FN void sn_linear_coordinate(const sn_linear_device *d, const double *activations,
                                float *positions, int count, int tile, int thread) {
    int at = tile * SN_TILE + thread;
    double sum[SN_LINEAR_FRAMES];
    for (int f = 0; f < SN_LINEAR_FRAMES; f++)
        sum[f] = at < d->coordinate_count ? d->neutral[at] : 0;
    int last = d->row_start[tile + 1];
#ifdef __CUDACC__
#pragma unroll 4
#endif
    for (int r = d->row_start[tile]; r < last; r++) {
        const double *a = activations + d->row_target[r];
        double value = (double)d->value[(size_t)r * SN_TILE + (size_t)thread];
        for (int f = 0; f < SN_LINEAR_FRAMES; f++)
            if (f < count) sum[f] += a[(size_t)f * (size_t)d->target_count] * value;
    }
    if (at < d->coordinate_count)
        for (int f = 0; f < SN_LINEAR_FRAMES; f++)
            if (f < count)
                positions[(size_t)f * (size_t)d->coordinate_count + (size_t)at] = (float)sum[f];
}

#endif
