/* Processes of a farm: this command as a child, the programs of a scheduler, and batches, which
 * carry tasks to other machines.
 *
 *   DIR/batches/12.json          {"tasks": [{"words", "log", "result"}]}
 *   DIR/results/12-3.json        {"code", "killed", "seconds", "processor"} of task 3
 *
 * Times are durations that the machine of the task measured: the clocks of two machines are never
 * compared. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "farm_backend.h"
#include "frame.h"
#include "json.h"
#include "report.h"

/* ---- children ---------------------------------------------------------------------------------
 */

/* In the child: only calls that are safe after a fork. The farm blocks the signal that it waits
 * for.
 */
static void unblock(void) {
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static void become(char *const *words, int log, pid_t parent) {
    unblock();
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* a farm that dies takes its tasks with it */
    int nothing = open("/dev/null", O_RDWR);
    if (getppid() == parent && nothing >= 0 && dup2(nothing, 0) >= 0 && dup2(nothing, 1) >= 0 &&
        dup2(log, 2) >= 0)
        execv("/proc/self/exe", words);
    _exit(EXIT_IO);
}

sinew_status farm_process_start(char *const *words, const char *log, int *child,
                                sinew_error *error) {
    int file = open(log, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (file < 0) return sinew_fail(error, SINEW_IO, "%s: cannot write: %s", log, strerror(errno));
    pid_t parent = getpid();
    *child = fork();
    if (*child == 0) become(words, file, parent);
    int failure = errno;
    close(file);
    if (*child < 0)
        return sinew_fail(error, SINEW_UNAVAILABLE, "cannot start a process: %s",
                          strerror(failure));
    cli_child_note(*child);
    return SINEW_OK;
}

bool farm_process_ended(int child, bool wait, farm_outcome *outcome) {
    int status;
    struct rusage usage;
    pid_t ended;
    do {
        ended = wait4(child, &status, wait ? 0 : WNOHANG, &usage);
    } while (ended < 0 && errno == EINTR && wait);
    if (ended <= 0) return false;
    cli_child_strike_out(child);
    outcome->killed = !WIFEXITED(status);
    outcome->code = outcome->killed ? EXIT_SIGNAL + WTERMSIG(status) : WEXITSTATUS(status);
    outcome->processor = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                         1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
    return true;
}

/* ---- programs of a scheduler ------------------------------------------------------------------
 */

static void become_program(const char *path, const char *const *words, int output) {
    unblock();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    int nothing = open("/dev/null", O_RDWR);
    if (nothing >= 0 && dup2(nothing, 0) >= 0 && dup2(output, 1) >= 0 && dup2(output, 2) >= 0)
        execv(path, (char *const *)words);
    _exit(EXIT_IO);
}

/* What arrives in the pipe until it is closed or has the phrase. False: it is still open, or there
 * is no memory. */
static bool drain(int pipe, double seconds, const char *phrase, char **text) {
    enum { STEP = 4096 };
    size_t size = 0, capacity = 0;
    double end = cli_now() + seconds;
    for (;;) {
        if (!CLI_RESERVE(*text, capacity, size + STEP)) return false;
        double left = end - cli_now();
        struct pollfd wait = {.fd = pipe, .events = POLLIN};
        if (left <= 0 || cli_interrupted()) return false;
        if (poll(&wait, 1, left < 0.1 ? (int)(1000 * left) + 1 : 100) <= 0) continue;
        ssize_t got = read(pipe, *text + size, STEP - 1);
        if (got < 0 && errno == EINTR) continue;
        if (got > 0) size += (size_t)got;
        (*text)[size] = '\0';
        if (got <= 0) return true;
        if (phrase && strstr(*text, phrase)) return false;
    }
}

sinew_status farm_capture(const char *const *words, double seconds, char **output,
                          sinew_error *error) {
    return farm_capture_until(words, seconds, NULL, output, error);
}

sinew_status farm_capture_until(const char *const *words, double seconds, const char *phrase,
                                char **output, sinew_error *error) {
    *output = NULL;
    char *path = cli_find_program(words[0]);
    if (!path)
        return sinew_fail(error, SINEW_UNAVAILABLE, "%s: this program is not installed", words[0]);
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        sinew_free(path);
        return sinew_fail(error, SINEW_UNAVAILABLE, "%s: %s", words[0], strerror(errno));
    }
    pid_t child = fork();
    if (child == 0) become_program(path, words, ends[1]);
    sinew_free(path);
    close(ends[1]);
    bool complete = child > 0 && drain(ends[0], seconds, phrase, output);
    close(ends[0]);
    if (child < 0)
        return sinew_fail(error, SINEW_UNAVAILABLE, "%s: cannot start the program", words[0]);
    if (!complete) kill(child, SIGKILL);
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (!complete && phrase && *output && strstr(*output, phrase))
        return sinew_fail(error, SINEW_UNAVAILABLE, "%s: %s", words[0], phrase);
    if (!complete && cli_interrupted()) return sinew_fail(error, SINEW_CANCELLED, "cancelled");
    if (!complete)
        return sinew_fail(error, SINEW_UNAVAILABLE, "%s: no answer within %.0f seconds", words[0],
                          seconds);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return SINEW_OK;
    const char *line = *output + strspn(*output, "\n");
    if (!*line)
        return sinew_fail(error, SINEW_UNAVAILABLE, "%s: failed without a message", words[0]);
    return sinew_fail(error, SINEW_UNAVAILABLE, "%s: %.*s", words[0], (int)strcspn(line, "\n"),
                      line);
}

/* ---- batches ----------------------------------------------------------------------------------
 */

static char *numbered(const char *folder, const char *format, int batch, int index) {
    char name[64];
    snprintf(name, sizeof name, format, batch, index); /* one of the two below */
    return cli_path_join(folder, name);
}
#define BATCH_NAME  "batches/%d.json"
#define RESULT_NAME "results/%d-%d.json"

int farm_batch_next(const char *folder) {
    char *batches = cli_path_join(folder, "batches");
    int count = 0, next = 0;
    char **names = batches ? cli_folder_list(batches, &count) : NULL;
    if (names) {
        for (int i = 0; i < count; i++) {
            int number = atoi(names[i]);
            if (number >= next) next = number + 1;
        }
        cli_names_free(names, count);
    }
    sinew_free(batches);
    return next;
}

static json_t *task_entry(const char *folder, const farm_task *task) {
    char *result = numbered(folder, RESULT_NAME, task->batch, task->index);
    json_t *words = json_array();
    bool good = result && words;
    for (int i = 0; good && task->words[i]; i++)
        good = json_array_append_new(words, json_string(task->words[i])) == 0;
    json_t *entry =
        good ? json_pack("{s:O, s:s, s:s}", "words", words, "log", task->log, "result", result)
             : NULL;
    json_decref(words);
    sinew_free(result);
    return entry;
}

static sinew_status make_folder_in(const char *folder, const char *name, sinew_error *error) {
    char *path = cli_path_join(folder, name);
    sinew_status status = path ? sinew_folder_create(path, error) : cli_no_memory(error);
    sinew_free(path);
    return status;
}

sinew_status farm_batch_write(const char *folder, int batch, farm_task **tasks, int count,
                              char **path, sinew_error *error) {
    *path = NULL;
    CLI_TRY(make_folder_in(folder, "batches", error));
    CLI_TRY(make_folder_in(folder, "results", error));
    /* Indices have gaps where a task follows one of an earlier batch. */
    int entries = 0;
    for (int i = 0; i < count; i++) {
        tasks[i]->batch = batch;
        if (tasks[i]->index >= entries) entries = tasks[i]->index + 1;
    }
    json_t *list = json_array();
    for (int i = 0; i < entries; i++) json_array_append_new(list, json_null());
    for (int i = 0; i < count; i++) {
        json_t *entry = task_entry(folder, tasks[i]);
        if (!entry || json_array_set_new(list, (size_t)tasks[i]->index, entry) != 0) {
            json_decref(list);
            return sinew_fail(error, SINEW_BAD_INPUT,
                              "%s: tasks for other machines need paths that are valid UTF-8",
                              tasks[i]->log);
        }
    }
    json_t *document = json_pack("{s:o}", "tasks", list);
    *path = numbered(folder, BATCH_NAME, batch, 0);
    sinew_status status =
        document && *path ? cli_report_write(document, *path, error) : cli_no_memory(error);
    json_decref(document);
    if (status != SINEW_OK) {
        sinew_free(*path);
        *path = NULL;
    }
    return status;
}

/* The outcome in the file; false: it is not there. */
static bool take_outcome(const char *path, farm_outcome *outcome) {
    json_t *result = cli_json_load_file(path, 0, NULL);
    const json_t *code = json_object_get(result, "code");
    bool found = json_is_integer(code);
    if (found) {
        outcome->code = (int)json_integer_value(code);
        outcome->killed = json_is_true(json_object_get(result, "killed"));
        outcome->seconds = json_number_value(json_object_get(result, "seconds"));
        outcome->processor = json_number_value(json_object_get(result, "processor"));
        unlink(path);
    }
    json_decref(result);
    return found;
}

static int compare_names(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The folder is listed once: on a network file system that is cheaper than looking for every file.
 */
void farm_batch_collect(const char *folder, farm_task **tasks, int count) {
    char *results = cli_path_join(folder, "results");
    int found = 0;
    char **names = results ? cli_folder_list(results, &found) : NULL;
    if (names) {
        for (int i = 0; found && i < count; i++) {
            char *path = numbered(folder, RESULT_NAME, tasks[i]->batch, tasks[i]->index);
            const char *name = path ? cli_path_name(path) : NULL;
            if (name && tasks[i]->state != FARM_ENDED &&
                bsearch(&name, names, (size_t)found, sizeof *names, compare_names) &&
                take_outcome(path, &tasks[i]->outcome))
                tasks[i]->state = FARM_ENDED;
            sinew_free(path);
        }
        cli_names_free(names, found);
    }
    sinew_free(results);
}

/* The words, log and result of a task, checked: the batch may be damaged. */
static char **read_words(const json_t *entry, const char **log, const char **result) {
    const json_t *words = json_object_get(entry, "words");
    *log = json_string_value(json_object_get(entry, "log"));
    *result = json_string_value(json_object_get(entry, "result"));
    size_t count = json_array_size(words);
    char **list = *log && *result && count ? CLI_NEW(char *, count + 1) : NULL;
    for (size_t i = 0; list && i < count; i++) {
        list[i] = (char *)json_string_value(json_array_get(words, i)); /* lives with the entry */
        if (!list[i]) {
            sinew_free(list);
            return NULL;
        }
    }
    return list;
}

static sinew_status run_task(cli_call *call, char **words, const char *log, const char *result) {
    int child;
    farm_outcome outcome = {0};
    double begin = cli_now();
    CLI_TRY(farm_process_start(words, log, &child, &call->error));
    if (!farm_process_ended(child, true, &outcome) || cli_interrupted())
        return sinew_fail(&call->error, SINEW_CANCELLED, "cancelled");
    json_t *document = json_pack("{s:i, s:b, s:o, s:o}", "code", outcome.code, "killed",
                                 outcome.killed, "seconds", cli_report_number(cli_now() - begin),
                                 "processor", cli_report_number(outcome.processor));
    sinew_status status =
        document ? cli_report_write(document, result, &call->error) : cli_no_memory(&call->error);
    json_decref(document);
    CLI_TRY(status);
    if (outcome.code == EXIT_DONE || outcome.code == EXIT_UNFINISHED) return SINEW_OK;
    return sinew_fail(&call->error, SINEW_UNAVAILABLE, "the task ended with code %d; see %s",
                      outcome.code, log);
}

sinew_status farm_batch_run(cli_call *call, const char *batch, const char *index) {
    char *text, *end;
    size_t size;
    long number = strtol(index, &end, 10);
    if (*end || end == index || number < 0)
        return cli_usage(call, "'%s' is not the number of a task", index);
    CLI_TRY(sinew_file_read(batch, &text, &size, &call->error));
    json_t *document = cli_json_loadb(text, size, 0, NULL);
    sinew_free(text);
    const char *log, *result;
    char **words = read_words(json_array_get(json_object_get(document, "tasks"), (size_t)number),
                              &log, &result);
    sinew_status status =
        words
            ? run_task(call, words, log, result)
            : sinew_fail(&call->error, SINEW_BAD_INPUT,
                         "%s: not the batch file of a farm, or it has no task %ld", batch, number);
    sinew_free(words);
    json_decref(document);
    return status;
}
