/* The rotation-aware blend from small to large: set-up and frames of the arm, bent. The claim: a
 * vertex costs at most twice as much at a million as at twenty thousand. Set-up is timed once. */
#include <stdio.h>
#include <stdlib.h>

#include "base/threads.h"
#include "bench.h"

typedef struct rotation_case {
    sinew_rig *rig;
    sinew_rotation *rotation;
    sinew_rotation_state *state;
    double *weights, *positions;
} rotation_case;

static void evaluate(void *user) {
    rotation_case *c = user;
    sinew_rotation_evaluate(c->rotation, c->state, c->weights, c->positions);
}

static void run_size(bench *b, int vertices) {
    sinew_error error;
    rotation_case c;
    sinew_sample_options options;
    sinew_sample_options_init(&options);
    options.vertices = vertices;
    bench_need(sinew_sample_rig("arm", &options, &c.rig, &error), &error);
    double n = c.rig->neutral->vertex_count, begin = sn_now();
    bench_need(sinew_rotation_create(c.rig, NULL, NULL, &c.rotation, &error), &error);
    double setup = sn_now() - begin;
    bench_need(sinew_rotation_state_create(c.rotation, &c.state, &error), &error);
    c.weights = calloc((size_t)c.rig->slider_count, sizeof *c.weights);
    c.weights[0] = 0.5;
    c.positions = malloc(3 * (size_t)n * sizeof *c.positions);
    double frame = bench_time(b, evaluate, &c);
    char figures[160];
    snprintf(figures, sizeof figures, "\"vertices\": %.0f, \"microseconds_per_vertex\": %.4g", n,
             1e6 * setup / n);
    bench_report_more(b, "set-up", setup, 0, NULL, figures);
    snprintf(figures, sizeof figures, "\"vertices\": %.0f, \"microseconds_per_vertex\": %.4g", n,
             1e6 * frame / n);
    bench_report_more(b, "frame", frame, 0, NULL, figures);
    sinew_rotation_state_destroy(c.state);
    sinew_rotation_destroy(c.rotation);
    sinew_rig_destroy(c.rig);
    free(c.weights);
    free(c.positions);
}

static void small(bench *b) {
    run_size(b, 20000);
}
static void large(bench *b) {
    run_size(b, 1000000);
}

static sinew_status blend(const double *weights, double *positions, void *user,
                          const sinew_monitor *monitor, sinew_error *error) {
    (void)monitor, (void)error;
    rotation_case *c = user;
    sinew_rotation_evaluate(c->rotation, c->state, weights, positions);
    return SINEW_OK;
}

static void bake(bench *b) {
    sinew_error error;
    rotation_case c = {0};
    sinew_rig *baked;
    sinew_bake_info info = {.size = sizeof info};
    bench_need(sinew_sample_rig("face", NULL, &c.rig, &error), &error);
    bench_need(sinew_rotation_create(c.rig, NULL, NULL, &c.rotation, &error), &error);
    bench_need(sinew_rotation_state_create(c.rotation, &c.state, &error), &error);
    double begin = sn_now();
    bench_need(sinew_bake(c.rig, NULL, blend, &c, NULL, &baked, &info, &error), &error);
    char figures[120];
    snprintf(figures, sizeof figures, "\"vertices\": %d, \"samples\": %d",
             c.rig->neutral->vertex_count, info.samples);
    bench_report_more(b, NULL, sn_now() - begin, 0, NULL, figures);
    sinew_rig_destroy(baked);
    sinew_rotation_state_destroy(c.state);
    sinew_rotation_destroy(c.rotation);
    sinew_rig_destroy(c.rig);
}

const bench_case bench_rotation[] = {
    {"bake-face", "40 targets for the sample face, 2400 samples", bake},
    {"arm-20k", "20k vertices, rotation-aware blend", small},
    {"arm-1m", "a million vertices, rotation-aware blend", large},
    BENCH_END,
};
