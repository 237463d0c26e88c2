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
 * [A^-1; W^T] and W are stored as dense columns in single precision: a thread has a row, or a part
 * of one, so that neighboring threads read neighboring numbers. All nodes of a level are swept at
 * once, with one barrier a level. The highest separators are one node, the root, so that there are
 * few levels; the root has no boundary and x = y.
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
    size_t up;   /* in values: columns of [A^-1; W^T], sn_dissection_stride(own + boundary) each */
    size_t down; /* columns of W, sn_dissection_stride(own) each */
} sn_dissection_task;

/* Columns begin at multiples of 32 bytes. */
SN_FN size_t sn_dissection_stride(int rows) {
    return ((size_t)rows + 7) / 8 * 8;
}

/* The list of an upward task: the unknowns, then the ends of the lists of entries of u that they
 * take from the children, then those entries; then ends and entries of its boundary rows, likewise.
 * Of a downward task: places of the boundary in the
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
    /* for batches: */
    const int *level_place;          /* levels + 1: places of the levels, which are consecutive */
    const int *own_start, *own_from; /* per place: entries of u of the children */
    const int *boundary;             /* places of the boundaries */
} sn_dissection_device;

/* Of one frame. */
typedef struct sn_dissection_work {
    sn_float4 *y, *x; /* in the order of the tree */
    sn_float4 *u;     /* per boundary entry */
} sn_dissection_work;

