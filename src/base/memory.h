/* Allocation inside the library. Counts are checked against overflow; an allocation of zero bytes
 * returns a valid block, so that NULL always means "no memory". */
#ifndef SN_BASE_MEMORY_H
#define SN_BASE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

#include "sinew/memory.h"

void *sn_alloc(size_t count, size_t size);
/* The same, filled with zero bytes. */
void *sn_calloc(size_t count, size_t size);
/* If this returns NULL, the old block stays valid. */
void *sn_realloc(void *block, size_t count, size_t size);
void sn_free(void *block);
/* 64-byte aligned for vector loads; release with sn_free_aligned. */
void *sn_alloc_aligned(size_t count, size_t size);
void sn_free_aligned(void *block);

/* Counts memory of other libraries toward the limit of sinew_set_memory_limit. Returns false if it
 * does not fit. */
bool sn_memory_take(size_t bytes);
void sn_memory_give_back(size_t bytes);
/* The limit in bytes if an allocation was refused because of it, otherwise 0. */
size_t sn_memory_limit_met(void);

char *sn_strdup(const char *text);
char *sn_strndup(const char *text, size_t length);
void *sn_memdup(const void *block, size_t count, size_t size);

/* SN_NEW(type, n): an array of n; SN_NEW0: zero-filled. */
#define SN_NEW(type, count)  ((type *)sn_alloc((size_t)(count), sizeof(type)))
#define SN_NEW0(type, count) ((type *)sn_calloc((size_t)(count), sizeof(type)))

/* Makes room for `needed` elements in a growing array by doubling its capacity. Returns false if
 * out of memory. */
bool sn_reserve_bytes(void **block, size_t *capacity, size_t needed, size_t size);
#define SN_RESERVE(array, capacity, needed)                                                        \
    sn_reserve_bytes((void **)&(array), &(capacity), (size_t)(needed), sizeof *(array))

#endif
