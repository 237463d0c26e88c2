/* Parsing JSON in the command and the studio.
 *
 * jansson's parser ignores that the buffer of a token could not grow: it then aborts inside a long
 * number, or reads past the end of a string (jansson 2.14). The library has its own parser. The
 * command has nothing to save when memory fails while it parses a few kilobytes, so it ends there:
 * one line on standard error, and the exit code of missing memory. */
#ifndef CLI_JSON_H
#define CLI_JSON_H

#include <jansson.h>

/* Called once, before any other call of jansson; NULL: malloc and free. */
void cli_json_start(void *(*allocate)(size_t bytes), void (*release)(void *block));
/* As json_loads, json_loadb and json_load_file. */
json_t *cli_json_loads(const char *text, size_t flags, json_error_t *error);
json_t *cli_json_loadb(const char *text, size_t size, size_t flags, json_error_t *error);
json_t *cli_json_load_file(const char *path, size_t flags, json_error_t *error);

#endif
