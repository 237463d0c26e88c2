/* Running another program under limits, so that whatever it does stays outside our process. */
#ifndef SN_BASE_PROCESS_H
#define SN_BASE_PROCESS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"
#include "sinew/monitor.h"

/* Full path of a program: as given when it holds a slash, otherwise looked up in PATH. *path is
 * NULL when it is not there or not executable; release with sn_free. False: no memory. */
bool sn_find_program(const char *name, char **path);

typedef struct sn_process_limits {
    double seconds;      /* of wall clock and of processor time */
    size_t memory_bytes; /* of address space; 0: as ours */
} sn_process_limits;

/* Runs path with the arguments (arguments[0] is its name, ends with NULL), input and output closed,
 * and waits. *outcome: its exit status, or minus the signal that ended it. A program that exceeds
 * its time, or is cancelled by the monitor, is killed. */
sinew_status sn_process_run(const char *path, const char *const *arguments,
                            const sn_process_limits *limits, const sinew_monitor *monitor,
                            int *outcome, sinew_error *error);

/* Programs that run on behalf of the process: noted when started, struck out when waited for. */
void sn_child_note(int child);
void sn_child_strike_out(int child);
/* Kills every one of them, for a program that must end now. */
void sn_children_kill(void);

#endif
