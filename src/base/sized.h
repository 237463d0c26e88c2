/* Structures that carry their size, so that fields can be added at their end.
 *
 * The caller and the library may have been compiled against different versions of a structure. The
 * first field, `uint32_t size`, is the size that the caller was compiled with:
 *
 *   options   the caller's fields override the defaults. Fields that the caller does not have
 *             keep their defaults; fields that the library does not know are ignored.
 *   input     the same, over zeros.
 *   info      the library fills the fields that the caller has and leaves the rest untouched.
 *
 * A size of 0 is misuse: the caller forgot sinew_X_options_init, or {.size = sizeof info}. */
#ifndef SN_BASE_SIZED_H
#define SN_BASE_SIZED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* Copies the fields that `given` has (NULL: none) over `own`, whose first field is its size. */
sinew_status sn_options_read(void *own, const void *given, sinew_error *error,
                             const char *function);

/* Declares `own`: the defaults of TYPE, overridden by the caller's fields. */
#define SN_OPTIONS(TYPE, own, given, error)                                                        \
    TYPE own;                                                                                      \
    TYPE##_init(&own);                                                                             \
    SN_TRY(sn_options_read(&own, (given), (error), __func__))

/* The same for an input record without an _init function: fields missing from the caller's version
 * are zero. */
#define SN_INPUT(TYPE, own, given, error)                                                          \
    TYPE own = {.size = sizeof own};                                                               \
    SN_TRY(sn_options_read(&own, (given), (error), __func__))

/* True if the info can be filled: it is NULL (not wanted), or its size is set. */
bool sn_info_ready(const void *info);

/* Fills the fields that `info` has (may be NULL); leaves its size unchanged. */
void sn_info_write(void *info, const void *own, size_t own_size);
/* The same for one element of an array; the size of the first element applies to all. */
void sn_infos_write(void *infos, int index, const void *own, size_t own_size);

#endif
