/* Numbers in binary files, in either byte order; never beyond the end. */
#ifndef SN_IO_BINARY_H
#define SN_IO_BINARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint16_t sn_load_u16(const void *at, bool big_endian) {
    uint16_t v;
    memcpy(&v, at, sizeof v);
    return big_endian == (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__) ? v : __builtin_bswap16(v);
}
static inline uint32_t sn_load_u32(const void *at, bool big_endian) {
    uint32_t v;
    memcpy(&v, at, sizeof v);
    return big_endian == (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__) ? v : __builtin_bswap32(v);
}
static inline uint64_t sn_load_u64(const void *at, bool big_endian) {
    uint64_t v;
    memcpy(&v, at, sizeof v);
    return big_endian == (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__) ? v : __builtin_bswap64(v);
}
static inline float sn_load_f32(const void *at, bool big_endian) {
    uint32_t bits = sn_load_u32(at, big_endian);
    float v;
    memcpy(&v, &bits, sizeof v);
    return v;
}
static inline double sn_load_f64(const void *at, bool big_endian) {
    uint64_t bits = sn_load_u64(at, big_endian);
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
}
static inline void sn_store_u32(void *at, uint32_t v, bool big_endian) {
    if (big_endian != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)) v = __builtin_bswap32(v);
    memcpy(at, &v, sizeof v);
}
static inline void sn_store_f32(void *at, float v, bool big_endian) {
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    sn_store_u32(at, bits, big_endian);
}

#endif
