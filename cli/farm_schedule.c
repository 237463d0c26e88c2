/* The tasks of a farm. Each is this command in a process of its own:
 *
 *   plan     sinew merge parts --missing     which frames no sound part holds
 *   frames   sinew run --part --frames A-B   one chunk of them
 *   merge    sinew merge parts               the parts to the outputs of the shot
 *
 * The chunks of a shot run in any order, several at a time. Where a frame depends on all earlier
 * ones they run in order, and each starts from the checkpoint of the one before it; such shots go
 * first, because they cannot be sped up later. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/process.h"
#include "base/status.h"
#include "base/threads.h"
#include "farm.h"
#include "frame.h"

enum { ATTEMPTS = 3 }; /* of every task: the first and two more */
/* Default sizes of chunks, in frames. A process reads the rig and the structure again, so that a
 * chunk should not be too short; a chunk that dies is lost, so that it should not be long. */
enum { CHAIN_CHUNK = 48, SHORTEST_CHUNK = 16, LONGEST_CHUNK = 240, CHUNKS_PER_JOB = 2 };
enum { LONGEST_COMMAND = 32 };
/* Time for children to stop by themselves; shorter than what the terminal grants to us. */
static const double PATIENCE_SECONDS = 0.15;

typedef struct task {
    pid_t child; /* 0: the slot is free */
    farm_shot *shot;
    farm_chunk *chunk; /* NULL: planning or merging */
    double begin;
    char *log; /* what the child prints on standard error */
} task;

/* ---- processes ------------------------------------------------------------------------------- */

/* In the child: only calls that are safe after a fork. */
static void become(const char *const *arguments, int log, pid_t parent) {
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* a farm that dies takes its tasks with it */
    int nothing = open("/dev/null", O_RDWR);
    if (getppid() == parent && nothing >= 0 && dup2(nothing, 0) >= 0 && dup2(nothing, 1) >= 0 &&
        dup2(log, 2) >= 0)
        execv("/proc/self/exe", (char *const *)arguments);
    _exit(EXIT_IO);
}

