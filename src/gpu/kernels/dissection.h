/* Solves L x = b for three right-hand sides with a matrix that never changes.
 *
 * The unknowns are cut by nested dissection into nodes of a binary tree: a node owns the separator
 * between its children (a leaf owns all that is left of its part), and its boundary are the
 * unknowns above it that its part touches. With A the Schur complement of the own unknowns and C
 * its coupling to the boundary, both built on the host,
 *
 *   up      y = A^-1 b,  u = (what the children pass on) - W^T b      W = A^-1 C
 *   down    x = y - W x(boundary)
 *
 * A^-1, W and W^T are stored as dense rows in single precision: a sweep is dot products of rows,
 * all nodes of a level at once, and one barrier a level. */
#ifndef SN_GPU_KERNELS_DISSECTION_H
#define SN_GPU_KERNELS_DISSECTION_H

#include "gpu/kernels/grid.h"

typedef struct sn_dissection_node {
    int first; /* of the own unknowns, in the order of the tree */
    int own, boundary;
    int boundary_first; /* in the lists of boundary unknowns */
    size_t inverse;     /* own x own, in values */
    size_t forward;     /* boundary x own: W^T */
    size_t backward;    /* own x boundary: W */
} sn_dissection_node;

/* Where a block starts in a level. */
typedef struct sn_dissection_start {
    int node, row;
} sn_dissection_start;

typedef struct sn_dissection_device {
    int count, levels;
    const sn_dissection_node *nodes;     /* deepest level first */
    const sn_dissection_start *start;    /* 2 sweeps x levels x (blocks + 1) */
    const float *values;                 /* see the node */
    const int *order;                    /* place in the tree -> unknown */
    const int *boundary;                 /* place in the tree of a node's boundary unknowns */
    const int *own_from, *boundary_from; /* 2 each: entries of u of the two children, -1: none */
} sn_dissection_device;

/* Of one frame. */
typedef struct sn_dissection_work {
    sn_float4 *y, *x; /* in the order of the tree */
    sn_float4 *u;     /* per boundary entry */
} sn_dissection_work;

SN_FN sn_float4 sn_add_children(sn_float4 v, const int *from, const sn_float4 *u) {
    for (int k = 0; k < 2; k++)
        if (from[k] >= 0) {
            sn_float4 o = u[from[k]];
            v.x += o.x, v.y += o.y, v.z += o.z;
        }
    return v;
}

/* Dot product of a row with the vectors in shared memory, by one warp; the result is in all lanes.
 */
SN_FN sn_float4 sn_row_times(const float *row, const sn_float4 *v, int count, int lane) {
    float x = 0, y = 0, z = 0;
#ifdef __CUDACC__
#pragma unroll 4
#endif
    for (int j = lane; j < count; j += SN_WARP) {
        float m = row[j];
        sn_float4 o = v[j];
        x += m * o.x, y += m * o.y, z += m * o.z;
    }
    return sn_float4_make(sn_warp_sum(x), sn_warp_sum(y), sn_warp_sum(z));
}

SN_PHASE_FN void sn_dissection_up(sn_grid *g, const sn_dissection_device *d,
                                  const sn_dissection_work *w, int level, const sn_float4 *right) {
    const sn_dissection_start *start =
        d->start + (size_t)level * (size_t)(g->blocks + 1) + g->block;
    sn_float4 *v = (sn_float4 *)(g->shared + SN_GRID_SHARED);
    int lane = g->thread % SN_WARP, warp = g->thread / SN_WARP, warps = g->threads / SN_WARP;
    sn_dissection_start end = start[1];
    int row = start[0].row;
    for (int node = start[0].node; node < end.node || (node == end.node && row < end.row); node++) {
        const sn_dissection_node n = d->nodes[node];
        int last = node < end.node ? n.own + n.boundary : end.row;
        for (int i = g->thread; i < n.own; i += g->threads) {
            int at = n.first + i;
            v[i] = sn_add_children(right[d->order[at]], d->own_from + 2 * (size_t)at, w->u);
        }
        sn_sync_block();
        for (int r = row + warp; r < last; r += warps) {
            bool own = r < n.own;
            const float *values =
                d->values + (own ? n.inverse + (size_t)r * (size_t)n.own
                                 : n.forward + (size_t)(r - n.own) * (size_t)n.own);
            sn_float4 sum = sn_row_times(values, v, n.own, lane);
            if (lane != 0) continue;
            if (own) {
                w->y[n.first + r] = sum;
            } else {
                int at = n.boundary_first + r - n.own;
                w->u[at] = sn_add_children(sn_float4_make(-sum.x, -sum.y, -sum.z),
                                           d->boundary_from + 2 * (size_t)at, w->u);
            }
        }
        sn_sync_block();
        row = 0;
    }
}

SN_PHASE_FN void sn_dissection_down(sn_grid *g, const sn_dissection_device *d,
                                    const sn_dissection_work *w, int level, const sn_float4 *right,
                                    sn_float4 *answer) {
    const sn_dissection_start *start =
        d->start + (size_t)(d->levels + level) * (size_t)(g->blocks + 1) + g->block;
    sn_float4 *v = (sn_float4 *)(g->shared + SN_GRID_SHARED);
    int lane = g->thread % SN_WARP, warp = g->thread / SN_WARP, warps = g->threads / SN_WARP;
    double *product = (double *)(g->shared + SN_GRID_PRODUCT);
    if (right && level == d->levels - 1 && lane == 0) product[warp] = 0;
    sn_dissection_start end = start[1];
    int row = start[0].row;
    for (int node = start[0].node; node < end.node || (node == end.node && row < end.row); node++) {
        const sn_dissection_node n = d->nodes[node];
        int last = node < end.node ? n.own : end.row;
        for (int i = g->thread; i < n.boundary; i += g->threads)
            v[i] = w->x[d->boundary[n.boundary_first + i]];
        sn_sync_block();
        for (int r = row + warp; r < last; r += warps) {
            sn_float4 sum = sn_row_times(d->values + n.backward + (size_t)r * (size_t)n.boundary, v,
                                         n.boundary, lane);
            if (lane != 0) continue;
            int at = n.first + r;
            sn_float4 y = w->y[at], x = sn_float4_sub(y, sum);
            w->x[at] = x;
            answer[d->order[at]] = x;
            if (right) product[warp] += (double)sn_float4_dot(right[d->order[at]], x);
        }
        sn_sync_block();
        row = 0;
    }
    if (right && level == 0) {
        double sum = lane == 0 ? product[warp] : 0;
        sn_block_sums(g, 1, &sum, 0);
    }
}

/* answer[unknown] for right[unknown]; 2 * levels phases. `product`: the last one hands on the sum
 * answer . right. */
SN_FN void sn_dissection_solve(sn_grid *g, const sn_dissection_device *d,
                               const sn_dissection_work *w, const sn_float4 *right,
                               sn_float4 *answer, bool product) {
    for (int level = 0; level < d->levels; level++)
        SN_PHASE(g, sn_dissection_up(g, d, w, level, right));
    for (int level = d->levels - 1; level >= 0; level--)
        SN_PHASE(g, sn_dissection_down(g, d, w, level, product ? right : NULL, answer));
}

#endif
