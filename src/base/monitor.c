#include "base/monitor.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/number.h"
#include "base/printable.h"
#include "base/scope.h"
#include "base/status.h"
#include "base/threads.h"

void sn_progress(const sinew_monitor *monitor, double fraction, const char *stage) {
    if (monitor && monitor->progress) monitor->progress(fraction, stage, monitor->user);
}

bool sn_cancelled(const sinew_monitor *monitor) {
    return monitor && monitor->cancelled && monitor->cancelled(monitor->user);
}

void sn_log(const sinew_monitor *monitor, sinew_log_level level, const char *format, ...) {
    if (!monitor || !monitor->log || sn_scope_cancelled()) return;
    char line[1024];
    va_list arguments;
    va_start(arguments, format);
    sn_vprint(line, sizeof line, format, arguments);
    va_end(arguments);
    sn_make_printable(line);
    monitor->log(level, line, monitor->user);
}

sinew_status sn_fallback(const sinew_monitor *monitor, sinew_status status, sinew_error *error,
                         const char *format, ...) {
    char line[SINEW_MESSAGE_SIZE];
    va_list arguments;
    va_start(arguments, format);
    sn_vprint(line, sizeof line, format, arguments);
    va_end(arguments);
    if (monitor && monitor->strict) return sn_fail(error, status, "%s", line);
    sn_log(monitor, SINEW_LOG_LEVEL_FALLBACK, "%s", line);
    return SINEW_OK;
}

/* ---- interrupts ------------------------------------------------------------------------------ */

static const double BETWEEN_POLLS = 1e-3; /* seconds */

static _Thread_local const sinew_monitor *entered;
static _Thread_local double last_poll;

const sinew_monitor *sn_monitor_enter(const sinew_monitor *monitor) {
    const sinew_monitor *before = entered;
    entered = monitor;
    last_poll = 0; /* a call that is already cancelled finds out at its first poll */
    return before;
}

void sn_monitor_leave(const sinew_monitor *before) {
    entered = before;
}

const sinew_monitor *sn_monitor_entered(void) {
    return entered;
}

bool sn_interruptible(void) {
    return entered && entered->cancelled;
}

bool sn_interrupted(void) {
    if (sn_scope_poll()) return true;
    if (!sn_interruptible()) return false;
    double now = sn_now();
    if (now - last_poll < BETWEEN_POLLS && !sn_polls_always()) return false;
    last_poll = now;
    if (!entered->cancelled(entered->user)) return false;
    sn_scope_cancel(); /* sticks, however the code that sees it reacts */
    return true;
}

sinew_status sn_check_interrupt(sinew_error *error) {
    return sn_interrupted() ? sn_fail(error, SINEW_CANCELLED, "cancelled") : SINEW_OK;
}
