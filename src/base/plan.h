/* Which files a run reads and which it writes, to refuse before anything is computed a run that
 * would write one file twice or destroy what it reads. */
#ifndef SN_BASE_PLAN_H
#define SN_BASE_PLAN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"
#include "sinew/files.h"

typedef struct sn_planned_file {
    char *path; /* as given */
    char *real; /* from the root, without links; the file need not exist */
    bool output;
} sn_planned_file;

typedef struct sinew_file_plan sn_file_plan;
struct sinew_file_plan {
    sn_planned_file *files;
    size_t capacity;
    int count;
    bool failed; /* no memory */
};

/* Both accept files and folders. A rig folder represents the files of the rig. */
void sn_plan_input(sn_file_plan *plan, const char *path);
void sn_plan_output(sn_file_plan *plan, const char *path);
void sn_plan_free(sn_file_plan *plan);

#endif
