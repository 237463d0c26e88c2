/* Which files a run reads and which it writes, to refuse before anything is computed a run that
 * would write one file twice or destroy what it reads. */
#ifndef SN_BASE_PLAN_H
#define SN_BASE_PLAN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

typedef struct sn_planned_file {
    char *path; /* as given */
    char *real; /* from the root, without links; the file need not exist */
    bool output;
} sn_planned_file;

typedef struct sn_file_plan {
    sn_planned_file *files;
    size_t capacity;
    int count;
    bool failed; /* no memory */
} sn_file_plan;

/* Both accept files and folders. A rig folder stands for the files of the rig. */
void sn_plan_input(sn_file_plan *plan, const char *path);
void sn_plan_output(sn_file_plan *plan, const char *path);
/* Fails with `status` when two outputs are one file, or an output is an input. Pipes and devices
 * may be named as often as one likes. */
sinew_status sn_plan_check(const sn_file_plan *plan, sinew_status status, sinew_error *error);
/* Fails with `status` when an output lies outside the folder, links followed. */
sinew_status sn_plan_check_inside(const sn_file_plan *plan, const char *folder, sinew_status status,
                                  sinew_error *error);
void sn_plan_free(sn_file_plan *plan);

/* The path from the root with all links followed; its last part need not exist. Newly allocated;
 * NULL: no memory. */
char *sn_real_path(const char *path);

#endif
