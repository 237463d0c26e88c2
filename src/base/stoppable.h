/* Parallel loops that stop early when the call is cancelled. */
#ifndef SN_BASE_STOPPABLE_H
#define SN_BASE_STOPPABLE_H

#include "base/parallel.h"
#include "base/scope.h"

/* For long setup loops whose results are discarded if the scope of the call (base/scope.h) is
 * cancelled: the calling thread polls before every grain, and the remaining grains are skipped.
 * Check sn_scope_poll before using the results as indices. */
#define sn_parallel_for_stoppable(count, grain, body, ...)                                         \
    do {                                                                                           \
        static sn_loop_cost sn_cost;                                                               \
        sn_parallel_run_stoppable(&sn_cost, (size_t)(count), (grain), (body), __VA_ARGS__);        \
    } while (0)
void sn_parallel_run_stoppable(sn_loop_cost *cost, size_t count, size_t grain,
                               sn_parallel_body *body, void *context);

#endif
