/* Running the command as a person would, in a shell. */
#ifndef TESTS_CLI_COMMAND_H
#define TESTS_CLI_COMMAND_H

#include <jansson.h>
#include <stddef.h>

typedef struct run_result {
    int code;        /* exit code; 128 + signal when killed */
    char out[65536]; /* standard output, cut at the end */
    char err[8192];  /* standard error */
} run_result;

/* An empty folder for the running test; the earlier one is removed. */
const char *fresh_folder(void);
/* Runs a shell command line in the fresh folder; "sinew" is the command under test. The result is
 * static and overwritten by the next call. */
const run_result *sh(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Runs it and checks the exit code; shows what it printed when it is another. */
const run_result *expect_code(int code, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The same, and standard error is one line that contains `words` (several, separated by |). */
void expect_refusal(int code, const char *words, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Sets MOMENTS to the path of the library of moments.c, for LD_PRELOAD=$MOMENTS. */
void use_moments(void);

void write_text(const char *name, const char *text);
void write_bytes(const char *name, const void *bytes, size_t size);
/* The JSON in a file of the fresh folder; release with json_decref. */
json_t *read_json(const char *name);
/* Number of entries of the fresh folder whose name contains the part. */
int files_with(const char *part);

#endif
