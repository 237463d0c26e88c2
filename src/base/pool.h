/* The threads behind sn_parallel_run; private to parallel.c and pool.c.
 *
 * A call of sn_pool_run occupies a slot. Its pieces are shared out as one range per seat, so that a
 * thread walks neighboring memory from loop to loop; a thread whose range is empty takes pieces
 * from the ends of the others. Each range is one atomic word
 *
 *     generation of the slot (32 bits) | next piece (16) | end (16)
 *
 * and a piece is claimed by compare-and-swap. A worker that comes late finds another generation or
 * an empty range and has touched nothing else; one that claimed a piece may read the slot until it
 * has counted the piece as done, because the caller waits for that. */
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
    size_t first, units;    /* grains: the first one, how many */
    double unit_ns;         /* what one takes, as measured */
    bool eager;             /* whatever it costs, in pieces of one grain */
    bool led;               /* the caller calls the body once before it claims pieces */
    int seats;              /* at most, the caller's included: >= 2 */
    unsigned float_control; /* of the caller: rounding and denormals */
} sn_pool_loop;

typedef struct sn_pool_outcome {
    size_t units;     /* done by the caller */
    double caller_ns; /* in its pieces */
    double helper_ns; /* of all others in theirs */
} sn_pool_outcome;

/* Runs the loop; false: nothing was run, because no thread could help. */
bool sn_pool_run(const sn_pool_loop *loop, sn_pool_outcome *outcome);

/* The same on the task system of the host. */
bool sn_pool_run_tasks(const sn_pool_loop *loop, const sinew_task_system *system,
                       sn_pool_outcome *outcome);

/* Whether a worker was kept from the processor a moment ago, so that helpers do not help. */
bool sn_pool_is_starved(uint64_t now);

uint64_t sn_nanoseconds(void);   /* of a monotonic clock */
unsigned sn_float_control(void); /* of the calling thread */
bool sn_inside_loop(void);       /* whether the calling thread is in a piece */
void sn_enter_loop(bool inside);

#endif
