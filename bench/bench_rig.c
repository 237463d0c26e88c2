/* Linear evaluation of rigs. Bound: the bytes of the active displacements, read once, over the read
 * bandwidth of a working set of that size. */
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"

enum { VERTICES = 26000 };

typedef struct rig_case {
    sinew_rig *rig;
    sinew_linear *linear;
    double *weights, *positions;
    double bytes;
} rig_case;

static double random_number(unsigned *seed) {
    *seed = *seed * 1664525u + 1013904223u;
    return (double)(*seed >> 8) / (1 << 24) - 0.5;
}

/* Targets that move every `stride`-th run of vertices, `moved` of them: real targets move
 * neighbourhoods, not scattered vertices. */
static void add_targets(rig_case *c, int target_count, int moved) {
    sinew_error error;
    unsigned seed = 1;
    int *vertices = malloc((size_t)moved * sizeof *vertices);
    double *deltas = malloc(3 * (size_t)moved * sizeof *deltas);
    for (int k = 0; k < target_count; k++) {
        int first = moved < VERTICES ? (int)((size_t)k * 7919 % (size_t)(VERTICES - moved)) : 0;
        for (int i = 0; i < moved; i++) vertices[i] = first + i;
        for (int i = 0; i < 3 * moved; i++) deltas[i] = random_number(&seed);
        char name[32];
        snprintf(name, sizeof name, "t%d", k);
        bench_need(sinew_rig_add_target(c->rig, name, moved, vertices, deltas, &error), &error);
    }
    free(vertices);
    free(deltas);
}

static void make(rig_case *c, int target_count, int moved) {
    sinew_error error;
    sinew_mesh *mesh;
    double *positions = calloc(3 * VERTICES, sizeof *positions);
    int *triangles = malloc(3 * (VERTICES - 2) * sizeof *triangles);
    for (int i = 0; i < 3 * (VERTICES - 2); i++) triangles[i] = i / 3 + i % 3;
    bench_need(sinew_mesh_create(VERTICES, positions, VERTICES - 2, NULL, triangles, &mesh, &error),
               &error);
    bench_need(sinew_rig_create(mesh, &c->rig, &error), &error);
    add_targets(c, target_count, moved);
    bench_need(sinew_linear_create(c->rig, &c->linear, &error), &error);
    c->weights = malloc((size_t)target_count * sizeof *c->weights);
    for (int k = 0; k < target_count; k++) c->weights[k] = 0.1 + 0.001 * k;
    c->positions = malloc(3 * VERTICES * sizeof *c->positions);
    /* Displacements in single precision, the neutral and the result in double. */
    c->bytes = 12.0 * target_count * moved + 2 * 24.0 * VERTICES;
    free(positions);
    free(triangles);
}

static void evaluate(void *user) {
    rig_case *c = user;
    sinew_linear_evaluate(c->linear, c->weights, c->positions);
}

static void run_size(bench *b, int target_count, int moved) {
    rig_case c;
    make(&c, target_count, moved);
    int all = sinew_threads();
    for (int threads = 1; threads <= all; threads += all > 1 ? all - 1 : 1) {
        sinew_set_threads(threads);
        char limit[64];
        snprintf(limit, sizeof limit, "read %.1f MB", 1e-6 * c.bytes);
        double seconds = bench_time(b, evaluate, &c);
        bench_report(b, NULL, seconds, c.bytes / bench_read_bandwidth(b, c.bytes), limit);
    }
    sinew_linear_destroy(c.linear);
    sinew_rig_destroy(c.rig);
    free(c.weights);
    free(c.positions);
}

static void dense_60(bench *b) {
    run_size(b, 60, VERTICES);
}
static void dense_900(bench *b) {
    run_size(b, 900, VERTICES);
}
static void sparse_60(bench *b) {
    run_size(b, 60, VERTICES / 10);
}
static void sparse_900(bench *b) {
    run_size(b, 900, VERTICES / 10);
}

const bench_case bench_rig[] = {
    {"linear-60", "26k vertices x 60 dense targets", dense_60},
    {"linear-900", "26k vertices x 900 dense targets", dense_900},
    {"linear-60-sparse", "26k vertices x 60 targets that move a tenth", sparse_60},
    {"linear-900-sparse", "26k vertices x 900 targets that move a tenth", sparse_900},
    BENCH_END,
};
