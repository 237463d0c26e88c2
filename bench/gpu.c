/* Frames on a graphics processor: `make bench-gpu`. Prints the device, the bandwidth measured in
 * this run, and a table: times from weights on the host to positions on the host. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/threads.h"
#include "gpu/linear.h"
#include "gpu/modal.h"
#include "gpu/rotation.h"
#include "gpu/spring.h"
#include "sinew/modal.h"
#include "sinew/samples.h"
#include "sinew/spring.h"
#include "sinew/threads.h"

enum { REPEATS = 20, BATCH = 256 };

static sinew_error error;

static void must(sinew_status status) {
    if (status == SINEW_OK) return;
    fprintf(stderr, "bench-gpu: %s\n", error.message);
    exit(1);
}

static int compare_doubles(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, int count) {
    qsort(values, (size_t)count, sizeof *values, compare_doubles);
    return values[count / 2];
}

/* ---- rigs ---- */

/* A solid bar of 5c x c x c cells, six tets a cell, a little irregular; bent by 120 degrees in its
 * pose. All vertices belong to the mesh. */
static sinew_rig *lattice_rig(int wanted, sinew_tets *tets) {
    static const int walks[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                    {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    int c = 1;
    while ((5 * c + 6) * (c + 2) * (c + 2) <= wanted) c++;
    int size[3] = {5 * c + 1, c + 1, c + 1}, n = size[0] * size[1] * size[2], triangles = 0;
    double *x = malloc(3 * sizeof *x * (size_t)n), *bent = malloc(3 * sizeof *x * (size_t)n);
    int *tet = malloc(4 * 6 * sizeof *tet * (size_t)n), count = 0;
    int *face = malloc(3 * 4 * 6 * sizeof *face * (size_t)n);
    srand(1);
    for (int v = 0; v < n; v++) {
        int at[3] = {v / (size[1] * size[2]), v / size[2] % size[1], v % size[2]};
        for (int k = 0; k < 3; k++)
            x[3 * v + k] = (at[k] + 0.3 * rand() / RAND_MAX - 0.15) / (5.0 * c) - (k ? 0.1 : 0);
        double angle = 2 * M_PI / 3, radius = 1 / angle, phi = x[3 * v] * angle;
        bent[3 * v] = (radius - x[3 * v + 1]) * sin(phi);
        bent[3 * v + 1] = radius - (radius - x[3 * v + 1]) * cos(phi);
        bent[3 * v + 2] = x[3 * v + 2];
        if (at[0] + 1 == size[0] || at[1] + 1 == size[1] || at[2] + 1 == size[2]) continue;
        for (int w = 0; w < 6; w++) {
            int step[3] = {at[0], at[1], at[2]}, *t = tet + 4 * count++;
            t[0] = v;
            for (int k = 0; k < 3; k++) {
                step[walks[w][k]]++;
                t[k + 1] = (step[0] * size[1] + step[1]) * size[2] + step[2];
            }
            if (w == 1 || w == 2 || w == 5) {
                int swap = t[2];
                t[2] = t[3], t[3] = swap;
            }
        }
    }
    static const int sides[4][3] = {{1, 2, 3}, {0, 3, 2}, {0, 1, 3}, {0, 2, 1}};
    for (int t = 0; t < count; t++)
        for (int s = 0; s < 4; s++)
            for (int k = 0; k < 3; k++)
                for (int end = 0; end < 2; end++) {
                    bool outside = true;
                    for (int i = 0; i < 3; i++) {
                        int v = tet[4 * t + sides[s][i]];
                        int at[3] = {v / (size[1] * size[2]), v / size[2] % size[1], v % size[2]};
                        outside = outside && at[k] == (end ? size[k] - 1 : 0);
                    }
                    for (int i = 0; i < 3 && outside; i++)
                        face[3 * triangles + i] = tet[4 * t + sides[s][i]];
                    triangles += outside;
                }
    sinew_mesh *mesh = NULL;
    sinew_rig *rig = NULL;
    must(sinew_mesh_create(n, x, triangles, NULL, face, &mesh, &error));
    must(sinew_rig_create(mesh, &rig, &error));
    must(sinew_rig_add_pose(rig, "bend", bent, &error));
    *tets = (sinew_tets){n, n, x, count, tet};
    free(bent), free(face);
    return rig;
}

static sinew_rig *sample(const char *name, int vertices) {
    sinew_sample_options options;
    sinew_sample_options_init(&options);
    options.vertices = vertices;
    sinew_rig *rig = NULL;
    must(sinew_sample_rig(name, &options, &rig, &error));
    return rig;
}

/* Weights of frame f of `count`: bodies take one pose after the other, at 0.3 to 1; faces move all
 * their sliders. `limb`: a bar bends by 120 degrees and twists by 60. */
static bool limb;

static void frame_weights(const sinew_rig *rig, int f, int count, double *weights) {
    double t = (double)(f + 1) / count;
    bool body = rig->slider_count <= 8;
    if (limb) {
        for (int s = 0; s < rig->slider_count; s++) {
            const char *name = rig->sliders[s].name;
            weights[s] = strcmp(name, "bend120") == 0  ? t
                         : strcmp(name, "twist1") == 0 ? t / 6
                                                       : rig->sliders[s].rest;
        }
        return;
    }
    for (int s = 0; s < rig->slider_count; s++) {
        double share = body ? (s == f % rig->slider_count ? 0.3 + 0.7 * t : 0)
                            : 0.25 + 0.25 * sin(6.3 * t + 2.4 * s);
        weights[s] = rig->sliders[s].rest + share * (1 - rig->sliders[s].rest);
    }
}

/* ---- cases ---- */

static double distance(const sinew_rig *rig, const double *a, const double *b) {
    double worst = 0;
    int n = rig->neutral->vertex_count;
    for (int k = 0; k < 3 * n; k++) worst = fmax(worst, fabs(a[k] - b[k]));
    return worst / sinew_diagonal(n, rig->neutral->positions);
}

typedef struct timing {
    double middle, worst; /* ms */
    double steps, inner;  /* per frame */
} timing;

static timing time_frames(sn_gpu_spring *device, sinew_spring *spring, sinew_spring_state *state,
                          const sinew_rig *rig, double tolerance, double *positions) {
    double times[REPEATS], *weights = malloc(sizeof *weights * (size_t)rig->slider_count);
    timing t = {0};
    sinew_spring_options options;
    sinew_spring_options_init(&options);
    options.tolerance = tolerance;
    must(sinew_spring_state_set(state, &options, &error));
    (void)spring;
    for (int f = -2; f < REPEATS; f++) { /* two to warm up */
        frame_weights(rig, f < 0 ? 0 : f, REPEATS, weights);
        sinew_spring_frame frame = {.size = sizeof frame, .weights = weights, .index = -1};
        sinew_spring_frame_info info = {.size = sizeof info};
        double began = sn_now();
        must(sn_gpu_spring_solve(device, state, &frame, positions, &info, NULL, &error));
        if (f < 0) continue;
        times[f] = 1e3 * (sn_now() - began);
        t.worst = fmax(t.worst, times[f]);
        t.steps += (double)info.iterations / REPEATS;
        t.inner += (double)info.inner_iterations / REPEATS;
    }
    t.middle = median(times, REPEATS);
    free(weights);
    return t;
}

static void bench_spring(sn_gpu *gpu, const char *name, const sinew_rig *rig,
                         const sinew_tets *tets, bool fill, bool batch, bool compare) {
    sinew_spring_options options;
    sinew_spring_options_init(&options);
    options.tets = tets, options.independent = true;
    if (fill) options.interior = SINEW_SPRING_INTERIOR_TETS;
    sinew_spring *spring = NULL;
    sinew_spring_state *state = NULL;
    sn_gpu_spring *device = NULL;
    size_t n = 3 * (size_t)rig->neutral->vertex_count;
    double *found = malloc(n * sizeof *found), *expected = malloc(n * sizeof *expected);
    sinew_status made = sinew_spring_create(rig, &options, NULL, &spring, &error);
    if (fill && made == SINEW_UNAVAILABLE) { /* tetgen is not installed */
        printf("\n%s: %s\n", name, error.message);
        free(found), free(expected);
        return;
    }
    must(made);
    must(sinew_spring_state_create(spring, &state, &error));
    double began = sn_now();
    must(sn_gpu_spring_create(gpu, spring, &device, &error));
    sinew_spring_info about = {.size = sizeof about};
    sinew_spring_get_info(spring, &about);
    printf("\n%s: %d vertices, %d springs, %d tets; set-up on the device %.1f s, %.0f MB\n", name,
           about.vertex_count, about.spring_count, about.tet_count, sn_now() - began,
           1e-6 * (double)sn_gpu_spring_bytes(device));
    for (int k = 0; k < 2; k++) {
        double tolerance = k ? 1e-6 : 1e-4;
        timing t = time_frames(device, spring, state, rig, tolerance, found);
        printf("  to %.0e: %.3f ms a frame (worst %.3f), %.1f steps, %.1f inner", tolerance,
               t.middle, t.worst, t.steps, t.inner);
        if (compare) {
            double *weights = malloc(sizeof *weights * (size_t)rig->slider_count), cpu = 0;
            frame_weights(rig, REPEATS - 1, REPEATS, weights);
            sinew_spring_frame frame = {.size = sizeof frame, .weights = weights, .index = -1};
            for (int again = 0; again < 2; again++) {
                sinew_spring_frame_info info = {.size = sizeof info};
                double start = sn_now();
                must(sinew_spring_solve(spring, state, &frame, expected, &info, NULL, &error));
                cpu = 1e3 * (sn_now() - start);
            }
            printf("; processor %.1f ms, differs by %.1e of the diagonal", cpu,
                   distance(rig, found, expected));
            free(weights);
        }
        printf("\n");
        if (!batch) continue;
        static sinew_spring_frame frames[BATCH];
        static sinew_spring_frame_info infos[BATCH];
        double inner = 0;
        double *weights = malloc(sizeof *weights * BATCH * (size_t)(rig->slider_count + 1));
        double **positions = malloc(BATCH * sizeof *positions), best = INFINITY;
        for (int f = 0; f < BATCH; f++) {
            double *w = weights + (size_t)f * (size_t)rig->slider_count;
            frame_weights(rig, f, BATCH, w);
            frames[f] = (sinew_spring_frame){.size = sizeof *frames, .weights = w, .index = -1};
            positions[f] = malloc(n * sizeof(double));
            infos[f].size = sizeof *infos;
        }
        for (int again = 0; again < 3; again++) {
            double start = sn_now();
            must(sn_gpu_spring_solve_batch(device, state, BATCH, frames, positions, infos, NULL,
                                           &error));
            if (again) best = fmin(best, sn_now() - start);
        }
        for (int f = 0; f < BATCH; f++) inner += (double)infos[f].inner_iterations / BATCH;
        sinew_spring_frame_info info = {.size = sizeof info};
        must(sn_gpu_spring_solve(device, state, &frames[BATCH - 1], found, &info, NULL, &error));
        printf("  to %.0e: batch of %d: %.0f frames a second, %.1f inner; the last differs by "
               "%.1e from one by itself\n",
               tolerance, BATCH, BATCH / best, inner, distance(rig, positions[BATCH - 1], found));
        for (int f = 0; f < BATCH; f++) free(positions[f]);
        free(weights), free(positions);
    }
    fflush(stdout);
    sn_gpu_spring_destroy(device);
    sinew_spring_state_destroy(state), sinew_spring_destroy(spring);
    free(found), free(expected);
}

static void bench_rotation(sn_gpu *gpu, const char *name, const sinew_rig *rig) {
    sinew_rotation *rotation = NULL;
    sinew_rotation_state *state = NULL;
    sn_gpu_rotation *device = NULL;
    size_t n = 3 * (size_t)rig->neutral->vertex_count;
    double *found = malloc(n * sizeof *found), *expected = malloc(n * sizeof *expected);
    double times[REPEATS], *weights = malloc(sizeof *weights * (size_t)rig->slider_count), cpu = 0;
    must(sinew_rotation_create(rig, NULL, NULL, &rotation, &error));
    must(sinew_rotation_state_create(rotation, &state, &error));
    double began = sn_now();
    must(sn_gpu_rotation_create(gpu, rotation, &device, &error));
    double built = sn_now() - began, worst = 0;
    for (int f = -2; f < REPEATS; f++) {
        frame_weights(rig, f < 0 ? 0 : f, REPEATS, weights);
        double start = sn_now();
        must(sn_gpu_rotation_evaluate(device, weights, found, &error));
        if (f >= 0) times[f] = 1e3 * (sn_now() - start), worst = fmax(worst, times[f]);
    }
    for (int again = 0; again < 3; again++) {
        double start = sn_now();
        sinew_rotation_evaluate(rotation, state, weights, expected);
        cpu = 1e3 * (sn_now() - start);
    }
    printf("\n%s: %d vertices; set-up on the device %.1f s\n  %.3f ms a frame (worst %.3f); "
           "processor %.1f ms, differs by %.1e of the diagonal\n",
           name, rig->neutral->vertex_count, built, median(times, REPEATS), worst, cpu,
           distance(rig, found, expected));
    fflush(stdout);
    sn_gpu_rotation_destroy(device);
    sinew_rotation_state_destroy(state), sinew_rotation_destroy(rotation);
    free(found), free(expected), free(weights);
}

/* A solid bar that swings between its rest shape and a bend. */
static void bench_modal(sn_gpu *gpu, int vertices, int modes) {
    sinew_tets tets;
    sinew_rig *rig = lattice_rig(vertices, &tets);
    sinew_linear *linear = NULL;
    sinew_modal *modal = NULL;
    sinew_modal_state *state = NULL;
    sinew_modal_motion *motion = NULL;
    sn_gpu_modal *device = NULL;
    sn_gpu_motion *poses = NULL;
    size_t n = 3 * (size_t)rig->neutral->vertex_count;
    double *bent = malloc(n * sizeof *bent), *found = malloc(n * sizeof *found);
    double *expected = malloc(n * sizeof *expected), times[REPEATS], cpu = 0;
    const double weight = 1, at[2] = {0, 1};
    const double *ends[2] = {rig->neutral->positions, bent};
    must(sinew_linear_create(rig, &linear, &error));
    sinew_linear_evaluate(linear, &weight, bent);
    sinew_modal_options options;
    sinew_modal_options_init(&options);
    options.modes = modes;
    must(sinew_modal_create_tets(&tets, &options, NULL, &modal, &error));
    must(sinew_modal_state_create(modal, &state, &error));
    sinew_modal_keys keys = {.size = sizeof keys, .count = 2, .times = at, .positions = ends};
    must(sinew_modal_motion_create(modal, &keys, NULL, NULL, &motion, &error));
    double began = sn_now();
    must(sn_gpu_modal_create(gpu, modal, &device, &error));
    must(sn_gpu_motion_create(device, motion, &poses, &error));
    printf("\nmodal: %d vertices, %d tets, %d modes; set-up on the device %.1f s, %.0f MB\n",
           rig->neutral->vertex_count, tets.tet_count, modes, sn_now() - began,
           1e-6 * (double)sn_gpu_modal_bytes(device));
    for (int exact = 0; exact < 2; exact++) {
        double worst = 0;
        state->exact = exact;
        sn_gpu_motion_attach(poses, state);
        for (int f = -2; f < REPEATS; f++) {
            double start = sn_now();
            sinew_modal_frame(motion, state, 0.05 * f, found);
            if (!state->rebuilt) {
                fprintf(stderr, "bench-gpu: %s\n", sn_gpu_motion_why(poses));
                exit(1);
            }
            if (f >= 0) times[f] = 1e3 * (sn_now() - start), worst = fmax(worst, times[f]);
        }
        sn_gpu_motion_attach(NULL, state);
        for (int again = 0; again < 3; again++) {
            double start = sn_now();
            sinew_modal_frame(motion, state, 0.05 * (REPEATS - 1), expected);
            cpu = 1e3 * (sn_now() - start);
        }
        printf("  %s: %.3f ms a frame (worst %.3f); processor %.2f ms, differs by %.1e of the "
               "diagonal\n",
               exact ? "refined" : "single precision", median(times, REPEATS), worst, cpu,
               distance(rig, found, expected));
    }
    fflush(stdout);
    sn_gpu_motion_destroy(poses), sn_gpu_modal_destroy(device);
    sinew_modal_motion_destroy(motion), sinew_modal_state_destroy(state);
    sinew_modal_destroy(modal), sinew_linear_destroy(linear);
    sinew_rig_destroy(rig);
    free(tets.positions), free(tets.tets), free(bent), free(found), free(expected);
}

/* Heads of which every target moves every vertex. */
static void bench_linear(sn_gpu *gpu, double bandwidth, int heads, int vertices, int targets) {
    sinew_rig *rig = NULL;
    sinew_mesh *mesh = NULL;
    double *x = malloc(3 * sizeof *x * (size_t)vertices);
    int face[3] = {0, 1, 2};
    srand(2);
    for (int k = 0; k < 3 * vertices; k++) x[k] = (double)rand() / RAND_MAX;
    must(sinew_mesh_create(vertices, x, 1, NULL, face, &mesh, &error));
    must(sinew_rig_create(mesh, &rig, &error));
    for (int t = 0; t < targets; t++) {
        char name[16];
        snprintf(name, sizeof name, "t%d", t);
        for (int k = 0; k < 3 * vertices; k++)
            x[k] = rig->neutral->positions[k] + 0.1 * rand() / RAND_MAX;
        must(sinew_rig_add_pose(rig, name, x, &error));
    }
    sn_gpu_linear **characters = calloc((size_t)heads, sizeof *characters);
    double *weights = malloc(sizeof *weights * (size_t)targets), times[REPEATS];
    const double **each = malloc(sizeof *each * (size_t)heads);
    float **positions = malloc(sizeof *positions * (size_t)heads);
    double bytes = 0;
    for (int t = 0; t < targets; t++) weights[t] = (double)rand() / RAND_MAX;
    for (int h = 0; h < heads; h++) {
        must(sn_gpu_linear_create(gpu, rig, 1, &characters[h], &error));
        bytes += (double)sn_gpu_linear_bytes(characters[h]);
        each[h] = weights, positions[h] = malloc(3 * sizeof(float) * (size_t)vertices);
    }
    for (int fetch = 0; fetch < 2; fetch++) {
        for (int f = 0; f < REPEATS; f++) {
            double start = sn_now();
            must(sn_gpu_linear_characters(heads, characters, each, fetch ? positions : NULL,
                                          &error));
            times[f] = 1e3 * (sn_now() - start);
        }
        double ms = median(times, REPEATS);
        printf("%slinear, %d heads of %d x %d targets%s: %.3f ms, %.0f MB, %.2f times the time of "
               "its bytes\n",
               fetch ? "  " : "\n", heads, vertices, targets,
               fetch ? ", positions on the host" : ", positions on the device", ms, 1e-6 * bytes,
               1e-3 * ms * bandwidth / bytes);
    }
    fflush(stdout);
    for (int h = 0; h < heads; h++) sn_gpu_linear_destroy(characters[h]), free(positions[h]);
    free(characters), free(weights), free(each), free(positions), free(x);
    sinew_rig_destroy(rig);
}

static bool wanted(int count, char **names, const char *name) {
    for (int k = 1; k < count; k++)
        if (strcmp(names[k], name) == 0) return true;
    return count < 2;
}

int main(int count, char **names) {
    sn_gpu *gpu = NULL;
    double bandwidth = 0;
    must(sn_gpu_open(&gpu, &error));
    must(sn_gpu_bandwidth(gpu, &bandwidth, &error));
    const sn_gpu_properties *about = sn_gpu_about(gpu);
    printf("%s, %d multiprocessors, %.0f GB; copies %.0f GB/s (read and written, this run); "
           "processor with %d threads\n",
           about->name, about->multiprocessors, 1e-9 * (double)about->memory, 1e-9 * bandwidth,
           sinew_threads());
    static const struct {
        const char *name, *sample;
        int vertices;
        bool batch, limb;
    } surfaces[] = {
        {"small", "bar", 2000, true, true},     {"limb", "bar", 18500, true, true},
        {"bar", "bar", 18500, true, false},     {"hand", "hand", 20000, false, false},
        {"face", "face", 26000, false, false},  {"large-limb", "bar", 100000, false, true},
        {"large", "bar", 100000, false, false}, {"million", "bar", 1000000, false, true}};
    for (size_t k = 0; k < sizeof surfaces / sizeof *surfaces; k++) {
        char title[64];
        if (!wanted(count, names, surfaces[k].name)) continue;
        bool million = strcmp(surfaces[k].name, "million") == 0;
        if (million && count < 2) continue;
        sinew_rig *rig = sample(surfaces[k].sample, surfaces[k].vertices);
        limb = surfaces[k].limb;
        snprintf(title, sizeof title, "rotation, %s", surfaces[k].name);
        bench_rotation(gpu, title, rig);
        snprintf(title, sizeof title, "spring, %s", surfaces[k].name);
        bench_spring(gpu, title, rig, NULL, false, surfaces[k].batch, !million);
        sinew_rig_destroy(rig);
    }
    static const struct {
        const char *name;
        int vertices;
        bool batch;
    } solids[] = {{"volumes", 18500, true}, {"large-volumes", 60000, false}};
    for (size_t k = 0; k < sizeof solids / sizeof *solids; k++) {
        if (!wanted(count, names, solids[k].name)) continue;
        sinew_tets tets;
        limb = false;
        sinew_rig *rig = lattice_rig(solids[k].vertices, &tets);
        bench_spring(gpu, "spring with volumes, solid bar", rig, &tets, false, solids[k].batch,
                     true);
        sinew_rig_destroy(rig);
        free(tets.positions), free(tets.tets);
    }
    if (wanted(count, names, "hand-volumes")) {
        sinew_rig *rig = sample("hand", 20000);
        limb = false;
        bench_spring(gpu, "spring with volumes, hand", rig, NULL, true, false, true);
        sinew_rig_destroy(rig);
    }
    if (wanted(count, names, "modal")) bench_modal(gpu, 38400, 40);
    if (wanted(count, names, "linear")) bench_linear(gpu, bandwidth, 40, 26000, 300);
    sn_gpu_close(gpu);
    return 0;
}
