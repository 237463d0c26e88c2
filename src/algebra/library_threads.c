#include "algebra/library_threads.h"

#include <cblas.h>
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int caps;
static int host_blas_threads;

void sn_library_threads_cap(void) {
    pthread_mutex_lock(&lock);
    if (caps++ == 0) {
        host_blas_threads = openblas_get_num_threads();
        if (host_blas_threads != 1) openblas_set_num_threads(1);
    }
    pthread_mutex_unlock(&lock);
}

void sn_library_threads_restore(void) {
    pthread_mutex_lock(&lock);
    if (--caps == 0 && host_blas_threads != 1) openblas_set_num_threads(host_blas_threads);
    pthread_mutex_unlock(&lock);
}
