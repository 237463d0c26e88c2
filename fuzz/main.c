/* libFuzzer's entry: the reader is chosen when the program is built (FUZZ_READER). */
#include <stdlib.h>
#include <string.h>

#include "readers.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    for (const fuzz_reader *reader = fuzz_readers; reader->name; reader++)
        if (strcmp(reader->name, FUZZ_READER) == 0 && !reader->read(bytes, size)) abort();
    return 0;
}
