/* From 20k to a million vertices with every model: an irregular tube with random diagonals and
 * noise in both poses. The claim: at a million a vertex costs at most twice as much as at 20k, and
 * all of it fits into 24 GB.
 *
 * Times are processor seconds of all threads, which other programs on the machine hardly change.
 * Peak: the most memory that the process had in use during the case, the rig included. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench.h"

enum { FRAMES = 3 };

/* ---- the tube ---- */

/* In [-1, 1]. */
static double noise(unsigned *seed) {
    *seed = 1664525u * *seed + 1013904223u;
    return (double)(*seed >> 8) / (1 << 23) - 1;
}

/* A tube of so many vertices along an arc of `angle`, its vertices off their places by a fifth of
 * an edge; the same tube for the same seed. */
static void place_tube(int along, int around, double angle, unsigned seed, double *positions) {
    double radius = 1, edge = 2 * M_PI * radius / around, length = edge * (along - 1);
    double arc = length / angle;
    for (int i = 0; i < along; i++)
        for (int j = 0; j < around; j++) {
            double a = 2 * M_PI * j / around, t = angle * i / (along - 1);
            double r = arc + radius * cos(a), *p = positions + 3 * ((size_t)around * i + j);
            p[0] = r * sin(t), p[1] = arc - r * cos(t), p[2] = radius * sin(a);
            for (int c = 0; c < 3; c++) p[c] += 0.2 * edge * noise(&seed);
        }
}

static sinew_rig *make_tube(int vertices) {
    sinew_error error = {0};
    int around = (int)sqrt(vertices / 3.0), along = vertices / around;
    int n = along * around, quads = (along - 1) * around;
    double *positions = malloc(3 * sizeof(double) * (size_t)n);
    int *start = malloc(sizeof(int) * (2 * (size_t)quads + 1)),
        *corners = malloc(24 * (size_t)quads);
    unsigned seed = 1;
    for (int q = 0; q < quads; q++) {
        int a = q, b = q - q % around + (q + 1) % around, c = b + around, d = a + around;
        const int one[6] = {a, b, d, d, b, c}, other[6] = {a, c, d, a, b, c};
        memcpy(corners + 6 * (size_t)q, noise(&seed) > 0 ? one : other, sizeof one);
    }
    for (int t = 0; t <= 2 * quads; t++) start[t] = 3 * t;
    sinew_mesh *mesh = NULL;
    sinew_rig *rig = NULL;
    place_tube(along, around, 0.5, 7, positions);
    bench_need(sinew_mesh_create(n, positions, 2 * quads, start, corners, &mesh, &error), &error);
    bench_need(sinew_rig_create(mesh, &rig, &error), &error);
    place_tube(along, around, 2.5, 13, positions);
    bench_need(sinew_rig_add_pose(rig, "bent", positions, &error), &error);
    free(positions), free(start), free(corners);
    return rig;
}

/* ---- what a case costs ---- */

static double processor_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Forgets the peak of earlier cases. */
static void reset_peak(void) {
    FILE *file = fopen("/proc/self/clear_refs", "w");
    if (!file) return;
    fputs("5", file);
    fclose(file);
}

/* Gigabytes; 0 where the system does not say. */
static double read_peak(void) {
    FILE *file = fopen("/proc/self/status", "r");
    char line[256];
    double kilobytes = 0;
    while (file && fgets(line, sizeof line, file))
        if (!strncmp(line, "VmHWM:", 6)) kilobytes = atof(line + 6);
    if (file) fclose(file);
    return kilobytes * 1024 / 1e9;
}

static void cost_line(bench *b, const char *what, double seconds, int vertices, const char *more) {
    char limit[64], figures[256];
    double each = 1e6 * seconds / vertices, peak = read_peak();
    snprintf(limit, sizeof limit, "processor time, %.3g us per vertex, peak %.2f GB", each, peak);
    snprintf(figures, sizeof figures,
             "\"vertices\": %d, \"us_per_vertex\": %.4g, \"peak_gb\": %.3f%s", vertices, each, peak,
             more);
    bench_report_more(b, what, seconds, 0, limit, figures);
}

/* ---- the models ---- */

static void rotation_case(bench *b, int vertices) {
    sinew_error error = {0};
    sinew_rig *rig = make_tube(vertices);
    int n = rig->neutral->vertex_count;
    sinew_rotation *rotation = NULL;
    sinew_rotation_state *state = NULL;
    reset_peak();
    double start = processor_seconds();
    bench_need(sinew_rotation_create(rig, NULL, NULL, &rotation, &error), &error);
    bench_need(sinew_rotation_state_create(rotation, &state, &error), &error);
    cost_line(b, "set-up", processor_seconds() - start, n, "");
    double *x = malloc(3 * sizeof(double) * (size_t)n);
    start = processor_seconds();
    for (int k = 1; k <= FRAMES; k++) {
        const double weight = (double)k / (FRAMES + 1);
        sinew_rotation_evaluate(rotation, state, &weight, x);
    }
    cost_line(b, "frame", (processor_seconds() - start) / FRAMES, n, "");
    free(x);
    sinew_rotation_state_destroy(state);
    sinew_rotation_destroy(rotation);
    sinew_rig_destroy(rig);
}

