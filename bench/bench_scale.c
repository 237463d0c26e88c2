/* What limits a clip on many threads, measured on few processors.
 *
 * A machine with 64 cores is rarely at hand. What would keep it from being used shows on two:
 *
 *   serial work   the calling thread hands frames over in order: CPU time in outputs and report,
 *                 as a fraction of the CPU time of the clip. Amdahl's law gives the speedup that is
 *                 left on 64 threads.
 *   contention    2, 8, 16, 32 and 64 threads on the same processors do the same work. If locks or
 *                 shared cache lines cost anything, the CPU time of the clip grows.
 *   memory        heap in use at its highest, per further thread.
 *   states        what a thread computes before its first frame, in frames.
 *
 * A line has the time of the clip, in place of a bound the time with two threads, and their ratio,
 * which stays near 1. */
#include <malloc.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <jansson.h>

#include "base/threads.h"
#include "bench.h"
#include "take.h"

enum { TURNS = 2, WIDE = 64 };
static const int counts[] = {1, 2, 8, 16, 32, WIDE};
enum { COUNTS = sizeof counts / sizeof *counts };

static double cpu_seconds(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* ---- one run --------------------------------------------------------------------------------- */

typedef struct cost {
    double wall, cpu; /* of the best turn in each */
    double output;    /* CPU time in outputs and report */
    double bytes;     /* of the heap, at most */
} cost;

/* Called on the calling thread after every frame that is handed over. */
static void note_memory(double fraction, const char *stage, void *user) {
    (void)fraction, (void)stage;
    struct mallinfo2 heap = mallinfo2();
    cost *c = user;
    c->bytes = fmax(c->bytes, (double)(heap.uordblks + heap.hblkhd));
}

static double output_seconds(const sinew_job *job) {
    sinew_error error;
    char *text;
    bench_need(sinew_job_report(job, &text, &error), &error);
    json_t *report = json_loads(text, 0, NULL);
    double ms =
        json_number_value(json_object_get(json_object_get(report, "totals"), "output_cpu_ms"));
    json_decref(report);
    sinew_free(text);
    return 1e-3 * ms;
}

static cost run_once(sinew_job *job, int threads) {
    sinew_error error;
    cost c = {0};
    sinew_monitor monitor = {.progress = note_memory, .user = &c};
    sinew_set_threads(threads);
    double wall = sn_now(), cpu = cpu_seconds(CLOCK_PROCESS_CPUTIME_ID);
    sinew_status status = sinew_job_run(job, 0, -1, &monitor, &error);
    if (status != SINEW_NOT_CONVERGED) bench_need(status, &error);
    c.wall = sn_now() - wall, c.cpu = cpu_seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    c.output = output_seconds(job);
    return c;
}

static void keep_best(cost *best, cost now, bool first) {
    best->wall = first ? now.wall : fmin(best->wall, now.wall);
    best->cpu = first ? now.cpu : fmin(best->cpu, now.cpu);
    best->output = first ? now.output : fmin(best->output, now.output);
    best->bytes = fmax(best->bytes, now.bytes);
}

/* ---- clips ----------------------------------------------------------------------------------- */

/* CPU seconds of a further solver, whose structure exists. */
static double state_seconds(const sinew_scene *scene) {
    sinew_error error;
    sinew_session *session;
    sinew_session_options options;
    sinew_session_options_init(&options);
    options.loader = sinew_file_loader();
    bench_need(sinew_session_create(scene, &options, &session, &error), &error);
    bench_need(sinew_session_prepare(session, NULL, &error), &error);
    double best = INFINITY;
    sinew_set_threads(1);
    for (int turn = 0; turn < TURNS; turn++) {
        sinew_solver *solver;
        double began = cpu_seconds(CLOCK_THREAD_CPUTIME_ID);
        bench_need(sinew_solver_create(session, NULL, &solver, &error), &error);
        best = fmin(best, cpu_seconds(CLOCK_THREAD_CPUTIME_ID) - began);
        sinew_solver_destroy(solver);
    }
    sinew_session_destroy(session);
    return best;
}

static void report(bench *b, const cost *costs, int frames, double state) {
    const cost *two = &costs[1], *wide = &costs[COUNTS - 1];
    for (int k = 0; k < COUNTS; k++) {
        const cost *c = &costs[k];
        double serial = c->output / c->cpu;
        char limit[160], figures[200];
        sinew_set_threads(counts[k]);
        snprintf(limit, sizeof limit, "two threads; %.3g s CPU, %.2g%% of it serial: %.3g x on %d",
                 c->cpu, 100 * serial, 1 / (serial + (1 - serial) / WIDE), WIDE);
        snprintf(figures, sizeof figures,
                 "\"cpu_s\": %.6g, \"serial_cpu_s\": %.6g, \"heap_bytes\": %.0f, \"frames\": %d",
                 c->cpu, c->output, c->bytes, frames);
        bench_report_more(b, NULL, c->wall, two->wall, limit, figures);
    }
    printf("%46s a further thread needs %.3g MB and computes %.3g frames before its first\n", "",
           1e-6 * (wide->bytes - two->bytes) / (WIDE - counts[1]), state / (costs[0].cpu / frames));
}

static void clip_of(bench *b, const char *text) {
    sinew_scene *scene;
    sinew_job *job;
    sinew_error error;
    cost costs[COUNTS] = {0};
    int all = sinew_threads();
    bench_need(sinew_scene_parse(text, "bench", bench_write_take(), &scene, &error), &error);
    double state = state_seconds(scene);
    bench_need(sinew_job_create(scene, NULL, &job, &error), &error);
    for (int turn = 0; turn <= TURNS; turn++) /* the first one makes the solvers */
        for (int k = 0; k < COUNTS; k++) {
            cost now = run_once(job, counts[k]);
            if (turn == 0)
                costs[k].bytes = now.bytes;
            else
                keep_best(&costs[k], (cost){now.wall, now.cpu, now.output, 0}, turn == 1);
        }
    report(b, costs, sinew_job_frame_count(job), state);
    sinew_set_threads(all);
    sinew_job_destroy(job);
    sinew_scene_destroy(scene);
    bench_remove_take();
}

#define OUTPUT "\"outputs\": {\"frames\": [\"clip.pc2\"]}"
#define FACE                                                                                       \
    "{\"sinew\": 1, \"rig\": {\"sample\": \"face\", \"vertices\": 12000}, " OUTPUT                 \
    ", \"time\": {\"fps\": 180}, "
#define TALK "\"curves\": {\"times\": [0, 1, 2], \"values\": {\"jawOpen\": [0, 1, 0.2]}}"

static void clip_linear(bench *b) {
    clip_of(b, FACE TALK ", \"model\": \"linear\"}");
}
static void clip_rotation(bench *b) {
    clip_of(b, FACE TALK ", \"model\": \"rotation\"}");
}
/* Springs solve runs of 16 frames: 64 threads need 64 runs. */
static void clip_spring(bench *b) {
    clip_of(b, "{\"sinew\": 1, \"rig\": {\"sample\": \"face\", \"vertices\": 3000}, " OUTPUT
               ", \"time\": {\"fps\": 511.5}, " TALK ", \"model\": \"spring\"}");
}
static void clip_modal(bench *b) {
    clip_of(b, FACE "\"model\": \"modal\", \"keys\": [{\"time\": 0, \"pose\": \"neutral\"}, "
                    "{\"time\": 1, \"pose\": \"jawOpen\"}, {\"time\": 2, \"pose\": "
                    "\"mouthPucker\"}]}");
}
static void clip_fit(bench *b) {
    clip_of(b, FACE "\"model\": \"fit\", \"markers\": {\"file\": \"take.csv\", \"map\": "
                    "\"map.csv\"}}");
}

const bench_case bench_scale[] = {
    {"linear", "361 frames of the face on more threads than processors", clip_linear},
    {"rotation", "361 frames of the face on more threads than processors", clip_rotation},
    {"spring", "1024 frames of a face of 3k vertices on more threads than processors", clip_spring},
    {"modal", "361 frames of the face on more threads than processors", clip_modal},
    {"fit", "361 frames of the face on more threads than processors", clip_fit},
    BENCH_END,
};
