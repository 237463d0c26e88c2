/* Morton order (Z-order curve): sorting items by the code of their positions makes neighbors in the
 * list neighbors in space. */
#ifndef SN_BASE_MORTON_H
#define SN_BASE_MORTON_H

#include <stdint.h>

/* The largest coordinate that a code can hold. */
#define SN_MORTON_MOST 0x1fffff

typedef struct sn_morton {
    uint64_t code;
    int item;
} sn_morton;

/* The low 21 bits of x, with two zeros between adjacent bits. */
static inline uint64_t sn_morton_spread(uint64_t x) {
    x &= SN_MORTON_MOST;
    x = (x | x << 32) & 0x1f00000000ffffu;
    x = (x | x << 16) & 0x1f0000ff0000ffu;
    x = (x | x << 8) & 0x100f00f00f00f00fu;
    x = (x | x << 4) & 0x10c30c30c30c30c3u;
    return (x | x << 2) & 0x1249249249249249u;
}

static inline uint64_t sn_morton_code(double x, double y, double z) {
    return sn_morton_spread((uint64_t)x) | sn_morton_spread((uint64_t)y) << 1 |
           sn_morton_spread((uint64_t)z) << 2;
}

/* For qsort of sn_morton; items with the same code keep their order. */
static inline int sn_morton_compare(const void *left, const void *right) {
    const sn_morton *a = left, *b = right;
    if (a->code != b->code) return a->code < b->code ? -1 : 1;
    return (a->item > b->item) - (a->item < b->item);
}

#endif
