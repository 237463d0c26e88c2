/* The backend that runs tasks as job arrays of Slurm, through sbatch, squeue, scancel and sacct.
 *
 * A submission becomes one job array per level: tasks without a predecessor are level 0, and a task
 * that follows another has the index of that one in the array of the next level, which depends on
 * the array before it with `aftercorr`. So element 3 of the second array starts when element 3 of
 * the first has succeeded.
 *
 * What a task came to is in its result file. squeue lists what has not ended, and which tasks ended
 * without a result. It remembers jobs for some minutes without any accounting storage; sacct is
 * asked only for the reason of a loss, and may know nothing. Jobs carry a name that is made from
 * the work folder, so that a farm finds the jobs that an earlier one left behind. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "farm_backend.h"
#include "frame.h"
#include "sinew/cache.h"

/* Elements of an array: its indices are below MaxArraySize of the cluster. */
enum { USUAL_ARRAY = 1001, LONGEST_COMMAND = 32, LONGEST_WORD = 256 };
static const double CALL_SECONDS = 30;   /* for a program of Slurm to answer */
static const double ASK_SECONDS = 1;     /* between two calls of squeue */
static const double RETRY_SECONDS = 2;   /* when Slurm does not answer */
static const double FULL_SECONDS = 5;    /* when it holds as many jobs as it may */
static const double RESULT_SECONDS = 15; /* a result may be late on a network file system */
static const double LOST_SECONDS = 2;    /* the same for a job that did not end well */
static const double CLEAR_SECONDS = 20;  /* for jobs of an earlier farm to go away */
static const double LIMIT_SECONDS = 60;  /* beyond the time limit, for Slurm to enforce it */

/* What sbatch prints, again and again, while Slurm holds MaxJobCount jobs. Those that ended minutes
 * ago count too. */
static const char full[] = "temporarily unable to accept job";

/* The words come from sbatch as they are; the index is a number that Slurm sets. */
static const char script[] = "#!/bin/sh\nexec \"$@\" \"$SLURM_ARRAY_TASK_ID\"\n";

typedef struct slurm {
    const farm_resources *resources;
    char name[40];     /* of our jobs */
    char *script_path; /* of the script above */
    int largest_array; /* elements */
    int first_batch, batch_count;
    long *jobs; /* job of each batch */
    size_t job_capacity;
    farm_task **held; /* of the farm: those that did not fit into Slurm yet, in order */
    int held_count;
    size_t held_capacity;
    double refused;    /* when Slurm last had no room */
    double asked;      /* when squeue was last called */
    double interval;   /* until the next call */
    double unanswered; /* since when Slurm has not answered; 0: it does */
} slurm;

static void pause_for(double seconds) {
    nanosleep(&(struct timespec){(time_t)seconds, (long)(1e9 * (seconds - (time_t)seconds))}, NULL);
}

/* Whether the message is about a scheduler that may answer later. */
static bool is_silence(const char *message) {
    static const char *const signs[] = {"ontact",   "imed out",     "o answer", "onnection",
                                        "emporari", "rotocol auth", "try again"};
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (strstr(message, signs[i])) return true;
    return false;
}

/* Counts the time without an answer. SINEW_OK: there is patience left. */
static sinew_status be_patient(slurm *s, sinew_error *error) {
    const farm_resources *r = s->resources;
    double now = cli_now();
    if (s->unanswered == 0) {
        s->unanswered = now;
        cli_warn(r->call, "%s; trying for %.0f seconds", error->message, r->patience);
    }
    if (now - s->unanswered > r->patience) return error->status;
    return SINEW_OK;
}

/* ---- the queue --------------------------------------------------------------------------------
 */

/* A line of squeue: an element of an array. */
typedef struct queued {
    long job;
    int index;
    const char *state, *reason;
} queued;

typedef struct queue {
    char *text;
    queued *list;
    int count;
} queue;

static void free_queue(queue *q) {
    sinew_free(q->text), sinew_free(q->list);
    *q = (queue){0};
}

static int by_job(const void *a, const void *b) {
    const queued *p = a, *q = b;
    if (p->job != q->job) return p->job < q->job ? -1 : 1;
    return (p->index > q->index) - (p->index < q->index);
}

