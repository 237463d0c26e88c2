/* Many frames at once: SN_ABREAST frames lie side by side in memory, [item][frame], and a warp
 * works on one item of all of them, a thread per frame (its lane). So accesses to frames coalesce,
 * and what frames have in common is read once for all.
 *
 * On the host a thread has all lanes in turn: SN_EACH is a loop over them. The state of the frames
 * is in the shared memory of every block; its first warp decides, by totals that are the same in
 * all blocks. Registers are thus left to the phases. */
#ifndef SN_GPU_KERNELS_BATCH_H
#define SN_GPU_KERNELS_BATCH_H

#include "gpu/kernels/spring_elements.h"

/* Phases of batches are long: as functions of their own they have all registers. */
#ifdef __CUDACC__
#define SN_BATCH_FN     static __device__ __noinline__
#define SN_ABREAST      32
#define SN_HERE         1
#define SN_LANE(i)      ((int)(threadIdx.x % 32))
#define SN_BATCH_UNROLL _Pragma("unroll 4")
SN_FN bool sn_any(bool b) {
    return __any_sync(0xffffffffu, b);
}
#else
#define SN_BATCH_FN static inline
#define SN_ABREAST  4
#define SN_HERE     4
#define SN_LANE(i)  (i)
#define SN_BATCH_UNROLL
SN_FN bool sn_any(bool b) {
    return b;
}
#endif
#define SN_EACH(i) for (int i = 0; i < SN_HERE; i++)
/* A decision about frame i, between phases. */
#ifdef __CUDACC__
#define SN_DECIDE(i, ...)                                                                          \
    do {                                                                                           \
        __syncthreads();                                                                           \
        if (threadIdx.x < 32)                                                                      \
            for (int i = (int)threadIdx.x, once_ = 1; once_; once_ = 0) {                          \
                __VA_ARGS__                                                                        \
            }                                                                                      \
        __syncthreads();                                                                           \
    } while (0)
