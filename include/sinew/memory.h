/* Where the library's memory comes from.
 *
 * Everything the library hands out is released by the object's own destroy function; plain arrays
 * by sinew_free. Set-up allocates, a frame does not. */
#ifndef SINEW_MEMORY_H
#define SINEW_MEMORY_H

#include <stddef.h>

#include "sinew/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* `resize` follows realloc: a NULL block allocates, NULL back means no memory and the block stays.
 * Must be safe to call from several threads. */
typedef struct sinew_allocator {
    void *(*resize)(void *block, size_t bytes, void *user);
    void (*release)(void *block, void *user);
    void *user;
} sinew_allocator;

/* Replace the allocator; NULL restores the C library's. Call before anything else is created. */
SINEW_API void sinew_set_allocator(const sinew_allocator *allocator);

/* The most bytes that the library may hold at a time; 0: no limit. Calls that would need more
 * return SINEW_NO_MEMORY and leave everything as it was. Counts what the library allocates from the
 * C library, and the ray-tracing structures of Embree; an allocator of the host sets its own
 * limits. Call before anything else is created. */
SINEW_API void sinew_set_memory_limit(size_t bytes);

/* Memory of the library's allocator, filled with zero bytes, for arrays that are handed to it or
 * counted with it. NULL: no memory, or count * size overflows. Release with sinew_free. */
SINEW_API void *sinew_alloc(size_t count, size_t size);
SINEW_API void sinew_free(void *block);

#ifdef __cplusplus
}
#endif
#endif