/* "12_3|RUNNING|None" and so on; what cannot be read is passed over. */
static sinew_status parse_queue(queue *q, sinew_error *error) {
    size_t lines = 1;
    for (const char *c = q->text; *c; c++) lines += *c == '\n';
    q->list = CLI_NEW(queued, lines);
    if (!q->list) return cli_no_memory(error);
    char *rest = q->text;
    for (char *line; (line = strsep(&rest, "\n"));) {
        queued *entry = &q->list[q->count];
        char *end;
        entry->job = strtol(line, &end, 10);
        if (end == line || *end != '_') continue;
        entry->index = (int)strtol(end + 1, &end, 10);
        if (*end != '|') continue;
        char *cursor = end + 1;
        entry->state = strsep(&cursor, "|");
        entry->reason = cursor ? cursor : "";
        q->count++;
    }
    qsort(q->list, (size_t)q->count, sizeof *q->list, by_job);
    return SINEW_OK;
}

static sinew_status ask(slurm *s, queue *q, sinew_error *error) {
    char name[LONGEST_WORD];
    snprintf(name, sizeof name, "--name=%s", s->name);
    const char *words[] = {"squeue", "--noheader", "--array",           "--states=all",
                           name,     "--me",       "--format=%i|%T|%r", NULL};
    double begin = cli_now();
    *q = (queue){0};
    sinew_status status = farm_capture(words, CALL_SECONDS, &q->text, error);
    if (status == SINEW_OK) status = parse_queue(q, error);
    s->asked = cli_now();
    /* A scheduler that takes long to answer is asked less often. */
    s->interval = ASK_SECONDS + 10 * (s->asked - begin);
    if (status != SINEW_OK) free_queue(q);
    return status;
}

static bool is_one_of(const char *state, const char *const *list) {
    for (; *list; list++)
        if (!strcmp(state, *list)) return true;
    return false;
}

static bool is_waiting(const char *state) {
    static const char *const list[] = {"PENDING",      "CONFIGURING", "REQUEUED", "REQUEUE_HOLD",
                                       "REQUEUE_FED",  "SUSPENDED",   "STOPPED",  "RESV_DEL_HOLD",
                                       "SPECIAL_EXIT", NULL};
    return is_one_of(state, list);
}

static bool is_running(const char *state) {
    static const char *const list[] = {"RUNNING",  "COMPLETING", "STAGE_OUT",
                                       "RESIZING", "SIGNALING",  NULL};
    return is_one_of(state, list);
}

/* ---- submitting -------------------------------------------------------------------------------
 */

static int level_of(const farm_task *task) {
    int level = 0;
    for (; task->after; task = task->after) level++;
    return level;
}

/* "0-9" or "0,3-5,7": a list of thousands would be too long for an argument. */
static char *index_list(farm_task **tasks, int count) {
    char *text = CLI_NEW(char, 12 * (size_t)count + 32), *end = text;
    if (!text) return NULL;
    end += sprintf(end, "--array=");
    for (int i = 0, next; i < count; i = next) {
        for (next = i + 1; next < count && tasks[next]->index == tasks[next - 1]->index + 1;)
            next++;
        end += sprintf(end, "%s%d", i ? "," : "", tasks[i]->index);
        if (next > i + 1) end += sprintf(end, "-%d", tasks[next - 1]->index);
    }
    return text;
}

/* The job of the batch, when an earlier attempt to submit it got through although its answer did
 * not; 0: there is none. */
static long find_job(slurm *s, int batch) {
    char name[LONGEST_WORD];
    snprintf(name, sizeof name, "--name=%s", s->name);
    const char *words[] = {"squeue", "--noheader", "--me", name, "--format=%F|%k", NULL};
    char *text;
    sinew_error ignored;
    long found = 0;
    if (farm_capture(words, CALL_SECONDS, &text, &ignored) == SINEW_OK) {
        char *rest = text;
        for (char *line; (line = strsep(&rest, "\n"));) {
            char *end;
            long job = strtol(line, &end, 10);
            if (*end == '|' && end[1] && atoi(end + 1) == batch) found = job;
        }
    }
    sinew_free(text);
    return found;
}

