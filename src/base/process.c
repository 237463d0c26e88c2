#include "base/process.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/monitor.h"
#include "base/threads.h"

extern char **environ;

/* Children beyond this many are not registered; they end when their input does. */
enum { NOTED_CHILDREN = 64 };
static int children[NOTED_CHILDREN]; /* 0: free */

static void exchange(int from, int to) {
    for (int i = 0; i < NOTED_CHILDREN; i++) {
        int expected = from;
        if (__atomic_compare_exchange_n(&children[i], &expected, to, false, __ATOMIC_SEQ_CST,
                                        __ATOMIC_SEQ_CST))
            return;
    }
}

void sn_child_note(int child) {
    exchange(0, child);
}

void sn_child_strike_out(int child) {
    exchange(child, 0);
}

void sn_children_kill(void) {
    for (int i = 0; i < NOTED_CHILDREN; i++) {
        int child = __atomic_load_n(&children[i], __ATOMIC_SEQ_CST);
        if (child > 0) kill(child, SIGKILL);
    }
}

static bool is_program(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 && S_ISREG(info.st_mode) && access(path, X_OK) == 0;
}

bool sn_find_program(const char *name, char **path) {
    *path = NULL;
    if (strchr(name, '/')) return !is_program(name) || (*path = sn_strdup(name));
    const char *list = getenv("PATH");
    if (!list || !*list) list = "/usr/local/bin:/usr/bin:/bin";
    while (*list) {
        size_t length = strcspn(list, ":");
        char *folder = length ? sn_strndup(list, length) : sn_strdup(".");
        *path = folder ? sn_path_join(folder, name) : NULL;
        sn_free(folder);
        if (!*path) return false;
        if (is_program(*path)) return true;
        sn_free(*path), *path = NULL;
        list += length + (list[length] == ':');
    }
    return true;
}

static void limit(pid_t child, int resource, double value) {
    struct rlimit bound = {(rlim_t)value, (rlim_t)value}, ours;
    if (getrlimit((__rlimit_resource_t)resource, &ours) == 0 && ours.rlim_max != RLIM_INFINITY &&
        bound.rlim_max > ours.rlim_max)
        bound.rlim_cur = bound.rlim_max = ours.rlim_max;
    prlimit(child, (__rlimit_resource_t)resource, &bound, NULL);
}

static sinew_status start(const char *path, const char *const *arguments, pid_t *child,
                          sinew_error *error) {
    posix_spawn_file_actions_t actions;
    if (posix_spawn_file_actions_init(&actions) != 0) return sn_no_memory(error);
    int failure = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    if (!failure) failure = posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    if (!failure) failure = posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    if (!failure) /* posix_spawn does not write to the arguments */
        failure = posix_spawn(child, path, &actions, NULL, (char *const *)arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (failure)
        return sn_fail(error, SINEW_UNAVAILABLE, "%s cannot be started: %s", path,
                       strerror(failure));
    return SINEW_OK;
}

static void pause_for(double seconds) {
    struct timespec time = {0, (long)(1e9 * seconds)};
    nanosleep(&time, NULL);
}

static void end(pid_t child) {
    kill(child, SIGKILL);
    while (waitpid(child, NULL, 0) < 0 && errno == EINTR) {
    }
}

static sinew_status wait_for(pid_t child, const char *path, const sn_process_limits *limits,
                             const sinew_monitor *monitor, int *outcome, sinew_error *error) {
    limit(child, RLIMIT_CORE, 0);
    limit(child, RLIMIT_CPU, ceil(limits->seconds) + 1);
    if (limits->memory_bytes) limit(child, RLIMIT_AS, (double)limits->memory_bytes);
    double begin = sn_now(), wait = 5e-4;
    for (;;) {
        int status = 0;
        pid_t done = waitpid(child, &status, WNOHANG);
        if (done < 0 && errno == EINTR) continue;
        if (done != 0) {
            /* ECHILD: the host reaps all children; judge by what the program wrote. */
            *outcome = done < 0 || WIFEXITED(status) ? (done < 0 ? 0 : WEXITSTATUS(status))
                                                     : -WTERMSIG(status);
            return SINEW_OK;
        }
        if (sn_cancelled(monitor)) {
            end(child);
            return sn_fail(error, SINEW_CANCELLED, "cancelled");
        }
        if (sn_now() - begin > limits->seconds) {
            end(child);
            return sn_fail(error, SINEW_NOT_CONVERGED, "%s did not finish within %g s", path,
                           limits->seconds);
        }
        pause_for(wait);
        wait = fmin(0.02, wait * 1.3);
    }
}

sinew_status sn_process_run(const char *path, const char *const *arguments,
                            const sn_process_limits *limits, const sinew_monitor *monitor,
                            int *outcome, sinew_error *error) {
    pid_t child;
    SN_TRY(start(path, arguments, &child, error));
    sn_child_note(child);
    sinew_status status = wait_for(child, path, limits, monitor, outcome, error);
    sn_child_strike_out(child);
    return status;
}
