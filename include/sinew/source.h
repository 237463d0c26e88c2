/* Where readers read from, and where writers write to: files, memory, or streams.
 *
 *   sinew_source source = {.size = sizeof source, .name = "head.obj",
 *                          .bytes = bytes, .byte_count = count};
 *   sinew_mesh_read_from(&source, monitor, &mesh, &error);
 *
 * The ending of the name chooses the format. Messages use the name. A call that is cancelled
 * returns SINEW_CANCELLED and leaves nothing behind. */
#ifndef SINEW_SOURCE_H
#define SINEW_SOURCE_H

#include <stddef.h>
#include <stdint.h>

#include "sinew/monitor.h"
#include "sinew/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sinew_source sinew_source;
struct sinew_source {
    uint32_t size; /* of this structure in bytes; set by the caller */
    /* Name in messages, with the ending of the format. Without bytes and without `read`: the path
     * of the file to be read. */
    const char *name;
    /* Memory, valid during the call. */
    const void *bytes;
    size_t byte_count;
    /* Or a stream: stores up to `capacity` bytes, *count of them; 0 at the end. Another status than
     * SINEW_OK ends the call with it; fill `error` with sinew_fail. */
    sinew_status (*read)(void *buffer, size_t capacity, size_t *count, void *user,
                         sinew_error *error);
    /* Finds a file that belongs to the source, such as the buffer of a .gltf or the second file of
     * a TetGen pair; `name` starts with the folder part of the source's name. `beside` is
     * initialized; its bytes must stay valid until the reader returns. NULL: there are none. */
    sinew_status (*open)(const char *name, sinew_source *beside, void *user, sinew_error *error);
    void *user; /* passed to both */
    /* The most bytes that the reader may hold, the object that it makes included; 0: no limit
     * beyond sinew_set_memory_limit. More is SINEW_NO_MEMORY. Counts memory from the C library; an
     * allocator of the host sets its own limits. */
    size_t memory_limit;
};

SINEW_API void sinew_source_init(sinew_source *source);

typedef struct sinew_sink {
    uint32_t size; /* of this structure in bytes; set by the caller */
    /* Name in messages, with the ending of the format. Without `write`: the path of the file. */
    const char *name;
    /* Receives a whole file in one call, when it is complete. Formats of two files, such as TetGen
     * pairs, make two calls; `name` tells them apart. */
    sinew_status (*write)(const char *name, const void *bytes, size_t count, void *user,
                          sinew_error *error);
    void *user;
} sinew_sink;

SINEW_API void sinew_sink_init(sinew_sink *sink);

#ifdef __cplusplus
}
#endif
#endif
