/* The linear rig: neutral + sum_t a_t d_t.
 *
 * Coordinates are cut into tiles, one thread per four of them. A tile has one row of displacements
 * for every target that moves any of its coordinates, in the order of the targets; the row of a
 * target at rest is not read. Several frames share one reading of the rows. */
#ifndef SN_GPU_KERNELS_LINEAR_H
#define SN_GPU_KERNELS_LINEAR_H

#include "gpu/kernels/grid.h"

enum { SN_TILE = 128, SN_LINEAR_FRAMES = 4, SN_LINEAR_TEAMS = 8, SN_LINEAR_LANES = SN_TILE / 4 };

typedef struct sn_linear_device {
    int coordinate_count, tile_count, target_count;
    const double *neutral;
    const int *row_start; /* tile_count + 1 */
    const int *row_target;
    const float *value; /* SN_TILE per row */
} sn_linear_device;

/* One character in at most SN_LINEAR_FRAMES frames. */
typedef struct sn_linear_entry {
    sn_linear_device linear;
    int count;
    const double *activations; /* target_count per frame */
    float *positions;          /* coordinate_count per frame */
} sn_linear_entry;

/* The sums of one team for the four coordinates of one lane: rows are dealt out to the teams in
 * turn, so that many of them are on their way at a time. */
SN_FN void sn_linear_team(const sn_linear_entry *e, int tile, int lane, int team, double *sums) {
    const sn_linear_device *d = &e->linear;
    double sum[SN_LINEAR_FRAMES][4] = {{0}};
    int last = d->row_start[tile + 1];
#ifdef __CUDACC__
#pragma unroll 8
#endif
    for (int r = d->row_start[tile] + team; r < last; r += SN_LINEAR_TEAMS) {
        const double *a = e->activations + d->row_target[r];
        sn_float4 v = ((const sn_float4 *)d->value)[(size_t)r * SN_LINEAR_LANES + (size_t)lane];
        for (int f = 0; f < SN_LINEAR_FRAMES; f++) {
            if (f >= e->count) break;
            double weight = a[(size_t)f * (size_t)d->target_count];
            sum[f][0] += weight * (double)v.x, sum[f][1] += weight * (double)v.y;
            sum[f][2] += weight * (double)v.z, sum[f][3] += weight * (double)v.w;
        }
    }
    for (int f = 0; f < SN_LINEAR_FRAMES; f++)
        for (int c = 0; c < 4; c++)
            sums[(team * SN_LINEAR_FRAMES + f) * SN_TILE + 4 * lane + c] = sum[f][c];
}

/* sums: [team][frame][thread] of the tile. */
SN_FN void sn_linear_finish(const sn_linear_entry *e, int tile, int thread, const double *sums) {
    const sn_linear_device *d = &e->linear;
    int at = tile * SN_TILE + thread;
    if (at >= d->coordinate_count) return;
    for (int f = 0; f < e->count; f++) {
        double sum = d->neutral[at];
        for (int team = 0; team < SN_LINEAR_TEAMS; team++)
            sum += sums[(team * SN_LINEAR_FRAMES + f) * SN_TILE + thread];
        e->positions[(size_t)f * (size_t)d->coordinate_count + (size_t)at] = (float)sum;
    }
}

#endif
