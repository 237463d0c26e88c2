/* The tasks of a farm. Each is a process of this command:
 *
 *   plan     sinew run --part --budget S     the first frames that no sound part holds; all of
 *                                            them and the outputs, if there is time
 *            sinew merge parts --missing     the same without computing: with --chunk, and after a
 *                                            failure
 *   frames   sinew run --part --frames A-B   one chunk of the others; the last one merges
 *   merge    sinew merge parts               the parts to the outputs of the shot
 *
 * The chunks of a shot run in any order, several at a time. Where a frame depends on all earlier
 * ones they run in order, and each starts from the checkpoint of the one before it; such shots go
 * first, because they cannot be sped up later. */
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "farm.h"
#include "frame.h"
#include "json.h"

enum { ATTEMPTS = 3 }; /* of every task: the first and two more */
enum { REPAIRS = 2 };  /* plans after a merge that found a damaged part */
enum { PLANNED_PER_JOB = 2, LEAST_PLANNED = 16 }; /* shots that are planned and not computed */
enum { LONGEST_COMMAND = 32 };
/* The table is renewed this often where tasks started or ended, and where only time has passed; or
 * less often where that would take more than a fiftieth of a processor, since it has a row per
 * shot, or more than a fifth of the time, since a busy disk lets us wait. */
static const double SAVE_SECONDS = 0.5, IDLE_SAVE_SECONDS = 2, SAVE_FRACTION = 50,
                    WAIT_FRACTION = 5;
static const double SHOW_SECONDS = 0.1;

static const farm_backend *const backends[] = {&farm_local, &farm_slurm};

const farm_backend *farm_find_backend(const char *name) {
    for (size_t i = 0; i < sizeof backends / sizeof *backends; i++)
        if (!strcmp(backends[i]->name, name)) return backends[i];
    return NULL;
}

/* ---- tasks ------------------------------------------------------------------------------------
 */

static void free_task(farm_task *task) {
    if (!task) return;
    for (int i = 0; task->words && task->words[i]; i++) sinew_free(task->words[i]);
    sinew_free(task->words), sinew_free(task->log);
    sinew_free(task);
}

/* A file of the task in the folder of its shot, by its ending: "txt" is its log, "json" its
 * report. */
static char *task_file(const farm_shot *shot, const farm_chunk *chunk, const char *ending) {
    char name[64];
    if (chunk)
        snprintf(name, sizeof name, "task-%06d-%06d.%s", chunk->first, chunk->last, ending);
    else
        snprintf(name, sizeof name, "task-%s.%s", shot->stage == FARM_PLAN ? "plan" : "merge",
                 ending);
    return cli_path_join(shot->folder, name);
}

/* Appends copies of the texts up to NULL. */
static bool add_words(char **words, ...) {
    va_list list;
    int count = 0;
    bool good = true;
    while (words[count]) count++;
    va_start(list, words);
    for (const char *text; good && (text = va_arg(list, const char *));) {
        good = count + 1 < LONGEST_COMMAND && (words[count] = cli_strdup(text));
        count += good;
    }
    va_end(list);
    return good;
}

/* Contact sheets are drawn by the task that merges. */
static bool sheet_words(const farm *f, const farm_shot *shot, char **words) {
    if (!f->sheets) return true;
    char *sheet = cli_path_join(shot->folder, "sheet.png");
    bool good = sheet && add_words(words, "--sheet", sheet, NULL);
    sinew_free(sheet);
    return good;
}

/* Whether all other frames of the shot are there when the chunk has been computed. */
static bool is_last(const farm_shot *shot, const farm_chunk *chunk) {
    if (json_array_size(shot->missing)) return false;
    for (int i = 0; i < shot->chunk_count; i++) {
        const farm_chunk *other = shot->chunks[i];
        /* In a chain it waits for those that have started. */
        if (other != chunk && !other->done && !(shot->chained && other->started)) return false;
    }
    return true;
}

static bool chunk_words(const farm *f, const farm_shot *shot, const farm_chunk *chunk,
                        char **words) {
    char frames[32];
    snprintf(frames, sizeof frames, "%d-%d", chunk->first, chunk->last);
    bool good = add_words(words, "sinew", "run", "--frames", frames, "--part", shot->parts, NULL);
    if (!chunk->afresh) good = good && add_words(words, "--resume", NULL);
    if (f->allow_outside) good = good && add_words(words, "--allow-outside", NULL);
    if (is_last(shot, chunk))
        good = good && add_words(words, "--merge", NULL) && sheet_words(f, shot, words);
    return good;
}

