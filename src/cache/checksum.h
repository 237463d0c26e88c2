/* A checksum that detects corruption of large blocks at about memory bandwidth. Keys use
 * sinew_hash, which is slower and mixes better; this checksum only compares a block with its
 * earlier self. */
#ifndef SN_CACHE_CHECKSUM_H
#define SN_CACHE_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

enum { SN_CHECKSUM_LANES = 8 };

typedef struct sn_checksum {
    uint64_t lanes[SN_CHECKSUM_LANES];
    uint64_t pending[SN_CHECKSUM_LANES]; /* bytes that do not fill a block yet */
    uint64_t total;                      /* bytes so far */
} sn_checksum;

void sn_checksum_start(sn_checksum *sum);
/* Accepts pieces of any size: the result depends only on the bytes. */
void sn_checksum_add(sn_checksum *sum, const void *bytes, size_t size);
uint64_t sn_checksum_value(const sn_checksum *sum);

#endif
