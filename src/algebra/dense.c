#include "algebra/dense.h"

#include <math.h>
#include <string.h>

#include "algebra/library_threads.h"
#include "algebra/solver_libraries.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "base/scope.h"

/* Tiles of C: large enough to run one core at full speed, small enough to share among threads. They
 * depend only on the shape of C. */
enum {
    TILE = 192,
    PANEL = 64,
    SKINNY_TILE = 512,
    LANE_BYTES = 32,
    RUN_LANES = 8,
    APPLY_BLOCK = 2048
};

/* Without the libraries, results are NaN. */
#define UNKNOWN(values, count)                                                                     \
    do {                                                                                           \
        for (size_t unknown = (count); unknown-- > 0;) (values)[unknown] = NAN;                    \
    } while (0)

#define REAL            double
#define NAME(name)      sn_dense_##name
#define BLAS(name, ...) sn_solvers()->cblas_d##name(__VA_ARGS__)
#define LAPACK(x)       sn_solvers()->LAPACKE_d##x
#include "algebra/dense_template.h"
#undef REAL
#undef NAME
#undef BLAS
#undef LAPACK

#define REAL            float
#define NAME(name)      sn_dense_##name##_f32
#define BLAS(name, ...) sn_solvers()->cblas_s##name(__VA_ARGS__)
#define LAPACK(x)       sn_solvers()->LAPACKE_s##x
#include "algebra/dense_template.h"
#undef REAL
#undef NAME
#undef BLAS
#undef LAPACK

int sn_dense_eliminate(int size, int columns, double *A) {
    return sn_dense_eliminate_columns(size, columns, A);
}

void sn_dense_triangle_solve(sn_transpose op, int size, const double *L, int count, double *b) {
    if (size == 0 || count == 0) return;
    CBLAS_TRANSPOSE transpose = op == SN_AS_IS ? CblasNoTrans : CblasTrans;
    const sn_solver_libraries *solvers = sn_solvers();
    if (!solvers) {
        UNKNOWN(b, (size_t)size * (size_t)count);
        return;
    }
    sn_library_threads_cap();
    if (count == 1)
        solvers->cblas_dtrsv(CblasColMajor, CblasLower, transpose, CblasNonUnit, size, L, size, b,
                             1);
    else
        solvers->cblas_dtrsm(CblasColMajor, CblasLeft, CblasLower, transpose, CblasNonUnit, size,
                             count, 1, L, size, b, size);
    sn_library_threads_restore();
}

/* LAPACK hangs or crashes on NaN in some drivers, so they are rejected first. */
static sinew_status check_finite(size_t count, const double *values, sinew_error *error) {
    for (size_t i = 0; i < count; i++)
        if (!isfinite(values[i]))
            return sn_fail(error, SINEW_BAD_INPUT,
                           "a dense matrix holds a value that is not finite");
    return SINEW_OK;
}

sinew_status sn_dense_solve(int size, double *A, int count, double *b, sinew_error *error) {
    if (size == 0) return SINEW_OK;
    SN_TRY(sn_solvers_load(error));
    SN_TRY(check_finite((size_t)size * (size_t)size, A, error));
    int *pivots = SN_NEW(int, size);
    if (!pivots) return sn_no_memory(error);
    sn_library_threads_cap();
    int info =
        sn_solvers()->LAPACKE_dgesv_work(LAPACK_COL_MAJOR, size, count, A, size, pivots, b, size);
    sn_library_threads_restore();
    sn_free(pivots);
    if (info > 0)
        return sn_fail(error, SINEW_BAD_INPUT, "the matrix is singular at column %d", info - 1);
    return SINEW_OK;
}

sinew_status sn_dense_least_squares(int rows, int columns, double *A, int count, double *b,
                                    double cutoff, int *rank, sinew_error *error) {
    int found = 0, smaller = rows < columns ? rows : columns;
    int larger = rows < columns ? columns : rows;
    if (rank) *rank = 0;
    if (smaller == 0 || count == 0) {
        for (size_t i = 0; i < (size_t)larger * (size_t)count; i++) b[i] = 0;
        return SINEW_OK;
    }
    SN_TRY(sn_solvers_load(error));
    SN_TRY(check_finite((size_t)rows * (size_t)columns, A, error));
    SN_TRY(check_finite((size_t)larger * (size_t)count, b, error));
    double room = 0;
    int integers = 0;
    int info =
        sn_solvers()->LAPACKE_dgelsd_work(LAPACK_COL_MAJOR, rows, columns, count, A, rows, b,
                                          larger, NULL, cutoff, &found, &room, -1, &integers);
    if (info) return sn_fail(error, SINEW_BAD_INPUT, "least squares: LAPACK argument %d", -info);
    double *work = SN_NEW(double, (size_t)room + (size_t)smaller);
    int *integer_work = SN_NEW(int, integers);
    sinew_status status = SINEW_OK;
    if (!work || !integer_work) {
        status = sn_no_memory(error);
    } else {
        sn_library_threads_cap();
        info = sn_solvers()->LAPACKE_dgelsd_work(LAPACK_COL_MAJOR, rows, columns, count, A, rows, b,
                                                 larger, work + (size_t)room, cutoff, &found, work,
                                                 (int)room, integer_work);
        sn_library_threads_restore();
        if (info) status = sn_fail(error, SINEW_NOT_CONVERGED, "singular values did not converge");
        if (rank) *rank = found;
    }
    sn_free(work);
    sn_free(integer_work);
    return status;
}

