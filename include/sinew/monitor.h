/* Progress, cancellation and log lines of long calls.
 *
 * Every long call accepts a `const sinew_monitor *`, which may be NULL, and polls it every few
 * milliseconds (docs/session.md lists the longest stretches). All callbacks may be NULL. They are
 * called from the thread that made the call, and never after the call has returned. */
#ifndef SINEW_MONITOR_H
#define SINEW_MONITOR_H

#include <stdbool.h>

#include "sinew/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum sinew_log_level {
    SINEW_LOG_LEVEL_DEBUG,
    SINEW_LOG_LEVEL_INFO,
    SINEW_LOG_LEVEL_WARNING,
    /* The call continued without a missing or failed program or resource, which changes the result.
       The same call gives different numbers on a machine that has it. */
    SINEW_LOG_LEVEL_FALLBACK
} sinew_log_level;

/* Frozen: it keeps its size and its fields, so that it needs no `size` field. What a monitor
 * cannot express is added as a new function, as sinew_call_monitored is. */
typedef struct sinew_monitor {
    /* fraction in [0, 1] of the stage; stage is a short name such as "modes" */
    void (*progress)(double fraction, const char *stage, void *user);
    /* true: stop as soon as possible and return SINEW_CANCELLED */
    bool (*cancelled)(void *user);
    /* one line without a line feed */
    void (*log)(sinew_log_level level, const char *line, void *user);
    void *user;
    /* true: fail with the status of what is missing or failed instead of falling back */
    bool strict;
} sinew_monitor;

#ifdef __cplusplus
}
#endif
#endif
