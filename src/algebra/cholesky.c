#include "algebra/cholesky.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "algebra/multifrontal.h"
#include "algebra/ordering.h"
#include "algebra/supernodal.h"
#include "base/memory.h"
#include "base/scope.h"

struct sn_cholesky {
    int size, nonzeros; /* of the analyzed matrix */
    sn_supernodal *pattern;
    double *values;
    /* NULL before they are first prepared */
    float *values_f32;
    uint16_t *values_bf16;
};

struct sn_cholesky_work {
    void *x, *scratch; /* of either precision */
};

/* Ordering, pattern and tasks. */
static sinew_status find_pattern(const sn_sparse *matrix, sn_ordering_method method,
                                 sn_supernodal **pattern, sinew_error *error) {
    int *permutation = SN_NEW(int, matrix->columns), *counts = SN_NEW(int, matrix->columns);
    sinew_status status = permutation && counts
                              ? sn_ordering_find(matrix, method, permutation, counts, error)
                              : sn_no_memory(error);
    if (status == SINEW_OK)
        status = sn_supernodal_create(matrix, permutation, counts, pattern, error);
    sn_free(permutation), sn_free(counts);
    return status;
}

static sinew_status analyze(const sn_sparse *matrix, sn_ordering_method method,
                            sn_cholesky **factor, sinew_error *error) {
    *factor = NULL;
    SN_REQUIRE(matrix->symmetric, error);
    sn_cholesky *made = SN_NEW0(sn_cholesky, 1);
    if (!made) return sn_no_memory(error);
    made->size = matrix->columns;
    made->nonzeros = sn_sparse_nonzeros(matrix);
    sinew_status status = find_pattern(matrix, method, &made->pattern, error);
    if (status == SINEW_OK) {
        made->values = sn_alloc_aligned(made->pattern->values, sizeof(double));
        if (!made->values) status = sn_no_memory(error);
    }
    if (status == SINEW_OK)
        *factor = made;
    else
        sn_cholesky_destroy(made);
    return status;
}

sinew_status sn_cholesky_analyze(const sn_sparse *matrix, sn_cholesky **factor,
                                 sinew_error *error) {
    return analyze(matrix, SN_ORDERING_DISSECTION, factor, error);
}

static sinew_status check_values(const sn_cholesky *factor, const sn_sparse *matrix,
                                 sinew_error *error) {
    SN_REQUIRE(matrix->symmetric && matrix->columns == factor->size &&
                   sn_sparse_nonzeros(matrix) == factor->nonzeros,
               error);
    for (int j = 0; j < matrix->columns; j++)
        for (int i = matrix->start[j]; i < matrix->start[j + 1]; i++)
            if (!isfinite(matrix->value[i]))
                return sn_fail(error, SINEW_BAD_INPUT, "matrix entry (%d, %d) is not finite",
                               matrix->row[i], j);
    return SINEW_OK;
}

sinew_status sn_cholesky_factor(sn_cholesky *factor, const sn_sparse *matrix, sinew_error *error) {
    SN_TRY(check_values(factor, matrix, error));
    if (factor->size == 0) return SINEW_OK;
    return sn_multifrontal_factor(factor->pattern, matrix, factor->values, error);
}

static sinew_status create(const sn_sparse *matrix, sn_ordering_method method, sn_cholesky **factor,
                           sinew_error *error) {
    SN_TRY(analyze(matrix, method, factor, error));
    sinew_status status = sn_cholesky_factor(*factor, matrix, error);
    if (status != SINEW_OK) {
        sn_cholesky_destroy(*factor);
        *factor = NULL;
    }
    return status;
}

sinew_status sn_cholesky_create(const sn_sparse *matrix, sn_cholesky **factor, sinew_error *error) {
    return create(matrix, SN_ORDERING_DISSECTION, factor, error);
}

sinew_status sn_cholesky_create_brief(const sn_sparse *matrix, sn_cholesky **factor,
                                      sinew_error *error) {
    return create(matrix, SN_ORDERING_DEGREE, factor, error);
}

void sn_cholesky_destroy(sn_cholesky *factor) {
    if (!factor) return;
    sn_supernodal_destroy(factor->pattern);
    sn_free_aligned(factor->values);
    sn_free_aligned(factor->values_f32);
    sn_free_aligned(factor->values_bf16);
    sn_free(factor);
}

