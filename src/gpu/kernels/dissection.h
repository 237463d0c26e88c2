/* Solves L x = b for three right-hand sides with a matrix that never changes.
 *
 * The unknowns are cut by nested dissection into nodes of a tree: a node owns the separator between
 * its children (a leaf owns all that is left of its part), and its boundary are the unknowns above
 * it that its part touches. With A the Schur complement of the own unknowns and C its coupling to
 * the boundary, both built on the host,
 *
 *   up      y = A^-1 b,  u = (what the children pass on) - W^T b      W = A^-1 C
 *   down    x = y - W x(boundary)
 *
 * A^-1, W and W^T are stored as dense rows in single precision: a sweep is dot products of rows,
 * all nodes of a level at once, and one barrier a level. The highest separators are one node, the
 * root, so that there are few levels; the root has no boundary and x = y.
 *
 * A task is a block's share of the rows of one node. What a block must know of its tasks does not
 * change from solve to solve and is kept in its shared memory, because every barrier empties the
 * first-level cache. */
#ifndef SN_GPU_KERNELS_DISSECTION_H
#define SN_GPU_KERNELS_DISSECTION_H

#include "gpu/kernels/grid.h"

typedef struct __attribute__((aligned(16))) sn_dissection_task {
    int first, own;               /* unknowns of the node, in the order of the tree */
    int boundary, boundary_first; /* and the list of those above */
    int row, last;                /* rows of the block: own ones, then (up) those of the boundary */
    int list, list_size;          /* of the block's lists, see below */
    size_t inverse;               /* own x own, in values */
    size_t forward, backward;     /* boundary x own: W^T; own x boundary: W */
    size_t unused;
} sn_dissection_task;

/* The list of an upward task: the unknowns, then the ends of the lists of entries of u that they
 * take from the children, then those entries. Of a downward task: places of the boundary in the
 * tree. */
typedef struct sn_dissection_device {
    int count, levels;
    const int *task_start; /* per block 2 * levels: tasks of each phase */
    const sn_dissection_task *tasks;
    const int *list_start; /* per block, and the end of the last */
    const int *lists;
    int cached;      /* tasks and lists fit into shared memory, */
    int task_room;   /* for so many tasks */
    int vector_room; /* vectors in shared memory */
    const float *values;
    const int *order;          /* place in the tree -> unknown */
    const int *boundary_start; /* per entry of u, and the end of the last: */
    const int *boundary_from;  /* entries of u of the children */
} sn_dissection_device;

/* Of one frame. */
typedef struct sn_dissection_work {
    sn_float4 *y, *x; /* in the order of the tree */
    sn_float4 *u;     /* per boundary entry */
} sn_dissection_work;

/* What a block has at hand. */
typedef struct sn_dissection_block {
    sn_float4 *vector;
    sn_float4 *part; /* 32: sums of parts of rows */
    const int *start;
    const sn_dissection_task *tasks; /* the first has the number start[0] */
    const int *lists;
} sn_dissection_block;

SN_FN int sn_dissection_phases(const sn_dissection_device *d) {
    return 2 * d->levels - 1;
}

SN_FN sn_dissection_block sn_dissection_at(const sn_grid *g, const sn_dissection_device *d) {
    sn_dissection_block b;
    char *at = g->shared + SN_GRID_SHARED;
    int phases = sn_dissection_phases(d);
    b.part = (sn_float4 *)at, at += 32 * sizeof(sn_float4);
    b.vector = (sn_float4 *)at, at += sizeof(sn_float4) * (size_t)d->vector_room;
    b.start = d->task_start + (size_t)g->block * (size_t)(phases + 1);
    b.tasks = d->tasks + b.start[0];
    b.lists = d->lists + d->list_start[g->block];
    if (d->cached) {
        b.tasks = (const sn_dissection_task *)at;
        at += sizeof(sn_dissection_task) * (size_t)d->task_room;
        b.start = (const int *)at, at += sizeof(int) * (size_t)((phases + 4) / 4 * 4);
        b.lists = (const int *)at;
    }
    return b;
}

