/* Spring equilibria on a bar of the five published sizes, bent by 120 degrees in 36 steps.
 *
 * The published table (CPU of its time): 2.23, 40.11, 67.58, 81.36 and 153.99 s a step.
 * Per size: a steady step (history), a cold one (from the rotation-aware blend), warm Newton (from
 * the last frame, a factorization per iteration), and the published way, plain Newton from the
 * source shape. The last two run a few steps only, and say how many times slower than a steady step
 * of the same tolerance they are. The published way has lengths alone; lines that say volume have
 * tets inside.
 *
 * Contact: a hand that closes on a cylinder (led past its middle) and lids that close over a ball
 * a little larger than the eye, as a clip and every frame alone. Self-contact: lids that press on
 * each other.
 *
 * Bound: what the conjugate-gradient and Newton steps that were taken must read at least (factor,
 * spring table, vectors), over the bandwidth of that working set. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/threads.h"
#include "bench.h"
#include "spring/structure.h"

enum { STEPS = 36, NEWTON_STEPS = 3, PUBLISHED_STEPS = 2 };

typedef struct run_figures {
    double mean, worst;
    double newton, inner; /* steps per frame */
    double bytes;         /* read per frame */
    int not_converged;
} run_figures;

static double bytes_per_frame(const sinew_spring *spring, double newton, double inner) {
    const sn_system *s = spring->system;
    double springs = s->spring_count, vertices = s->free_count, tets = s->tet_count;
    double factor = (double)sn_cholesky_nonzeros(spring->preconditioner->laplacian);
    double per_inner = 2 * 4 * factor + springs * 20 + tets * 64 + vertices * 16 * 14;
    double per_newton = 3 * springs * 24 + tets * 120 + vertices * 32 * 6;
    return inner * per_inner + (newton + 1) * per_newton;
}

static run_figures run(const sinew_rig *rig, double tolerance, double volume,
                       sinew_spring_solver solver, bool independent, int steps,
                       const sinew_spring **keep) {
    sinew_error error = {0};
    sinew_spring_options options;
    sinew_spring_options_init(&options);
    options.tolerance = tolerance, options.volume = volume, options.solver = solver;
    if (volume > 0) options.interior = SINEW_SPRING_INTERIOR_TETS;
    if (solver == SINEW_SPRING_SOLVER_PUBLISHED)
        options.guide = options.altitude = options.pull_to_blend = 0;
    options.independent = independent;
    sinew_spring *spring = NULL;
    sinew_spring_state *state = NULL;
    bench_need(sinew_spring_create(rig, &options, NULL, &spring, &error), &error);
    bench_need(sinew_spring_state_create(spring, &state, &error), &error);
    double *x = malloc(3 * sizeof(double) * (size_t)rig->neutral->vertex_count);
    double *weights = calloc((size_t)rig->slider_count, sizeof(double));
    run_figures f = {0};
    for (int k = 0; k <= steps; k++) {
        weights[0] = (double)k / STEPS;
        sinew_spring_frame frame = {.size = sizeof frame, .weights = weights, .index = k};
        sinew_spring_frame_info info = {.size = sizeof info};
        sinew_status status = sinew_spring_solve(spring, state, &frame, x, &info, NULL, &error);
        if (status != SINEW_NOT_CONVERGED) bench_need(status, &error);
        if (k < 2) continue; /* the first frames have no history yet */
        f.not_converged += status != SINEW_OK;
        f.mean += info.seconds / (steps - 1);
        f.worst = info.seconds > f.worst ? info.seconds : f.worst;
        f.newton += (double)info.iterations / (steps - 1);
        f.inner += (double)info.inner_iterations / (steps - 1);
    }
    f.bytes = bytes_per_frame(spring, f.newton, f.inner);
    free(x), free(weights);
    sinew_spring_state_destroy(state);
    *keep = spring;
    return f;
}

/* steady: mean seconds of our steady step, for the solvers it is compared with; 0: no comparison */
static void line(bench *b, const char *name, run_figures f, double steady,
                 const sinew_spring *spring) {
    char limit[64], figures[512];
    sinew_spring_info s = {.size = sizeof s};
    sinew_spring_get_info(spring, &s);
    if (steady > 0)
        snprintf(limit, sizeof limit, "worst %.1f ms, %.0f x a steady step", f.worst * 1e3,
                 f.mean / steady);
    else
        snprintf(limit, sizeof limit, "worst %.1f ms, read %.1f MB", f.worst * 1e3, f.bytes / 1e6);
    snprintf(figures, sizeof figures,
             "\"vertices\": %d, \"springs\": %d, \"tets\": %d, \"worst_ms\": %.4g, "
             "\"newton_steps\": %.3g, \"cg_steps\": %.4g, \"not_converged\": %d, "
             "\"bytes_per_vertex\": %.0f",
             s.vertex_count, s.spring_count, s.tet_count, f.worst * 1e3, f.newton, f.inner,
             f.not_converged, s.bytes_per_vertex);
    double bound = steady > 0 ? 0 : f.bytes / bench_read_bandwidth(b, f.bytes);
    bench_report_more(b, name, f.mean, bound, limit, figures);
}