static bool starts(const farm *f, const farm_shot *shot) {
    return shot->stage == FARM_PLAN && !f->chunk && !shot->careful;
}

static bool step_words(const farm *f, const farm_shot *shot, char **words) {
    char budget[32];
    bool start = starts(f, shot), good;
    snprintf(budget, sizeof budget, "%g", f->chunk_seconds);
    if (start)
        good = add_words(words, "sinew", "run", "--part", shot->parts, "--budget", budget, NULL);
    else
        good = add_words(words, "sinew", "merge", "--scene", shot->scene, NULL);
    if (start && f->allow_outside) good = good && add_words(words, "--allow-outside", NULL);
    if (!start && shot->stage == FARM_PLAN) return good && add_words(words, "--missing", NULL);
    return good && sheet_words(f, shot, words);
}

/* The task of the shot's stage. Arguments are passed on as they are; no shell ever sees them. */
static farm_task *make_task(farm *f, farm_shot *shot, farm_chunk *chunk) {
    char threads[16], memory[32], *report = task_file(shot, chunk, "json");
    farm_task *task = CLI_NEW(farm_task, 1);
    bool good =
        task && report && (task->words = CLI_NEW(char *, LONGEST_COMMAND)) &&
        (task->log = task_file(shot, chunk, "txt")) &&
        (chunk ? chunk_words(f, shot, chunk, task->words) : step_words(f, shot, task->words));
    snprintf(threads, sizeof threads, "%d", f->resources.threads);
    double limit = cli_number(f->call, "--memory-limit", 0);
    snprintf(memory, sizeof memory, "%.0f", limit);
    good = good && add_words(task->words, "--folder", shot->source, "--report", report, "--strict",
                             "--quiet", "--threads", threads, NULL);
    if (limit > 0) good = good && add_words(task->words, "--memory-limit", memory, NULL);
    good = good &&
           add_words(task->words, "--", chunk || starts(f, shot) ? shot->scene : shot->parts, NULL);
    sinew_free(report);
    if (!good) {
        free_task(task);
        return NULL;
    }
    task->shot = shot, task->chunk = chunk;
    shot->running++;
    shot->tasks++;
    if (chunk) {
        chunk->started = true;
        chunk->attempts++;
    } else {
        shot->attempts++;
    }
    return task;
}

/* ---- what the end of a task means -------------------------------------------------------------
 */

/* The last line that the task printed, without the name of the command. */
static void read_reason(const farm_task *task, char *reason, size_t size) {
    char *text;
    size_t length;
    sinew_error ignored;
    *reason = '\0';
    if (sinew_file_read(task->log, &text, &length, &ignored) != SINEW_OK) return;
    while (length && text[length - 1] == '\n') text[--length] = '\0';
    const char *line = strrchr(text, '\n');
    line = line ? line + 1 : text;
    const char *colon = strstr(line, ": ");
    if (!strncmp(line, "sinew ", 6) && colon) line = colon + 2;
    snprintf(reason, size, "%s", line);
    sinew_free(text);
}

static void explain(const farm_task *task, char *reason, size_t size) {
    const farm_outcome *outcome = &task->outcome;
    *reason = '\0';
    if (outcome->code == EXIT_DONE) return;
    if (*outcome->reason)
        snprintf(reason, size, "%s", outcome->reason);
    else if (!outcome->killed)
        read_reason(task, reason, size);
    sinew_text_make_printable(reason); /* it may end in the middle of a character */
    if (*reason) return;
    if (outcome->killed)
        snprintf(reason, size, "ended by signal %d", outcome->code - EXIT_SIGNAL);
    else
        snprintf(reason, size, "exit code %d", outcome->code);
}

static void fail_shot(farm_shot *shot, const farm_chunk *chunk, const char *reason) {
    bool first = shot->stage != FARM_FAILED;
    shot->stage = FARM_FAILED;
    if (chunk) shot->failed += chunk->last - chunk->first + 1;
    if (!first) return;
    if (chunk)
        snprintf(shot->reason, sizeof shot->reason, "frames %d-%d: %.450s", chunk->first,
                 chunk->last, reason);
    else
        snprintf(shot->reason, sizeof shot->reason, "%s", reason);
}

