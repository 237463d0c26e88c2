/* The threads behind sn_parallel_run; private to parallel.c and pool.c.
 *
 * A call to sn_pool_run occupies a slot. Its pieces are split into one range per seat, so that a
 * thread accesses neighboring memory from loop to loop; a thread whose range is empty steals pieces
 * from the ends of the others. Each range is one atomic word
 *
 *     generation of the slot (32 bits) | next piece (16) | end (16)
 *
 * and a piece is claimed by compare-and-swap. A worker that arrives late finds another generation
 * or an empty range and has touched nothing else; one that claimed a piece may read the slot until
 * it has counted the piece as done, because the caller waits for that. */
#ifndef SN_BASE_POOL_H
#define SN_BASE_POOL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/parallel.h"

enum { SN_POOL_PIECES = 32768 };

typedef struct sn_pool_loop {
    sn_parallel_body *body;
    void *context;
    size_t count, grain;
    size_t first, units;    /* first grain, and number of grains */
    double unit_ns;         /* measured time per grain */
    bool eager;             /* always run in pieces of one grain, whatever the loop costs */
    bool led;               /* the caller runs the body once before it claims pieces */
    int seats;              /* maximum number of threads, including the caller: >= 2 */
    unsigned float_control; /* of the caller: rounding mode and denormals */
} sn_pool_loop;

typedef struct sn_pool_outcome {
    size_t units;     /* grains done by the caller */
    double caller_ns; /* time the caller spent in its pieces */
    double helper_ns; /* time all other threads spent in theirs */
} sn_pool_outcome;

/* Runs the loop. Returns false, having run nothing, if no thread is available to help. */
bool sn_pool_run(const sn_pool_loop *loop, sn_pool_outcome *outcome);

/* Runs the loop on the host's task system. */
bool sn_pool_run_tasks(const sn_pool_loop *loop, const sinew_task_system *system,
                       sn_pool_outcome *outcome);

/* Whether a worker was recently preempted, so that helpers would not pay off. */
bool sn_pool_is_starved(uint64_t now);

uint64_t sn_nanoseconds(void);   /* monotonic clock */
unsigned sn_float_control(void); /* of the calling thread */
bool sn_inside_loop(void);       /* whether the calling thread is running a piece of a loop */
void sn_enter_loop(bool inside);

#endif
