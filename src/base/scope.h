/* A call of this thread under a monitor and a limit of memory.
 *
 * Readers and writers know neither: their allocations fail, and their text ends, when the scope
 * says so, and they unwind as they do when memory runs out, which is tested at every allocation.
 * sn_scope_end then tells why. Nothing outside the thread is affected. */
#ifndef SN_BASE_SCOPE_H
#define SN_BASE_SCOPE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"
#include "sinew/monitor.h"

typedef struct sn_scope {
    const sinew_monitor *monitor;
    const char *stage;  /* for the monitor */
    double fraction;    /* what is done, as far as it is known */
    size_t limit, used; /* bytes; limit 0: none */
    bool met;           /* the limit was */
    bool cancelled;
    double polled; /* when the monitor was asked last, seconds */
    struct sn_scope *outer;
} sn_scope;

void sn_scope_begin(sn_scope *scope, const sinew_monitor *monitor, size_t limit, const char *stage);
/* The status of the call, or why the scope has ended it. */
sinew_status sn_scope_end(sn_scope *scope, sinew_status status, sinew_error *error);

/* Whether this thread is in one. */
bool sn_scope_active(void);
/* Asks the monitor, every few milliseconds at most. True: stop. */
bool sn_scope_poll(void);
void sn_scope_progress(double fraction);
/* Whether a block may grow from `before` to `after` bytes. */
bool sn_scope_allows(size_t before, size_t after);

#endif
