/* Talking to the caller's monitor; a NULL monitor is silent and never cancels. */
#ifndef SN_BASE_MONITOR_H
#define SN_BASE_MONITOR_H

#include "sinew/monitor.h"

void sn_progress(const sinew_monitor *monitor, double fraction, const char *stage);
bool sn_cancelled(const sinew_monitor *monitor);
/* Tells that something is done without, and that the result differs by it. `status` and the line
 * are those of the failure; returned when the monitor is strict, otherwise SINEW_OK. */
sinew_status sn_fallback(const sinew_monitor *monitor, sinew_status status, sinew_error *error,
                         const char *format, ...) __attribute__((format(printf, 4, 5)));
void sn_log(const sinew_monitor *monitor, sinew_log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
