/* libFuzzer's entry: what is fuzzed is chosen when the program is built. */
#include <stdlib.h>
#include <string.h>

#if defined(FUZZ_SESSION)
#include <stdio.h>

#include "session_calls.h"
#elif defined(FUZZ_STUDIO)
#include "studio.h"
#else
#include "readers.h"
#endif

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
#ifdef FUZZ_SESSION
    const char *bad = session_bytes(bytes, size);
    if (bad) fprintf(stderr, "%s\n", bad), abort();
#elif defined(FUZZ_STUDIO)
    if (!fuzz_studio(bytes, size)) abort();
#else
    for (const fuzz_reader *reader = fuzz_readers; reader->name; reader++)
        if (strcmp(reader->name, FUZZ_READER) == 0 && !reader->read(bytes, size)) abort();
#endif
    return 0;
}
