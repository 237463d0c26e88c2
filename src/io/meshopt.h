/* The data streams of EXT_meshopt_compression. */
#ifndef SN_IO_MESHOPT_H
#define SN_IO_MESHOPT_H

#include <stddef.h>

#include "base/status.h"

/* count elements of `stride` bytes in a new block, released with sn_free. `mode` is ATTRIBUTES,
 * TRIANGLES or INDICES; `filter` is NULL, NONE, OCTAHEDRAL, QUATERNION or EXPONENTIAL. Anything
 * that does not fit is SINEW_BAD_INPUT without a message. */
sinew_status sn_meshopt_decode(const char *packed, size_t packed_size, size_t count, size_t stride,
                               const char *mode, const char *filter, char **bytes,
                               sinew_error *error);

#endif