/* *job: 0: Slurm has no room for it. */
static sinew_status call_sbatch(slurm *s, const char *const *words, int batch, long *job,
                                sinew_error *error) {
    for (;;) {
        char *text;
        sinew_status status = farm_capture_until(words, CALL_SECONDS, full, &text, error);
        bool no_room = status != SINEW_OK && text && strstr(text, full);
        /* Warnings of sbatch come before the number, which is on the last line. */
        if (status == SINEW_OK) {
            char *line = text;
            for (char *c = text; *c; c++)
                if (*c == '\n' && c[1] && c[1] != '\n') line = c + 1;
            *job = strtol(line, NULL, 10);
            if (*job <= 0)
                status = sinew_fail(error, SINEW_UNAVAILABLE, "sbatch: unexpected answer '%.100s'",
                                    text);
        }
        sinew_free(text);
        if (status == SINEW_OK || no_room) {
            s->unanswered = 0;
            if (no_room) *job = find_job(s, batch);
            return SINEW_OK;
        }
        if (!is_silence(error->message)) return status;
        CLI_TRY(be_patient(s, error));
        for (double end = cli_now() + RETRY_SECONDS; cli_now() < end;) {
            if (cli_interrupted()) return sinew_fail(error, SINEW_CANCELLED, "cancelled");
            pause_for(0.05);
        }
        if ((*job = find_job(s, batch)) > 0) return SINEW_OK;
    }
}

/* One array. after: the job that its elements follow; 0: none. *job: 0: Slurm has no room for it.
 */
static sinew_status submit_array(slurm *s, farm_task **tasks, int count, long after, long *job,
                                 sinew_error *error) {
    const farm_resources *r = s->resources;
    const char *words[LONGEST_COMMAND];
    char name[LONGEST_WORD], threads[32], limit[32], memory[32], gpus[32], dependency[64];
    char comment[32];
    char partition[LONGEST_WORD], account[LONGEST_WORD];
    int n = 0, batch = s->first_batch + s->batch_count;
    char *path = NULL, *array = index_list(tasks, count);
    sinew_status status = array && CLI_RESERVE(s->jobs, s->job_capacity, s->batch_count + 1)
                              ? farm_batch_write(r->folder, batch, tasks, count, &path, error)
                              : cli_no_memory(error);
    snprintf(name, sizeof name, "--job-name=%s", s->name);
    snprintf(comment, sizeof comment, "--comment=%d", batch);
    snprintf(threads, sizeof threads, "--cpus-per-task=%d", r->threads);
    words[n++] = "sbatch", words[n++] = "--parsable", words[n++] = name, words[n++] = comment;
    words[n++] = "--no-requeue", words[n++] = "--output=/dev/null", words[n++] = "--chdir=/";
    words[n++] = "--ntasks=1", words[n++] = threads, words[n++] = array;
    if (after) {
        snprintf(dependency, sizeof dependency, "--dependency=aftercorr:%ld", after);
        words[n++] = dependency, words[n++] = "--kill-on-invalid-dep=yes";
    }
    if (r->partition) {
        snprintf(partition, sizeof partition, "--partition=%s", r->partition);
        words[n++] = partition;
    }
    if (r->account) {
        snprintf(account, sizeof account, "--account=%s", r->account);
        words[n++] = account;
    }
    if (r->minutes > 0) {
        snprintf(limit, sizeof limit, "--time=%.0f", r->minutes < 1 ? 1 : r->minutes);
        words[n++] = limit;
    }
    if (r->memory > 0) {
        snprintf(memory, sizeof memory, "--mem=%dM", r->memory);
        words[n++] = memory;
    }
    if (r->gpus > 0) {
        snprintf(gpus, sizeof gpus, "--gpus=%d", r->gpus);
        words[n++] = gpus;
    }
    words[n++] = s->script_path, words[n++] = r->program;
    words[n++] = "farm", words[n++] = "task", words[n++] = "--quiet", words[n++] = "--";
    words[n++] = path, words[n] = NULL;
    if (status == SINEW_OK) status = call_sbatch(s, words, batch, job, error);
    if (status == SINEW_OK && *job) s->jobs[s->batch_count++] = *job;
    sinew_free(array), sinew_free(path);
    return status;
}