/* Frames of the merged clip that did not reach the tolerance, as ranges. */
static json_t *slack_frames(const json_t *report) {
    const json_t *frames = json_object_get(report, "frames");
    json_t *ranges = json_array();
    int count = (int)json_array_size(frames), first = -1;
    for (int i = 0; i <= count; i++) {
        const json_t *frame = json_array_get(frames, (size_t)i); /* NULL beyond the end */
        const char *status = json_string_value(json_object_get(frame, "status"));
        bool slack = status && strcmp(status, "ok");
        if (slack && first < 0) first = i;
        if (!slack && first >= 0) {
            json_array_append_new(ranges, json_pack("[i, i]", first, i - 1));
            first = -1;
        }
    }
    return ranges;
}

static void merge_ended(farm_shot *shot, const farm_outcome *outcome, const json_t *report,
                        const char *reason) {
    char *sheet = cli_path_join(shot->folder, "sheet.png");
    shot->stage = FARM_DONE;
    shot->sheet = sheet && access(sheet, F_OK) == 0;
    sinew_free(sheet);
    json_decref(shot->slack);
    shot->slack = outcome->code == EXIT_UNFINISHED ? slack_frames(report) : NULL;
    snprintf(shot->reason, sizeof shot->reason, "%s", reason);
}

static void chunk_ended(farm *f, const farm_task *task, bool good, const json_t *report,
                        const char *reason) {
    farm_shot *shot = task->shot;
    farm_chunk *chunk = task->chunk;
    farm_cost *cost = &f->costs[shot->cost];
    chunk->started = false;
    if (good) {
        chunk->done = true;
        shot->done += chunk->last - chunk->first + 1;
        if (!chunk->afresh)
            farm_add_cost(cost, report); /* otherwise it computed other frames too */
        if (shot->done == shot->frames && json_is_true(json_object_get(report, "merged")))
            merge_ended(shot, &task->outcome, report, reason);
    } else if (chunk->attempts >= ATTEMPTS) {
        fail_shot(shot, chunk, reason);
    } else if (!task->outcome.killed) {
        chunk->afresh = true; /* the checkpoint may be what is wrong */
    }
}

/* Planning or merging ended. */
static void step_ended(farm *f, const farm_task *task, bool good, const json_t *report,
                       const char *reason) {
    farm_shot *shot = task->shot;
    bool merging = shot->stage == FARM_MERGE, refused = task->outcome.code == EXIT_BAD_INPUT;
    bool merged = json_is_true(json_object_get(report, "merged"));
    const json_t *part = json_object_get(report, "part");
    double computing = 1e-3 * json_number_value(json_object_get(part, "frames_ms"));
    f->overhead_tasks++;
    f->overhead_seconds += fmax(0, task->outcome.seconds - computing);
    if (good && !merging) farm_add_cost(&f->costs[shot->cost], report);
    if (!good && merging && refused && shot->repairs < REPAIRS) {
        /* A part was damaged after it was written: a plan removes it. */
        shot->repairs++;
        shot->stage = FARM_PLAN, shot->attempts = 0;
    } else if (!good && !merging && !task->outcome.killed && starts(f, shot)) {
        shot->careful = true; /* a checkpoint may be what is wrong: its chunk finds out */
    } else if (!good) {
        /* The same bad input would be refused again. */
        if (refused || shot->attempts >= ATTEMPTS) fail_shot(shot, NULL, reason);
    } else if (!merging && !farm_take_plan(shot, report)) {
        fail_shot(shot, NULL, "the plan of the shot cannot be read");
    } else if (merging || merged) {
        merge_ended(shot, &task->outcome, report, reason);
    } else {
        shot->stage = FARM_FRAMES, shot->attempts = 0;
    }
}

static void task_ended(farm *f, farm_task *task) {
    farm_shot *shot = task->shot;
    const farm_outcome *outcome = &task->outcome;
    shot->running--;
    for (int i = 0; i < f->task_count; i++)
        if (f->tasks[i]->after == task) f->tasks[i]->after = NULL;
    if (outcome->dropped) { /* as if it had not been submitted */
        if (task->chunk)
            task->chunk->started = false, task->chunk->attempts--;
        else
            shot->attempts--;
        shot->tasks--;
        return;
    }
    char reason[512], *path = task_file(shot, task->chunk, "json");
    explain(task, reason, sizeof reason);
    json_t *report = path ? cli_json_load_file(path, 0, NULL) : NULL;
    /* Frames that did not converge are complete: another attempt would give the same. */
    bool good = outcome->code == EXIT_DONE || outcome->code == EXIT_UNFINISHED;
    shot->seconds += outcome->seconds;
    shot->processor += outcome->processor;
    if (path) unlink(path);
    if (good) unlink(task->log);
    if (task->chunk)
        chunk_ended(f, task, good, report, reason);
    else
        step_ended(f, task, good, report, reason);
    if (shot->stage == FARM_FRAMES && shot->done == shot->frames) shot->stage = FARM_MERGE;
    json_decref(report);
    sinew_free(path);
}

