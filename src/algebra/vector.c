#include "algebra/vector.h"

#include <math.h>

#include "base/threads.h"

/* Partial sums held at once, and the length from which a second thread pays. */
enum { BLOCKS_AT_ONCE = 256, THREADED_LENGTH = 24 * SN_SUM_BLOCK };

static int threads_for(size_t size) {
    return size >= THREADED_LENGTH ? sn_threads() : 1;
}

/* A sum over blocks of SN_SUM_BLOCK: blocks in any order on any thread, their sums in order. */
#define BLOCKED_SUM(size, TERM)                                                                    \
    double total = 0, part[BLOCKS_AT_ONCE];                                                        \
    int threads = threads_for(size);                                                               \
    const size_t stretch = (size_t)BLOCKS_AT_ONCE * SN_SUM_BLOCK;                                  \
    for (size_t from = 0; from < size; from += stretch) {                                          \
        size_t left = size - from < stretch ? size - from : stretch;                               \
        int blocks = (int)((left + SN_SUM_BLOCK - 1) / SN_SUM_BLOCK);                              \
        _Pragma("omp parallel for num_threads(threads) schedule(static)") for (int block = 0;      \
                                                                               block < blocks;     \
                                                                               block++) {          \
            size_t begin = from + (size_t)block * SN_SUM_BLOCK;                                    \
            size_t end = begin + SN_SUM_BLOCK < size ? begin + SN_SUM_BLOCK : size;                \
            double sum = 0;                                                                        \
            _Pragma("omp simd reduction(+ : sum)") for (size_t i = begin; i < end; i++) sum +=     \
                (TERM);                                                                            \
            part[block] = sum;                                                                     \
        }                                                                                          \
        for (int block = 0; block < blocks; block++) total += part[block];                         \
    }                                                                                              \
    return total

double sn_vector_dot(size_t size, const double *a, const double *b) {
    BLOCKED_SUM(size, a[i] * b[i]);
}

double sn_vector_dot_f32(size_t size, const float *a, const float *b) {
    BLOCKED_SUM(size, (double)a[i] * (double)b[i]);
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

void sn_vector_axpy(size_t size, double s, const double *x, double *y) {
#pragma omp parallel for simd num_threads(threads_for(size)) schedule(static)
    for (size_t i = 0; i < size; i++) y[i] += s * x[i];
}

void sn_vector_xpay(size_t size, const double *x, double s, double *y) {
#pragma omp parallel for simd num_threads(threads_for(size)) schedule(static)
    for (size_t i = 0; i < size; i++) y[i] = x[i] + s * y[i];
}

void sn_vector_scale(size_t size, double s, double *x) {
#pragma omp parallel for simd num_threads(threads_for(size)) schedule(static)
    for (size_t i = 0; i < size; i++) x[i] *= s;
}

void sn_vector_axpy_f32(size_t size, float s, const float *x, float *y) {
#pragma omp parallel for simd num_threads(threads_for(size)) schedule(static)
    for (size_t i = 0; i < size; i++) y[i] += s * x[i];
}

void sn_vector_xpay_f32(size_t size, const float *x, float s, float *y) {
#pragma omp parallel for simd num_threads(threads_for(size)) schedule(static)
    for (size_t i = 0; i < size; i++) y[i] = x[i] + s * y[i];
}
