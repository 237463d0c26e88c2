/* Threads inside the library, and how a host replaces them.
 *
 * Large loops run on a small pool of threads that the library owns. The pool starts when a loop
 * first needs it, sleeps when there is nothing to do, and never makes the calling thread wait for a
 * worker that has not begun a piece of work: on a busy machine the caller finishes the loop alone.
 * Calls from several host threads share the pool.
 *
 * Results do not depend on the number of threads: blocks have a fixed size and are summed in a
 * fixed order. The OpenMP and BLAS settings of the host are left as they are. */
#ifndef SINEW_THREADS_H
#define SINEW_THREADS_H

#include <stdint.h>

#include "sinew/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The largest number of threads that work on one loop. */
#define SINEW_MAX_THREADS 64

/* Sets the number of threads of one call, the calling thread included: 1 <= count <=
 * SINEW_MAX_THREADS (larger counts are reduced to it). 0 restores the default: the environment
 * variable SINEW_THREADS, otherwise OMP_NUM_THREADS, otherwise the number of cores this process may
 * use. */
SINEW_API void sinew_set_threads(int count);
SINEW_API int sinew_threads(void);

/* One task of a loop; `index` counts from 0. */
typedef void sinew_task(void *data, int index);

/* A task system of the host, used instead of the library's pool. */
typedef struct sinew_task_system {
    uint32_t size; /* sizeof(sinew_task_system) */
    int workers;   /* tasks that can run at the same time, the caller included: >= 1 */
    void *user;    /* passed to parallel_for */
    /* Calls task(data, i) exactly once for every i from 0 to count - 1, in any order, on any
     * threads, and returns when all of them have returned. count <= workers. Several host threads
     * may call it at the same time. Tasks never wait for each other, so running them one after
     * another on the calling thread is correct. */
    void (*parallel_for)(void *user, int count, sinew_task *task, void *data);
} sinew_task_system;

/* Hands all parallel loops to `system`, which is copied; NULL restores the library's pool. Call it
 * while no other call into the library is running. SINEW_MISUSE if a field is not valid. */
SINEW_API sinew_status sinew_set_task_system(const sinew_task_system *system, sinew_error *error);

#ifdef __cplusplus
}
#endif
#endif
