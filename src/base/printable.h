/* Makes text from files safe to show in messages. */
#ifndef SN_BASE_PRINTABLE_H
#define SN_BASE_PRINTABLE_H

#include <stdbool.h>
#include <stddef.h>

/* Replaces with '?', in place, everything that is not printable single-line text: control
 * characters (and with them terminal escape sequences and line feeds), bidirectional control
 * characters, characters that show nothing (zero-width ones, soft hyphens, tags), and bytes that
 * are not valid UTF-8. Joiners and variation selectors stay where a script or an emoji needs them:
 * right after a character whose shape they change. Every message and log line passes through this,
 * because names and keys in files can contain anything. */
void sn_make_printable(char *text);
/* Whether the text is valid UTF-8, as JSON requires. */
bool sn_is_utf8(const char *text);
/* A copy that is valid UTF-8, to be freed with sn_free; NULL: no memory. Text that is not UTF-8 is
 * read as Latin-1, which older exporters write. */
char *sn_to_utf8(const char *text, size_t size);

#endif
