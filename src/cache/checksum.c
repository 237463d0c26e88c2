/* Based on: the multiply-and-rotate step of G. Fowler, L. C. Noll, K.-P. Vo's FNV and the parallel
 * lanes of Y. Collet's xxHash. We differ in: one multiplication per word, in eight lanes, since the
 * result does not have to look random.
 *
 * Word i goes to lane i mod 8:
 *
 *   lane <- rotate((lane xor word) * K, 32)      K odd
 *
 * For a given lane each step is a bijection of the word, and for a given word one of the lane. So
 * blocks that differ in a single word, or in several words of which no two share a lane, always
 * have different sums in that lane. The lanes are finally folded with the same kind of step, so
 * that a difference in one lane always remains. Any other corruption goes undetected with a
 * probability of about 2^-64. */
#include "cache/checksum.h"

#include <string.h>

static const uint64_t K = 0x9e3779b97f4a7c15u; /* 2^64 divided by the golden ratio, odd */
enum { BLOCK = 8 * SN_CHECKSUM_LANES };        /* bytes */

static inline uint64_t step(uint64_t lane, uint64_t word) {
    uint64_t x = (lane ^ word) * K;
    return x << 32 | x >> 32;
}

void sn_checksum_start(sn_checksum *sum) {
    *sum = (sn_checksum){.total = 0};
    for (int i = 0; i < SN_CHECKSUM_LANES; i++) sum->lanes[i] = K * (uint64_t)(i + 1);
}

static void add_blocks(uint64_t *lanes, const unsigned char *bytes, size_t blocks) {
    uint64_t now[SN_CHECKSUM_LANES], words[SN_CHECKSUM_LANES];
    memcpy(now, lanes, sizeof now);
    for (; blocks > 0; blocks--, bytes += BLOCK) {
        memcpy(words, bytes, sizeof words);
        for (int i = 0; i < SN_CHECKSUM_LANES; i++) now[i] = step(now[i], words[i]);
    }
    memcpy(lanes, now, sizeof now);
}

void sn_checksum_add(sn_checksum *sum, const void *bytes, size_t size) {
    const unsigned char *cursor = bytes;
    unsigned char *pending = (unsigned char *)sum->pending;
    size_t used = sum->total % BLOCK;
    if (size == 0) return;
    sum->total += size;
    if (used) {
        size_t more = size < BLOCK - used ? size : BLOCK - used;
        memcpy(pending + used, cursor, more);
        cursor += more, size -= more;
        if (used + more < BLOCK) return;
        add_blocks(sum->lanes, pending, 1);
    }
    add_blocks(sum->lanes, cursor, size / BLOCK);
    memset(pending, 0, BLOCK); /* a short block is padded with zeros; the total disambiguates */
    memcpy(pending, cursor + size / BLOCK * BLOCK, size % BLOCK);
}

uint64_t sn_checksum_value(const sn_checksum *sum) {
    uint64_t lanes[SN_CHECKSUM_LANES], value = sum->total;
    memcpy(lanes, sum->lanes, sizeof lanes);
    if (sum->total % BLOCK) add_blocks(lanes, (const unsigned char *)sum->pending, 1);
    for (int i = 0; i < SN_CHECKSUM_LANES; i++) value = step(step(value, lanes[i]), 0);
    return value;
}