/* Without history, to 1e-6. */
static void spring_case(bench *b, int vertices) {
    sinew_error error = {0};
    sinew_rig *rig = make_tube(vertices);
    int n = rig->neutral->vertex_count, not_converged = 0;
    sinew_spring *spring = NULL;
    sinew_spring_state *state = NULL;
    reset_peak();
    double start = processor_seconds();
    bench_need(sinew_spring_create(rig, NULL, NULL, &spring, &error), &error);
    bench_need(sinew_spring_state_create(spring, &state, &error), &error);
    cost_line(b, "set-up", processor_seconds() - start, n, "");
    double *x = malloc(3 * sizeof(double) * (size_t)n), newton = 0, inner = 0;
    start = processor_seconds();
    for (int k = 1; k <= FRAMES; k++) {
        const double weight = (double)k / (FRAMES + 1);
        sinew_spring_frame frame = {.size = sizeof frame, .weights = &weight, .index = -1};
        sinew_spring_frame_info info = {.size = sizeof info};
        sinew_status status = sinew_spring_solve(spring, state, &frame, x, &info, NULL, &error);
        if (status != SINEW_NOT_CONVERGED) bench_need(status, &error);
        not_converged += status != SINEW_OK;
        newton += (double)info.iterations / FRAMES;
        inner += (double)info.inner_iterations / FRAMES;
    }
    char more[96];
    snprintf(more, sizeof more,
             ", \"newton_steps\": %.3g, \"cg_steps\": %.4g, \"not_converged\": %d", newton, inner,
             not_converged);
    cost_line(b, "frame", (processor_seconds() - start) / FRAMES, n, more);
    free(x);
    sinew_spring_state_destroy(state);
    sinew_spring_destroy(spring);
    sinew_rig_destroy(rig);
}

/* The body is chosen automatically, as the command does. */
static void modal_case(bench *b, int vertices) {
    sinew_error error = {0};
    sinew_rig *rig = make_tube(vertices);
    int n = rig->neutral->vertex_count;
    double *x = malloc(3 * sizeof(double) * (size_t)n),
           *pose = malloc(3 * sizeof(double) * (size_t)n);
    sinew_linear *linear = NULL;
    const double one = 1, times[2] = {0, 1}, *poses[2] = {rig->neutral->positions, pose};
    bench_need(sinew_linear_create(rig, &linear, &error), &error);
    sinew_linear_evaluate(linear, &one, pose);
    sinew_linear_destroy(linear);
    sinew_modal_options options;
    sinew_modal_options_init(&options);
    options.pose_count = 2, options.poses = poses;
    sinew_modal_keys keys = {.size = sizeof keys, .count = 2, .times = times, .positions = poses};
    sinew_modal *modal = NULL;
    sinew_modal_motion *motion = NULL;
    sinew_modal_state *state = NULL;
    reset_peak();
    double start = processor_seconds();
    bench_need(sinew_modal_create(rig->neutral, &options, NULL, &modal, &error), &error);
    bench_need(sinew_modal_motion_create(modal, &keys, NULL, NULL, &motion, &error), &error);
    bench_need(sinew_modal_state_create(modal, &state, &error), &error);
    double set_up = processor_seconds() - start;
    static const char *const bodies[] = {"auto", "tets", "cage", "shell"};
    sinew_modal_info info = {.size = sizeof info};
    sinew_modal_get_info(modal, &info);
    char more[96];
    snprintf(more, sizeof more, ", \"body\": \"%s\", \"elements\": %d", bodies[info.body],
             info.elements);
    cost_line(b, "set-up", set_up, n, more);
    start = processor_seconds();
    for (int k = 1; k <= FRAMES; k++) sinew_modal_frame(motion, state, (double)k / (FRAMES + 1), x);
    cost_line(b, "frame", (processor_seconds() - start) / FRAMES, n, "");
    free(x), free(pose);
    sinew_modal_state_destroy(state);
    sinew_modal_motion_destroy(motion);
    sinew_modal_destroy(modal);
    sinew_rig_destroy(rig);
}

static void rotation_20k(bench *b) {
    rotation_case(b, 20000);
}
static void rotation_160k(bench *b) {
    rotation_case(b, 160000);
}
static void rotation_1m(bench *b) {
    rotation_case(b, 1000000);
}
static void spring_20k(bench *b) {
    spring_case(b, 20000);
}
static void spring_160k(bench *b) {
    spring_case(b, 160000);
}
static void spring_1m(bench *b) {
    spring_case(b, 1000000);
}
static void modal_20k(bench *b) {
    modal_case(b, 20000);
}
static void modal_160k(bench *b) {
    modal_case(b, 160000);
}
static void modal_1m(bench *b) {
    modal_case(b, 1000000);
}

const bench_case bench_size[] = {
    {"rotation-20k", "20k vertices, irregular", rotation_20k},
    {"rotation-160k", "160k vertices, irregular", rotation_160k},
    {"rotation-1m", "1M vertices, irregular", rotation_1m},
    {"spring-20k", "20k vertices, irregular", spring_20k},
    {"spring-160k", "160k vertices, irregular", spring_160k},
    {"spring-1m", "1M vertices, irregular", spring_1m},
    {"modal-20k", "20k vertices, irregular", modal_20k},
    {"modal-160k", "160k vertices, irregular", modal_160k},
    {"modal-1m", "1M vertices, irregular", modal_1m},
    BENCH_END,
};