static void drop(farm_task *task) {
    task->outcome = (farm_outcome){.dropped = true};
    task->state = FARM_ENDED;
}

/* Those with this many before them in the submission; returns how many. */
static int pick_level(farm_task **tasks, int count, int depth, farm_task **level) {
    int size = 0;
    for (int i = 0; i < count; i++)
        if (level_of(tasks[i]) == depth) level[size++] = tasks[i];
    return size;
}

/* Tasks that fit into an array, and all that follow them. *room: Slurm accepted them. Of a chain
 * that it accepted in part the rest is dropped: the farm submits it when its turn comes. */
static sinew_status submit_block(slurm *s, farm_task **tasks, int count, farm_task **level,
                                 bool *room, sinew_error *error) {
    long before = 0, job;
    for (int depth = 0, size; (size = pick_level(tasks, count, depth, level)) > 0; depth++) {
        if (depth == 0 || before) {
            CLI_TRY(submit_array(s, level, size, before, &job, error));
            before = job;
        }
        if (depth == 0) *room = before != 0;
        if (!*room) return SINEW_OK;
        for (int i = 0; !before && i < size; i++) drop(level[i]);
    }
    return SINEW_OK;
}

/* The tasks in blocks; what Slurm has no room for is held. */
static sinew_status submit_all(slurm *s, farm_task **tasks, int count, sinew_error *error) {
    farm_task **level = CLI_NEW(farm_task *, count);
    if (!level) return cli_no_memory(error);
    sinew_status status = SINEW_OK;
    bool room = true;
    int start = 0;
    while (status == SINEW_OK && room && start < count) {
        int first = 0, end = start;
        for (; end < count; end++) {
            if (tasks[end]->after) {
                tasks[end]->index = tasks[end]->after->index;
            } else {
                if (first == s->largest_array) break;
                tasks[end]->index = first++;
            }
        }
        status = submit_block(s, tasks + start, end - start, level, &room, error);
        if (room) start = end;
    }
    if (!room) {
        if (s->refused == 0)
            cli_warn(s->resources->call,
                     "Slurm holds as many jobs as it accepts (MaxJobCount); waiting for room");
        s->refused = cli_now();
    }
    memmove(s->held, tasks + start, sizeof *tasks * (size_t)(count - start));
    s->held_count = count - start;
    for (int i = 0; i < s->held_count; i++) s->held[i]->batch = -1;
    sinew_free(level);
    return status;
}

static sinew_status slurm_submit(void *state, farm_task **tasks, int count, sinew_error *error) {
    slurm *s = state;
    int held = s->held_count;
    if (!CLI_RESERVE(s->held, s->held_capacity, held + count)) return cli_no_memory(error);
    memcpy(s->held + held, tasks, sizeof *tasks * (size_t)count);
    s->held_count += count;
    for (int i = 0; i < count; i++) tasks[i]->batch = -1;
    s->asked = 0; /* the state of the new tasks is soon of interest */
    return held ? SINEW_OK : submit_all(s, s->held, s->held_count, error);
}

/* ---- watching ---------------------------------------------------------------------------------
 */

static void cancel_task(const slurm *s, const farm_task *task) {
    char id[64], *text;
    snprintf(id, sizeof id, "%ld_%d", s->jobs[task->batch - s->first_batch], task->index);
    const char *words[] = {"scancel", "--quiet", id, NULL};
    sinew_error ignored;
    farm_capture(words, CALL_SECONDS, &text, &ignored);
    sinew_free(text);
}

/* What accounting knows about the end of the task, where there is any. */
static void add_account(const slurm *s, const farm_task *task, char *reason, size_t size) {
    char id[64], *text;
    snprintf(id, sizeof id, "--jobs=%ld_%d", s->jobs[task->batch - s->first_batch], task->index);
    const char *words[] = {"sacct",
                           "--noheader",
                           "--parsable2",
                           "--allocations",
                           id,
                           "--format=State,ExitCode,NodeList",
                           NULL};
    sinew_error ignored;
    if (farm_capture(words, CALL_SECONDS, &text, &ignored) == SINEW_OK && *text) {
        size_t used = strlen(reason);
        text[strcspn(text, "\n")] = '\0';
        snprintf(reason + used, size - used, " (sacct: %.80s)", text);
    }
    sinew_free(text);
}

