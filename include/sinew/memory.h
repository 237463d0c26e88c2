/* Memory allocation.
 *
 * Objects are released by their destroy function, plain arrays by sinew_free. Setup allocates
 * memory; computing a frame does not. */
#ifndef SINEW_MEMORY_H
#define SINEW_MEMORY_H

#include <stddef.h>

#include "sinew/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* `resize` follows realloc: a NULL block allocates, blocks are aligned for any type, and a result
 * of NULL means that there is no memory and the old block is still valid. `release` may be called
 * with NULL. Both are called from several threads at the same time. Frozen: it keeps its size and
 * its fields. */
typedef struct sinew_allocator {
    void *(*resize)(void *block, size_t bytes, void *user);
    void (*release)(void *block, void *user);
    void *user;
} sinew_allocator;

/* Replaces the allocator; NULL restores that of the C library. The structure is copied. Call it
 * only while no object of the library exists. */
SINEW_API void sinew_set_allocator(const sinew_allocator *allocator);

/* Limits the memory of the library, in bytes; 0: no limit. Calls that would exceed it return
 * SINEW_NO_MEMORY and change nothing. Counts what the library allocates from the C library, and the
 * ray-tracing structures of Embree; a custom allocator enforces its own limits. Call it before
 * creating any object. */
SINEW_API void sinew_set_memory_limit(size_t bytes);

/* Memory of the library's allocator, filled with zero bytes, for arrays that are handed to it or
 * counted with it. NULL: no memory, or count * size overflows. Release with sinew_free. */
SINEW_API void *sinew_alloc(size_t count, size_t size);
SINEW_API void sinew_free(void *block);

#ifdef __cplusplus
}
#endif
#endif
