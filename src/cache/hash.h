/* The raw hash behind the keys of the store, as published: for checksums and test vectors. */
#ifndef SN_CACHE_HASH_H
#define SN_CACHE_HASH_H

#include "sinew/cache.h"

void sn_hash_start_keyed(sinew_hash *hash, uint64_t k0, uint64_t k1);
/* Hashes the bytes without their size. */
void sn_hash_add_raw(sinew_hash *hash, const void *bytes, size_t size);

#endif
