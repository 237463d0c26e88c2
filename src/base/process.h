/* Runs another program under limits and isolated from our process. */
#ifndef SN_BASE_PROCESS_H
#define SN_BASE_PROCESS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"
#include "sinew/monitor.h"

/* Full path of a program: as given if it contains a slash, otherwise searched for in PATH. *path is
 * NULL if it does not exist or is not executable; release with sn_free. Returns false if out of
 * memory. */
bool sn_find_program(const char *name, char **path);

typedef struct sn_process_limits {
    double seconds;      /* both wall-clock and CPU time */
    size_t memory_bytes; /* address space; 0: same as ours */
} sn_process_limits;

/* Runs path with the arguments (arguments[0] is its name, the list ends with NULL), input and
 * output closed, and waits. *outcome is its exit status, or the negated signal that ended it. A
 * program that exceeds its time limit is killed, as is one whose monitor cancels. */
sinew_status sn_process_run(const char *path, const char *const *arguments,
                            const sn_process_limits *limits, const sinew_monitor *monitor,
                            int *outcome, sinew_error *error);

/* Registers and unregisters child processes that run on behalf of this process. */
void sn_child_note(int child);
void sn_child_strike_out(int child);
/* Kills all registered children, for a program that must exit now. */
void sn_children_kill(void);

#endif
