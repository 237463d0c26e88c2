/* Locks on a rig the size of the largest known ones: 946 targets over 26k vertices, made by cutting
 * and mixing the targets of a face (ICT-FaceKit where the real data is there, else the sample
 * face): each is one target, or the mix of two, under a smooth window, so that it is as local and
 * as overlapping as sculpted correctives are. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

enum { TARGETS = 946, VERTICES = 26000 };

typedef struct lock_case {
    sinew_rig *rig;
    sinew_slider_space *space;
    sinew_locks *locks;
    double *from, *asked, *given;
    int frame;
    const char *name;
    bool on;
} lock_case;

static double random_number(unsigned *seed) {
    *seed = *seed * 1664525u + 1013904223u;
    return (double)(*seed >> 8) / (1 << 24);
}

static sinew_rig *read_face(void) {
    sinew_error error;
    sinew_rig *rig;
    char neutral[1024] = "", targets[1024] = "";
    const char *found = bench_data("free/ict-facekit/generic_neutral_mesh.obj");
    if (found) snprintf(neutral, sizeof neutral, "%s", found);
    found = bench_data("free/ict-facekit/targets");
    if (found) snprintf(targets, sizeof targets, "%s", found);
    if (*neutral && *targets) {
        const char *paths[2] = {neutral, targets};
        bench_need(sinew_rig_read(2, paths, &rig, &error), &error);
    } else {
        sinew_sample_options options;
        sinew_sample_options_init(&options);
        options.vertices = VERTICES;
        bench_need(sinew_sample_rig("face", &options, &rig, &error), &error);
    }
    return rig;
}

/* One new target: a and b of the face under a window around a vertex that a moves. */
static void add_mixed(const sinew_rig *face, sinew_rig *rig, int k, unsigned *seed, double *field,
                      int *vertices, double *deltas) {
    sinew_error error;
    int n = face->neutral->vertex_count, count = 0;
    const sinew_target *a = &face->targets[k % face->target_count];
    const sinew_target *b =
        &face->targets[(int)(random_number(seed) * face->target_count) % face->target_count];
    if (a->count == 0) a = &face->targets[(k + 7) % face->target_count];
    const double *center =
        face->neutral->positions + 3 * (size_t)a->vertices[(int)(random_number(seed) * a->count)];
    double diagonal = sinew_diagonal(n, face->neutral->positions);
    double radius = diagonal * (0.04 + 0.16 * random_number(seed)), mix = random_number(seed);
    memset(field, 0, 3 * sizeof(double) * (size_t)n);
    for (int i = 0; i < 3 * a->count; i++)
        field[3 * (size_t)a->vertices[i / 3] + (size_t)(i % 3)] += a->deltas[i];
    for (int i = 0; i < 3 * b->count && k >= face->target_count; i++)
        field[3 * (size_t)b->vertices[i / 3] + (size_t)(i % 3)] += mix * b->deltas[i];
    for (int v = 0; v < n; v++) {
        const double *p = face->neutral->positions + 3 * (size_t)v;
        double square = 0, size = 0;
        for (int c = 0; c < 3; c++) square += (p[c] - center[c]) * (p[c] - center[c]);
        double x = k < face->target_count ? 1 : 1 - square / (radius * radius);
        double window = x > 0 ? x * x * (3 - 2 * x) : 0;
        for (int c = 0; c < 3; c++) {
            deltas[3 * (size_t)count + (size_t)c] = window * field[3 * (size_t)v + (size_t)c];
            size = fmax(size, fabs(deltas[3 * (size_t)count + (size_t)c]));
        }
        if (size > 1e-6 * diagonal) vertices[count++] = v;
    }
    char name[32];
    snprintf(name, sizeof name, "t%d", k);
    bench_need(sinew_rig_add_target(rig, name, count, vertices, deltas, &error), &error);
}

static void make_rig(lock_case *c) {
    sinew_error error;
    sinew_rig *face = read_face();
    sinew_mesh *neutral;
    bench_need(sinew_mesh_copy(face->neutral, &neutral, &error), &error);
    bench_need(sinew_rig_create(neutral, &c->rig, &error), &error);
    size_t n = (size_t)face->neutral->vertex_count;
    double *field = malloc(3 * n * sizeof *field), *deltas = malloc(3 * n * sizeof *deltas);
    int *vertices = malloc(n * sizeof *vertices);
    unsigned seed = 1;
    for (int k = 0; k < TARGETS; k++) add_mixed(face, c->rig, k, &seed, field, vertices, deltas);
    free(field);
    free(deltas);
    free(vertices);
    sinew_rig_destroy(face);
    c->from = calloc(TARGETS, sizeof(double));
    c->asked = calloc(TARGETS, sizeof(double));
    c->given = calloc(TARGETS, sizeof(double));
    for (int i = 0; i < TARGETS; i += 3) c->from[i] = 0.3 * random_number(&seed);
}

