/* One function per reader, for libFuzzer and for the replay of its corpora by the tests. */
#ifndef SINEW_FUZZ_READERS_H
#define SINEW_FUZZ_READERS_H

#include <stddef.h>
#include <stdint.h>

typedef struct fuzz_reader {
    const char *name; /* also of its folder under fuzz/corpus */
    /* Reads the bytes; what was read is written and must be readable again. Returns false when that
     * does not hold. */
    int (*read)(const uint8_t *bytes, size_t size);
} fuzz_reader;

/* Ended by a NULL name. */
extern const fuzz_reader fuzz_readers[];

#endif
