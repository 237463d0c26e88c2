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
 * the same bits every time. No floating-point atomics are used. Sums travel with the barrier: a
 * block publishes its own with the number of the barrier, and waits until all blocks have. */
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
#define SN_WARP         32
#define SN_TEAM         16
#define SN_FEW_LANES    2
#define SN_SPRING_LANES 4
#ifndef SN_ROUGH_LANES
#define SN_ROUGH_LANES 2
#endif
#define SN_UNROLL _Pragma("unroll")
/* Functions with registers of their own. */
#define SN_APART_FN static __device__ __noinline__
#else
#define SN_FN           static inline
#define SN_PHASE_FN     static inline
#define SN_LANES        1
#define SN_WARP         1
#define SN_TEAM         1
#define SN_FEW_LANES    1
#define SN_SPRING_LANES 1
#define SN_ROUGH_LANES  1
#define SN_UNROLL
#define SN_APART_FN static inline
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

/* What a group of blocks shares in device memory, zero before the first launch. */
typedef struct sn_group_memory {
    uint64_t *exchange; /* SN_EXCHANGE * blocks: what blocks publish at even and odd barriers */
    unsigned *epoch;    /* barriers that earlier launches passed */
} sn_group_memory;
enum { SN_EXCHANGE = 2 * SN_SUMS * 2 };

typedef struct sn_grid {
    int block, blocks;   /* of the group */
    int thread, threads; /* of the block */
    int group;           /* which frame slot */
    unsigned epoch;      /* barriers passed */
    int summed, largest; /* what the phase hands on: see sn_block_sums */
    sn_group_memory memory;
    char *shared;        /* of the block; keeps its contents from phase to phase */
    double *scratch;     /* of the block: 2 * SN_SUMS * 32 doubles for sums */
    size_t shared_bytes; /* host: distance between the blocks' shared memory */
    char *shared_base;   /* host */
} sn_grid;

/* Bytes at the start of the shared memory that the grid itself uses. */
enum { SN_GRID_SHARED = 2 * SN_SUMS * 32 * 8 };

#ifdef __CUDACC__
SN_FN void sn_sync_block(void) {
    __syncthreads();
}
#define SN_SHUFFLE_SUM(type, v, lanes)                                                             \
    do {                                                                                           \
        _Pragma("unroll") for (int m_ = (lanes) / 2; m_ > 0; m_ >>= 1) v +=                        \
            __shfl_xor_sync(0xffffffffu, v, m_);                                                   \
    } while (0)