/* ---- the loop ---------------------------------------------------------------------------------
 */

/* Adds the next tasks of the shot to f->tasks: one, or the whole chain where the backend keeps the
 * order. Returns how many, -1: no memory. */
static int add_tasks(farm *f, farm_shot *shot, int room) {
    bool chunks = shot->stage == FARM_FRAMES, failed = false;
    int depth = chunks && shot->chained && f->backend->queues ? room : 1, added = 0;
    for (farm_task *before = NULL; added < depth; added++) {
        farm_chunk *chunk = chunks ? farm_next_chunk(f, shot, &failed) : NULL;
        if (chunks && !chunk) break;
        farm_task *task = make_task(f, shot, chunk);
        if (!task) return -1;
        task->after = before;
        before = f->tasks[f->task_count++] = task;
    }
    return failed ? -1 : added;
}

typedef bool wanted(const farm_shot *shot);

static bool is_chain(const farm_shot *shot) {
    return shot->stage == FARM_FRAMES && shot->chained && !shot->running;
}

static bool is_merge(const farm_shot *shot) {
    return shot->stage == FARM_MERGE && !shot->running;
}

static bool is_plan(const farm_shot *shot) {
    return shot->stage == FARM_PLAN && !shot->running;
}

static bool is_free(const farm_shot *shot) {
    return shot->stage == FARM_FRAMES && !shot->chained;
}

static int count_ready(const farm *f, wanted *is_ready) {
    int count = 0;
    for (int i = f->first_open; i < f->first_new; i++) count += is_ready(&f->shots[i]);
    return count;
}

/* Adds the tasks of a shot that is ready, `depth` at a time, while there is room. */
static sinew_status add_shot(farm *f, farm_shot *shot, wanted *is_ready, int shares) {
    for (int added = 1; added > 0 && is_ready(shot);) {
        int room = f->resources.jobs - f->task_count;
        if (room <= 0) return SINEW_OK;
        added = add_tasks(f, shot, room / shares > 1 ? room / shares : 1);
        if (added < 0) return cli_no_memory(&f->call->error);
    }
    return SINEW_OK;
}

/* Adds tasks of the shots that are ready and have had tasks, in their order. Chains share the room.
 */
static sinew_status add_ready(farm *f, wanted *is_ready) {
    int ready = count_ready(f, is_ready);
    for (int i = f->first_open; i < f->first_new && ready > 0; i++) {
        if (!is_ready(&f->shots[i])) continue;
        if (f->task_count == f->resources.jobs) return SINEW_OK;
        CLI_TRY(add_shot(f, &f->shots[i], is_ready, ready--));
    }
    return SINEW_OK;
}

/* Plans at most `most` shots, again or for the first time. */
static sinew_status add_plans(farm *f, int most) {
    for (int i = f->first_open; i < f->shot_count && most > 0; i++) {
        if (f->task_count == f->resources.jobs) return SINEW_OK;
        if (i >= f->first_new) f->first_new = i + 1;
        if (!is_plan(&f->shots[i])) continue;
        CLI_TRY(add_shot(f, &f->shots[i], is_plan, f->resources.jobs));
        most--;
    }
    return SINEW_OK;
}

/* Adds tasks while there is room: what many others wait for goes first. Only so many shots are
 * planned ahead that chains start early, and shots are finished one after another. So only a few of
 * many shots are open, and the time this takes does not depend on how many there are. */
