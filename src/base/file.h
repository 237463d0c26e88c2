/* Whole files in, complete files out. */
#ifndef SN_BASE_FILE_H
#define SN_BASE_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/status.h"

/* The whole file, followed by a zero byte that is not counted. Release with sn_free. */
sinew_status sn_file_read(const char *path, char **bytes, size_t *size, sinew_error *error);

/* A file that appears under its name only when it is complete; base/output.c explains how. Symbolic
 * links are followed, pipes and character devices written through, and nothing but a regular file
 * is ever replaced. */
typedef struct sn_output {
    FILE *stream;
    char *path;      /* as the caller named it */
    char *target;    /* with links followed */
    char *temporary; /* NULL: the file has no name yet */
    bool through;    /* written into what is at the target instead of replacing it */
} sn_output;

sinew_status sn_output_open(sn_output *output, const char *path, sinew_error *error);
/* Checks for write errors, brings the content to the disk and gives it its name. On failure nothing
 * is left behind. */
sinew_status sn_output_commit(sn_output *output, sinew_error *error);
/* Removes the temporary file. Safe on a zeroed or already finished output. */
void sn_output_abandon(sn_output *output);
/* Whether what was written so far arrived; on failure, the error gives the reason (disk full ...).
 */
sinew_status sn_output_check(const sn_output *output, sinew_error *error);
/* Fails when the path could not be written; changes nothing. */
sinew_status sn_output_probe(const char *path, sinew_error *error);

/* For tests: write as on a file system that has no files without names. */
extern bool sn_output_always_named;

/* A buffer to the file in one go. */
sinew_status sn_file_write(const char *path, const void *bytes, size_t size, sinew_error *error);

/* Moves a complete file to its target, under the rules of an output: links are followed, and
 * nothing but a regular file is replaced. Both must be on one file system. */
sinew_status sn_file_move(const char *from, const char *to, sinew_error *error);

/* The path with symbolic links of its last part followed, even when the last one points to nothing.
 * Newly allocated; NULL: no memory. */
char *sn_follow_links(const char *path);

bool sn_is_folder(const char *path);
bool sn_file_exists(const char *path);
/* Creates the folder and its parents; fine when it is there. */
sinew_status sn_make_folder(const char *path, sinew_error *error);

/* Parts of a path, inside the given string: "a/b.c.obj" -> name "b.c.obj", ending "obj". */
const char *sn_path_name(const char *path);
const char *sn_path_ending(const char *path);             /* "" when there is none */
bool sn_has_ending(const char *path, const char *ending); /* case-insensitive, without the dot */
/* Newly allocated; NULL: no memory. */
char *sn_path_stem(const char *path);
char *sn_path_join(const char *folder, const char *name);

/* Sorted names of the entries of a folder, without "." and "..". */
sinew_status sn_folder_list(const char *path, char ***names, int *count, sinew_error *error);
void sn_names_free(char **names, int count);

#endif