static sinew_status start(farm *f, task *t, const char *const *arguments) {
    sinew_error *error = &f->call->error;
    int log = open(t->log, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (log < 0)
        return sn_fail(error, SINEW_IO, "%s: cannot be written: %s", t->log, strerror(errno));
    pid_t parent = getpid(), child = fork();
    if (child == 0) become(arguments, log, parent);
    int failure = errno;
    close(log);
    if (child < 0)
        return sn_fail(error, SINEW_UNAVAILABLE, "a process cannot be started: %s",
                       strerror(failure));
    sn_child_note(child);
    t->child = child;
    t->begin = sn_now();
    t->shot->running++;
    t->shot->tasks++;
    return SINEW_OK;
}

/* The last line that the task printed, without the name of the command. */
static void read_reason(const task *t, char *reason, size_t size) {
    char *text;
    size_t length;
    sinew_error ignored;
    *reason = '\0';
    if (sn_file_read(t->log, &text, &length, &ignored) != SINEW_OK) return;
    while (length && text[length - 1] == '\n') text[--length] = '\0';
    const char *line = strrchr(text, '\n');
    line = line ? line + 1 : text;
    const char *colon = strstr(line, ": ");
    if (!strncmp(line, "sinew ", 6) && colon) line = colon + 2;
    snprintf(reason, size, "%s", line);
    sn_free(text);
}

static char *log_path(const farm_shot *shot, const farm_chunk *chunk) {
    char name[64];
    if (chunk)
        snprintf(name, sizeof name, "task-%06d-%06d.txt", chunk->first, chunk->last);
    else
        snprintf(name, sizeof name, "task-%s.txt", shot->stage == FARM_PLAN ? "plan" : "merge");
    return sn_path_join(shot->folder, name);
}

/* Arguments are passed on as they are; no shell ever sees them. */
static sinew_status start_task(farm *f, task *t, farm_shot *shot, farm_chunk *chunk) {
    const char *words[LONGEST_COMMAND];
    int count = 0;
    char frames[32], threads[16], memory[32];
    char *plan = sn_path_join(shot->folder, "plan.json");
    *t = (task){.shot = shot, .chunk = chunk, .log = log_path(shot, chunk)};
    if (!plan || !t->log) {
        sn_free(plan);
        return sn_no_memory(&f->call->error);
    }
    words[count++] = "sinew";
    words[count++] = chunk ? "run" : "merge";
    if (chunk) {
        snprintf(frames, sizeof frames, "%d-%d", chunk->first, chunk->last);
        words[count++] = "--frames", words[count++] = frames;
        words[count++] = "--part", words[count++] = shot->parts;
        if (!chunk->afresh) words[count++] = "--resume";
        if (f->allow_outside) words[count++] = "--allow-outside";
        chunk->started = true;
        chunk->attempts++;
    } else {
        words[count++] = "--scene", words[count++] = shot->scene;
        if (shot->stage == FARM_PLAN) {
            words[count++] = "--missing";
            words[count++] = "--report", words[count++] = plan;
        }
        shot->attempts++;
    }
    words[count++] = "--folder", words[count++] = shot->source;
    words[count++] = "--strict", words[count++] = "--quiet";
    snprintf(threads, sizeof threads, "%d", f->threads);
    words[count++] = "--threads", words[count++] = threads;
    double limit = cli_number(f->call, "--memory-limit", 0);
    snprintf(memory, sizeof memory, "%.0f", limit);
    if (limit > 0) words[count++] = "--memory-limit", words[count++] = memory;
    words[count++] = "--", words[count++] = chunk ? shot->scene : shot->parts;
    words[count] = NULL;
    sinew_status status = start(f, t, words);
    sn_free(plan);
    if (status != SINEW_OK) sn_free(t->log);
    return status;
}

/* ---- plans ----------------------------------------------------------------------------------- */

static int chunk_size(const farm *f, const farm_shot *shot, int run) {
    int size = f->chunk;
    if (!size && shot->chained) size = CHAIN_CHUNK;
    if (!size) {
        int parts = CHUNKS_PER_JOB * f->jobs;
        size = (shot->frames + parts - 1) / parts;
        size = size < SHORTEST_CHUNK ? SHORTEST_CHUNK : size;
        size = size > LONGEST_CHUNK ? LONGEST_CHUNK : size;
    }
    /* A chunk that starts within a run would compute the start of the run again. */
    return run > 1 ? (size + run - 1) / run * run : size;
}

/* Chunks start at multiples of the size and cover the missing frames. */
static bool cut(const farm *f, farm_shot *shot, const json_t *missing, int run) {
    int size = chunk_size(f, shot, run), count = 0;
    sn_free(shot->chunks);
    shot->chunk_count = 0;
    shot->done = shot->frames;
    for (int pass = 0; pass < 2; pass++) {
        if (pass == 1) {
            shot->chunks = SN_NEW0(farm_chunk, count ? count : 1);
            if (!shot->chunks) return false;
        }
        for (size_t i = 0; i < json_array_size(missing); i++) {
            const json_t *range = json_array_get(missing, i);
            int first = (int)json_integer_value(json_array_get(range, 0));
            int end = (int)json_integer_value(json_array_get(range, 1));
            while (first <= end) {
                int last = (first / size + 1) * size - 1;
                if (last > end) last = end;
                if (pass == 0) {
                    count++;
                    shot->done -= last - first + 1;
                } else {
                    shot->chunks[shot->chunk_count++] = (farm_chunk){.first = first, .last = last};
                }
                first = last + 1;
            }
        }
    }
    return true;
}

static sinew_status take_plan(farm *f, farm_shot *shot) {
    char *path = sn_path_join(shot->folder, "plan.json");
    json_t *report = path ? json_load_file(path, 0, NULL) : NULL;
    const json_t *clip = json_object_get(report, "clip");
    const char *past = json_string_value(json_object_get(clip, "past"));
    if (path) unlink(path);
    sn_free(path);
    shot->frames = (int)json_integer_value(json_object_get(clip, "frames"));
    shot->chained = past && !strcmp(past, "all");
    bool good = past && shot->frames > 0 &&
                cut(f, shot, json_object_get(clip, "missing"),
                    (int)json_integer_value(json_object_get(clip, "run")));
    json_decref(report);
    shot->attempts = 0;
    shot->stage = good ? FARM_FRAMES : FARM_FAILED;
    if (!good) snprintf(shot->reason, sizeof shot->reason, "the plan of the shot cannot be read");
    return SINEW_OK;
}

/* ---- the loop -------------------------------------------------------------------------------- */

/* The next task of the shot: true when it can start now. *chunk NULL: planning or merging. */
static bool next_task(farm_shot *shot, farm_chunk **chunk) {
    *chunk = NULL;
    if (shot->stage == FARM_PLAN || shot->stage == FARM_MERGE) return shot->running == 0;
    if (shot->stage != FARM_FRAMES || (shot->chained && shot->running)) return false;
    for (int i = 0; i < shot->chunk_count; i++) {
        if (shot->chunks[i].started || shot->chunks[i].done) continue;
        *chunk = &shot->chunks[i];
        return true;
    }
    return false;
}

static bool choose(farm *f, farm_shot **shot, farm_chunk **chunk) {
    for (int chained = 1; chained >= 0; chained--)
        for (int i = 0; i < f->shot_count; i++) {
            *shot = &f->shots[i];
            if ((*shot)->chained == chained && next_task(*shot, chunk)) return true;
        }
    return false;
}

static void fail_shot(farm_shot *shot, const farm_chunk *chunk, const char *reason) {
    shot->stage = FARM_FAILED;
    if (chunk) {
        shot->failed += chunk->last - chunk->first + 1;
        snprintf(shot->reason, sizeof shot->reason, "frames %d-%d: %.450s", chunk->first,
                 chunk->last, reason);
    } else {
        snprintf(shot->reason, sizeof shot->reason, "%s", reason);
    }
}

static void chunk_ended(farm_shot *shot, farm_chunk *chunk, bool good, bool killed,
                        const char *reason) {
    chunk->started = false;
    if (good) {
        chunk->done = true;
        shot->done += chunk->last - chunk->first + 1;
        bool all = true;
        for (int i = 0; i < shot->chunk_count; i++) all = all && shot->chunks[i].done;
        if (all && shot->stage == FARM_FRAMES) shot->stage = FARM_MERGE;
    } else if (chunk->attempts >= ATTEMPTS) {
        fail_shot(shot, chunk, reason);
    } else if (!killed) {
        chunk->afresh = true; /* the checkpoint may be what is wrong */
    }
}

/* What the end of a child means for its shot. */
static sinew_status ended(farm *f, task *t, int outcome) {
    farm_shot *shot = t->shot;
    bool killed = !WIFEXITED(outcome);
    int code = killed ? 128 + WTERMSIG(outcome) : WEXITSTATUS(outcome);
    char reason[512] = "";
    if (code != EXIT_DONE && !killed) read_reason(t, reason, sizeof reason);
    if (!*reason && code != EXIT_DONE)
        snprintf(reason, sizeof reason, killed ? "ended by signal %d" : "exit code %d",
                 killed ? WTERMSIG(outcome) : code);
    /* Frames that did not converge are complete: another attempt would give the same. */
    bool good = code == EXIT_DONE || (code == EXIT_UNFINISHED && shot->stage != FARM_PLAN);
    shot->running--;
    shot->seconds += sn_now() - t->begin;
    if (good) unlink(t->log);
    if (t->chunk) {
        chunk_ended(shot, t->chunk, good, killed, reason);
    } else if (!good) {
        /* The same bad input would be refused again. */
        if (code == EXIT_BAD_INPUT || shot->attempts >= ATTEMPTS) fail_shot(shot, NULL, reason);
    } else if (shot->stage == FARM_PLAN) {
        SN_TRY(take_plan(f, shot));
    } else {
        shot->stage = FARM_DONE;
        shot->unconverged = code == EXIT_UNFINISHED;
        snprintf(shot->reason, sizeof shot->reason, "%s", reason);
    }
    /* All frames were there before: only the merge is left. */
    if (shot->stage == FARM_FRAMES && shot->chunk_count == 0) shot->stage = FARM_MERGE;
    return farm_save(f, &f->call->error);
}

static void pause_for(double seconds) {
    struct timespec time = {0, (long)(1e9 * seconds)};
    nanosleep(&time, NULL);
}

static void release(task *t) {
    sn_child_strike_out(t->child);
    sn_free(t->log);
    *t = (task){0};
}

/* Asks all children to stop, then makes them. */
static void stop_all(farm *f, task *tasks) {
    for (int i = 0; i < f->jobs; i++)
        if (tasks[i].child) kill(tasks[i].child, SIGTERM);
    double begin = sn_now();
    for (int i = 0; i < f->jobs; i++) {
        pid_t child = tasks[i].child;
        if (!child) continue;
        while (waitpid(child, NULL, WNOHANG) == 0) {
            if (sn_now() - begin > PATIENCE_SECONDS) kill(child, SIGKILL);
            pause_for(0.005);
        }
        tasks[i].shot->running--;
        if (tasks[i].chunk) tasks[i].chunk->started = false;
        unlink(tasks[i].log);
        release(&tasks[i]);
    }
}

static void show_progress(const farm *f) {
    double frames = 0, done = 0;
    for (int i = 0; i < f->shot_count; i++) {
        frames += f->shots[i].frames;
        done += f->shots[i].done;
    }
    if (frames > 0) f->call->monitor->progress(done / frames, "frames", f->call->monitor->user);
}

/* Fills free slots. *busy: how many are at work. */
static sinew_status fill(farm *f, task *tasks, int *busy) {
    *busy = 0;
    bool more = true;
    for (int i = 0; i < f->jobs; i++) {
        farm_shot *shot;
        farm_chunk *chunk;
        if (!tasks[i].child && more && (more = choose(f, &shot, &chunk)))
            SN_TRY(start_task(f, &tasks[i], shot, chunk));
        *busy += tasks[i].child != 0;
    }
    return SINEW_OK;
}

static sinew_status collect(farm *f, task *tasks, bool *any) {
    *any = false;
    for (int i = 0; i < f->jobs; i++) {
        int outcome;
        if (!tasks[i].child || waitpid(tasks[i].child, &outcome, WNOHANG) <= 0) continue;
        *any = true;
        sinew_status status = ended(f, &tasks[i], outcome);
        release(&tasks[i]);
        SN_TRY(status);
    }
    return SINEW_OK;
}

sinew_status farm_run(farm *f) {
    task *tasks = SN_NEW0(task, f->jobs);
    if (!tasks) return sn_no_memory(&f->call->error);
    sinew_status status = farm_save(f, &f->call->error);
    double wait = 0.001;
    for (int busy = 1; status == SINEW_OK && busy;) {
        bool any = false;
        status = fill(f, tasks, &busy);
        if (status == SINEW_OK) status = collect(f, tasks, &any);
        show_progress(f);
        if (status == SINEW_OK && cli_interrupted())
            status = sn_fail(&f->call->error, SINEW_CANCELLED, "cancelled");
        wait = any ? 0.001 : fmin(0.02, 1.3 * wait);
        if (!any && busy) pause_for(wait);
    }
    stop_all(f, tasks);
    sn_free(tasks);
    sinew_error ignored;
    sinew_status saved = farm_save(f, status == SINEW_OK ? &f->call->error : &ignored);
    return status == SINEW_OK ? saved : status;
}
