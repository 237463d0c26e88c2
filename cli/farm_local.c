/* The backend that runs tasks as processes of this machine. */
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "farm_backend.h"

/* Time for children to stop by themselves; shorter than what the terminal grants to us. */
static const double PATIENCE_SECONDS = 0.15;

static sinew_status local_open(const farm_resources *resources, void **state, sinew_error *error) {
    (void)error;
    *state = (void *)resources;
    return SINEW_OK;
}

static sinew_status local_submit(void *state, farm_task **tasks, int count, sinew_error *error) {
    (void)state;
    for (int i = 0; i < count; i++) {
        CLI_TRY(farm_process_start(tasks[i]->words, tasks[i]->log, &tasks[i]->child, error));
        tasks[i]->begin = cli_now();
        tasks[i]->state = FARM_RUNNING;
    }
    return SINEW_OK;
}

static sinew_status local_poll(void *state, farm_task **tasks, int count, sinew_error *error) {
    const farm_resources *resources = state;
    (void)error;
    for (int i = 0; i < count; i++) {
        farm_task *task = tasks[i];
        double seconds = cli_now() - task->begin;
        bool late = resources->minutes > 0 && seconds > 60 * resources->minutes;
        if (task->state == FARM_ENDED) continue;
        if (late) kill(task->child, SIGKILL);
        if (!farm_process_ended(task->child, late, &task->outcome)) continue;
        task->outcome.seconds = seconds;
        task->state = FARM_ENDED;
        task->child = 0;
        if (late && task->outcome.killed)
            snprintf(task->outcome.reason, sizeof task->outcome.reason,
                     "exceeded the time limit of %g minutes", resources->minutes);
    }
    return SINEW_OK;
}

/* Asks all children to stop, then makes them. */
static void local_close(void *state, farm_task **tasks, int count) {
    (void)state;
    for (int i = 0; i < count; i++)
        if (tasks[i]->child) kill(tasks[i]->child, SIGTERM);
    double begin = cli_now();
    for (int i = 0; i < count; i++) {
        while (tasks[i]->child && !farm_process_ended(tasks[i]->child, false, &tasks[i]->outcome)) {
            if (cli_now() - begin > PATIENCE_SECONDS) kill(tasks[i]->child, SIGKILL);
            nanosleep(&(struct timespec){0, 5000000}, NULL);
        }
        tasks[i]->child = 0;
    }
}

const farm_backend farm_local = {
    .name = "local",
    .summary = "processes on this machine",
    .poll_seconds = 0.25,
    .open = local_open,
    .submit = local_submit,
    .poll = local_poll,
    .close = local_close,
};
