/* What the machine can do: read bandwidth by working set, rate of fused multiply-adds. */
#include "machine.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/parallel.h"

/* Written with vectors of 32 bytes, so that the figures do not hang on what a compiler makes of a
 * loop; both compilers split or join them to what the processor has. */
typedef double vector_double __attribute__((vector_size(32)));
typedef float vector_float __attribute__((vector_size(32)));

/* Eight independent sums hide the latency of an add. */
static double sum_block(const double *array, size_t count) {
    vector_double s[8] = {{0}};
    const vector_double *v = (const vector_double *)array;
    for (size_t i = 0; i + 8 <= count / 4; i += 8) {
        s[0] += v[i], s[1] += v[i + 1], s[2] += v[i + 2], s[3] += v[i + 3];
        s[4] += v[i + 4], s[5] += v[i + 5], s[6] += v[i + 6], s[7] += v[i + 7];
    }
    vector_double sum = ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]));
    return sum[0] + sum[1] + sum[2] + sum[3];
}

typedef struct reading {
    const double *array;
    size_t count;
    int threads, sweeps;
    double *sinks;
} reading;

/* Each thread reads its own part again and again, as a case does that runs in a loop. */
static void read_parts(void *context, sn_span span) {
    const reading *r = context;
    SN_IN_SPAN(size_t, t, span) {
        size_t first = r->count * t / (size_t)r->threads / 8 * 8;
        size_t last = r->count * (t + 1) / (size_t)r->threads;
        for (int s = 0; s < r->sweeps; s++)
            r->sinks[t] += sum_block(r->array + first, last - first);
    }
}

double machine_read_bandwidth(double working_set, int threads) {
    size_t count = (size_t)(working_set / sizeof(double));
    if (count < 4096) count = 4096;
    int sweeps = (int)fmax(1, 3e7 / (double)count);
    double *array = aligned_alloc(64, (count * sizeof *array + 63) / 64 * 64);
    if (!array) return NAN;
    double best = INFINITY, sinks[SINEW_MAX_THREADS] = {0};
    for (size_t i = 0; i < count; i++) array[i] = 1e-9 * (double)i;
    for (int round = 0; round < 5; round++) {
        double start = sn_now();
        sn_parallel_for(threads, 1, read_parts, &(reading){array, count, threads, sweeps, sinks});
        best = fmin(best, sn_now() - start);
    }
    free(array);
    return sinks[0] != 0 ? (double)count * sizeof(double) * sweeps / best : NAN;
}

/* Ten chains of multiply-adds, one register each. */
#define DEFINE_CHAINS(name, vector)                                                                \
    static double name(long rounds) {                                                              \
        vector m = {0}, c = {0};                                                                   \
        m += 0.999f, c += 1e-3f;                                                                   \
        vector a = c, b = a + c, d = b + c, e = d + c, f = e + c;                                  \
        vector g = f + c, h = g + c, i = h + c, j = i + c, k = j + c;                              \
        for (long r = 0; r < rounds; r++) {                                                        \
            a = a * m + c, b = b * m + c, d = d * m + c, e = e * m + c, f = f * m + c;             \
            g = g * m + c, h = h * m + c, i = i * m + c, j = j * m + c, k = k * m + c;             \
        }                                                                                          \
        a += b + d + e + f + g + h + i + j + k;                                                    \
        return (double)a[0] + (double)a[1] + (double)a[2] + (double)a[3];                          \
    }
DEFINE_CHAINS(chains_double, vector_double)
DEFINE_CHAINS(chains_float, vector_float)

typedef struct chain_loop {
    double (*chains)(long rounds);
    long rounds;
    double sinks[SINEW_MAX_THREADS];
} chain_loop;

static void run_chains(void *context, sn_span span) {
    chain_loop *loop = context;
    SN_IN_SPAN(int, t, span) loop->sinks[t] += loop->chains(loop->rounds + t);
}

static double flops(double (*chains)(long rounds), int width, int threads) {
    const long rounds = 1000000;
    double best = INFINITY;
    chain_loop loop = {chains, rounds, {0}};
    for (int repeat = 0; repeat < 5; repeat++) {
        double start = sn_now();
        sn_parallel_for(threads, 1, run_chains, &loop);
        best = fmin(best, sn_now() - start);
    }
    return loop.sinks[0] != 0 ? 2.0 * 10 * width * (double)rounds * threads / best : NAN;
}

double machine_flops_double(int threads) {
    return flops(chains_double, 4, threads);
}

double machine_flops_float(int threads) {
    return flops(chains_float, 8, threads);
}
