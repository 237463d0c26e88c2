#include "base/monitor.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/number.h"
#include "base/printable.h"
#include "base/status.h"

void sn_progress(const sinew_monitor *monitor, double fraction, const char *stage) {
    if (monitor && monitor->progress) monitor->progress(fraction, stage, monitor->user);
}

bool sn_cancelled(const sinew_monitor *monitor) {
    return monitor && monitor->cancelled && monitor->cancelled(monitor->user);
}

void sn_log(const sinew_monitor *monitor, sinew_log_level level, const char *format, ...) {
    if (!monitor || !monitor->log) return;
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
