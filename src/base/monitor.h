/* Talking to the caller's monitor; a NULL monitor is silent and never cancels. */
#ifndef SN_BASE_MONITOR_H
#define SN_BASE_MONITOR_H

#include "sinew/monitor.h"

void sn_progress(const sinew_monitor *monitor, double fraction, const char *stage);
bool sn_cancelled(const sinew_monitor *monitor);
void sn_log(const sinew_monitor *monitor, sinew_log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