static void size_case(bench *b, int vertices) {
    sinew_error error = {0};
    sinew_sample_options sample;
    sinew_sample_options_init(&sample);
    sample.vertices = vertices;
    sinew_rig *rig = NULL;
    bench_need(sinew_sample_rig("bar", &sample, &rig, &error), &error);
    static const struct {
        const char *name;
        double tolerance, volume;
        bool independent;
        sinew_spring_solver solver;
        int steps; /* of the 36 */
    } runs[] = {{"steady-1e-4", 1e-4, 0, false, SINEW_SPRING_SOLVER_DEFAULT, STEPS},
                {"steady-1e-6", 1e-6, 0, false, SINEW_SPRING_SOLVER_DEFAULT, STEPS},
                {"cold-1e-4", 1e-4, 0, true, SINEW_SPRING_SOLVER_DEFAULT, STEPS},
                {"cold-1e-6", 1e-6, 0, true, SINEW_SPRING_SOLVER_DEFAULT, STEPS},
                {"volume-1e-4", 1e-4, 1, false, SINEW_SPRING_SOLVER_DEFAULT, STEPS},
                {"volume-1e-6", 1e-6, 1, false, SINEW_SPRING_SOLVER_DEFAULT, STEPS},
                {"newton-1e-4", 1e-4, 0, false, SINEW_SPRING_SOLVER_NEWTON, NEWTON_STEPS},
                {"newton-1e-6", 1e-6, 0, false, SINEW_SPRING_SOLVER_NEWTON, NEWTON_STEPS},
                /* the published way diverges on long steps: it is timed where it still converges */
                {"published-1e-4", 1e-4, 0, false, SINEW_SPRING_SOLVER_PUBLISHED, PUBLISHED_STEPS},
                {"published-1e-6", 1e-6, 0, false, SINEW_SPRING_SOLVER_PUBLISHED, PUBLISHED_STEPS}};
    double steady[2] = {0}; /* at 1e-4 and 1e-6 */
    for (int k = 0; k < (int)(sizeof runs / sizeof *runs); k++) {
        const sinew_spring *spring = NULL;
        run_figures f = run(rig, runs[k].tolerance, runs[k].volume, runs[k].solver,
                            runs[k].independent, runs[k].steps, &spring);
        if (k < 2) steady[k] = f.mean;
        bool ours = runs[k].solver == SINEW_SPRING_SOLVER_DEFAULT;
        line(b, runs[k].name, f, ours ? 0 : steady[k % 2], spring);
        sinew_spring_destroy((sinew_spring *)spring);
    }
    sinew_rig_destroy(rig);
}

static void two(bench *b) {
    size_case(b, 2200);
}
static void seven(bench *b) {
    size_case(b, 7300);
}
static void eight(bench *b) {
    size_case(b, 8100);
}
static void eight_half(bench *b) {
    size_case(b, 8500);
}
static void eighteen(bench *b) {
    size_case(b, 18600);
}

/* ---- contact ---- */

typedef struct contact_figures {
    run_figures run;
    double free_mean; /* seconds of a frame without the obstacle */
    double rounds, contacts;
    double depth; /* deepest of all frames, fraction of the diagonal */
} contact_figures;

/* One slider from `from` to `to` in even steps. */
typedef struct contact_clip {
    const char *slider;
    double from, to;
    int steps;
    sinew_obstacle *obstacle;
    const double *allowed, *allowed_triangles; /* depths, or NULL */
} contact_clip;

