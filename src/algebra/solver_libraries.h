/* OpenBLAS, LAPACKE and CHOLMOD, loaded when the first matrix needs them.
 *
 * They pull in LAPACK, METIS and the Fortran runtime, and OpenBLAS starts its threads when it is
 * loaded: 14 of the 17 ms that a program needed to start if all it did was evaluate a rig. Such a
 * program now never loads them. The sonames are those found by the build.
 *
 * If they cannot be loaded, functions with a status return SINEW_UNAVAILABLE, and products are NaN,
 * which the solvers reject. */
#ifndef SN_ALGEBRA_SOLVER_LIBRARIES_H
#define SN_ALGEBRA_SOLVER_LIBRARIES_H

#include <cblas.h>
#include <lapacke.h>
#include <stdbool.h>
#include <suitesparse/cholmod.h>

#include "base/status.h"

#define SN_BLAS_FUNCTIONS(X)                                                                       \
    X(cblas_dgemm)                                                                                 \
    X(cblas_sgemm)                                                                                 \
    X(cblas_dgemv)                                                                                 \
    X(cblas_sgemv)                                                                                 \
    X(cblas_dsyrk)                                                                                 \
    X(cblas_ssyrk)                                                                                 \
    X(cblas_dtrsm)                                                                                 \
    X(cblas_strsm)                                                                                 \
    X(cblas_dtrsv)                                                                                 \
    X(cblas_strsv)                                                                                 \
    X(openblas_get_num_threads)                                                                    \
    X(openblas_set_num_threads)
#define SN_LAPACK_FUNCTIONS(X)                                                                     \
    X(LAPACKE_dpotrf_work)                                                                         \
    X(LAPACKE_spotrf_work)                                                                         \
    X(LAPACKE_dgesv_work)                                                                          \
    X(LAPACKE_dgelsd_work)                                                                         \
    X(LAPACKE_dsyevd_work)                                                                         \
    X(LAPACKE_dsygvd_work)                                                                         \
    X(LAPACKE_dgesdd_work)
/* Ordering and analysis only: its other modules are under the GPL. */
#define SN_CHOLMOD_FUNCTIONS(X)                                                                    \
    X(cholmod_start)                                                                               \
    X(cholmod_analyze)                                                                             \
    X(cholmod_free_factor)                                                                         \
    X(cholmod_finish)

typedef struct sn_solver_libraries {
#define SN_DECLARE(name) __typeof__(name) *name;
    SN_BLAS_FUNCTIONS(SN_DECLARE)
    SN_LAPACK_FUNCTIONS(SN_DECLARE)
    SN_CHOLMOD_FUNCTIONS(SN_DECLARE)
#undef SN_DECLARE
} sn_solver_libraries;

/* NULL if not available. Thread-safe. */
const sn_solver_libraries *sn_solvers(void);
/* SINEW_UNAVAILABLE names the library or function if one is missing. */
sinew_status sn_solvers_load(sinew_error *error);

/* For tests: behave as if they were not installed. */
extern bool sn_solvers_hidden;

#endif
