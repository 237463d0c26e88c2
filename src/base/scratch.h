/* Folders for work in progress. */
#ifndef SN_BASE_SCRATCH_H
#define SN_BASE_SCRATCH_H

#include <sys/types.h>

#include "base/status.h"

/* A new folder with a name of its own, locked while its maker lives. */
typedef struct sn_scratch {
    char *path;
    int lock; /* 0: none */
    struct sn_scratch *next;
} sn_scratch;

/* Makes the folder in `parent` ("": the current folder; NULL: $TMPDIR or /tmp), and removes those
 * that runs which died have left there. `mode` as for mkdir. `purpose` starts the message when it
 * cannot be made. */
sinew_status sn_scratch_open(sn_scratch *scratch, const char *parent, mode_t mode,
                             const char *purpose, sinew_error *error);
/* Gives the folder its final name; it is not a scratch folder any longer. */
sinew_status sn_scratch_rename(sn_scratch *scratch, const char *path, sinew_error *error);
/* Removes the folder and what is in it. Safe on a zeroed, renamed or closed one. */
void sn_scratch_close(sn_scratch *scratch);

/* Removes every scratch folder of the process, whatever is at work in them: for a program that must
 * end now. The structures must stay where they were opened. */
void sn_scratch_remove_all(void);

#endif
