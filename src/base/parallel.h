/* Parallel loops of the library.
 *
 *   typedef struct { const double *x; double *y; } scale_job;
 *   static void scale_some(void *context, sn_span span) {
 *       const scale_job *job = context;
 *       SN_IN_SPAN(size_t, i, span) job->y[i] = 2 * job->x[i];
 *   }
 *   ...
 *   sn_parallel_for(count, 64, scale_some, &(scale_job){x, y});
 *
 * The loop is split into pieces that begin at multiples of the grain. Threads claim pieces; the
 * caller claims them too and can finish the loop alone, so it only ever waits for pieces that
 * another thread has started. How many threads a loop gets, and how many pieces it is split into,
 * depends on its measured time and varies from call to call: the result of an item must not depend
 * on the piece it is in. Sums go through fixed-size blocks (an item is a block) that are added in
 * order afterwards.
 *
 * A loop inside a piece runs on the thread of that piece. */
#ifndef SN_BASE_PARALLEL_H
#define SN_BASE_PARALLEL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/threads.h"

/* Items begin … end - 1. No two threads have the same seat at the same time, so a seat can index
 * per-thread scratch memory: 0 <= seat < sn_threads(), or < limit if one is given. */
typedef struct sn_span {
    size_t begin, end;
    int seat;
} sn_span;

/* Iterates over the items of a span: SN_IN_SPAN(int, i, span) ... */
#define SN_IN_SPAN(type, item, span)                                                               \
    for (type item = (type)(span).begin; item < (type)(span).end; item++)

typedef void sn_parallel_body(void *context, sn_span span);

/* Measured cost per grain of one loop in the source; zero-initialized. */
typedef struct sn_loop_cost {
    _Atomic float nanoseconds;
} sn_loop_cost;

/* `weight` is the work of one item relative to other calls of the same loop; `limit` bounds the
 * number of threads. */
void sn_parallel_run(sn_loop_cost *cost, size_t count, size_t grain, double weight, int limit,
                     sn_parallel_body *body, void *context);

#define SN_PARALLEL_LOOP(count, grain, weight, limit, body, ...)                                   \
    do {                                                                                           \
        static sn_loop_cost sn_cost;                                                               \
        sn_parallel_run(&sn_cost, (size_t)(count), (grain), (weight), (limit), (body),             \
                        __VA_ARGS__);                                                              \
    } while (0)

#define sn_parallel_for(count, grain, body, ...)                                                   \
    SN_PARALLEL_LOOP(count, grain, 1, sn_threads(), body, __VA_ARGS__)
/* For loops whose items differ in size from call to call. */
#define sn_parallel_for_weighted(count, grain, weight, body, ...)                                  \
    SN_PARALLEL_LOOP(count, grain, weight, sn_threads(), body, __VA_ARGS__)
/* For loops with scratch memory for `limit` seats. */
#define sn_parallel_for_seats(count, grain, limit, body, ...)                                      \
    SN_PARALLEL_LOOP(count, grain, 1, limit, body, __VA_ARGS__)

/* Calls the body on the calling thread, as seat 0, and concurrently on up to seats - 1 other
 * threads as they become free. Possibly none do, and the body may be called again after it has
 * returned. For work that distributes its own pieces: the bodies share the context, return when
 * nothing is left to do, and wait only for bodies that have begun. */
void sn_parallel_together(int seats, sn_parallel_body *body, void *context);

/* For tests: split every loop into pieces of one grain, however short it is. */
void sn_parallel_eagerly(bool eagerly);

/* CPU seconds spent on behalf of the calling thread: its own, and those of the threads that worked
 * on its loops. Only differences between two calls are meaningful. */
double sn_work_seconds(void);

#endif
