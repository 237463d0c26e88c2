/* Reporting failures from inside the library. */
#ifndef SN_BASE_STATUS_H
#define SN_BASE_STATUS_H

#include "sinew/status.h"

/* Fills `error` (may be NULL) and returns `status`: `return sn_fail(error, SINEW_IO, "...", ...)`.
 */
sinew_status sn_fail(sinew_error *error, sinew_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

sinew_status sn_no_memory(sinew_error *error);

/* Calls the misuse handler and returns SINEW_MISUSE. */
sinew_status sn_misuse(sinew_error *error, const char *what, const char *function);

/* Contract checks at the top of public functions. */
#define SN_REQUIRE(condition, error)                                                               \
    do {                                                                                           \
        if (!(condition)) return sn_misuse((error), #condition, __func__);                         \
    } while (0)

/* Returns from the enclosing function if the call fails. */
#define SN_TRY(call)                                                                               \
    do {                                                                                           \
        sinew_status sn_try_status = (call);                                                       \
        if (sn_try_status != SINEW_OK) return sn_try_status;                                       \
    } while (0)

#endif