#else
#define SN_DECIDE(i, ...)                                                                          \
    do {                                                                                           \
        for (int i = 0; i < SN_ABREAST; i++) {                                                     \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    } while (0)
#endif
/* Copies of what a phase is given: stores could change the originals, for all that the compiler
 * knows, which would then be read again after each. */
#define SN_OWN(type, name, from) const type name##_own = *(from), *const name = &name##_own
#define SN_OWN_FRAMES(name, from)                                                                  \
    sn_batch_frame name[SN_HERE];                                                                  \
    SN_EACH(i_) name[i_] = (from)[SN_LANE(i_)]

/* Sums per frame that a phase hands to the next; rows of dense products that a warp has. */
enum { SN_BATCH_SUMS = 4, SN_TILE_ROWS = 8 };

typedef struct sn_batch_sums {
    double v[SN_BATCH_SUMS][SN_HERE];
} sn_batch_sums;

/* Of one group of blocks. All arrays have SN_ABREAST numbers per item. */
typedef struct sn_batch_work {
    double *activations;           /* per target */
    double *sums;                  /* 2 x SN_BATCH_SUMS per block */
    double *item;                  /* 9 per item of the blend */
    double *right, *shift;         /* 3 per vertex */
    float *right32;                /* 3 per place in the tree of the dissection; */
    float *y, *x32, *u;            /* likewise, and per entry of a boundary */
    double *chunk_sum, *transform; /* 6 per chunk, SN_TRANSFORM_SIZE per component */
    double *blend;                 /* 3 per vertex, of the spring network or of the mesh */

    double *rest, *ratio;         /* per spring */
    double *volume;               /* per tet */
    double *altitudes;            /* 3 per triangle with an altitude */
    double *scale;                /* per free vertex */
    double *x[2];                 /* 3 per vertex */
    double *gradient[2];          /* 3 per free vertex */
    sn_half4 *table;              /* per spring: table_scale t, table_scale^2 w */
    float *curvature;             /* per corner of a tet */
    float *diagonal;              /* 6 per free vertex */
    float *near_x, *p;            /* 3 per vertex */
    float *r, *q, *step;          /* 3 per free vertex */
    float *change, *lag, *coarse; /* 3 per column: D W^T q, D W^T r, D^-1 E^-1 W^T r */
    sn_group_memory group;
} sn_batch_work;

/* ---- numbers of one frame ---- */

SN_FN size_t sn_of(size_t item, int lane) {
    return item * SN_ABREAST + (size_t)lane;
}
SN_FN sn_double4 sn_get3(const double *a, int item, int lane) {
    const double *at = a + sn_of(3 * (size_t)item, lane);
    return sn_double4_make(at[0], at[SN_ABREAST], at[2 * SN_ABREAST]);
}
SN_FN void sn_set3(double *a, int item, int lane, sn_double4 v) {
    double *at = a + sn_of(3 * (size_t)item, lane);
    at[0] = v.x, at[SN_ABREAST] = v.y, at[2 * SN_ABREAST] = v.z;
}
SN_FN sn_float4 sn_get3f(const float *a, int item, int lane) {
    const float *at = a + sn_of(3 * (size_t)item, lane);
    return sn_float4_make(at[0], at[SN_ABREAST], at[2 * SN_ABREAST]);
}
SN_FN void sn_set3f(float *a, int item, int lane, sn_float4 v) {
    float *at = a + sn_of(3 * (size_t)item, lane);
    at[0] = v.x, at[SN_ABREAST] = v.y, at[2 * SN_ABREAST] = v.z;
}

/* One of two arrays; an index would keep the structure in memory. */
SN_FN double *sn_side(double *const *pair, int at) {
    return at ? pair[1] : pair[0];
}

/* ---- items of warps ---- */

SN_FN int sn_warps(const sn_grid *g) {
#ifdef __CUDACC__
    (void)g;
    return (int)blockDim.x / 32;
#else
    return g->threads;
#endif
}
/* The warps of a block share its part of [0, count). */
#define SN_ITEMS(g, k, count)                                                                      \
    for (int k = sn_block_begin(g, count) + (g)->thread / SN_WARP,                                 \
             k##_end = sn_block_end(g, count);                                                     \
         k < k##_end; k += sn_warps(g))

/* ---- shared memory of a block ---- */

#define SN_BATCH_SHARED(threads)                                                                   \
    (SN_GRID_SHARED +                                                                              \
     (size_t)(threads) / SN_WARP * SN_ABREAST *                                                    \
         (2 * SN_BATCH_SUMS * sizeof(double) + 3 * SN_TILE_ROWS * sizeof(float)) +                 \
     SN_BATCH_SUMS * SN_ABREAST * sizeof(double))
/* Sums of the warps, before (0) and after (1) the barrier. */
SN_FN double *sn_batch_scratch(const sn_grid *g, int which, int k) {
    return (double *)(g->shared + SN_GRID_SHARED) +
           (size_t)((which * SN_BATCH_SUMS + k) * sn_warps(g)) * SN_ABREAST;
}
SN_FN float *sn_batch_tile(const sn_grid *g) {
    return (float *)sn_batch_scratch(g, 2, 0);
}

/* ---- sums over the group, per frame ---- */

SN_FN double sn_join(double a, double b, bool largest) {
    return !largest ? a + b : b > a || b != b ? b : a;
}

/* Hands `count` sums (bit k of `largest`: maxima) to the next phase; last of all in a phase. */
SN_FN void sn_batch_hand_over(sn_grid *g, const sn_batch_work *w, int count,
                              const sn_batch_sums *sums, int largest) {
    double *to = w->sums + sn_of((size_t)(g->epoch & 1) * SN_BATCH_SUMS * (size_t)g->blocks, 0);
#ifdef __CUDACC__
    int lane = g->thread % 32, warp = g->thread / 32, warps = sn_warps(g);
    for (int k = 0; k < count; k++) sn_batch_scratch(g, 0, k)[32 * warp + lane] = sums->v[k][0];
    __syncthreads();
    for (int k = warp; k < count; k += warps) {
        const double *from = sn_batch_scratch(g, 0, k) + lane;
        double v = from[0];
        for (int j = 1; j < warps; j++) v = sn_join(v, from[32 * j], largest >> k & 1);
        to[sn_of((size_t)(k * g->blocks + g->block), lane)] = v;
    }
#else
    (void)largest;
    for (int k = 0; k < count; k++)
        SN_EACH(i) to[sn_of((size_t)(k * g->blocks + g->block), i)] = sums->v[k][i];
#endif
}

/* Totals of sum k, per frame. */
SN_FN double *sn_batch_total(const sn_grid *g, int k) {
    return (double *)(sn_batch_tile(g) + 3 * SN_TILE_ROWS * sn_warps(g) * SN_ABREAST) +
           k * SN_ABREAST;
}

/* Adds up the sums of the phase before; for the next decision. */
SN_FN void sn_batch_totals(const sn_grid *g, const sn_batch_work *w, int count, int largest) {
    const double *from =
        w->sums + sn_of((size_t)((g->epoch - 1) & 1) * SN_BATCH_SUMS * (size_t)g->blocks, 0);
    int warp = g->thread / SN_WARP, warps = sn_warps(g), blocks = g->blocks;
    for (int k = 0; k < count; k++) SN_EACH(i) {
            int lane = SN_LANE(i);
            const double *at = from + sn_of((size_t)k * (size_t)blocks, lane);
            double v = 0;
            for (int b = warp; b < blocks; b += warps)
                v = sn_join(v, at[sn_of((size_t)b, 0)], largest >> k & 1);
            sn_batch_scratch(g, 1, k)[SN_ABREAST * warp + lane] = v;
        }
    sn_sync_block();
    for (int k = warp; k < count; k += warps) SN_EACH(i) {
            int lane = SN_LANE(i);
            const double *at = sn_batch_scratch(g, 1, k) + lane;
            double v = at[0];
            for (int j = 1; j < warps; j++) v = sn_join(v, at[SN_ABREAST * j], largest >> k & 1);
            sn_batch_total(g, k)[lane] = v;
        }
}

/* ---- dense products ---- */

/* Rows of a product with a vector of three numbers per column and frame, in one thread. */
typedef struct sn_tile {
    sn_float4 row[SN_TILE_ROWS];
} sn_tile;

SN_FN void sn_tile_clear(sn_tile *t) {
    SN_UNROLL
    for (int r = 0; r < SN_TILE_ROWS; r++) t->row[r] = sn_float4_make(0, 0, 0);
}
SN_FN void sn_tile_add(sn_tile *t, int r, float m, sn_float4 v) {
    t->row[r].x += m * v.x, t->row[r].y += m * v.y, t->row[r].z += m * v.z;
}

/* Adds up the first rows of the tiles of `split` consecutive warps; the first of them gets the sum.
 * Every thread of the block must call it. */
SN_FN void sn_tile_join(const sn_grid *g, int split, int rows, sn_tile *t) {
#ifdef __CUDACC__
    int lane = g->thread % 32, warp = g->thread / 32;
    float *mine = sn_batch_tile(g) + (size_t)warp * (3 * SN_TILE_ROWS * 32) + lane;
    if (split <= 1) return;
    __syncthreads();
    if (warp % split != 0) SN_UNROLL for (int r = 0; r < rows; r++) {
            mine[32 * (3 * r)] = t->row[r].x, mine[32 * (3 * r + 1)] = t->row[r].y;
            mine[32 * (3 * r + 2)] = t->row[r].z;
        }
    __syncthreads();
    for (int k = 1; k < split && warp % split == 0; k++) {
        const float *from = mine + (size_t)k * (3 * SN_TILE_ROWS * 32);
        SN_UNROLL for (int r = 0; r < rows; r++) {
            t->row[r].x += from[32 * (3 * r)], t->row[r].y += from[32 * (3 * r + 1)];
            t->row[r].z += from[32 * (3 * r + 2)];
        }
    }
#else
    (void)g, (void)split, (void)rows, (void)t;
#endif
}

#endif