sinew_status sn_dense_eigen(int size, double *A, double *values, sinew_error *error) {
    if (size == 0) return SINEW_OK;
    SN_TRY(sn_solvers_load(error));
    SN_TRY(check_finite((size_t)size * (size_t)size, A, error));
    double room = 0;
    int integer_room = 0;
    sn_solvers()->LAPACKE_dsyevd_work(LAPACK_COL_MAJOR, 'V', 'L', size, A, size, values, &room, -1,
                                      &integer_room, -1);
    double *work = SN_NEW(double, (size_t)room);
    int *integer_work = SN_NEW(int, integer_room);
    sinew_status status = SINEW_OK;
    if (!work || !integer_work) {
        status = sn_no_memory(error);
    } else {
        sn_library_threads_cap();
        int info =
            sn_solvers()->LAPACKE_dsyevd_work(LAPACK_COL_MAJOR, 'V', 'L', size, A, size, values,
                                              work, (int)room, integer_work, integer_room);
        sn_library_threads_restore();
        if (info) status = sn_fail(error, SINEW_NOT_CONVERGED, "eigenvalues did not converge");
    }
    sn_free(work);
    sn_free(integer_work);
    return status;
}

sinew_status sn_dense_eigen_generalized(int size, double *A, double *B, double *values,
                                        sinew_error *error) {
    if (size == 0) return SINEW_OK;
    SN_TRY(sn_solvers_load(error));
    SN_TRY(check_finite((size_t)size * (size_t)size, A, error));
    SN_TRY(check_finite((size_t)size * (size_t)size, B, error));
    double room = 0;
    int integer_room = 0;
    sn_solvers()->LAPACKE_dsygvd_work(LAPACK_COL_MAJOR, 1, 'V', 'L', size, A, size, B, size, values,
                                      &room, -1, &integer_room, -1);
    double *work = SN_NEW(double, (size_t)room);
    int *integer_work = SN_NEW(int, integer_room);
    sinew_status status = SINEW_OK;
    if (!work || !integer_work) {
        status = sn_no_memory(error);
    } else {
        sn_library_threads_cap();
        int info =
            sn_solvers()->LAPACKE_dsygvd_work(LAPACK_COL_MAJOR, 1, 'V', 'L', size, A, size, B, size,
                                              values, work, (int)room, integer_work, integer_room);
        sn_library_threads_restore();
        if (info > size)
            status = sn_fail(error, SINEW_BAD_INPUT,
                             "the matrix is not positive definite at column %d", info - size - 1);
        else if (info)
            status = sn_fail(error, SINEW_NOT_CONVERGED, "eigenvalues did not converge");
    }
    sn_free(work);
    sn_free(integer_work);
    return status;
}

sinew_status sn_dense_svd(int rows, int columns, double *A, double *values, double *U, double *Vt,
                          sinew_error *error) {
    int smaller = rows < columns ? rows : columns;
    if (smaller == 0) return SINEW_OK;
    SN_TRY(sn_solvers_load(error));
    SN_TRY(check_finite((size_t)rows * (size_t)columns, A, error));
    char job = U && Vt ? 'S' : 'N';
    double room = 0;
    int *integer_work = SN_NEW(int, 8 * (size_t)smaller);
    if (!integer_work) return sn_no_memory(error);
    sn_solvers()->LAPACKE_dgesdd_work(LAPACK_COL_MAJOR, job, rows, columns, A, rows, values, U,
                                      rows, Vt, smaller, &room, -1, integer_work);
    double *work = SN_NEW(double, (size_t)room);
    sinew_status status = SINEW_OK;
    if (!work) {
        status = sn_no_memory(error);
    } else {
        sn_library_threads_cap();
        int info =
            sn_solvers()->LAPACKE_dgesdd_work(LAPACK_COL_MAJOR, job, rows, columns, A, rows, values,
                                              U, rows, Vt, smaller, work, (int)room, integer_work);
        sn_library_threads_restore();
        if (info) status = sn_fail(error, SINEW_NOT_CONVERGED, "singular values did not converge");
    }
    sn_free(work);
    sn_free(integer_work);
    return status;
}
