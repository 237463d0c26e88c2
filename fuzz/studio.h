/* What a page of the studio may send, without a network or a solver thread. */
#ifndef SINEW_FUZZ_STUDIO_H
#define SINEW_FUZZ_STUDIO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Messages, ended by the byte 0x1e each: text when it begins with '{', dropped files otherwise.
 * Afterwards all changes are undone, and the project is opened again from its journal. False when
 * the document then differs. */
bool fuzz_studio(const uint8_t *bytes, size_t size);

/* One message to a fresh project: why the connection would end, or the error that the page is
 * told; "" when neither. Static. *changed: the document is another one. */
const char *studio_answer(const void *bytes, size_t size, bool *changed);

#endif
