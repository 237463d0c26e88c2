#include "base/threads.h"

#include <omp.h>
#include <stdatomic.h>
#include <time.h>

static atomic_int requested_threads;

void sinew_set_threads(int count) {
    atomic_store(&requested_threads, count < 0 ? 0 : count);
}

int sinew_threads(void) {
    int count = atomic_load(&requested_threads);
    return count > 0 ? count : omp_get_max_threads();
}

double sn_now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}
