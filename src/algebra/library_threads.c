#include "algebra/library_threads.h"

#include <cblas.h>
#include <omp.h>
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int caps;
static int host_blas_threads;

sn_library_threads sn_library_threads_cap(void) {
    sn_library_threads saved = {omp_get_max_threads()};
    omp_set_num_threads(1); /* of the calling thread only */
    pthread_mutex_lock(&lock);
    if (caps++ == 0) {
        host_blas_threads = openblas_get_num_threads();
        if (host_blas_threads != 1) openblas_set_num_threads(1);
    }
    pthread_mutex_unlock(&lock);
    return saved;
}

void sn_library_threads_restore(sn_library_threads saved) {
    pthread_mutex_lock(&lock);
    if (--caps == 0 && host_blas_threads != 1) openblas_set_num_threads(host_blas_threads);
    pthread_mutex_unlock(&lock);
    omp_set_num_threads(saved.openmp);
}
