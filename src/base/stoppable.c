#include "base/stoppable.h"

typedef struct stoppable {
    sn_parallel_body *body;
    void *context;
    size_t grain;
    atomic_bool stopped;
} stoppable;

/* Only the calling thread has a scope; it tells the other threads to stop. */
static void run_until_stopped(void *context, sn_span span) {
    stoppable *loop = context;
    for (size_t at = span.begin; at < span.end; at += loop->grain) {
        if (sn_scope_poll()) atomic_store(&loop->stopped, true);
        if (atomic_load_explicit(&loop->stopped, memory_order_relaxed)) return;
        size_t end = span.end - at < loop->grain ? span.end : at + loop->grain;
        loop->body(loop->context, (sn_span){at, end, span.seat});
    }
}

void sn_parallel_run_stoppable(sn_loop_cost *cost, size_t count, size_t grain,
                               sn_parallel_body *body, void *context) {
    if (!sn_scope_active()) {
        sn_parallel_run(cost, count, grain, 1, sn_threads(), body, context);
        return;
    }
    stoppable loop = {.body = body, .context = context, .grain = grain ? grain : 1};
    atomic_init(&loop.stopped, false);
    sn_parallel_run(cost, count, grain, 1, sn_threads(), run_until_stopped, &loop);
}
