/* Runs a call on this thread under a monitor and a memory limit.
 *
 * Readers, writers and much of the code that builds models know about neither. When the scope ends
 * them, their allocations fail and their input text ends, and they unwind as they do when memory
 * runs out, which is tested at every allocation. Long loops that do not allocate call sn_scope_poll
 * and may leave their results unfinished: once cancelled, a scope stays cancelled, and sn_scope_end
 * returns SINEW_CANCELLED whatever status the code inside returned. Nothing outside the thread is
 * affected. */
#ifndef SN_BASE_SCOPE_H
#define SN_BASE_SCOPE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"
#include "sinew/monitor.h"

typedef struct sn_scope {
    const sinew_monitor *monitor;
    const char *stage;  /* for the monitor; NULL: the code inside reports its own progress */
    double fraction;    /* completed so far, if known */
    size_t limit, used; /* bytes; limit 0: none */
    bool met;           /* the limit was reached */
    bool cancelled;
    double polled; /* when the monitor was last polled, in seconds */
    struct sn_scope *outer;
} sn_scope;

/* A call under a monitor: the thread enters the monitor (base/monitor.h) in a scope without a
 * memory limit. A NULL monitor changes nothing, so that an outer call stays in charge. */
typedef struct sn_call {
    sn_scope scope;
    const sinew_monitor *monitor, *before;
} sn_call;
void sn_call_begin(sn_call *call, const sinew_monitor *monitor);
/* Returns the status of the call, or SINEW_CANCELLED, in which case the caller must discard the
 * results. */
sinew_status sn_call_end(sn_call *call, sinew_status status, sinew_error *error);

void sn_scope_begin(sn_scope *scope, const sinew_monitor *monitor, size_t limit, const char *stage);
/* Returns the status of the call, or the reason why the scope ended it. */
sinew_status sn_scope_end(sn_scope *scope, sinew_status status, sinew_error *error);

/* Whether this thread is in a scope. */
bool sn_scope_active(void);
/* Polls the monitor at most once per millisecond. If true, stop; the results are discarded. */
bool sn_scope_poll(void);
void sn_scope_progress(double fraction);
/* For tests: sn_scope_poll and sn_interrupted poll the monitor on every call, so that the number of
 * polls depends on the work alone. */
void sn_poll_always(bool always);
bool sn_polls_always(void);
/* Cancels the scope of this thread, if there is one. */
void sn_scope_cancel(void);
/* Whether the scope was cancelled. Does not poll the monitor. */
bool sn_scope_cancelled(void);
/* Whether a block may grow from `before` to `after` bytes. */
bool sn_scope_allows(size_t before, size_t after);

#endif
