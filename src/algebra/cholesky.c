#include "algebra/cholesky.h"

#include <math.h>
#include <pthread.h>
#include <string.h>
#include <suitesparse/cholmod.h>

#include "algebra/library_threads.h"
#include "base/memory.h"
#include "base/threads.h"

/* Below this size minimum degree is as good as nested dissection and much quicker. */
enum { NESTED_DISSECTION_SIZE = 500 };

struct sn_cholesky {
    int size, nonzeros; /* of the analyzed matrix */
    cholmod_common common;
    cholmod_factor *factor;
};

struct sn_cholesky_work {
    int max_count;
    cholmod_common common;
    cholmod_dense *solution, *buffer_a, *buffer_b;
    double *right;
};

/* METIS draws from the C library's random numbers: one analysis at a time, so that orderings do not
 * depend on what other threads analyze. */
static pthread_mutex_t analysis = PTHREAD_MUTEX_INITIALIZER;

static void start_library(cholmod_common *common) {
    cholmod_start(common);
    common->print = 0;
    common->try_catch = 1;
}

static cholmod_sparse view_of(const sn_sparse *matrix) {
    return (cholmod_sparse){.nrow = (size_t)matrix->rows,
                            .ncol = (size_t)matrix->columns,
                            .nzmax = (size_t)sn_sparse_nonzeros(matrix),
                            .p = matrix->start,
                            .i = matrix->row,
                            .x = matrix->value,
                            .stype = -1,
                            .itype = CHOLMOD_INT,
                            .xtype = CHOLMOD_REAL,
                            .dtype = CHOLMOD_DOUBLE,
                            .sorted = 1,
                            .packed = 1};
}

static sinew_status library_failure(const sn_cholesky *factor, sinew_error *error) {
    switch (factor->common.status) {
    case CHOLMOD_OUT_OF_MEMORY:
        return sn_no_memory(error);
    case CHOLMOD_TOO_LARGE:
        return sn_fail(error, SINEW_BAD_INPUT, "a factor of %d columns is too large", factor->size);
    default:
        return sn_fail(error, SINEW_BAD_INPUT, "the matrix cannot be factored (CHOLMOD status %d)",
                       factor->common.status);
    }
}

sinew_status sn_cholesky_analyze(const sn_sparse *matrix, sn_cholesky_kind kind,
                                 sn_cholesky **factor, sinew_error *error) {
    *factor = NULL;
    SN_REQUIRE(matrix->symmetric, error);
    sn_cholesky *made = SN_NEW0(sn_cholesky, 1);
    if (!made) return sn_no_memory(error);
    made->size = matrix->columns;
    made->nonzeros = sn_sparse_nonzeros(matrix);
    start_library(&made->common);
    made->common.nmethods = 1;
    made->common.method[0].ordering =
        made->size < NESTED_DISSECTION_SIZE ? CHOLMOD_AMD : CHOLMOD_METIS;
    made->common.postorder = 1;
    made->common.final_ll = 1;
    made->common.supernodal =
        SINEW_GPL && kind == SN_CHOLESKY_AUTO ? CHOLMOD_AUTO : CHOLMOD_SIMPLICIAL;
    cholmod_sparse view = view_of(matrix);
    sn_library_threads saved = sn_library_threads_cap();
    pthread_mutex_lock(&analysis);
    made->factor = cholmod_analyze(&view, &made->common);
    pthread_mutex_unlock(&analysis);
    sn_library_threads_restore(saved);
    if (!made->factor || made->common.status < CHOLMOD_OK) {
        sinew_status status = library_failure(made, error);
        sn_cholesky_destroy(made);
        return status;
    }
    *factor = made;
    return SINEW_OK;
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
    cholmod_sparse view = view_of(matrix);
    sn_library_threads saved = sn_library_threads_cap();
    cholmod_factorize(&view, factor->factor, &factor->common);
    sn_library_threads_restore(saved);
    if (factor->common.status < CHOLMOD_OK) return library_failure(factor, error);
    if (factor->factor->minor < factor->factor->n)
        return sn_fail(error, SINEW_BAD_INPUT, "the matrix is not positive definite at column %d",
                       ((const int *)factor->factor->Perm)[factor->factor->minor]);
    return SINEW_OK;
}

