/* Text from files in messages. */
#ifndef SN_BASE_PRINTABLE_H
#define SN_BASE_PRINTABLE_H

#include <stdbool.h>

/* Replaces, in place, everything by '?' that is not printable text on one line: control characters
 * and with them terminal escape sequences and line feeds, marks that turn the direction of writing,
 * and bytes that are not UTF-8. Every message and log line goes through this; names and keys of
 * files can hold anything. */
void sn_make_printable(char *text);
/* Whether all of it is UTF-8, as JSON needs it. */
bool sn_is_utf8(const char *text);

#endif
