/* One source for the device and the host.
 *
 * A kernel is a driver that runs phases. A phase is the work of one block of threads between two
 * barriers of its group of blocks:
 *
 *   SN_PHASE(g, work(g, ...));
 *
 * On the device every block runs the driver, and SN_PHASE is the call and a barrier. On the host
 * one driver runs, and SN_PHASE is a loop over the blocks, each with a single thread. So a driver
 * may only branch on values that are equal in all blocks: its parameters and the totals of sums.
 *
 * Sums are added in a fixed order: the threads of a block, then the blocks. The same launch gives
 * the same bits every time. No floating-point atomics are used. */
#ifndef SN_GPU_KERNELS_GRID_H
#define SN_GPU_KERNELS_GRID_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __CUDACC__
#define SN_FN static __device__ __forceinline__
#ifndef SN_PHASE_FN
#define SN_PHASE_FN static __device__ __forceinline__
#endif
#ifndef SN_LANES
#define SN_LANES 8
#endif
#define SN_WARP 32
#else
#define SN_FN       static inline
#define SN_PHASE_FN static inline
#define SN_LANES    1
#define SN_WARP     1
#endif

/* Totals that one phase may hand to the next; threads that a block may have. */
enum { SN_SUMS = 8, SN_MOST_THREADS = 512 };

typedef struct __attribute__((aligned(16))) sn_float4 {
    float x, y, z, w;
} sn_float4;
typedef struct __attribute__((aligned(16))) sn_int4 {
    int x, y, z, w;
} sn_int4;
typedef struct __attribute__((aligned(16))) sn_double4 {
    double x, y, z, w;
} sn_double4;

/* What a group of blocks shares in device memory. */
typedef struct sn_group_memory {
    double *partial;   /* 2 * SN_SUMS * blocks */
    unsigned *barrier; /* zero before the launch */
} sn_group_memory;

typedef struct sn_grid {
    int block, blocks;   /* of the group */
    int thread, threads; /* of the block */
    int group;           /* which frame slot */
    unsigned epoch;      /* barriers passed */
    sn_group_memory memory;
    char *shared;        /* of the block; keeps its contents from phase to phase */
    double *scratch;     /* of the block: 3 * 32 doubles for sums */
    size_t shared_bytes; /* host: distance between the blocks' shared memory */
    char *shared_base;   /* host */
} sn_grid;

/* Bytes at the start of the shared memory that the grid itself uses. */
enum { SN_GRID_PRODUCT = (SN_SUMS + 1) * 32 * 8, SN_GRID_SHARED = SN_GRID_PRODUCT + 32 * 8 };

#ifdef __CUDACC__
SN_FN void sn_sync_block(void) {
    __syncthreads();
}
#define SN_SHUFFLE_SUM(type, v, lanes)                                                             \
    do {                                                                                           \
        _Pragma("unroll") for (int m_ = (lanes) / 2; m_ > 0; m_ >>= 1) v +=                        \
            __shfl_xor_sync(0xffffffffu, v, m_);                                                   \
    } while (0)
