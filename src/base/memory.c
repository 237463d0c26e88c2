#include "base/memory.h"

#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/scope.h"

static size_t limit; /* 0: none */
static size_t used;  /* maintained only while there is a limit */
static bool refused;

void sinew_set_memory_limit(size_t bytes) {
    limit = bytes;
    used = 0;
    refused = false;
}

bool sn_memory_take(size_t bytes) {
    if (!limit) return true;
    size_t now = __atomic_add_fetch(&used, bytes, __ATOMIC_RELAXED);
    if (now <= limit && now >= bytes) return true;
    __atomic_sub_fetch(&used, bytes, __ATOMIC_RELAXED);
    __atomic_store_n(&refused, true, __ATOMIC_RELAXED);
    return false;
}

void sn_memory_give_back(size_t bytes) {
    if (limit) __atomic_sub_fetch(&used, bytes, __ATOMIC_RELAXED);
}

size_t sn_memory_limit_met(void) {
    return __atomic_load_n(&refused, __ATOMIC_RELAXED) ? limit : 0;
}

static void *default_resize(void *block, size_t bytes, void *user) {
    (void)user;
    if (!limit) return realloc(block, bytes);
    size_t before = block ? malloc_usable_size(block) : 0;
    if (!sn_memory_take(bytes)) return NULL;
    void *moved = realloc(block, bytes);
    /* The size counted is the one that the C library actually reserved. */
    sn_memory_give_back(moved ? bytes + before : bytes);
    if (moved) __atomic_add_fetch(&used, malloc_usable_size(moved), __ATOMIC_RELAXED);
    return moved;
}

static void default_release(void *block, void *user) {
    (void)user;
    if (limit) sn_memory_give_back(malloc_usable_size(block));
    free(block);
}

static const sinew_allocator default_allocator = {default_resize, default_release, NULL};
static sinew_allocator allocator = {default_resize, default_release, NULL};

void sinew_set_allocator(const sinew_allocator *replacement) {
    allocator = replacement ? *replacement : default_allocator;
}

void *sinew_alloc(size_t count, size_t size) {
    return sn_calloc(count, size);
}

void sinew_free(void *block) {
    sn_free(block);
}

/* Only the C library reports block sizes: blocks of a host's allocator are not counted. */
static size_t size_of(void *block) {
    return block && allocator.resize == default_resize ? malloc_usable_size(block) : 0;
}

void *sn_realloc(void *block, size_t count, size_t size) {
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes) || bytes > PTRDIFF_MAX) return NULL;
    if (!sn_scope_active()) return allocator.resize(block, bytes ? bytes : 1, allocator.user);
    size_t before = size_of(block);
    if (!sn_scope_allows(before, bytes > before ? bytes : before)) return NULL;
    void *moved = allocator.resize(block, bytes ? bytes : 1, allocator.user);
    sn_scope_allows(bytes > before ? bytes : before, moved ? size_of(moved) : before);
    return moved;
}

void *sn_alloc(size_t count, size_t size) {
    return sn_realloc(NULL, count, size);
}

void *sn_calloc(size_t count, size_t size) {
    void *block = sn_realloc(NULL, count, size);
    if (block) memset(block, 0, count * size);
    return block;
}

void sn_free(void *block) {
    if (!block) return;
    if (sn_scope_active()) sn_scope_allows(size_of(block), 0);
    allocator.release(block, allocator.user);
}

/* The original pointer is kept in the word before the aligned block. */
enum { ALIGNMENT = 64 };

/* Frames stream through aligned blocks. Blocks of at least LARGE_PAGES_FROM bytes start on a
 * huge-page boundary and request huge pages, which avoids a page-table walk every 4 KB: 10 to 25%
 * of the time of a sweep over a factor. */
enum { LARGE_PAGE = 2 << 20, LARGE_PAGES_FROM = 1 << 20 };

/* Recycled memory keeps its small pages unless they are collapsed right away. Both calls are hints:
 * systems that do not know them ignore them. */
static void ask_for_large_pages(char *block, size_t bytes) {
#ifdef __linux__
    enum { HUGE = 14, COLLAPSE = 25 }; /* missing from the headers of some C libraries */
    madvise(block, bytes, HUGE);
    madvise(block, bytes, COLLAPSE);
#else
    (void)block, (void)bytes;
#endif
}

void *sn_alloc_aligned(size_t count, size_t size) {
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) return NULL;
    bool large = bytes >= LARGE_PAGES_FROM;
    /* room to include the last huge page completely */
    size_t alignment = large ? LARGE_PAGE : ALIGNMENT, room;
    if (__builtin_add_overflow(bytes, 2 * alignment, &room)) return NULL;
    char *raw = sn_alloc(room, 1);
    if (!raw) return NULL;
    uintptr_t start = (uintptr_t)raw + sizeof(void *);
    char *aligned = raw + ((start + alignment - 1) / alignment * alignment - (uintptr_t)raw);
    if (large) ask_for_large_pages(aligned, (bytes + LARGE_PAGE - 1) / LARGE_PAGE * LARGE_PAGE);
    memcpy(aligned - sizeof(void *), &raw, sizeof(void *));
    return aligned;
}

void sn_free_aligned(void *block) {
    if (!block) return;
    void *raw;
    memcpy(&raw, (char *)block - sizeof(void *), sizeof(void *));
    sn_free(raw);
}

char *sn_strndup(const char *text, size_t length) {
    char *copy = sn_alloc(length + 1, 1);
    if (!copy) return NULL;
    memcpy(copy, text, length);
    copy[length] = '\0';
    return copy;
}

char *sn_strdup(const char *text) {
    return sn_strndup(text, strlen(text));
}

void *sn_memdup(const void *block, size_t count, size_t size) {
    void *copy = sn_alloc(count, size);
    if (copy && count && size) memcpy(copy, block, count * size);
    return copy;
}

bool sn_reserve_bytes(void **block, size_t *capacity, size_t needed, size_t size) {
    if (needed <= *capacity) return true;
    size_t grown = *capacity < 8 ? 8 : *capacity;
    while (grown < needed) {
        if (__builtin_mul_overflow(grown, (size_t)2, &grown)) return false;
    }
    void *moved = sn_realloc(*block, grown, size);
    if (!moved) return false;
    *block = moved;
    *capacity = grown;
    return true;
}
