/* Based on: J.-P. Aumasson, D. J. Bernstein, SipHash: a fast short-input PRF (2012), the 128-bit
 * output variant of its reference. We differ in: a fixed key(nobody attacks their own cache), and
 * input in pieces. */
#include <string.h>

#include "cache/hash.h"

static inline uint64_t rotate(uint64_t x, int bits) {
    return x << bits | x >> (64 - bits);
}

static inline void sip_round(uint64_t v[4]) {
    v[0] += v[1], v[1] = rotate(v[1], 13) ^ v[0], v[0] = rotate(v[0], 32);
    v[2] += v[3], v[3] = rotate(v[3], 16) ^ v[2];
    v[0] += v[3], v[3] = rotate(v[3], 21) ^ v[0];
    v[2] += v[1], v[1] = rotate(v[1], 17) ^ v[2], v[2] = rotate(v[2], 32);
}

static inline void compress(uint64_t v[4], uint64_t word) {
    v[3] ^= word;
    sip_round(v);
    sip_round(v);
    v[0] ^= word;
}

static uint64_t little_endian(const unsigned char *bytes) {
    uint64_t word = 0;
    for (int i = 7; i >= 0; i--) word = word << 8 | bytes[i];
    return word;
}

void sn_hash_start_keyed(sinew_hash *hash, uint64_t k0, uint64_t k1) {
    hash->state[0] = k0 ^ 0x736f6d6570736575u;
    hash->state[1] = k1 ^ 0x646f72616e646f6du ^ 0xee;
    hash->state[2] = k0 ^ 0x6c7967656e657261u;
    hash->state[3] = k1 ^ 0x7465646279746573u;
    hash->pending = hash->total = 0;
}

void sn_hash_add_raw(sinew_hash *hash, const void *bytes, size_t size) {
    const unsigned char *cursor = bytes;
    while (size > 0 && hash->total % 8 != 0) {
        hash->pending |= (uint64_t)*cursor++ << (8 * (hash->total++ % 8));
        size--;
        if (hash->total % 8 == 0) {
            compress(hash->state, hash->pending);
            hash->pending = 0;
        }
    }
    for (; size >= 8; size -= 8, cursor += 8, hash->total += 8)
        compress(hash->state, little_endian(cursor));
    while (size-- > 0) hash->pending |= (uint64_t)*cursor++ << (8 * (hash->total++ % 8));
}

sinew_cache_key sinew_hash_key(const sinew_hash *hash) {
    uint64_t v[4];
    memcpy(v, hash->state, sizeof v);
    compress(v, hash->pending | (hash->total & 0xff) << 56);
    v[2] ^= 0xee;
    for (int i = 0; i < 4; i++) sip_round(v);
    sinew_cache_key key;
    key.low = v[0] ^ v[1] ^ v[2] ^ v[3];
    v[1] ^= 0xdd;
    for (int i = 0; i < 4; i++) sip_round(v);
    key.high = v[0] ^ v[1] ^ v[2] ^ v[3];
    return key;
}

void sinew_hash_start(sinew_hash *hash) {
    sn_hash_start_keyed(hash, 0x53696e6577206361u, 0x636865206b657973u);
}

void sinew_hash_add(sinew_hash *hash, const void *bytes, size_t size) {
    uint64_t length = size;
    sn_hash_add_raw(hash, &length, sizeof length);
    sn_hash_add_raw(hash, bytes, size);
}

void sinew_hash_add_text(sinew_hash *hash, const char *text) {
    sinew_hash_add(hash, text, strlen(text));
}

void sinew_hash_add_number(sinew_hash *hash, double number) {
    sinew_hash_add(hash, &number, sizeof number);
}
