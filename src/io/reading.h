/* Sources and sinks of the call that this thread makes: what a path refers to. Formats ask here
 * instead of the disk. */
#ifndef SN_IO_READING_H
#define SN_IO_READING_H

#include "base/scope.h"
#include "sinew/source.h"

typedef struct sn_reading {
    sn_scope scope;
    int count;
    const sinew_source *const *sources;
    struct sn_reading *outer;
} sn_reading;

/* Between the two, paths that are names of the sources stand for these. */
sinew_status sn_reading_begin(sn_reading *reading, int count, const sinew_source *const *sources,
                              const sinew_monitor *monitor, sinew_error *error);
sinew_status sn_reading_end(sn_reading *reading, sinew_status status, sinew_error *error);

/* The bytes behind a path, followed by a zero byte; release with sn_free. */
sinew_status sn_load(const char *path, char **bytes, size_t *size, sinew_error *error);
/* Never folders, and never point caches to be read frame by frame, while sources stand for paths.
 */
bool sn_path_is_folder(const char *path);
bool sn_path_is_source(const char *path);

typedef struct sn_writing {
    sn_scope scope;
    sinew_sink sink;
    struct sn_writing *outer;
} sn_writing;

sinew_status sn_writing_begin(sn_writing *writing, const sinew_sink *sink,
                              const sinew_monitor *monitor, sinew_error *error);
sinew_status sn_writing_end(sn_writing *writing, sinew_status status, sinew_error *error);
/* A complete file to its path, or to the sink. */
sinew_status sn_store(const char *path, const void *bytes, size_t size, sinew_error *error);
/* Whether files go to a function instead of the disk. */
bool sn_storing_elsewhere(void);

#endif