SN_FN float sn_lane_sum(float v) {
    SN_SHUFFLE_SUM(float, v, SN_LANES);
    return v;
}
SN_FN double sn_lane_sum_d(double v) {
    SN_SHUFFLE_SUM(double, v, SN_LANES);
    return v;
}
SN_FN float sn_warp_sum(float v) {
    SN_SHUFFLE_SUM(float, v, 32);
    return v;
}
SN_FN double sn_warp_sum_d(double v) {
    SN_SHUFFLE_SUM(double, v, 32);
    return v;
}
SN_FN double sn_warp_max(double v) {
    for (int m = 16; m > 0; m >>= 1) {
        double other = __shfl_xor_sync(0xffffffffu, v, m);
        v = other > v ? other : v;
    }
    return v;
}
/* Values that other blocks of the same launch have written are read past the first-level cache. */
SN_FN float sn_fresh(const float *p) {
    return __ldcg(p);
}
SN_FN double sn_fresh_d(const double *p) {
    return __ldcg(p);
}
SN_FN sn_float4 sn_fresh4(const sn_float4 *p) {
    float4 v = __ldcg((const float4 *)p);
    sn_float4 r = {v.x, v.y, v.z, v.w};
    return r;
}
SN_FN sn_double4 sn_fresh4d(const sn_double4 *p) {
    double2 a = __ldcg((const double2 *)p), b = __ldcg((const double2 *)p + 1);
    sn_double4 r = {a.x, a.y, b.x, b.y};
    return r;
}
SN_FN void sn_wait_for_group(sn_grid *g) {
    g->epoch++;
    __syncthreads();
    if (g->blocks > 1) {
        if (g->thread == 0) {
            unsigned goal = g->epoch * (unsigned)g->blocks, seen;
            asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(g->memory.barrier)
                         : "memory");
            do
                asm volatile("ld.acquire.gpu.global.u32 %0, [%1];"
                             : "=r"(seen)
                             : "l"(g->memory.barrier)
                             : "memory");
            while (seen < goal);
        }
        __syncthreads();
    }
}
#define SN_PHASE(g, call)                                                                          \
    do {                                                                                           \
        call;                                                                                      \
        sn_wait_for_group(g);                                                                      \
    } while (0)
/* Once per launch, by one thread, between phases. */
#define SN_ONCE(g) if ((g)->block == 0 && (g)->thread == 0)
#else
SN_FN void sn_sync_block(void) {}
SN_FN float sn_lane_sum(float v) {
    return v;
}
SN_FN double sn_lane_sum_d(double v) {
    return v;
}
SN_FN float sn_warp_sum(float v) {
    return v;
}
SN_FN double sn_warp_sum_d(double v) {
    return v;
}
SN_FN double sn_warp_max(double v) {
    return v;
}
SN_FN float sn_fresh(const float *p) {
    return *p;
}
SN_FN double sn_fresh_d(const double *p) {
    return *p;
}
SN_FN sn_float4 sn_fresh4(const sn_float4 *p) {
    return *p;
}
SN_FN sn_double4 sn_fresh4d(const sn_double4 *p) {
    return *p;
}
#define SN_PHASE(g, call)                                                                          \
    do {                                                                                           \
        for ((g)->block = 0; (g)->block < (g)->blocks; (g)->block++) {                             \
            (g)->shared = (g)->shared_base + (size_t)(g)->block * (g)->shared_bytes;               \
            (g)->scratch = (double *)(g)->shared;                                                  \
            call;                                                                                  \
        }                                                                                          \
        (g)->block = 0;                                                                            \
        (g)->shared = (g)->shared_base, (g)->scratch = (double *)(g)->shared_base;                 \
        (g)->epoch++;                                                                              \
    } while (0)
#define SN_ONCE(g)
#endif

/* The block's part of [0, count). */
SN_FN int sn_block_begin(const sn_grid *g, int count) {
    return (int)((int64_t)count * g->block / g->blocks);
}
SN_FN int sn_block_end(const sn_grid *g, int count) {
    return (int)((int64_t)count * (g->block + 1) / g->blocks);
}
/* First index and stride of this thread in loops that all threads of the group share. */
SN_FN int sn_first(const sn_grid *g) {
    return g->block * g->threads + g->thread;
}
SN_FN int sn_stride(const sn_grid *g) {
    return g->blocks * g->threads;
}

/* Hands `count` sums (bit k of `largest`: maxima, of values >= 0) of the block's threads to the
 * next phase. Every thread of the block must call it. */