/* Vertices near the one that most targets move: the busiest place. */
static void add_lock(lock_case *c, const char *name, int count) {
    sinew_error error;
    int n = c->rig->neutral->vertex_count, busiest = 0, *load = calloc((size_t)n, sizeof *load);
    for (int k = 0; k < TARGETS; k++)
        for (int i = 0; i < c->rig->targets[k].count; i++) load[c->rig->targets[k].vertices[i]]++;
    for (int v = 0; v < n; v++)
        if (load[v] > load[busiest]) busiest = v;
    const double *p = c->rig->neutral->positions, *q = p + 3 * (size_t)busiest;
    double low = 0, high = sinew_diagonal(n, p);
    int *vertices = malloc((size_t)n * sizeof *vertices), found = 0;
    for (int step = 0; step < 60; step++) { /* the radius that holds `count` of them */
        double radius = 0.5 * (low + high);
        found = 0;
        for (int v = 0; v < n; v++) {
            double s = 0;
            for (int k = 0; k < 3; k++)
                s += (p[3 * (size_t)v + (size_t)k] - q[k]) * (p[3 * (size_t)v + (size_t)k] - q[k]);
            if (load[v] > 0 && s < radius * radius) vertices[found++] = v;
        }
        if (found == count) break;
        *(found < count ? &low : &high) = radius;
    }
    if (found > count) found = count;
    bench_need(
        sinew_locks_add(c->locks, name, found, vertices, SINEW_AXIS_ALL, NULL, c->from, &error),
        &error);
    free(vertices);
    free(load);
}

static double gram_operations(const sinew_rig *rig) {
    int n = rig->neutral->vertex_count;
    int *load = calloc((size_t)n, sizeof *load);
    double sum = 0;
    for (int k = 0; k < TARGETS; k++)
        for (int i = 0; i < rig->targets[k].count; i++) load[rig->targets[k].vertices[i]]++;
    for (int v = 0; v < n; v++) sum += 3.0 * load[v] * load[v]; /* both halves counted once */
    free(load);
    return sum;
}

static void set_up(void *user) {
    lock_case *c = user;
    sinew_error error;
    sinew_slider_space_destroy(c->space);
    bench_need(sinew_slider_space_create(c->rig, &c->space, &error), &error);
}

/* A drag: slider 5 goes up and down, a step per call. */
static void edit(void *user) {
    lock_case *c = user;
    memcpy(c->asked, c->from, TARGETS * sizeof(double));
    c->asked[5] = 0.5 + 0.4 * sin(0.1 * c->frame++);
    sinew_locks_apply(c->locks, c->from, c->asked, c->given, NULL, NULL);
}

static void toggle(void *user) {
    lock_case *c = user;
    c->on = !c->on;
    sinew_locks_switch(c->locks, c->name, c->on, NULL);
}

static void toggle_and_edit(void *user) {
    toggle(user);
    edit(user);
}

static void set_mode(lock_case *c, bool bounded, sinew_lock_mode mode) {
    sinew_error error;
    sinew_lock_options options;
    sinew_lock_options_init(&options);
    options.bounded = bounded;
    options.mode = mode;
    bench_need(sinew_locks_set_options(c->locks, &options, &error), &error);
}

static void run(bench *b) {
    sinew_error error;
    lock_case c = {0};
    make_rig(&c);
    double operations = gram_operations(c.rig);
    char limit[64];
    snprintf(limit, sizeof limit, "%.1f GFlop", 1e-9 * operations);
    double seconds = bench_time(b, set_up, &c);
    bench_report(b, "set-up", seconds, operations / bench_flops_double(b), limit);

    bench_need(sinew_locks_create(c.space, NULL, &c.locks, &error), &error);
    const int sizes[] = {10, 100, 1000};
    const char *names[] = {"10", "100", "1000"};
    double factor = pow(TARGETS, 3) / 3, bytes = 8.0 * TARGETS * TARGETS;
    add_lock(&c, "base", 30);
    for (int i = 0; i < 3; i++) {
        char name[64];
        set_mode(&c, false, SINEW_LOCK_MODE_TRADE);
        add_lock(&c, names[i], sizes[i]);
        c.name = names[i];
        c.on = true;
        double work = factor + 3.0 * sizes[i] * TARGETS * TARGETS;
        snprintf(limit, sizeof limit, "%.2f GFlop, all dense", 1e-9 * work);
        snprintf(name, sizeof name, "change-%s", names[i]);
        bench_report(b, name, bench_time(b, toggle, &c), work / bench_flops_double(b), limit);
        set_mode(&c, true, SINEW_LOCK_MODE_KEEP);
        snprintf(name, sizeof name, "change-%s-and-bounded-edit", names[i]);
        bench_report(b, name, bench_time(b, toggle_and_edit, &c), work / bench_flops_double(b),
                     limit);
        if (!c.on) toggle(&c);
        snprintf(limit, sizeof limit, "read %.1f MB", 1e-6 * bytes);
        double bound = bytes / bench_read_bandwidth(b, bytes);
        snprintf(name, sizeof name, "edit-bounded-keep, %s locked", names[i]);
        bench_report(b, name, bench_time(b, edit, &c), bound, limit);
        set_mode(&c, true, SINEW_LOCK_MODE_TRADE);
        snprintf(name, sizeof name, "edit-bounded-trade, %s locked", names[i]);
        bench_report(b, name, bench_time(b, edit, &c), bound, limit);
        set_mode(&c, false, SINEW_LOCK_MODE_TRADE);
        snprintf(name, sizeof name, "edit-trade, %s locked", names[i]);
        bench_report(b, name, bench_time(b, edit, &c), bound, limit);
        set_mode(&c, false, SINEW_LOCK_MODE_KEEP);
        snprintf(name, sizeof name, "edit-keep, %s locked", names[i]);
        bench_report(b, name, bench_time(b, edit, &c), bound, limit);
        bench_need(sinew_locks_remove(c.locks, names[i], &error), &error);
    }
    sinew_locks_destroy(c.locks);
    sinew_slider_space_destroy(c.space);
    sinew_rig_destroy(c.rig);
    free(c.from);
    free(c.asked);
    free(c.given);
}

const bench_case bench_locks[] = {
    {"946", "946 targets x 26k vertices: set-up, lock changes, edits", run},
    BENCH_END,
};