static contact_figures run_contact(const sinew_spring *spring, const sinew_rig *rig,
                                   const contact_clip *clip, bool alone) {
    sinew_error error = {0};
    contact_figures f = {0};
    double *x = malloc(3 * sizeof(double) * (size_t)rig->neutral->vertex_count);
    double *weights = calloc((size_t)rig->slider_count, sizeof(double));
    const sinew_obstacle *obstacle = clip->obstacle;
    int at = 0, steps = clip->steps;
    while (strcmp(rig->sliders[at].name, clip->slider)) at++;
    for (int touching = 0; touching < 2; touching++) {
        sinew_spring_state *state = NULL;
        bench_need(sinew_spring_state_create(spring, &state, &error), &error);
        for (int k = 0; k < steps; k++) {
            weights[at] = clip->from + (clip->to - clip->from) * k / (steps - 1);
            sinew_spring_frame frame = {.size = sizeof frame,
                                        .weights = weights,
                                        .index = alone ? -1 : k,
                                        .obstacle_count = touching,
                                        .obstacles = &obstacle,
                                        .allowed_depth = &clip->allowed,
                                        .allowed_triangle_depth = &clip->allowed_triangles};
            sinew_spring_frame_info info = {.size = sizeof info};
            sinew_status status = sinew_spring_solve(spring, state, &frame, x, &info, NULL, &error);
            if (status != SINEW_NOT_CONVERGED) bench_need(status, &error);
            if (!touching) {
                f.free_mean += info.seconds / steps;
                continue;
            }
            f.run.not_converged += status != SINEW_OK;
            f.run.mean += info.seconds / steps;
            f.run.worst = info.seconds > f.run.worst ? info.seconds : f.run.worst;
            f.run.newton += (double)info.iterations / steps;
            f.run.inner += (double)info.inner_iterations / steps;
            f.rounds += (double)info.rounds / steps;
            f.contacts += (double)info.contacts / steps;
            f.depth = info.depth > f.depth ? info.depth : f.depth;
        }
        sinew_spring_state_destroy(state);
    }
    f.run.bytes = bytes_per_frame(spring, f.run.newton, f.run.inner);
    free(x), free(weights);
    return f;
}

static void contact_case(bench *b, const sinew_rig *rig, const contact_clip *clip) {
    sinew_error error = {0};
    sinew_spring_options options;
    sinew_spring_options_init(&options);
    sinew_spring *spring = NULL;
    bench_need(sinew_spring_create(rig, &options, NULL, &spring, &error), &error);
    sinew_spring_info s = {.size = sizeof s};
    sinew_spring_get_info(spring, &s);
    for (int alone = 0; alone < 2; alone++) {
        contact_figures f = run_contact(spring, rig, clip, alone);
        char limit[96], figures[512];
        snprintf(limit, sizeof limit, "worst %.0f ms, %.0f x without contact, read %.0f MB",
                 f.run.worst * 1e3, f.run.mean / f.free_mean, f.run.bytes / 1e6);
        snprintf(figures, sizeof figures,
                 "\"vertices\": %d, \"springs\": %d, \"tets\": %d, \"worst_ms\": %.4g, "
                 "\"free_ms\": %.4g, \"newton_steps\": %.3g, \"cg_steps\": %.4g, "
                 "\"rounds\": %.3g, \"contacts\": %.3g, \"depth\": %.2g, \"not_converged\": %d",
                 s.vertex_count, s.spring_count, s.tet_count, f.run.worst * 1e3, f.free_mean * 1e3,
                 f.run.newton, f.run.inner, f.rounds, f.contacts, f.depth, f.run.not_converged);
        bench_report_more(b, alone ? "alone" : "clip", f.run.mean,
                          f.run.bytes / bench_read_bandwidth(b, f.run.bytes), limit, figures);
    }
    sinew_spring_destroy(spring);
}

static void hand_on_cylinder(bench *b) {
    sinew_error error = {0};
    sinew_rig *rig = NULL;
    sinew_obstacle *rod = NULL;
    bench_need(sinew_sample_rig("hand", NULL, &rig, &error), &error);
    bench_need(
        sinew_obstacle_parse("cylinder:0.088,-0.022,-0.08,0.088,-0.022,0.12,0.014", &rod, &error),
        &error);
    contact_case(b, rig, &(contact_clip){"fist", 0.3, 0.6, 7, rod, NULL, NULL});
    sinew_obstacle_destroy(rod);
    sinew_rig_destroy(rig);
}