/* Before the first solve: the block's tasks and lists to its shared memory. */
SN_PHASE_FN void sn_dissection_load(sn_grid *g, const sn_dissection_device *d) {
    if (!d->cached) return;
    sn_dissection_block b = sn_dissection_at(g, d);
    int phases = sn_dissection_phases(d);
    const int *start = d->task_start + (size_t)g->block * (size_t)(phases + 1);
    for (int k = g->thread; k <= phases; k += g->threads) ((int *)b.start)[k] = start[k];
    const sn_int4 *from = (const sn_int4 *)(d->tasks + start[0]);
    int words = (start[phases] - start[0]) * (int)(sizeof(sn_dissection_task) / sizeof(sn_int4));
    for (int k = g->thread; k < words; k += g->threads) ((sn_int4 *)b.tasks)[k] = from[k];
    const int *lists = d->lists + d->list_start[g->block];
    int size = d->list_start[g->block + 1] - d->list_start[g->block];
    for (int k = g->thread; k < size; k += g->threads) ((int *)b.lists)[k] = lists[k];
    sn_sync_block();
}

/* ---- rows ---- */

/* Rows whose first values are on their way while the vector is gathered. */
enum { SN_EARLY = 8 };

/* sum += row . v over [begin, end), by one warp; `early`: values of the first columns. */
SN_FN void sn_row_add(const float *row, const float *early, const sn_float4 *v, int begin, int end,
                      int lane, float *x, float *y, float *z) {
#ifdef __CUDACC__
#pragma unroll
#endif
    for (int k = 0; k < SN_EARLY; k++) {
        int j = begin + lane + k * SN_WARP;
        if (j >= end) continue;
        sn_float4 o = v[j];
        *x += early[k] * o.x, *y += early[k] * o.y, *z += early[k] * o.z;
    }
#ifdef __CUDACC__
#pragma unroll 8
#endif
    for (int j = begin + lane + SN_EARLY * SN_WARP; j < end; j += SN_WARP) {
        float m = row[j];
        sn_float4 o = v[j];
        *x += m * o.x, *y += m * o.y, *z += m * o.z;
    }
}

SN_FN void sn_row_early(const float *row, int begin, int end, int lane, float *early) {
#ifdef __CUDACC__
#pragma unroll
#endif
    for (int k = 0; k < SN_EARLY; k++) {
        int j = begin + lane + k * SN_WARP;
        early[k] = j < end ? row[j] : 0;
    }
}

/* What to do with a row's sum. */
typedef struct sn_dissection_out {
    const sn_dissection_device *device;
    const sn_dissection_work *work;
    const sn_float4 *right; /* of the product, or NULL */
    sn_float4 *answer;
    bool up;
} sn_dissection_out;

SN_FN const float *sn_row_at(const sn_dissection_out *o, const sn_dissection_task *t, int r) {
    const float *values = o->device->values;
    if (!o->up) return values + t->backward + (size_t)r * (size_t)t->boundary;
    return r < t->own ? values + t->inverse + (size_t)r * (size_t)t->own
                      : values + t->forward + (size_t)(r - t->own) * (size_t)t->own;
}

/* The lane's share of what the children pass on to a boundary row, negative. */
SN_FN void sn_row_children(const sn_dissection_out *o, const sn_dissection_task *t, int r, int lane,
                           float *x, float *y, float *z) {
    if (!o->up || r < t->own) return;
    int at = t->boundary_first + r - t->own;
    int end = o->device->boundary_start[at + 1];
    for (int k = o->device->boundary_start[at] + lane; k < end; k += SN_WARP) {
        sn_float4 u = o->work->u[o->device->boundary_from[k]];
        *x -= u.x, *y -= u.y, *z -= u.z;
    }
}

/* Returns the row's share of answer . right. */
SN_FN double sn_row_finish(const sn_dissection_out *o, const sn_dissection_task *t, int r,
                           sn_float4 sum) {
    if (o->up && r >= t->own) {
        o->work->u[t->boundary_first + r - t->own] = sn_float4_make(-sum.x, -sum.y, -sum.z);
        return 0;
    }
    int at = t->first + r;
    if (o->up && t->boundary > 0) {
        o->work->y[at] = sum;
        return 0;
    }
    if (!o->up) sum = sn_float4_sub(o->work->y[at], sum);
    int unknown = o->device->order[at];
    o->work->x[at] = sum;
    o->answer[unknown] = sum;
    return o->right ? (double)sn_float4_dot(o->right[unknown], sum) : 0;
}

/* The block's share of one phase: up from the deepest level to the root, then down again. The last
 * phase hands on the sum answer . right when `product`. */
