/* The files that a run reads and writes. Used to reject, before anything is computed, a run that
 * would write the same file twice or overwrite one of its inputs. */
#ifndef SN_BASE_PLAN_H
#define SN_BASE_PLAN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"
#include "sinew/files.h"

typedef struct sn_planned_file {
    char *path; /* as given */
    char *real; /* absolute, with links resolved; the file need not exist */
    bool output;
} sn_planned_file;

typedef struct sinew_file_plan sn_file_plan;
struct sinew_file_plan {
    sn_planned_file *files;
    size_t capacity;
    int count;
    bool failed; /* out of memory */
};

/* Both accept files and folders. A rig folder stands for the files of the rig. */
void sn_plan_input(sn_file_plan *plan, const char *path);
void sn_plan_output(sn_file_plan *plan, const char *path);
void sn_plan_free(sn_file_plan *plan);

#endif
