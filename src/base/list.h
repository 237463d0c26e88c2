/* Comma-separated lists in text. */
#ifndef SN_BASE_LIST_H
#define SN_BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

/* Removes the next name from a list "a, b,c", without surrounding blanks. Returns false at the
 * end. */
bool sn_list_next(const char **list, const char **name, size_t *length);

#endif
