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

#endif