SN_FN void sn_block_sums(sn_grid *g, int count, const double *value, int largest) {
    double *to = g->memory.partial + (size_t)(g->epoch & 1) * SN_SUMS * (size_t)g->blocks;
#ifdef __CUDACC__
    int lane = g->thread % 32, warp = g->thread / 32, warps = g->threads / 32;
    for (int k = 0; k < count; k++) {
        double v = largest >> k & 1 ? sn_warp_max(value[k]) : sn_warp_sum_d(value[k]);
        if (lane == 0) g->scratch[k * 32 + warp] = v;
    }
    __syncthreads();
    for (int k = warp; k < count; k += warps) {
        double v = lane < warps ? g->scratch[k * 32 + lane] : 0;
        v = largest >> k & 1 ? sn_warp_max(v) : sn_warp_sum_d(v);
        if (lane == 0) to[k * g->blocks + g->block] = v;
    }
    __syncthreads();
#else
    (void)largest;
    for (int k = 0; k < count; k++) to[k * g->blocks + g->block] = value[k];
#endif
}

/* The totals of the phase before, in every block. A maximum over blocks of which one is NaN is NaN.
 */
SN_FN void sn_totals(sn_grid *g, int count, double *total, int largest) {
    const double *from =
        g->memory.partial + (size_t)((g->epoch - 1) & 1) * SN_SUMS * (size_t)g->blocks;
#ifdef __CUDACC__
    int lane = g->thread % 32, warp = g->thread / 32, warps = g->threads / 32;
    double *result = g->scratch + SN_SUMS * 32;
    for (int k = warp; k < count; k += warps) {
        double v = 0;
        for (int b = lane; b < g->blocks; b += 32) {
            double other = __ldcg(from + k * g->blocks + b);
            if (largest >> k & 1)
                v = other > v ? other : v;
            else
                v += other;
        }
        v = largest >> k & 1 ? sn_warp_max(v) : sn_warp_sum_d(v);
        if (lane == 0) result[k] = v;
    }
    __syncthreads();
    for (int k = 0; k < count; k++) total[k] = result[k];
    __syncthreads();
#else
    for (int k = 0; k < count; k++) {
        double v = 0;
        for (int b = 0; b < g->blocks; b++) {
            double other = from[k * g->blocks + b];
            if (largest >> k & 1)
                v = other > v ? other : v;
            else
                v += other;
        }
        total[k] = v;
    }
#endif
}

/* ---- small vectors ---- */

SN_FN sn_float4 sn_float4_make(float x, float y, float z) {
    sn_float4 r = {x, y, z, 0};
    return r;
}
SN_FN sn_float4 sn_float4_sub(sn_float4 a, sn_float4 b) {
    return sn_float4_make(a.x - b.x, a.y - b.y, a.z - b.z);
}
SN_FN float sn_float4_dot(sn_float4 a, sn_float4 b) {
    return a.x * b.x + a.y * b.y + a.z * b.z;
}
SN_FN sn_float4 sn_float4_cross(sn_float4 a, sn_float4 b) {
    return sn_float4_make(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}
SN_FN sn_double4 sn_double4_make(double x, double y, double z) {
    sn_double4 r = {x, y, z, 0};
    return r;
}
SN_FN sn_double4 sn_double4_sub(sn_double4 a, sn_double4 b) {
    return sn_double4_make(a.x - b.x, a.y - b.y, a.z - b.z);
}
SN_FN sn_double4 sn_double4_add(sn_double4 a, sn_double4 b) {
    return sn_double4_make(a.x + b.x, a.y + b.y, a.z + b.z);
}
SN_FN sn_double4 sn_double4_scale(double s, sn_double4 a) {
    return sn_double4_make(s * a.x, s * a.y, s * a.z);
}
SN_FN double sn_double4_dot(sn_double4 a, sn_double4 b) {
    return a.x * b.x + a.y * b.y + a.z * b.z;
}
SN_FN sn_double4 sn_double4_cross(sn_double4 a, sn_double4 b) {
    return sn_double4_make(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}
SN_FN sn_double4 sn_apply9(const double *m, sn_double4 v) {
    return sn_double4_make(m[0] * v.x + m[1] * v.y + m[2] * v.z,
                           m[3] * v.x + m[4] * v.y + m[5] * v.z,
                           m[6] * v.x + m[7] * v.y + m[8] * v.z);
}

#endif
