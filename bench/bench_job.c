/* The run loop around a model: what the frames cost beyond the model itself. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/threads.h"
#include "bench.h"

typedef struct job_case {
    sinew_job *job;
    double *positions;
    int frame;
} job_case;

static void next_frame(void *user) {
    job_case *c = user;
    sinew_error error;
    bench_need(sinew_job_frame(c->job, c->frame, c->positions, NULL, NULL, &error), &error);
    c->frame = (c->frame + 1) % sinew_job_frame_count(c->job);
}

static void run_model(bench *b, const char *model) {
    char text[256];
    snprintf(text, sizeof text,
             "{\"sinew\": 1, \"rig\": {\"sample\": \"arm\", \"vertices\": 20000}, \"model\": "
             "\"%s\", \"steps\": 36}",
             model);
    sinew_scene *scene;
    sinew_error error;
    job_case c = {0};
    bench_need(sinew_scene_parse(text, "bench", NULL, &scene, &error), &error);
    bench_need(sinew_job_create(scene, NULL, &c.job, &error), &error);
    int n = sinew_job_rig(c.job)->neutral->vertex_count;
    c.positions = malloc(3 * (size_t)n * sizeof *c.positions);
    /* Every model must at least write the positions. */
    double bytes = 24.0 * n;
    bench_report(b, NULL, bench_time(b, next_frame, &c), bytes / bench_read_bandwidth(b, bytes),
                 "write the positions");
    free(c.positions);
    sinew_job_destroy(c.job);
    sinew_scene_destroy(scene);
}

static void run_linear(bench *b) {
    run_model(b, "linear");
}
static void run_rotation(bench *b) {
    run_model(b, "rotation");
}

/* ---- several frames at once ------------------------------------------------------------------ */

enum { TURNS = 3, MOST_COUNTS = 8 };

static double run_clip(sinew_job *job, int threads) {
    sinew_error error;
    sinew_set_threads(threads);
    double began = sn_now();
    sinew_status status = sinew_job_run(job, 0, -1, NULL, &error);
    if (status != SINEW_NOT_CONVERGED) bench_need(status, &error);
    return sn_now() - began;
}

/* The whole clip with 1, 2, 4 … threads in turns; the bound is the time with one divided by their
 * number: 1.18 is 0.85 of linear. */
static void clip_of(bench *b, const char *text) {
    sinew_scene *scene;
    sinew_job *job;
    sinew_error error;
    int all = sinew_threads(), counts[MOST_COUNTS] = {1}, count = 1;
    double best[MOST_COUNTS];
    for (int threads = 2; threads <= all && count < MOST_COUNTS; threads *= 2)
        counts[count++] = threads;
    bench_need(sinew_scene_parse(text, "bench", NULL, &scene, &error), &error);
    bench_need(sinew_job_create(scene, NULL, &job, &error), &error);
    for (int k = 0; k < count; k++) best[k] = run_clip(job, counts[k]); /* makes the solvers */
    for (int turn = 0; turn < TURNS; turn++)
        for (int k = 0; k < count; k++) best[k] = fmin(best[k], run_clip(job, counts[k]));
    for (int k = 0; k < count; k++) {
        sinew_set_threads(counts[k]);
        bench_report(b, NULL, best[k], best[0] / counts[k], "one thread, divided");
    }
    sinew_set_threads(all);
    sinew_job_destroy(job);
    sinew_scene_destroy(scene);
}

#define FACE                                                                                       \
    "{\"sinew\": 1, \"rig\": {\"sample\": \"face\", \"vertices\": 12000}, \"time\": {\"fps\": "    \
    "60}, "                                                                                        \
    "\"curves\": {\"times\": [0, 1, 2], \"values\": {\"jawOpen\": [0, 1, 0.2]}}, "

static void clip_rotation(bench *b) {
    clip_of(b, FACE "\"model\": \"rotation\"}");
}
static void clip_spring(bench *b) {
    clip_of(b, FACE "\"model\": \"spring\"}");
}
static void clip_modal(bench *b) {
    clip_of(b, "{\"sinew\": 1, \"rig\": {\"sample\": \"bar\", \"vertices\": 7300}, \"model\": "
               "\"modal\", \"time\": {\"fps\": 120}, \"keys\": [{\"time\": 0, \"pose\": "
               "\"neutral\"}, {\"time\": 1, \"pose\": \"bend120\"}]}");
}

const bench_case bench_job[] = {
    {"clip-rotation", "121 frames of the face, several at once", clip_rotation},
    {"clip-spring", "121 frames of the face in runs of 16, several at once", clip_spring},
    {"clip-modal", "121 frames of a bar, several at once", clip_modal},
    {"frame-linear", "a frame of the arm, 20k vertices", run_linear},
    {"frame-rotation", "a frame of the arm, 20k vertices", run_rotation},
    BENCH_END,
};