/* What a block has at hand. */
typedef struct sn_dissection_block {
    sn_float4 *vector;
    sn_float4 *part; /* per thread: sums of parts of rows */
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
    b.part = (sn_float4 *)at, at += SN_MOST_THREADS * sizeof(sn_float4);
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

/* Values that are on their way while the vector is gathered. */
enum { SN_EARLY = 8 };

/* What the thread's row starts from: up, minus what the children pass on to a boundary row; down,
 * minus y. */
SN_FN sn_float4 sn_row_begin(const sn_dissection_work *w, const sn_dissection_task *t, bool up,
                             const int *list, int r) {
    if (!up) {
        sn_float4 y = w->y[t->first + r];
        return sn_float4_make(-y.x, -y.y, -y.z);
    }
    sn_float4 sum = {0, 0, 0, 0};
    if (r < t->own) return sum;
    int before = t->row > t->own ? t->row : t->own, at = r - before;
    const int *ends = list + 2 * t->own + (t->own > 0 ? list[2 * t->own - 1] : 0);
    const int *from = ends + (t->last - before);
    for (int k = at ? ends[at - 1] : 0; k < ends[at]; k++) sum = sn_float4_sub(sum, w->u[from[k]]);
    return sum;
}

SN_FN void sn_row_finish(const sn_dissection_device *d, const sn_dissection_work *w,
                         const sn_dissection_task *t, bool up, int r, sn_float4 sum,
                         sn_float4 *answer) {
    sn_float4 negative = sn_float4_make(-sum.x, -sum.y, -sum.z);
    if (up && r >= t->own) {
        w->u[t->boundary_first + r - t->own] = negative;
        return;
    }
    int at = t->first + r;
    if (up && t->boundary > 0) {
        w->y[at] = sum;
        return;
    }
    w->x[at] = answer[d->order[at]] = up ? sum : negative;
}

/* The vector of a task: what its rows are multiplied with. */
SN_FN void sn_dissection_gather(const sn_grid *g, const sn_dissection_work *w,
                                const sn_dissection_task *t, bool up, const int *list,
                                const sn_float4 *right, sn_float4 *vector) {
    int columns = up ? t->own : t->boundary;
    for (int i = g->thread; i < columns; i += g->threads) {
        if (!up) {
            vector[i] = w->x[list[i]];
            continue;
        }
        sn_float4 v = right[list[i]];
        const int *ends = list + t->own, *from = list + 2 * t->own;
        for (int k = i ? ends[i - 1] : 0; k < ends[i]; k++) {
            sn_float4 u = w->u[from[k]];
            v.x += u.x, v.y += u.y, v.z += u.z;
        }
        vector[i] = v;
    }
}

/* The block's rows of one task. */
SN_FN void sn_dissection_rows(sn_grid *g, const sn_dissection_device *d,
                              const sn_dissection_work *w, const sn_dissection_block *b,
                              const sn_dissection_task *t, bool up, const sn_float4 *right,
                              sn_float4 *answer) {
    int columns = up ? t->own : t->boundary;
    size_t stride = sn_dissection_stride(up ? t->own + t->boundary : t->own);
    const float *values = d->values + (up ? t->up : t->down);
    for (int base = t->row; base < t->last; base += g->threads) {
        int rows = t->last - base < g->threads ? t->last - base : g->threads;
        int teams = g->threads / rows, team = g->thread / rows, r = base + g->thread % rows;
        bool active = team < teams;
        int begin = (int)((int64_t)columns * team / teams);
        int end = active ? (int)((int64_t)columns * (team + 1) / teams) : begin;
        const float *column = values + (size_t)begin * stride + (size_t)r;
        float early[SN_EARLY];
#ifdef __CUDACC__
#pragma unroll
#endif
        for (int k = 0; k < SN_EARLY; k++)
            early[k] = begin + k < end ? column[(size_t)k * stride] : 0;
        sn_float4 sum = {0, 0, 0, 0};
        if (team == 0) sum = sn_row_begin(w, t, up, b->lists + t->list, r);
        if (base == t->row) {
            sn_dissection_gather(g, w, t, up, b->lists + t->list, right, b->vector);
            sn_sync_block();
        }
#ifdef __CUDACC__
#pragma unroll
#endif
        for (int k = 0; k < SN_EARLY; k++) {
            if (begin + k >= end) continue;
            sn_float4 v = b->vector[begin + k];
            sum.x += early[k] * v.x, sum.y += early[k] * v.y, sum.z += early[k] * v.z;
        }
#ifdef __CUDACC__
#pragma unroll 8
#endif
        for (int j = begin + SN_EARLY; j < end; j++) {
            float m = values[(size_t)j * stride + (size_t)r];
            sn_float4 v = b->vector[j];
            sum.x += m * v.x, sum.y += m * v.y, sum.z += m * v.z;
        }
        if (teams > 1) {
            b->part[g->thread] = sum;
            sn_sync_block();
            for (int k = 1; k < teams && team == 0; k++) {
                sn_float4 o = b->part[k * rows + g->thread];
                sum.x += o.x, sum.y += o.y, sum.z += o.z;
            }
        }
        if (team == 0) sn_row_finish(d, w, t, up, r, sum, answer);
        sn_sync_block();
    }
}

/* The block's share of one phase: up from the deepest level to the root, then down again. */
SN_PHASE_FN void sn_dissection_phase(sn_grid *g, const sn_dissection_device *d,
                                     const sn_dissection_work *w, int phase, const sn_float4 *right,
                                     sn_float4 *answer) {
    sn_dissection_block b = sn_dissection_at(g, d);
    bool up = phase < d->levels;
    for (int task = b.start[phase]; task < b.start[phase + 1]; task++) {
        const sn_dissection_task t = b.tasks[task - b.start[0]];
        sn_dissection_rows(g, d, w, &b, &t, up, right, answer);
    }
}

/* answer[unknown] for right[unknown]; 2 * levels - 1 phases. */
SN_FN void sn_dissection_solve(sn_grid *g, const sn_dissection_device *d,
                               const sn_dissection_work *w, const sn_float4 *right,
                               sn_float4 *answer) {
    int phases = sn_dissection_phases(d);
    for (int phase = 0; phase < phases; phase++)
        SN_PHASE(g, sn_dissection_phase(g, d, w, phase, right, answer));
}

#endif
