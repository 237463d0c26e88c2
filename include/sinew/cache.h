/* A disk cache for structures that are expensive to build: modes, factorizations, networks.
 *
 * An entry is found by a key, the hash of everything the structure was built from, and by a version
 * string of the code that built it. An entry that is truncated, damaged or of another version is
 * treated as absent and replaced. Entries are written to a temporary file and renamed, so a reader
 * sees a complete entry or none. While one process builds an entry, others that need it wait.
 * Entries hold raw memory; an entry written by another kind of machine counts as absent.
 *
 *   sinew_hash hash;
 *   sinew_hash_start(&hash);
 *   sinew_hash_add(&hash, positions, bytes);
 *   sinew_cache_entry *entry;
 *   sinew_cache_enter(cache, sinew_hash_key(&hash), "modes 3", monitor, &entry, error);
 *   if (entry->bytes) ... unpack ...
 *   else { ... build ...; sinew_cache_store(entry, packed, size, error); }
 *   sinew_cache_leave(entry);
 *
 * If the cache cannot be written, models are built without it. */
#ifndef SINEW_CACHE_H
#define SINEW_CACHE_H

#include <stddef.h>
#include <stdint.h>

#include "sinew/memory.h"
#include "sinew/monitor.h"
#include "sinew/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Size limit in bytes when none is given. The least recently used entries are removed first. */
#define SINEW_CACHE_LIMIT ((uint64_t)4 << 30)
/* Seconds to wait for another process that builds the same entry before building it as well. */
#define SINEW_CACHE_PATIENCE 600.0

typedef struct sinew_cache_key {
    uint64_t low, high;
} sinew_cache_key;

/* Hash of the content added so far; the state is private. SipHash-2-4 with 128 bits. */
typedef struct sinew_hash {
    uint64_t state[4];
    uint64_t pending;
    uint64_t total;
} sinew_hash;

SINEW_API void sinew_hash_start(sinew_hash *hash);
/* The size is hashed, too: adding "ab", "c" differs from adding "a", "bc". */
SINEW_API void sinew_hash_add(sinew_hash *hash, const void *bytes, size_t size);
SINEW_API void sinew_hash_add_text(sinew_hash *hash, const char *text);
SINEW_API void sinew_hash_add_number(sinew_hash *hash, double number);
SINEW_API sinew_cache_key sinew_hash_key(const sinew_hash *hash);

/* May be used from several threads and processes at the same time. */
typedef struct sinew_cache sinew_cache;

/* folder NULL: $SINEW_CACHE, else $XDG_CACHE_HOME/sinew, else $HOME/.cache/sinew; it is created
 * when missing. If $SINEW_CACHE is "off", the default cache stores nothing. limit in bytes, 0:
 * SINEW_CACHE_LIMIT. */
SINEW_API sinew_status sinew_cache_open(const char *folder, uint64_t limit, sinew_cache **cache,
                                        sinew_error *error);
SINEW_API void sinew_cache_close(sinew_cache *cache);

typedef struct sinew_cache_entry {
    const void *bytes; /* the stored bytes, or NULL: the caller builds. 64-byte aligned */
    size_t size;
} sinew_cache_entry;

/* Finds the entry, or reserves it for the caller to build. cache NULL: never finds and never
 * stores. The monitor is polled while waiting for another builder. */
SINEW_API sinew_status sinew_cache_enter(sinew_cache *cache, sinew_cache_key key,
                                         const char *version, const sinew_monitor *monitor,
                                         sinew_cache_entry **entry, sinew_error *error);
/* Stores the bytes, removing old entries where the limit requires it. */
SINEW_API sinew_status sinew_cache_store(sinew_cache_entry *entry, const void *bytes, size_t size,
                                         sinew_error *error);
/* Releases the bytes and the reservation. NULL does nothing. */
SINEW_API void sinew_cache_leave(sinew_cache_entry *entry);

#ifdef __cplusplus
}
#endif
#endif
