#include "io/names.h"

#include <limits.h>
#include <stdint.h>
#include <string.h>

#include "base/memory.h"
#include "base/printable.h"

static unsigned char folded(char c) {
    return (unsigned char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
}

/* FNV-1a, of lower case throughout: it serves both kinds of lists. */
static uint64_t hash(const char *name, size_t length) {
    uint64_t h = 14695981039346656037u;
    for (size_t i = 0; i < length; i++) h = (h ^ folded(name[i])) * 1099511628211u;
    return h ^ h >> 32;
}

static bool same(bool any_case, const char *known, const char *name, size_t length) {
    if (strlen(known) != length) return false;
    if (!any_case) return memcmp(known, name, length) == 0;
    for (size_t i = 0; i < length; i++)
        if (folded(known[i]) != folded(name[i])) return false;
    return true;
}

bool sn_same_but_case(const char *known, const char *name, size_t length) {
    return same(true, known, name, length);
}

static int find(const sn_names *names, const char *name, size_t length) {
    if (names->slot_count == 0) return -1;
    size_t mask = names->slot_count - 1;
    for (size_t slot = hash(name, length) & mask; names->slots[slot]; slot = (slot + 1) & mask) {
        int index = names->slots[slot] - 1;
        if (same(names->any_case, names->names[index], name, length)) return index;
    }
    return -1;
}

int sn_names_find(const sn_names *names, const char *name, size_t length) {
    bool ascii = true;
    for (size_t i = 0; i < length; i++) ascii &= (unsigned char)name[i] < 0x80;
    if (ascii) return find(names, name, length);
    char *text = sn_to_utf8(name, length);
    int found = text ? find(names, text, strlen(text)) : -1; /* adding it will fail, too */
    sn_free(text);
    return found;
}

static void enter(sn_names *names, int index) {
    const char *name = names->names[index];
    size_t mask = names->slot_count - 1, slot = hash(name, strlen(name)) & mask;
    while (names->slots[slot]) slot = (slot + 1) & mask;
    names->slots[slot] = index + 1;
}

/* At most half full, so that every search ends soon. */
static bool grow(sn_names *names) {
    if (2 * ((size_t)names->count + 1) <= names->slot_count) return true;
    size_t larger = names->slot_count ? 2 * names->slot_count : 16;
    int *slots = SN_NEW0(int, larger);
    if (!slots) return false;
    sn_free(names->slots);
    names->slots = slots;
    names->slot_count = larger;
    for (int i = 0; i < names->count; i++) enter(names, i);
    return true;
}

int sn_names_add(sn_names *names, const char *name, size_t length) {
    if (names->count == INT_MAX - 1 || !grow(names) ||
        !SN_RESERVE(names->names, names->capacity, names->count + 1))
        return -1;
    char *copy = sn_to_utf8(name, length);
    if (!copy) return -1;
    names->names[names->count] = copy;
    enter(names, names->count);
    return names->count++;
}

void sn_names_release(sn_names *names) {
    for (int i = 0; i < names->count; i++) sn_free(names->names[i]);
    sn_free(names->names);
    sn_free(names->slots);
    *names = (sn_names){0};
}

char **sn_names_take(sn_names *names) {
    char **list = names->names;
    sn_free(names->slots);
    *names = (sn_names){0};
    return list;
}