static void lose(const slurm *s, farm_task *task, const char *why, const char *detail) {
    farm_outcome *outcome = &task->outcome;
    *outcome = (farm_outcome){.code = EXIT_SIGNAL + SIGKILL, .killed = true};
    if (task->begin > 0) outcome->seconds = cli_now() - task->begin;
    snprintf(outcome->reason, sizeof outcome->reason, "slurm: %s%.60s", why, detail);
    add_account(s, task, outcome->reason, sizeof outcome->reason);
    task->state = FARM_ENDED;
}

/* The state of a task without a result, according to the queue. */
static void judge(const slurm *s, farm_task *task, const queued *entry) {
    double now = cli_now(), limit = 60 * s->resources->minutes;
    bool orphan = entry && !strcmp(entry->reason, "DependencyNeverSatisfied");
    if (orphan) {
        if (is_waiting(entry->state)) cancel_task(s, task);
        drop(task);
    } else if (entry && is_waiting(entry->state)) {
        task->state = FARM_WAITING, task->silent = 0;
    } else if (entry && is_running(entry->state)) {
        if (task->state != FARM_RUNNING || task->begin == 0) task->begin = now;
        task->state = FARM_RUNNING, task->silent = 0;
        if (limit > 0 && now - task->begin > limit + LIMIT_SECONDS) {
            cancel_task(s, task);
            lose(s, task, "the task did not end at its time limit; its node may be down", "");
        }
    } else {
        bool well = !entry || !strcmp(entry->state, "COMPLETED");
        if (task->silent == 0) task->silent = now;
        if (now - task->silent < (well ? RESULT_SECONDS : LOST_SECONDS)) return;
        if (well)
            lose(s, task, "the task left no result", "");
        else
            lose(s, task, "the task ended as ", entry->state);
    }
}

static sinew_status slurm_poll(void *state, farm_task **tasks, int count, sinew_error *error) {
    slurm *s = state;
    queue q;
    farm_batch_collect(s->resources->folder, tasks, count);
    if (s->held_count && cli_now() - s->refused > FULL_SECONDS)
        CLI_TRY(submit_all(s, s->held, s->held_count, error));
    if (s->asked > 0 && cli_now() - s->asked < s->interval) return SINEW_OK;
    sinew_status status = ask(s, &q, error);
    if (status == SINEW_CANCELLED) return status;
    if (status != SINEW_OK) {
        s->interval = RETRY_SECONDS;
        return be_patient(s, error);
    }
    s->unanswered = 0;
    /* Results of tasks that ended before squeue was asked. */
    farm_batch_collect(s->resources->folder, tasks, count);
    for (int i = 0; i < count; i++) {
        if (tasks[i]->state == FARM_ENDED || tasks[i]->batch < 0) continue;
        queued wanted = {.job = s->jobs[tasks[i]->batch - s->first_batch],
                         .index = tasks[i]->index};
        judge(s, tasks[i], bsearch(&wanted, q.list, (size_t)q.count, sizeof *q.list, by_job));
    }
    free_queue(&q);
    return SINEW_OK;
}

/* ---- opening and closing ----------------------------------------------------------------------
 */

/* Not waited for: it must continue when the farm is interrupted. */
static void cancel_all(const slurm *s) {
    char name[LONGEST_WORD];
    snprintf(name, sizeof name, "--name=%s", s->name);
    const char *words[] = {"scancel", "--quiet", name, NULL};
    char *path = cli_find_program(words[0]);
    pid_t child = path ? fork() : -1;
    if (child == 0) {
        setsid();
        execv(path, (char *const *)words);
        _exit(EXIT_IO);
    }
    sinew_free(path);
    for (double end = cli_now() + 0.15; child > 0 && cli_now() < end;) {
        if (waitpid(child, NULL, WNOHANG) != 0) break;
        pause_for(0.005);
    }
}

