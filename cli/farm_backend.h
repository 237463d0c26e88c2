/* What runs the tasks of a farm: processes of this machine, or a scheduler.
 *
 *   open -> submit, poll, submit, poll ... -> close
 *
 * A task is one process of this command. The farm decides which tasks there are and what the end of
 * one means; a backend starts them and finds out how they ended. A backend is one file that defines
 * a `farm_backend` and is listed in farm_backends (farm_schedule.c).
 *
 * For a scheduler most of the work is done already. A batch (farm_batch_*) is a list of tasks in a
 * file. The scheduler runs `sinew farm task BATCH INDEX` on some node, which starts the process,
 * waits for it and leaves the outcome in a file. So a backend for a scheduler submits that command
 * for a range of indices, asks which of them still wait or run, and cancels. */
#ifndef CLI_FARM_BACKEND_H
#define CLI_FARM_BACKEND_H

#include <stdbool.h>

#include "verb.h"

/* How a process ended. */
typedef struct farm_outcome {
    int code;         /* exit code, or 128 plus the signal that ended it */
    bool killed;      /* by a signal, a time limit or the loss of its node */
    bool dropped;     /* never started, because the task it had to wait for did not succeed */
    double seconds;   /* wall-clock time of the process, as measured where it ran */
    double processor; /* seconds of processor time; 0: unknown */
    char reason[200]; /* why it was lost; "": see its log */
} farm_outcome;

typedef enum farm_task_state { FARM_WAITING, FARM_RUNNING, FARM_ENDED } farm_task_state;

typedef struct farm_task {
    char **words;            /* arguments; the first is the name of the command; ends with NULL */
    char *log;               /* file for standard error */
    struct farm_task *after; /* must succeed before this one starts; NULL: none. It comes earlier in
                                the same submission */

    /* Set by the backend. */
    farm_task_state state;
    farm_outcome outcome; /* of a task that ended */
    int child;            /* local: the process; 0: none */
    double begin;         /* local clock: when it was first seen running */
    int batch, index;     /* of a scheduler */
    double silent;        /* local clock: since when the scheduler has not known it; 0: it does */

    /* Of the farm. */
    struct farm_shot *shot;
    struct farm_chunk *chunk; /* NULL: planning or merging */
} farm_task;

/* What every task may use. A backend translates this into the words of its scheduler. */
typedef struct farm_resources {
    int jobs;              /* tasks at a time: processes here, or in the queue of a scheduler */
    int threads;           /* of each task */
    const char *partition; /* queue, pool or allocation; NULL: the default */
    const char *account;   /* who pays: account, show, group; NULL: the default */
    double minutes;        /* wall-clock limit of a task; 0: none */
    int memory;            /* megabytes to reserve for a task; 0: the default */
    int gpus;              /* of each task */
    double patience;       /* seconds to wait for a scheduler that does not answer */
    const char *folder;    /* work folder, from the root */
    const char *program;   /* path of this command on the nodes */
    cli_call *call;        /* for warnings */
} farm_resources;

typedef struct farm_backend {
    const char *name;
    const char *summary;     /* of the help */
    int jobs;                /* default number of tasks at a time; 0: one per processor */
    bool queues;             /* accepts tasks with `after` */
    double shortest_seconds; /* a chunk should compute for at least as long */
    double poll_seconds;     /* longest pause between two polls */

    /* Prepares to run tasks. The work folder is locked by this farm: tasks that an earlier farm
     * left in the scheduler are cancelled here. */
    sinew_status (*open)(const farm_resources *resources, void **state, sinew_error *error);
    /* Starts or queues the tasks. On failure the farm ends: `close` then sees all of the list. */
    sinew_status (*submit)(void *state, farm_task **tasks, int count, sinew_error *error);
    /* Renews state and outcome of the tasks that have not ended. */
    sinew_status (*poll)(void *state, farm_task **tasks, int count, sinew_error *error);
    /* Cancels the tasks that have not ended, and releases the state. Called on Ctrl-C too, so that
     * it must not take longer than 0.2 seconds. */
    void (*close)(void *state, farm_task **tasks, int count);
} farm_backend;

extern const farm_backend farm_local, farm_slurm;
/* By name; NULL: there is no such backend. */
const farm_backend *farm_find_backend(const char *name);

/* ---- processes (farm_process.c) ---------------------------------------------------------------
 */

/* Starts this command with the words of the task; its standard error goes to the log. It dies with
 * the process that started it. */
sinew_status farm_process_start(char *const *words, const char *log, int *child,
                                sinew_error *error);
/* Whether the child has ended, and how. wait: until it has. */
bool farm_process_ended(int child, bool wait, farm_outcome *outcome);

/* Runs a program of the scheduler and returns what it printed, both streams together, with a zero
 * byte at the end (release with sinew_free). No shell sees the words. SINEW_UNAVAILABLE: it is not
 * installed, failed or did not end in time; *output then holds what it printed, or NULL.
 * SINEW_CANCELLED: the farm was interrupted meanwhile. */
sinew_status farm_capture(const char *const *words, double seconds, char **output,
                          sinew_error *error);
/* The same; a program that prints the phrase is stopped: it would only wait. */
sinew_status farm_capture_until(const char *const *words, double seconds, const char *phrase,
                                char **output, sinew_error *error);

/* ---- batches for schedulers (farm_process.c) --------------------------------------------------
 */

/* Writes DIR/batches/BATCH.json with the tasks, and sets their batch and index. Returns its path.
 */
sinew_status farm_batch_write(const char *folder, int batch, farm_task **tasks, int count,
                              char **path, sinew_error *error);
/* The first number that no batch of the folder has. */
int farm_batch_next(const char *folder);
/* Takes the outcomes that `sinew farm task` has left: their tasks have ended. */
void farm_batch_collect(const char *folder, farm_task **tasks, int count);
/* sinew farm task BATCH INDEX. */
sinew_status farm_batch_run(cli_call *call, const char *batch, const char *index);

#endif
