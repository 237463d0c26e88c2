#include "json.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "frame.h"

static void *(*allocate)(size_t bytes) = malloc;
static _Thread_local int parsing; /* on this thread; outside the parser jansson reports failures */

static void *checked(size_t bytes) {
    static const char message[] = "sinew: out of memory\n";
    void *block = allocate(bytes);
    if (block || !parsing) return block;
    if (write(STDERR_FILENO, message, sizeof message - 1) < 0) _exit(EXIT_IO);
    _exit(EXIT_IO);
}

void cli_json_start(void *(*allocate_with)(size_t bytes), void (*release)(void *block)) {
    allocate = allocate_with ? allocate_with : malloc;
    json_set_alloc_funcs(checked, release ? release : free);
}

json_t *cli_json_loads(const char *text, size_t flags, json_error_t *error) {
    parsing++;
    json_t *value = json_loads(text, flags, error);
    parsing--;
    return value;
}

json_t *cli_json_loadb(const char *text, size_t size, size_t flags, json_error_t *error) {
    /* some editors start a text with a byte order mark */
    if (size >= 3 && !memcmp(text, "\xef\xbb\xbf", 3)) text += 3, size -= 3;
    parsing++;
    json_t *value = json_loadb(text, size, flags, error);
    parsing--;
    return value;
}

json_t *cli_json_load_file(const char *path, size_t flags, json_error_t *error) {
    parsing++;
    json_t *value = json_load_file(path, flags, error);
    parsing--;
    return value;
}