sinew_status sn_cholesky_create(const sn_sparse *matrix, sn_cholesky_kind kind,
                                sn_cholesky **factor, sinew_error *error) {
    SN_TRY(sn_cholesky_analyze(matrix, kind, factor, error));
    sinew_status status = sn_cholesky_factor(*factor, matrix, error);
    if (status != SINEW_OK) {
        sn_cholesky_destroy(*factor);
        *factor = NULL;
    }
    return status;
}

void sn_cholesky_destroy(sn_cholesky *factor) {
    if (!factor) return;
    if (factor->factor) cholmod_free_factor(&factor->factor, &factor->common);
    cholmod_finish(&factor->common);
    sn_free(factor);
}

int sn_cholesky_size(const sn_cholesky *factor) {
    return factor->size;
}

size_t sn_cholesky_nonzeros(const sn_cholesky *factor) {
    return factor->factor->is_super ? factor->factor->xsize : factor->factor->nzmax;
}

sinew_status sn_cholesky_work_create(const sn_cholesky *factor, int max_count,
                                     sn_cholesky_work **work, sinew_error *error) {
    *work = NULL;
    SN_REQUIRE(max_count >= 1, error);
    sn_cholesky_work *made = SN_NEW0(sn_cholesky_work, 1);
    if (!made) return sn_no_memory(error);
    made->max_count = max_count;
    start_library(&made->common);
    made->right = SN_NEW(double, (size_t)factor->size *(size_t)max_count);
    if (!made->right) {
        sn_cholesky_work_destroy(made);
        return sn_no_memory(error);
    }
    *work = made;
    return SINEW_OK;
}

void sn_cholesky_work_destroy(sn_cholesky_work *work) {
    if (!work) return;
    cholmod_free_dense(&work->solution, &work->common);
    cholmod_free_dense(&work->buffer_a, &work->common);
    cholmod_free_dense(&work->buffer_b, &work->common);
    cholmod_finish(&work->common);
    sn_free(work->right);
    sn_free(work);
}

static const double *solve_columns(const sn_cholesky *factor, sn_cholesky_work *work, int count) {
    size_t n = (size_t)factor->size;
    cholmod_dense right = {.nrow = n,
                           .ncol = (size_t)count,
                           .nzmax = n * (size_t)count,
                           .d = n,
                           .x = work->right,
                           .xtype = CHOLMOD_REAL,
                           .dtype = CHOLMOD_DOUBLE};
    sn_library_threads saved = sn_library_threads_cap();
    cholmod_solve2(CHOLMOD_A, factor->factor, &right, NULL, &work->solution, NULL, &work->buffer_a,
                   &work->buffer_b, &work->common);
    sn_library_threads_restore(saved);
    return work->solution->x;
}

void sn_cholesky_solve(const sn_cholesky *factor, sn_cholesky_work *work, int count,
                       const double *b, double *x) {
    size_t n = (size_t)factor->size, c = (size_t)count;
    if (n == 0) return;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < c; k++) work->right[k * n + i] = b[i * c + k];
    const double *solution = solve_columns(factor, work, count);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < c; k++) x[i * c + k] = solution[k * n + i];
}

sinew_status sn_cholesky_prepare_f32(sn_cholesky *factor, sinew_error *error) {
    (void)factor, (void)error;
    return SINEW_OK;
}

void sn_cholesky_solve_f32(const sn_cholesky *factor, sn_cholesky_work *work, int count,
                           const float *b, float *x) {
    size_t n = (size_t)factor->size, c = (size_t)count;
    if (n == 0) return;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < c; k++) work->right[k * n + i] = (double)b[i * c + k];
    const double *solution = solve_columns(factor, work, count);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < c; k++) x[i * c + k] = (float)solution[k * n + i];
}