int sn_cholesky_size(const sn_cholesky *factor) {
    return factor->size;
}

size_t sn_cholesky_nonzeros(const sn_cholesky *factor) {
    return factor->pattern->values;
}

sinew_status sn_cholesky_work_create(const sn_cholesky *factor, int max_count,
                                     sn_cholesky_work **work, sinew_error *error) {
    *work = NULL;
    SN_REQUIRE(max_count >= 1, error);
    const sn_supernodal *pattern = factor->pattern;
    size_t sides = max_count < SN_SUPERNODAL_SIDES ? (size_t)max_count : SN_SUPERNODAL_SIDES;
    sn_cholesky_work *made = SN_NEW0(sn_cholesky_work, 1);
    if (!made) return sn_no_memory(error);
    made->x = sn_alloc_aligned((size_t)(pattern->size + pattern->copies),
                               (size_t)sn_supernodal_row_length((int)sides) * sizeof(double));
    made->scratch = sn_alloc_aligned(pattern->scratch, sides * sizeof(double));
    if (!made->x || !made->scratch) {
        sn_cholesky_work_destroy(made);
        return sn_no_memory(error);
    }
    *work = made;
    return SINEW_OK;
}

void sn_cholesky_work_destroy(sn_cholesky_work *work) {
    if (!work) return;
    sn_free_aligned(work->x);
    sn_free_aligned(work->scratch);
    sn_free(work);
}

/* Right-hand sides in the next sweep if this many are left. */
static int next_sides(int left) {
    return left >= SN_SUPERNODAL_SIDES ? SN_SUPERNODAL_SIDES : left < 4 ? left : 4;
}

void sn_cholesky_solve(const sn_cholesky *factor, sn_cholesky_work *work, int count,
                       const double *b, double *x) {
    for (int k = 0, sides; k < count; k += sides) {
        if (sn_scope_poll()) return;
        sides = next_sides(count - k);
        sn_supernodal_solve(factor->pattern, factor->values, sides, count, b + k, x + k, work->x,
                            work->scratch);
    }
}

enum { UNASKED = 1 << 18 }; /* values converted between two polls */

sinew_status sn_cholesky_prepare_f32(sn_cholesky *factor, sinew_error *error) {
    size_t count = factor->pattern->values;
    if (!factor->values_f32) factor->values_f32 = sn_alloc_aligned(count, sizeof(float));
    if (!factor->values_f32) return sn_no_memory(error);
    for (size_t from = 0; from < count; from += UNASKED) {
        size_t to = count - from < UNASKED ? count : from + UNASKED;
        if (sn_scope_poll()) return sn_fail(error, SINEW_CANCELLED, "cancelled");
        for (size_t i = from; i < to; i++) factor->values_f32[i] = (float)factor->values[i];
    }
    return SINEW_OK;
}

/* The nearest one, the even one of two. Values of the factor are finite. */
static uint16_t bfloat16_of(double value) {
    float single = (float)value;
    uint32_t bits;
    memcpy(&bits, &single, sizeof bits);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

sinew_status sn_cholesky_prepare_bf16(sn_cholesky *factor, sinew_error *error) {
    size_t count = factor->pattern->values;
    if (!factor->values_bf16) factor->values_bf16 = sn_alloc_aligned(count, sizeof(uint16_t));
    if (!factor->values_bf16) return sn_no_memory(error);
    for (size_t from = 0; from < count; from += UNASKED) {
        size_t to = count - from < UNASKED ? count : from + UNASKED;
        if (sn_scope_poll()) return sn_fail(error, SINEW_CANCELLED, "cancelled");
        for (size_t i = from; i < to; i++) factor->values_bf16[i] = bfloat16_of(factor->values[i]);
    }
    return SINEW_OK;
}

void sn_cholesky_solve_f32(const sn_cholesky *factor, sn_cholesky_work *work, int count,
                           const float *b, float *x) {
    for (int k = 0, sides; k < count; k += sides) {
        sides = next_sides(count - k);
        sn_supernodal_solve_f32(factor->pattern, factor->values_f32, sides, count, b + k, x + k,
                                work->x, work->scratch);
    }
}

void sn_cholesky_solve_bf16(const sn_cholesky *factor, sn_cholesky_work *work, const float *b,
                            float *x) {
    sn_supernodal_solve_bf16(factor->pattern, factor->values_bf16, 3, 3, b, x, work->x,
                             work->scratch);
}
