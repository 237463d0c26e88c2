#include "algebra/vector.h"

#include <math.h>

#include "base/parallel.h"

enum { BLOCKS_AT_ONCE = 256, GRAIN = 2048 }; /* partial sums held at once; values per piece */

/* A sum over blocks of SN_SUM_BLOCK: blocks are summed in any order on any thread, and their sums
 * added in order. */
typedef struct sum_loop {
    size_t size, from;
    const void *a, *b;
    double part[BLOCKS_AT_ONCE];
} sum_loop;

#define SUM_BLOCKS(name, REAL)                                                                     \
    static void name(void *context, sn_span span) {                                                \
        sum_loop *loop = context;                                                                  \
        const REAL *a = loop->a, *b = loop->b;                                                     \
        SN_IN_SPAN(size_t, block, span) {                                                          \
            size_t begin = loop->from + block * SN_SUM_BLOCK;                                      \
            size_t end = begin + SN_SUM_BLOCK < loop->size ? begin + SN_SUM_BLOCK : loop->size;    \
            double sum = 0;                                                                        \
            _Pragma("omp simd reduction(+ : sum)") for (size_t i = begin; i < end; i++) sum +=     \
                (double)a[i] * (double)b[i];                                                       \
            loop->part[block] = sum;                                                               \
        }                                                                                          \
    }
SUM_BLOCKS(sum_f64, double)
SUM_BLOCKS(sum_f32, float)

static double sum_products(size_t size, const void *a, const void *b, sn_parallel_body *body) {
    sum_loop loop = {.size = size, .a = a, .b = b};
    double total = 0;
    while (loop.from < size) {
        size_t blocks = (size - loop.from + SN_SUM_BLOCK - 1) / SN_SUM_BLOCK;
        if (blocks > BLOCKS_AT_ONCE) blocks = BLOCKS_AT_ONCE;
        sn_parallel_for(blocks, 1, body, &loop);
        for (size_t block = 0; block < blocks; block++) total += loop.part[block];
        loop.from += blocks * SN_SUM_BLOCK;
    }
    return total;
}

double sn_vector_dot(size_t size, const double *a, const double *b) {
    return sum_products(size, a, b, sum_f64);
}

double sn_vector_dot_f32(size_t size, const float *a, const float *b) {
    return sum_products(size, a, b, sum_f32);
}

double sn_vector_norm(size_t size, const double *a) {
    return sqrt(sn_vector_dot(size, a, a));
}

double sn_vector_norm_f32(size_t size, const float *a) {
    return sqrt(sn_vector_dot_f32(size, a, a));
}

double sn_vector_max(size_t size, const double *a) {
    double largest = 0;
    for (size_t i = 0; i < size; i++) {
        double magnitude = fabs(a[i]);
        if (!(magnitude <= largest)) largest = magnitude;
        if (isnan(largest)) return largest;
    }
    return largest;
}

typedef struct loop_double {
    double s;
    const double *x;
    double *y;
} loop_double;

typedef struct loop_float {
    float s;
    const float *x;
    float *y;
} loop_float;

#define ELEMENTWISE(name, REAL, STATEMENT)                                                         \
    static void name(void *context, sn_span span) {                                                \
        const loop_##REAL *loop = context;                                                         \
        const REAL s = loop->s, *x = loop->x;                                                      \
        REAL *y = loop->y;                                                                         \
        _Pragma("omp simd") for (size_t i = span.begin; i < span.end; i++) STATEMENT;              \
    }
ELEMENTWISE(axpy, double, y[i] += s * x[i])
ELEMENTWISE(xpay, double, y[i] = x[i] + s * y[i])
ELEMENTWISE(scale, double, y[i] = s * x[i])
ELEMENTWISE(axpy_f32, float, y[i] += s * x[i])
ELEMENTWISE(xpay_f32, float, y[i] = x[i] + s * y[i])

void sn_vector_axpy(size_t size, double s, const double *x, double *y) {
    sn_parallel_for(size, GRAIN, axpy, &(loop_double){s, x, y});
}

void sn_vector_xpay(size_t size, const double *x, double s, double *y) {
    sn_parallel_for(size, GRAIN, xpay, &(loop_double){s, x, y});
}

void sn_vector_scale(size_t size, double s, double *x) {
    sn_parallel_for(size, GRAIN, scale, &(loop_double){s, x, x});
}

void sn_vector_axpy_f32(size_t size, float s, const float *x, float *y) {
    sn_parallel_for(size, GRAIN, axpy_f32, &(loop_float){s, x, y});
}

void sn_vector_xpay_f32(size_t size, const float *x, float s, float *y) {
    sn_parallel_for(size, GRAIN, xpay_f32, &(loop_float){s, x, y});
}
