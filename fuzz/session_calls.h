/* A session under random calls, good and bad, for the fuzz target `session`, the tests and the
 * soak (scripts/soak).
 *
 * Every call must end with a status, a failed call needs a message, shapes are finite, a rejected
 * patch changes nothing. At the end all patches are undone: the document must be the same text, and
 * a frame of it the same bits, as before. */
#ifndef SINEW_FUZZ_SESSION_CALLS_H
#define SINEW_FUZZ_SESSION_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where the choices come from. */
typedef struct call_dice {
    /* 0 <= result < count; sets `over` when there are no more choices */
    int (*pick)(struct call_dice *dice, int count);
    bool over;
    uint64_t seed; /* of random dice */
    const uint8_t *bytes, *end;
} call_dice;

call_dice call_dice_random(uint64_t seed);
call_dice call_dice_bytes(const uint8_t *bytes, size_t size);

typedef struct call_counts {
    long calls, shapes, patches, rejected, cancelled;
} call_counts;

/* scene: a name of tests/session/scenes.h. The call ends after `calls` calls, or when the dice are
 * over. Adds to `counts`. Returns NULL, or what went wrong (static text). */
const char *session_calls(const char *scene, call_dice *dice, int calls, call_counts *counts);

/* The fuzz target: the first byte chooses the scene, the others the calls. */
const char *session_bytes(const uint8_t *bytes, size_t size);

#endif