static sinew_status fill(farm *f) {
    while (f->first_open < f->shot_count && f->shots[f->first_open].stage >= FARM_DONE)
        f->first_open++;
    if (f->first_new < f->first_open) f->first_new = f->first_open;
    CLI_TRY(add_ready(f, is_chain));
    CLI_TRY(add_ready(f, is_merge));
    int ahead = PLANNED_PER_JOB * f->resources.jobs, open = 0;
    ahead = ahead < LEAST_PLANNED ? LEAST_PLANNED : ahead;
    for (int i = f->first_open; i < f->first_new; i++)
        open += f->shots[i].stage == FARM_FRAMES || f->shots[i].running;
    CLI_TRY(add_plans(f, ahead - open));
    return add_ready(f, is_free);
}

static sinew_status submit(farm *f, void *state) {
    int start = f->task_count;
    CLI_TRY(fill(f));
    return f->task_count > start
               ? f->backend->submit(state, f->tasks + start, f->task_count - start, &f->call->error)
               : SINEW_OK;
}

/* Handles what has ended. */
static void collect(farm *f, bool *any) {
    int running = 0;
    *any = false;
    for (int i = 0; i < f->task_count;) {
        farm_task *task = f->tasks[i];
        running += task->state == FARM_RUNNING;
        if (task->state != FARM_ENDED) {
            i++;
            continue;
        }
        *any = true;
        task_ended(f, task);
        memmove(f->tasks + i, f->tasks + i + 1, sizeof *f->tasks * (size_t)(f->task_count - i - 1));
        f->task_count--;
        free_task(task);
    }
    if (*any || running != f->running) f->changed = true;
    f->running = running;
    if (running > f->workers) f->workers = running;
}

static void show_progress(farm *f) {
    double frames = 0, done = 0;
    if (cli_now() - f->shown < SHOW_SECONDS) return;
    f->shown = cli_now();
    for (int i = 0; i < f->shot_count; i++) {
        frames += f->shots[i].frames;
        done += f->shots[i].done;
    }
    if (frames > 0) f->call->monitor->progress(done / frames, "frames", f->call->monitor->user);
}

static sinew_status save_sometimes(farm *f) {
    double least = f->changed ? SAVE_SECONDS : IDLE_SAVE_SECONDS;
    least = fmax(least, fmax(SAVE_FRACTION * f->save_processor, WAIT_FRACTION * f->save_seconds));
    if (cli_now() - f->saved < least) return SINEW_OK;
    f->changed = false;
    return farm_save(f, &f->call->error);
}

/* Sleeps until a child ends, or so long. The signal of its end is blocked: one that came before
 * this call is found, too. */
static void wait_for_child(double seconds) {
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigtimedwait(&child, NULL, &(struct timespec){0, (long)(1e9 * seconds)});
}

static sinew_status loop(farm *f, void *state) {
    double wait = 0.001;
    for (bool any = true;;) {
        if (any) CLI_TRY(submit(f, state));
        if (f->task_count == 0) return SINEW_OK;
        CLI_TRY(f->backend->poll(state, f->tasks, f->task_count, &f->call->error));
        collect(f, &any);
        if (cli_interrupted()) return sinew_fail(&f->call->error, SINEW_CANCELLED, "cancelled");
        show_progress(f);
        CLI_TRY(save_sometimes(f));
        wait = any ? 0.001 : fmin(f->backend->poll_seconds, 1.3 * wait);
        if (!any) wait_for_child(wait);
    }
}

/* Tasks that were cancelled: their chunks can run again. */
static void forget_tasks(farm *f) {
    for (int i = 0; i < f->task_count; i++) {
        farm_task *task = f->tasks[i];
        char *report = task_file(task->shot, task->chunk, "json");
        if (report) unlink(report);
        sinew_free(report);
        unlink(task->log);
        task->shot->running--;
        if (task->chunk) task->chunk->started = false;
        free_task(task);
    }
    f->task_count = 0;
}

sinew_status farm_run(farm *f) {
    sinew_error *error = &f->call->error;
    void *state;
    f->began = cli_now();
    f->tasks = CLI_NEW(farm_task *, f->resources.jobs);
    if (!f->tasks) return cli_no_memory(error);
    CLI_TRY(farm_save(f, error));
    CLI_TRY(f->backend->open(&f->resources, &state, error));
    sigset_t child, before;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    pthread_sigmask(SIG_BLOCK, &child, &before);
    sinew_status status = loop(f, state);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    f->backend->close(state, f->tasks, f->task_count);
    forget_tasks(f);
    sinew_error ignored;
    sinew_status saved = farm_save(f, status == SINEW_OK ? error : &ignored);
    return status == SINEW_OK ? saved : status;
}
