/* Reading whole files, and writing files that appear only when complete. */
#ifndef SN_BASE_FILE_H
#define SN_BASE_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/status.h"

/* The whole file, followed by a zero byte that is not counted. Release with sn_free. */
sinew_status sn_file_read(const char *path, char **bytes, size_t *size, sinew_error *error);

/* Opens a regular file for reading. Anything else, such as a pipe that nobody writes to, is refused
 * and not waited for. */
sinew_status sn_file_open(const char *path, FILE **file, sinew_error *error);

/* A file that appears under its name only when it is complete; base/output.c explains how. Symbolic
 * links are followed, pipes and character devices written through, and only regular files are ever
 * replaced. */
typedef struct sn_output {
    FILE *stream;
    char *path;      /* as the caller named it */
    char *target;    /* with links followed */
    char *temporary; /* NULL: the file has no name yet */
    bool through;    /* written into the existing target instead of replacing it */
} sn_output;

sinew_status sn_output_open(sn_output *output, const char *path, sinew_error *error);
/* Checks for write errors, flushes the content to disk and gives the file its final name. On
 * failure nothing is left behind. */
sinew_status sn_output_commit(sn_output *output, sinew_error *error);
/* Removes the temporary file. Safe on a zeroed or already finished output. */
void sn_output_abandon(sn_output *output);
/* Fails if anything written so far was lost; the error gives the reason (disk full, for
 * example). */
sinew_status sn_output_check(const sn_output *output, sinew_error *error);
/* Fails if the path cannot be written. Changes nothing. */
sinew_status sn_output_probe(const char *path, sinew_error *error);

/* For tests: behave as on a file system without O_TMPFILE. */
extern bool sn_output_always_named;

/* Writes a buffer to a file. */
sinew_status sn_file_write(const char *path, const void *bytes, size_t size, sinew_error *error);

/* Moves a complete file to its target, with the same rules as an output: links are followed, and
 * only a regular file is replaced. Both must be on one file system. */
sinew_status sn_file_move(const char *from, const char *to, sinew_error *error);

/* The path with symbolic links of its last part followed, even when the last one points to nothing.
 * Newly allocated; NULL if out of memory. */
char *sn_follow_links(const char *path);

bool sn_is_folder(const char *path);
bool sn_file_exists(const char *path);
/* Creates the folder and its parents. Succeeds if the folder already exists. */
sinew_status sn_make_folder(const char *path, sinew_error *error);

/* Parts of a path, inside the given string: "a/b.c.obj" -> name "b.c.obj", ending "obj". */
const char *sn_path_name(const char *path);
const char *sn_path_ending(const char *path);             /* "" if there is none */
bool sn_has_ending(const char *path, const char *ending); /* case-insensitive, without the dot */
/* Newly allocated; NULL if out of memory. */
char *sn_path_stem(const char *path);
char *sn_path_join(const char *folder, const char *name);

/* Sorted names of the entries of a folder, without "." and "..". */
sinew_status sn_folder_list(const char *path, char ***names, int *count, sinew_error *error);
void sn_names_free(char **names, int count);

#endif
