/* Thread settings of the library; base/parallel.h runs loops on the threads. */
#ifndef SN_BASE_THREADS_H
#define SN_BASE_THREADS_H

#include "sinew/threads.h"

static inline int sn_threads(void) {
    return sinew_threads();
}

int sn_cores(void);                            /* number of cores this process may use */
const sinew_task_system *sn_task_system(void); /* of the host, or NULL */

/* Elements per block of a blocked sum. */
enum { SN_SUM_BLOCK = 2048 };

double sn_now(void); /* seconds of a monotonic clock */

#endif
