/* Temporary folders for work in progress. */
#ifndef SN_BASE_SCRATCH_H
#define SN_BASE_SCRATCH_H

#include <sys/types.h>

#include "base/status.h"

/* A new folder with a unique name, locked while the process that created it is alive. */
typedef struct sn_scratch {
    char *path;
    const char *final; /* what it will be called */
    int lock;          /* 0: none */
    struct sn_scratch *next;
} sn_scratch;

/* Creates the folder in `parent` ("": the current folder; NULL: $TMPDIR or /tmp), and removes stale
 * ones that crashed runs left there. `mode` is as for mkdir. `purpose` begins the error message if
 * the folder cannot be created. `final` is the folder that its files will be in (NULL: none), and
 * remains the caller's. */
sinew_status sn_scratch_open(sn_scratch *scratch, const char *parent, mode_t mode,
                             const char *purpose, const char *final, sinew_error *error);
/* Gives the folder its final name; it is no longer a scratch folder. */
sinew_status sn_scratch_rename(sn_scratch *scratch, const char *path, sinew_error *error);
/* Removes the folder and its contents. Safe on a zeroed, renamed or closed one. */
void sn_scratch_close(sn_scratch *scratch);

/* What messages call a file: inside a scratch folder, the path that it will have. Newly allocated;
 * NULL if out of memory. */
char *sn_scratch_final_path(const char *path);

/* Removes every scratch folder of the process, even those in use: for a program that must exit now.
 * An sn_scratch must not be moved in memory while it is open. */
void sn_scratch_remove_all(void);

#endif
