/* A call of this thread under a monitor and a limit of memory.
 *
 * Readers, writers and much of what builds a model know neither: their allocations fail, and their
 * text ends, when the scope ends them, and they unwind as they do when memory runs out, which is
 * tested at every allocation. Long loops that do not allocate ask sn_scope_poll and may leave their
 * results unfinished: once the scope is cancelled it stays so, and sn_scope_end returns
 * SINEW_CANCELLED whatever the code inside made of it. Nothing outside the thread is affected. */
#ifndef SN_BASE_SCOPE_H
#define SN_BASE_SCOPE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"
#include "sinew/monitor.h"

typedef struct sn_scope {
    const sinew_monitor *monitor;
    const char *stage;  /* for the monitor; NULL: the code inside reports its own progress */
    double fraction;    /* what is done, as far as it is known */
    size_t limit, used; /* bytes; limit 0: none */
    bool met;           /* the limit was */
    bool cancelled;
    double polled; /* when the monitor was asked last, seconds */
    struct sn_scope *outer;
} sn_scope;

/* A call under a monitor: the thread enters the monitor (base/monitor.h) in a scope without a limit
 * of memory. NULL changes nothing, so that an outer call stays in charge. */
typedef struct sn_call {
    sn_scope scope;
    const sinew_monitor *monitor, *before;
} sn_call;
void sn_call_begin(sn_call *call, const sinew_monitor *monitor);
/* The status of the call, or SINEW_CANCELLED: then drop what it made. */
sinew_status sn_call_end(sn_call *call, sinew_status status, sinew_error *error);

void sn_scope_begin(sn_scope *scope, const sinew_monitor *monitor, size_t limit, const char *stage);
/* The status of the call, or why the scope has ended it. */
sinew_status sn_scope_end(sn_scope *scope, sinew_status status, sinew_error *error);

/* Whether this thread is in one. */
bool sn_scope_active(void);
/* Asks the monitor, once in a millisecond at most. True: stop; the results are dropped. */
bool sn_scope_poll(void);
void sn_scope_progress(double fraction);
/* For tests: this and sn_interrupted ask the monitor every time, so that the number of questions
 * depends on the work alone. */
void sn_poll_always(bool always);
bool sn_polls_always(void);
/* Cancels the scope of this thread, if it is in one. */
void sn_scope_cancel(void);
/* Whether it was cancelled, without asking the monitor. */
bool sn_scope_cancelled(void);
/* Whether a block may grow from `before` to `after` bytes. */
bool sn_scope_allows(size_t before, size_t after);

#endif
