/* The run loop around a model: what the frames cost beyond the model itself. */
#include <stdio.h>
#include <stdlib.h>

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

const bench_case bench_job[] = {
    {"frame-linear", "a frame of the arm, 20k vertices", run_linear},
    {"frame-rotation", "a frame of the arm, 20k vertices", run_rotation},
    BENCH_END,
};