SN_FN float sn_lane_sum_of(float v, int lanes) {
    SN_SHUFFLE_SUM(float, v, lanes);
    return v;
}
SN_FN float sn_lane_sum(float v) {
    SN_SHUFFLE_SUM(float, v, SN_LANES);
    return v;
}
SN_FN double sn_lane_sum_d_of(double v, int lanes) {
    SN_SHUFFLE_SUM(double, v, lanes);
    return v;
}
SN_FN float sn_team_sum(float v) {
    SN_SHUFFLE_SUM(float, v, SN_TEAM);
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
/* A double as two singles, each beside the number of the barrier: 8 bytes arrive as a whole. */
SN_FN void sn_publish(uint64_t *to, double value, unsigned epoch) {
    float high = (float)value, low = isfinite(high) ? (float)(value - (double)high) : 0;
    uint64_t a = (uint64_t)__float_as_uint(high) << 32 | epoch;
    uint64_t b = (uint64_t)__float_as_uint(low) << 32 | epoch;
    asm volatile("st.relaxed.gpu.global.v2.b64 [%0], {%1, %2};" ::"l"(to), "l"(a), "l"(b)
                 : "memory");
}
SN_FN double sn_await(const uint64_t *from, unsigned epoch) {
    uint64_t a, b;
    do
        asm volatile("ld.relaxed.gpu.global.v2.b64 {%0, %1}, [%2];"
                     : "=l"(a), "=l"(b)
                     : "l"(from)
                     : "memory");
    while ((unsigned)a != epoch || (unsigned)b != epoch);
    return (double)__uint_as_float((unsigned)(a >> 32)) +
           (double)__uint_as_float((unsigned)(b >> 32));
}
SN_FN double sn_warp_total(double v, bool largest) {
    return largest ? sn_warp_max(v) : sn_warp_sum_d(v);
}
SN_FN void sn_wait_for_group(sn_grid *g) {
    int lane = g->thread % 32, warp = g->thread / 32, warps = g->threads / 32;
    int words = g->summed > 0 ? g->summed : 1;
    double *totals = g->scratch + SN_SUMS * 32;
    g->epoch++;
    __syncthreads();
    uint64_t *board = g->memory.exchange + (size_t)(g->epoch & 1) * 2 * SN_SUMS * g->blocks;
    for (int k = warp; k < words; k += warps) {
        double v = lane < warps && g->summed > 0 ? g->scratch[k * 32 + lane] : 0;
        v = sn_warp_total(v, g->largest >> k & 1);
        if (lane != 0) continue;
        if (g->blocks == 1) {
            totals[k * 32] = v;
        } else {
            __threadfence();
            sn_publish(board + 2 * (g->block * SN_SUMS + k), v, g->epoch);
        }
    }
    if (g->blocks > 1) {
        for (int base = 32 * warp; base < g->blocks; base += g->threads) {
            int b = base + lane;
            for (int k = 0; k < words; k++) {
                double v = b < g->blocks ? sn_await(board + 2 * (b * SN_SUMS + k), g->epoch) : 0;
                __syncwarp();
                v = sn_warp_total(v, g->largest >> k & 1);
                if (lane == 0) totals[k * 32 + base / 32] = v;
            }
        }
        __threadfence();
    }
    __syncthreads();
    g->summed = 0;
}
#ifdef SN_CLOCKS
/* Cycles of the first block in every phase and in the barrier after it; printed at the end of a
 * launch. Phases are numbered as the compiler meets them. */
static __device__ long long sn_clock_work[256], sn_clock_wait[256];
static __device__ int sn_clock_count[256];
static __device__ const char *sn_clock_name[256];
SN_FN void sn_clock_add(const sn_grid *g, int phase, const char *name, long long a, long long b,
                        long long c) {
    if (g->block != 0 || g->group != 0 || g->thread != 0) return;
    sn_clock_work[phase] += b - a, sn_clock_wait[phase] += c - b, sn_clock_count[phase]++;
    sn_clock_name[phase] = name;
}
#define SN_TIMED_PHASE(g, call, phase)                                                             \
    do {                                                                                           \
        long long a_ = clock64();                                                                  \
        call;                                                                                      \
        __syncthreads();                                                                           \
        long long b_ = clock64();                                                                  \
        sn_wait_for_group(g);                                                                      \
        sn_clock_add(g, phase, #call, a_, b_, clock64());                                          \
    } while (0)
#define SN_PHASE(g, call) SN_TIMED_PHASE(g, call, __COUNTER__)
#else
#define SN_PHASE(g, call)                                                                          \
    do {                                                                                           \
        call;                                                                                      \
        sn_wait_for_group(g);                                                                      \
    } while (0)
#endif
/* Once per launch, by one thread, between phases. */
#define SN_ONCE(g) if ((g)->block == 0 && (g)->thread == 0)
#else
SN_FN void sn_sync_block(void) {}
SN_FN float sn_lane_sum_of(float v, int lanes) {
    (void)lanes;
    return v;
}
SN_FN float sn_lane_sum(float v) {
    return v;
}
SN_FN double sn_lane_sum_d_of(double v, int lanes) {
    (void)lanes;
    return v;
}
SN_FN float sn_team_sum(float v) {
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
 * next phase. Every thread of the block must call it, last of all in its phase. */
SN_FN void sn_block_sums(sn_grid *g, int count, const double *value, int largest) {
#ifdef __CUDACC__
    int lane = g->thread % 32, warp = g->thread / 32;
    for (int k = 0; k < count; k++) {
        double v = sn_warp_total(value[k], largest >> k & 1);
        if (lane == 0) g->scratch[k * 32 + warp] = v;
    }
    g->summed = count, g->largest = largest;
#else
    double *to =
        (double *)g->memory.exchange + (size_t)(g->epoch & 1) * SN_SUMS * (size_t)g->blocks;
    (void)largest;
    for (int k = 0; k < count; k++) to[k * g->blocks + g->block] = value[k];
#endif
}

/* The totals of the phase before, in every block. */
SN_FN void sn_totals(const sn_grid *g, int count, double *total, int largest) {
#ifdef __CUDACC__
    const double *from = g->scratch + SN_SUMS * 32;
    int parts = (g->blocks + 31) / 32, step = 32;
#else
    const double *from = (const double *)g->memory.exchange +
                         (size_t)((g->epoch - 1) & 1) * SN_SUMS * (size_t)g->blocks;
    int parts = g->blocks, step = g->blocks;
#endif
    for (int k = 0; k < count; k++) {
        double v = 0;
        for (int b = 0; b < parts; b++) {
            double other = from[k * step + b];
            if (largest >> k & 1)
                v = other > v ? other : v;
            else
                v += other;
        }
        total[k] = v;
    }
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
