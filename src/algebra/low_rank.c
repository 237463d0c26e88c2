#include "algebra/low_rank.h"

#include <math.h>
#include <string.h>

#include "algebra/dense.h"
#include "base/memory.h"
#include "base/parallel.h"

struct sn_low_rank {
    const sn_cholesky *factor;
    sn_cholesky_work *work;
    int size, max_rank, max_count;
    int rank, active;
    sn_sparse *U;
    double *Z;          /* size x rank */
    double *compliance; /* U^T Z, rank x rank */
    double *inverse;    /* S^-1 of the active columns, active x active */
    double *schur;
    int *column;            /* active columns */
    double *small, *solved; /* rank x count */
};

sinew_status sn_low_rank_create(const sn_cholesky *factor, int max_rank, int max_count,
                                sn_low_rank **update, sinew_error *error) {
    *update = NULL;
    SN_REQUIRE(max_rank >= 0 && max_count >= 1, error);
    sn_low_rank *made = SN_NEW0(sn_low_rank, 1);
    if (!made) return sn_no_memory(error);
    size_t n = (size_t)sn_cholesky_size(factor), k = (size_t)max_rank, c = (size_t)max_count;
    made->factor = factor;
    made->size = sn_cholesky_size(factor);
    made->max_rank = max_rank;
    made->max_count = max_count;
    made->Z = SN_NEW(double, n *k);
    made->compliance = SN_NEW(double, k *k);
    made->inverse = SN_NEW(double, k *k);
    made->schur = SN_NEW(double, k *k);
    made->column = SN_NEW(int, k);
    made->small = SN_NEW(double, k *c);
    made->solved = SN_NEW(double, k *c);
    sinew_status status = SINEW_OK;
    if (!made->Z || !made->compliance || !made->inverse || !made->schur || !made->column ||
        !made->small || !made->solved)
        status = sn_no_memory(error);
    if (status == SINEW_OK)
        status = sn_cholesky_work_create(factor, max_count > 4 ? max_count : 4, &made->work, error);
    if (status == SINEW_OK)
        *update = made;
    else
        sn_low_rank_destroy(made);
    return status;
}

void sn_low_rank_destroy(sn_low_rank *update) {
    if (!update) return;
    sn_cholesky_work_destroy(update->work);
    sn_sparse_destroy(update->U);
    void *blocks[] = {update->Z,      update->compliance, update->inverse, update->schur,
                      update->column, update->small,      update->solved};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) sn_free(blocks[i]);
    sn_free(update);
}

sinew_status sn_low_rank_set_columns(sn_low_rank *update, const sn_sparse *U, sinew_error *error) {
    SN_REQUIRE(!U->symmetric && U->rows == update->size && U->columns <= update->max_rank, error);
    enum { AT_ONCE = 4 };
    size_t n = (size_t)update->size;
    sn_sparse *copy;
    double *sides = SN_NEW(double, n *AT_ONCE);
    if (!sides) return sn_no_memory(error);
    sinew_status status = sn_sparse_combine(1, U, 0, U, &copy, error);
    if (status != SINEW_OK) {
        sn_free(sides);
        return status;
    }
    sn_sparse_destroy(update->U);
    update->U = copy;
    update->rank = U->columns;
    update->active = 0;
    for (int j = 0; j < U->columns; j += AT_ONCE) {
        int count = U->columns - j < AT_ONCE ? U->columns - j : AT_ONCE;
        memset(sides, 0, n * (size_t)count * sizeof *sides);
        for (int c = 0; c < count; c++)
            for (int e = U->start[j + c]; e < U->start[j + c + 1]; e++)
                sides[U->row[e] * count + c] = U->value[e];
        sn_cholesky_solve(update->factor, update->work, count, sides, sides);
        for (int c = 0; c < count; c++)
            for (size_t i = 0; i < n; i++)
                update->Z[n * (size_t)(j + c) + i] = sides[i * (size_t)count + (size_t)c];
    }
    for (int j = 0; j < update->rank; j++)
        sn_sparse_multiply_transposed(copy, 1, update->Z + n * (size_t)j,
                                      update->compliance + (size_t)update->rank * (size_t)j);
    sn_free(sides);
    return SINEW_OK;
}

sinew_status sn_low_rank_set_weights(sn_low_rank *update, const double *weights,
                                     sinew_error *error) {
    int active = 0;
    bool positive = true;
    for (int j = 0; j < update->rank; j++) {
        if (!isfinite(weights[j]))
            return sn_fail(error, SINEW_BAD_INPUT, "weight %d is not finite", j);
        if (weights[j] != 0) update->column[active++] = j;
        if (weights[j] < 0) positive = false;
    }
    update->active = 0;
    size_t m = (size_t)active, k = (size_t)update->rank;
    for (size_t c = 0; c < m; c++) {
        for (size_t r = 0; r < m; r++) {
            update->schur[r + m * c] =
                update->compliance[(size_t)update->column[r] + k * (size_t)update->column[c]];
            update->inverse[r + m * c] = r == c;
        }
        update->schur[c + m * c] += 1 / weights[update->column[c]];
    }
    if (positive) {
        SN_TRY(sn_dense_cholesky(active, update->schur, error));
        sn_dense_cholesky_solve(active, update->schur, active, update->inverse);
    } else {
        SN_TRY(sn_dense_solve(active, update->schur, active, update->inverse, error));
    }
    update->active = active;
    return SINEW_OK;
}

typedef struct subtraction {
    const sn_low_rank *update;
    size_t v;
    double *x;
} subtraction;

static void subtract_columns(void *context, sn_span span) {
    const subtraction *s = context;
    const sn_low_rank *update = s->update;
    size_t n = (size_t)update->size, v = s->v, m = (size_t)update->active;
    for (size_t from = span.begin; from < span.end; from += 512) {
        size_t end = from + 512 < span.end ? from + 512 : span.end;
        for (size_t c = 0; c < m; c++) {
            const double *z = update->Z + n * (size_t)update->column[c];
            for (size_t k = 0; k < v; k++) {
                double factor = update->solved[c + m * k];
                for (size_t i = from; i < end; i++) s->x[i * v + k] -= factor * z[i];
            }
        }
    }
}

void sn_low_rank_solve(sn_low_rank *update, int count, const double *b, double *x) {
    size_t n = (size_t)update->size, v = (size_t)count, m = (size_t)update->active;
    sn_cholesky_solve(update->factor, update->work, count, b, x);
    if (m == 0) return;
    const sn_sparse *U = update->U;
    for (size_t c = 0; c < m; c++) /* small = U^T y, active x count */
        for (size_t k = 0; k < v; k++) {
            double sum = 0;
            for (int e = U->start[update->column[c]]; e < U->start[update->column[c] + 1]; e++)
                sum += U->value[e] * x[(size_t)U->row[e] * v + k];
            update->small[c + m * k] = sum;
        }
    sn_dense_multiply(SN_AS_IS, SN_AS_IS, update->active, count, update->active, 1, update->inverse,
                      update->small, 0, update->solved);
    sn_parallel_for_weighted(n, 512, (double)(m * v), subtract_columns,
                             &(subtraction){update, v, x});
}

const double *sn_low_rank_columns(const sn_low_rank *update) {
    return update->Z;
}

const double *sn_low_rank_compliance(const sn_low_rank *update) {
    return update->compliance;
}
