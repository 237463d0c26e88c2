/* Lists in text, separated by commas. */
#ifndef SN_BASE_LIST_H
#define SN_BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

/* Takes the next name off a list "a, b,c", without the blanks around it; false when none is left.
 */
bool sn_list_next(const char **list, const char **name, size_t *length);

#endif
