#include "base/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/printable.h"
#include "sinew/version.h"

static sinew_misuse_handler *misuse_handler;
static void *misuse_user;

const char *sinew_version(void) {
    return SINEW_VERSION;
}

int sinew_version_number(void) {
    return SINEW_VERSION_NUMBER;
}

const char *sinew_status_name(sinew_status status) {
    switch (status) {
    case SINEW_OK:
        return "ok";
    case SINEW_NOT_CONVERGED:
        return "not converged";
    case SINEW_CANCELLED:
        return "cancelled";
    case SINEW_BAD_INPUT:
        return "bad input";
    case SINEW_IO:
        return "input/output";
    case SINEW_NO_MEMORY:
        return "out of memory";
    case SINEW_UNAVAILABLE:
        return "unavailable";
    case SINEW_MISUSE:
        return "misuse";
    }
    return "unknown";
}

void sinew_set_misuse_handler(sinew_misuse_handler *handler, void *user) {
    misuse_handler = handler;
    misuse_user = user;
}

/* A long name in front must not push out what is wrong with it: the middle is left out. */
static void fill(sinew_error *error, sinew_status status, const char *format, va_list arguments) {
    char text[16 * sizeof error->message];
    const size_t room = sizeof error->message, head = room / 2;
    sn_vprint(text, sizeof text, format, arguments);
    size_t length = strlen(text);
    if (length < room)
        memcpy(error->message, text, length + 1);
    else
        snprintf(error->message, room, "%.*s ... %s", (int)head, text,
                 text + length - (room - head - 6));
    sn_make_printable(error->message);
    error->status = status;
}

sinew_status sn_fail(sinew_error *error, sinew_status status, const char *format, ...) {
    if (error) {
        va_list arguments;
        va_start(arguments, format);
        fill(error, status, format, arguments);
        va_end(arguments);
    }
    return status;
}

sinew_status sinew_fail(sinew_error *error, sinew_status status, const char *format, ...) {
    if (error && !format)
        return status == SINEW_NO_MEMORY ? sn_no_memory(error)
                                         : sn_fail(error, status, "%s", sinew_status_name(status));
    if (error) {
        va_list arguments;
        va_start(arguments, format);
        fill(error, status, format, arguments);
        va_end(arguments);
    }
    return status;
}

sinew_status sn_no_memory(sinew_error *error) {
    size_t limit = sn_memory_limit_met();
    if (limit)
        return sn_fail(error, SINEW_NO_MEMORY, "out of memory: the limit is %zu MB", limit >> 20);
    return sn_fail(error, SINEW_NO_MEMORY, "out of memory");
}

sinew_status sn_misuse(sinew_error *error, const char *what, const char *function) {
    if (misuse_handler) misuse_handler(what, function, misuse_user);
    return sn_fail(error, SINEW_MISUSE, "%s: broken contract: %s", function, what);
}
