/* Small things that the files of the command share: memory, paths, time, the monitor. */
#ifndef CLI_TOOLS_H
#define CLI_TOOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "sinew/sinew.h"

/* Pass a failure on. */
#define CLI_TRY(call)                                                                              \
    do {                                                                                           \
        sinew_status cli_try_status = (call);                                                      \
        if (cli_try_status != SINEW_OK) return cli_try_status;                                     \
    } while (0)

/* An array of zeros, under --memory-limit; release with sinew_free. */
#define CLI_NEW(type, count) ((type *)sinew_alloc((size_t)(count), sizeof(type)))
static inline sinew_status cli_no_memory(sinew_error *error) {
    return sinew_fail(error, SINEW_NO_MEMORY, NULL);
}
/* Room for `needed` elements in a growing array: doubles the capacity. False: no memory. */
bool cli_reserve(void **block, size_t *capacity, size_t needed, size_t size);
#define CLI_RESERVE(array, capacity, needed)                                                       \
    cli_reserve((void **)&(array), &(capacity), (size_t)(needed), sizeof *(array))
/* Copies to be released with sinew_free; NULL: no memory. */
char *cli_strdup(const char *text);
char *cli_strndup(const char *text, size_t length);
void *cli_memdup(const void *block, size_t count, size_t size);

/* Parts of a path, inside the given string: "a/b.c.obj" -> name "b.c.obj", ending "obj" or "". */
const char *cli_path_name(const char *path);
const char *cli_path_ending(const char *path);
bool cli_has_ending(const char *path, const char *ending); /* case does not count */
/* New text; NULL: no memory. */
char *cli_path_stem(const char *path);
char *cli_path_join(const char *folder, const char *name);
char *cli_absolute_path(const char *path);
bool cli_is_folder(const char *path);

/* Sorted names of the entries of a folder; NULL and 0 when it cannot be read. */
char **cli_folder_list(const char *path, int *count);
void cli_names_free(char **names, int count);
/* Full path of a program: as given when it holds a slash, otherwise found in PATH; NULL when it is
 * not there. */
char *cli_find_program(const char *name);

/* A text file: print to the stream, then write it, under its name only when it is complete. */
typedef struct cli_document {
    FILE *stream;
    char *text;
    size_t size;
} cli_document;
sinew_status cli_document_open(cli_document *document, sinew_error *error);
sinew_status cli_document_write(cli_document *document, const char *path, sinew_error *error);

double cli_now(void); /* seconds of a monotonic clock */

void cli_progress(const sinew_monitor *monitor, double fraction, const char *stage);
bool cli_cancelled(const sinew_monitor *monitor);

#endif
