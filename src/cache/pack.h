/* Serializes arrays for the store.
 *
 * Writing remembers a failed allocation and reports it at the end. Reading never goes past the
 * given bytes: a count that does not fit makes it fail, and every later read fails too. */
#ifndef SN_CACHE_PACK_H
#define SN_CACHE_PACK_H

#include <stdbool.h>
#include <stddef.h>

#include "sinew/status.h"

typedef struct sn_pack {
    char *bytes; /* release with sn_pack_free */
    size_t size, capacity;
    bool failed; /* out of memory */
} sn_pack;

void sn_pack_int(sn_pack *pack, int value);
void sn_pack_double(sn_pack *pack, double value);
/* `count` elements of `size` bytes; the count is stored too. */
void sn_pack_array(sn_pack *pack, const void *elements, size_t count, size_t size);
void sn_pack_free(sn_pack *pack);

typedef struct sn_unpack {
    const char *bytes;
    size_t size, at;
    bool failed;  /* read past the end, wrong element size, or out of memory */
    bool starved; /* out of memory */
} sn_unpack;

int sn_unpack_int(sn_unpack *unpack);
double sn_unpack_double(sn_unpack *unpack);
/* A new array of exactly `count` elements (release with sn_free). Returns NULL and sets `failed` on
 * failure. */
void *sn_unpack_array(sn_unpack *unpack, size_t count, size_t size);
/* Doubles, all of which must be finite: a NaN must not come back from the store. */
double *sn_unpack_numbers(sn_unpack *unpack, size_t count);
/* The same, into the caller's memory. Returns false on failure. */
bool sn_unpack_into(sn_unpack *unpack, void *elements, size_t count, size_t size);
/* Whether all bytes were read and nothing failed. */
bool sn_unpack_complete(const sn_unpack *unpack);
/* Reports why the saved state of a solver could not be read: corrupt data, or out of memory. */
sinew_status sn_unpack_fail(const sn_unpack *unpack, sinew_error *error);

#endif