/* Lids over a ball that is a little larger than the left eye, which is in it and may be. */
static void lids(bench *b) {
    sinew_error error = {0};
    sinew_rig *rig = NULL;
    bench_need(sinew_sample_rig("face", NULL, &rig, &error), &error);
    const sinew_mesh *mesh = rig->neutral;
    int *list = NULL, count = 0;
    bench_need(sinew_select(rig, "part:eyeLeft", NULL, NULL, NULL, &list, &count, &error), &error);
    double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
    double center[3];
    double *allowed = calloc((size_t)mesh->vertex_count, sizeof *allowed);
    double *triangles = calloc((size_t)mesh->triangle_count, sizeof *triangles);
    for (int k = 0; k < 3 * count; k++) {
        double p = mesh->positions[3 * (size_t)list[k / 3] + (size_t)(k % 3)];
        low[k % 3] = fmin(low[k % 3], p), high[k % 3] = fmax(high[k % 3], p);
        allowed[list[k / 3]] = INFINITY;
    }
    for (int t = 0; t < mesh->triangle_count; t++)
        triangles[t] = allowed[mesh->triangles[3 * (size_t)t]];
    for (int c = 0; c < 3; c++) center[c] = 0.5 * (low[c] + high[c]);
    sinew_obstacle *ball = NULL;
    bench_need(sinew_obstacle_create_sphere(center, 0.55 * (high[0] - low[0]), &ball, &error),
               &error);
    contact_case(b, rig, &(contact_clip){"eyeBlinkLeft", 0.4, 0.6, 3, ball, allowed, triangles});
    sinew_obstacle_destroy(ball);
    sinew_rig_destroy(rig);
    sinew_free(list);
    free(allowed), free(triangles);
}

/* Lids of a face that press on each other: blinks with squints of five strengths, each alone. */
static void closed_lids(bench *b) {
    enum { POSES = 5 };
    static const char *const names[2][2] = {{"eyeBlinkLeft", "eyeBlinkRight"},
                                            {"eyeSquintLeft", "eyeSquintRight"}};
    sinew_error error = {0};
    sinew_rig *rig = NULL;
    sinew_spring *spring = NULL;
    sinew_spring_state *state = NULL;
    sinew_spring_options options;
    sinew_spring_options_init(&options);
    options.self_contact = true;
    bench_need(sinew_sample_rig("face", NULL, &rig, &error), &error);
    bench_need(sinew_spring_create(rig, &options, NULL, &spring, &error), &error);
    bench_need(sinew_spring_state_create(spring, &state, &error), &error);
    double *weights = calloc((size_t)rig->slider_count, sizeof *weights);
    double *x = malloc(3 * sizeof *x * (size_t)rig->neutral->vertex_count);
    double seconds = 0, worst = 0, newton = 0, inner = 0, contacts = 0;
    int not_converged = 0;
    for (int k = 0; k < POSES; k++) {
        for (int side = 0; side < 2; side++) {
            weights[sinew_rig_find_slider(rig, names[0][side])] = 1;
            weights[sinew_rig_find_slider(rig, names[1][side])] = 0.25 * k;
        }
        sinew_spring_frame frame = {.size = sizeof frame, .weights = weights, .index = -1};
        sinew_spring_frame_info info = {.size = sizeof info};
        sinew_status status = sinew_spring_solve(spring, state, &frame, x, &info, NULL, &error);
        if (status != SINEW_NOT_CONVERGED) bench_need(status, &error);
        not_converged += status != SINEW_OK;
        seconds += info.seconds / POSES, worst = fmax(worst, info.seconds);
        newton += (double)info.iterations / POSES, inner += (double)info.inner_iterations / POSES;
        contacts += (double)info.contacts / POSES;
    }
    char limit[160], figures[200];
    snprintf(limit, sizeof limit, "worst %.3g ms; %.0f contacts", worst * 1e3, contacts);
    snprintf(figures, sizeof figures,
             "\"vertices\": %d, \"worst_ms\": %.4g, \"newton_steps\": %.3g, \"cg_steps\": %.4g, "
             "\"contacts\": %.3g, \"not_converged\": %d",
             rig->neutral->vertex_count, worst * 1e3, newton, inner, contacts, not_converged);
    double bytes = bytes_per_frame(spring, newton, inner);
    bench_report_more(b, "alone", seconds, bytes / bench_read_bandwidth(b, bytes), limit, figures);
    free(weights), free(x);
    sinew_spring_state_destroy(state), sinew_spring_destroy(spring);
    sinew_rig_destroy(rig);
}

const bench_case bench_spring[] = {{"2k", "2.2k vertices, 36 steps of a bend", two},
                                   {"8k", "8.1k vertices", eight},
                                   {"7k", "7.3k vertices", seven},
                                   {"8k5", "8.5k vertices", eight_half},
                                   {"18k", "18.6k vertices, 145k springs", eighteen},
                                   {"hand", "3.7k vertices close on a cylinder", hand_on_cylinder},
                                   {"lids", "11.9k vertices, lids over a ball", lids},
                                   {"closed", "11.9k vertices, lids on each other", closed_lids},
                                   BENCH_END};
