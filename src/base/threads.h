/* Threads inside the library.
 *
 *   #pragma omp parallel for num_threads(sn_threads()) schedule(static)
 *
 * Always with num_threads: the host's OpenMP settings are not ours. Sums go through fixed-size
 * blocks added in order, so that the bits do not depend on the number of threads. */
#ifndef SN_BASE_THREADS_H
#define SN_BASE_THREADS_H

#include "sinew/threads.h"

static inline int sn_threads(void) {
    return sinew_threads();
}

/* Elements per block of a blocked sum. */
enum { SN_SUM_BLOCK = 2048 };

double sn_now(void); /* seconds of a monotonic clock */

#endif
