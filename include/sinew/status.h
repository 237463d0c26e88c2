/* Outcomes of library calls.
 *
 * Three kinds, never mixed:
 *   misuse      a violated contract (NULL where an object is needed, a negative count):
 *               reported to the replaceable misuse handler, then returned as SINEW_MISUSE;
 *   bad data    files, memory and devices: a status and a message that names file and element;
 *   numerical   a solve that did not reach its tolerance: SINEW_NOT_CONVERGED, with figures in the
 *               call's own info structure. What was reached is still returned.
 *
 * The library never prints, exits or aborts. */
#ifndef SINEW_STATUS_H
#define SINEW_STATUS_H

#if defined(__GNUC__)
#define SINEW_API __attribute__((visibility("default")))
#else
#define SINEW_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef enum sinew_status {
    SINEW_OK = 0,
    SINEW_NOT_CONVERGED, /* the result is valid but did not reach its tolerance */
    SINEW_CANCELLED,     /* cancelled by the monitor; objects remain usable */
    SINEW_BAD_INPUT,     /* a file or argument is not valid */
    SINEW_IO,            /* a file or device could not be read or written */
    SINEW_NO_MEMORY,
    SINEW_UNAVAILABLE, /* not in this build, or a program or driver it needs is missing */
    SINEW_MISUSE
} sinew_status;

enum { SINEW_MESSAGE_SIZE = 512 };

/* Filled by a failing call when the caller passes one; untouched on success. */
typedef struct sinew_error {
    sinew_status status;
    char
        message[SINEW_MESSAGE_SIZE]; /* one line, no full stop: "head.obj:12: face refers to ..." */
} sinew_error;

/* Short lower-case name of a status, such as "bad input". */
SINEW_API const char *sinew_status_name(sinew_status status);

/* Fills `error` (may be NULL) as printf does and returns `status`, for functions that the
 * library calls back, such as those of a loader:
 *     return sinew_fail(error, SINEW_IO, "%s: not in the archive", path);
 * Numbers are printed with a decimal point in every locale. Characters that are not printable text
 * on one line become '?'. format NULL: the usual message of the status. */
SINEW_API sinew_status sinew_fail(sinew_error *error, sinew_status status, const char *format, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 3, 4)))
#endif
    ;

/* Called with a description when the caller breaks a contract. The default does nothing. */
typedef void sinew_misuse_handler(const char *what, const char *function, void *user);
SINEW_API void sinew_set_misuse_handler(sinew_misuse_handler *handler, void *user);

#ifdef __cplusplus
}
#endif
#endif