SN_PHASE_FN void sn_dissection_phase(sn_grid *g, const sn_dissection_device *d,
                                     const sn_dissection_work *w, int phase, const sn_float4 *right,
                                     sn_float4 *answer, bool product) {
    sn_dissection_block b = sn_dissection_at(g, d);
    int lane = g->thread % SN_WARP, warp = g->thread / SN_WARP, warps = g->threads / SN_WARP;
    double *sums = (double *)(g->shared + SN_GRID_PRODUCT), found = 0;
    bool up = phase < d->levels;
    sn_dissection_out out = {d, w, product ? right : NULL, answer, up};
    for (int task = b.start[phase]; task < b.start[phase + 1]; task++) {
        const sn_dissection_task t = b.tasks[task - b.start[0]];
        const int *list = b.lists + t.list;
        int rows = t.last - t.row, columns = up ? t.own : t.boundary;
        int parts = rows > 0 && 2 * rows <= warps ? warps / rows : 1;
        int begin = 0, end = columns, r = t.row + warp, second = r + warps, part = 0;
        if (parts > 1) { /* several warps share a row */
            part = warp / rows;
            r = t.row + warp % rows, second = t.last;
            begin = (int)((int64_t)columns * part / parts);
            end = (int)((int64_t)columns * (part + 1) / parts);
            if (part >= parts) r = t.last;
        }
        float early[2][SN_EARLY] = {{0}};
        if (r < t.last) sn_row_early(sn_row_at(&out, &t, r), begin, end, lane, early[0]);
        if (second < t.last) sn_row_early(sn_row_at(&out, &t, second), begin, end, lane, early[1]);
        for (int i = g->thread; i < columns; i += g->threads) {
            if (!up) {
                b.vector[i] = w->x[list[i]];
                continue;
            }
            sn_float4 v = right[list[i]];
            const int *ends = list + t.own, *from = list + 2 * t.own;
            for (int k = i ? ends[i - 1] : 0; k < ends[i]; k++) {
                sn_float4 u = w->u[from[k]];
                v.x += u.x, v.y += u.y, v.z += u.z;
            }
            b.vector[i] = v;
        }
        sn_sync_block();
        for (bool fresh = true; r < t.last; r = second + warps, second = r + warps, fresh = false) {
            const float *row = sn_row_at(&out, &t, r);
            float x = 0, y = 0, z = 0, x2 = 0, y2 = 0, z2 = 0;
            if (!fresh) sn_row_early(row, begin, end, lane, early[0]);
            if (part == 0) sn_row_children(&out, &t, r, lane, &x, &y, &z);
            if (second < t.last) {
                const float *other = sn_row_at(&out, &t, second);
                if (!fresh) sn_row_early(other, begin, end, lane, early[1]);
                sn_row_children(&out, &t, second, lane, &x2, &y2, &z2);
                sn_row_add(other, early[1], b.vector, begin, end, lane, &x2, &y2, &z2);
            }
            sn_row_add(row, early[0], b.vector, begin, end, lane, &x, &y, &z);
            sn_float4 sum = sn_float4_make(sn_warp_sum(x), sn_warp_sum(y), sn_warp_sum(z));
            if (parts > 1) {
                if (lane == 0) b.part[warp] = sum;
                break;
            }
            if (lane == 0) found += sn_row_finish(&out, &t, r, sum);
            if (second >= t.last) continue;
            sum = sn_float4_make(sn_warp_sum(x2), sn_warp_sum(y2), sn_warp_sum(z2));
            if (lane == 0) found += sn_row_finish(&out, &t, second, sum);
        }
        sn_sync_block();
        if (parts > 1 && g->thread < rows) {
            sn_float4 sum = b.part[g->thread];
            for (int k = 1; k < parts; k++) {
                sn_float4 o = b.part[k * rows + g->thread];
                sum.x += o.x, sum.y += o.y, sum.z += o.z;
            }
            found += sn_row_finish(&out, &t, t.row + g->thread, sum);
        }
        sn_sync_block();
    }
    if (!product) return;
    /* lane 0 of each warp and the threads that join parts have shares */
    found = sn_warp_sum_d(found);
    if (lane == 0) sums[warp] = found + (phase >= d->levels ? sums[warp] : 0);
    if (phase + 1 == sn_dissection_phases(d)) {
        double sum = lane == 0 ? sums[warp] : 0;
        sn_block_sums(g, 1, &sum, 0);
    }
}

/* answer[unknown] for right[unknown]; 2 * levels - 1 phases. `product`: the last one hands on the
 * sum answer . right. */
SN_FN void sn_dissection_solve(sn_grid *g, const sn_dissection_device *d,
                               const sn_dissection_work *w, const sn_float4 *right,
                               sn_float4 *answer, bool product) {
    int phases = sn_dissection_phases(d);
    for (int phase = 0; phase < phases; phase++)
        SN_PHASE(g, sn_dissection_phase(g, d, w, phase, right, answer, product));
}

#endif