/* Cancels what an earlier farm left in the queue, and waits until it is gone. A node that does not
 * answer may hold on to a job: should it ever finish, it writes the same bits under the same name,
 * or a part that the next plan removes. */
static sinew_status clear_queue(slurm *s, sinew_error *error) {
    double end = cli_now() + CLEAR_SECONDS;
    for (bool cancelled = false;;) {
        queue q;
        int left = 0;
        CLI_TRY(ask(s, &q, error));
        for (int i = 0; i < q.count; i++)
            left += is_waiting(q.list[i].state) || is_running(q.list[i].state);
        free_queue(&q);
        if (left == 0) return SINEW_OK;
        if (!cancelled) {
            cli_warn(s->resources->call, "cancelling %d jobs that an earlier farm left in Slurm",
                     left);
            cancel_all(s);
        }
        cancelled = true;
        if (cli_now() > end) {
            cli_warn(s->resources->call, "%d jobs of an earlier farm could not be cancelled", left);
            return SINEW_OK;
        }
        if (cli_interrupted()) return sinew_fail(error, SINEW_CANCELLED, "cancelled");
        pause_for(0.2);
    }
}

static void slurm_close(void *state, farm_task **tasks, int count) {
    slurm *s = state;
    bool left = false;
    for (int i = 0; i < count; i++) left |= tasks[i]->state != FARM_ENDED;
    if (left) cancel_all(s);
    sinew_free(s->script_path), sinew_free(s->jobs), sinew_free(s->held), sinew_free(s);
}

/* MaxArraySize of the cluster. Where it is not told, arrays are as long as Slurm allows unless it
 * was changed, and sbatch reports if that is too much. */
static sinew_status find_largest_array(slurm *s, sinew_error *error) {
    static const char name[] = "MaxArraySize";
    const char *const words[] = {"scontrol", "show", "config", NULL};
    char *text;
    sinew_error ignored;
    s->largest_array = USUAL_ARRAY;
    if (farm_capture(words, CALL_SECONDS, &text, &ignored) == SINEW_OK) {
        const char *line = strstr(text, name), *value = line ? strchr(line, '=') : NULL;
        if (value) s->largest_array = (int)strtol(value + 1, NULL, 10);
    }
    sinew_free(text);
    if (s->largest_array >= 1) return SINEW_OK;
    return sinew_fail(error, SINEW_UNAVAILABLE,
                      "Slurm does not accept job arrays (MaxArraySize is %d)", s->largest_array);
}

static sinew_status slurm_open(const farm_resources *resources, void **state, sinew_error *error) {
    slurm *s = CLI_NEW(slurm, 1);
    char *folder = cli_path_join(resources->folder, "batches");
    if (!s || !folder) {
        sinew_free(s), sinew_free(folder);
        return cli_no_memory(error);
    }
    sinew_hash hash;
    sinew_hash_start(&hash);
    sinew_hash_add_text(&hash, resources->folder);
    s->resources = resources;
    s->first_batch = farm_batch_next(resources->folder);
    snprintf(s->name, sizeof s->name, "sinew-%016llx",
             (unsigned long long)sinew_hash_key(&hash).low);
    s->script_path = cli_path_join(folder, "task.sh");
    sinew_status status =
        s->script_path ? sinew_folder_create(folder, error) : cli_no_memory(error);
    if (status == SINEW_OK)
        status = sinew_file_write(s->script_path, script, sizeof script - 1, error);
    if (status == SINEW_OK) status = clear_queue(s, error);
    if (status == SINEW_OK) status = find_largest_array(s, error);
    sinew_free(folder);
    if (status != SINEW_OK) {
        slurm_close(s, NULL, 0);
        return status;
    }
    *state = s;
    return SINEW_OK;
}

const farm_backend farm_slurm = {
    .name = "slurm",
    .summary = "job arrays of Slurm",
    .jobs = 256,
    .queues = true,
    .shortest_seconds = 5,
    .poll_seconds = 0.25,
    .open = slurm_open,
    .submit = slurm_submit,
    .poll = slurm_poll,
    .close = slurm_close,
};
