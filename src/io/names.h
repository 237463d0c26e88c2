/* A growing list of different names that finds a name in constant time. Names are kept as UTF-8,
 * which JSON requires; others are read as Latin-1. */
#ifndef SN_IO_NAMES_H
#define SN_IO_NAMES_H

#include <stdbool.h>
#include <stddef.h>

typedef struct sn_names {
    bool any_case; /* names that differ in case alone are the same; to be set before the first */
    char **names;
    int count;
    size_t capacity;
    int *slots; /* open addressing: index of a name + 1, or 0 */
    size_t slot_count;
} sn_names;

/* Index of the name, or -1. Names hold no zero bytes. */
int sn_names_find(const sn_names *names, const char *name, size_t length);
/* Index of a copy at the end of the list, also when the name was there; -1: no memory. */
int sn_names_add(sn_names *names, const char *name, size_t length);
/* Whether a name of that length is the known one, or differs from it in case alone. */
bool sn_same_but_case(const char *known, const char *name, size_t length);
void sn_names_release(sn_names *names);
/* The list without the rest; the caller frees it and its names. */
char **sn_names_take(sn_names *names);

#endif
