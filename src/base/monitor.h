/* Calls to the caller's monitor. A NULL monitor is silent and never cancels. */
#ifndef SN_BASE_MONITOR_H
#define SN_BASE_MONITOR_H

#include "sinew/monitor.h"

void sn_progress(const sinew_monitor *monitor, double fraction, const char *stage);
bool sn_cancelled(const sinew_monitor *monitor);
/* Logs that something is missing and that the result differs without it. Returns `status` if the
 * monitor is strict, otherwise SINEW_OK. */
sinew_status sn_fallback(const sinew_monitor *monitor, sinew_status status, sinew_error *error,
                         const char *format, ...) __attribute__((format(printf, 4, 5)));
void sn_log(const sinew_monitor *monitor, sinew_log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Code deep inside a long call uses sn_interrupted instead of receiving the monitor as an argument:
 * the call enters its monitor for the calling thread and leaves it before returning. Worker threads
 * have none. Pass the return value of sn_monitor_enter to sn_monitor_leave. */
const sinew_monitor *sn_monitor_enter(const sinew_monitor *monitor);
void sn_monitor_leave(const sinew_monitor *before);
/* The monitor that this thread entered last, or NULL. Used to begin a scope in the middle of a call
 * so that the loops inside can be stopped. */
const sinew_monitor *sn_monitor_entered(void);
/* Whether there is a monitor that can cancel. */
bool sn_interruptible(void);
/* Whether that monitor cancels. Polls it at most once per millisecond, so inner loops may call this
 * often. */
bool sn_interrupted(void);
/* The same as a status: SINEW_CANCELLED or SINEW_OK. */
sinew_status sn_check_interrupt(sinew_error *error);

#endif
