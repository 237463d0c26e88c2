/* Talking to the caller's monitor; a NULL monitor is silent and never cancels. */
#ifndef SN_BASE_MONITOR_H
#define SN_BASE_MONITOR_H

#include "sinew/monitor.h"

void sn_progress(const sinew_monitor *monitor, double fraction, const char *stage);
bool sn_cancelled(const sinew_monitor *monitor);
/* Reports that something is missing and that the result differs without it. `status` and the line
 * are those of the failure; returned when the monitor is strict, otherwise SINEW_OK. */
sinew_status sn_fallback(const sinew_monitor *monitor, sinew_status status, sinew_error *error,
                         const char *format, ...) __attribute__((format(printf, 4, 5)));
void sn_log(const sinew_monitor *monitor, sinew_log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Code far below a long call asks sn_interrupted instead of being handed the monitor down: the call
 * enters its monitor for the calling thread, and leaves it before it returns. Worker threads have
 * none. Leave with what entering returned. */
const sinew_monitor *sn_monitor_enter(const sinew_monitor *monitor);
void sn_monitor_leave(const sinew_monitor *before);
/* The monitor that this thread entered last, or NULL: to begin a scope in the middle of a call, so
 * that the loops inside can be stopped. */
const sinew_monitor *sn_monitor_entered(void);
/* Whether there is a monitor that could cancel. */
bool sn_interruptible(void);
/* Whether that monitor cancels; asks it at most once in a millisecond, so that inner loops may ask
 * often. */
bool sn_interrupted(void);
/* The same as a status: SINEW_CANCELLED or SINEW_OK. */
sinew_status sn_check_interrupt(sinew_error *error);

#endif
