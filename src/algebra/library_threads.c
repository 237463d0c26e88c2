#include "algebra/library_threads.h"

#include <pthread.h>

#include "algebra/solver_libraries.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int caps;
static int host_blas_threads;

void sn_library_threads_cap(void) {
    const sn_solver_libraries *solvers = sn_solvers();
    pthread_mutex_lock(&lock);
    if (caps++ == 0 && solvers) {
        host_blas_threads = solvers->openblas_get_num_threads();
        if (host_blas_threads != 1) solvers->openblas_set_num_threads(1);
    }
    pthread_mutex_unlock(&lock);
}

void sn_library_threads_restore(void) {
    const sn_solver_libraries *solvers = sn_solvers();
    pthread_mutex_lock(&lock);
    if (--caps == 0 && solvers && host_blas_threads != 1)
        solvers->openblas_set_num_threads(host_blas_threads);
    pthread_mutex_unlock(&lock);
}
