/* Spring equilibria on a bar of the five published sizes, bent by 120 degrees in 36 steps.
 *
 * The published table (CPU of its time): 2.23, 40.11, 67.58, 81.36 and 153.99 s a step.
 * Per size: a steady step (history), a cold one (from the rotation-aware blend), warm Newton with a
 * factorization per iteration from the same starts, and the published way, plain Newton from the
 * source shape. The last two run a few steps only, and say how many times slower than a steady step
 * of the same tolerance they are. The network is that of the published energy (springs only) unless
 * a line says volume.
 *
 * Bound: what the conjugate-gradient and Newton steps that were taken must read at least (factor,
 * spring table, vectors), over the bandwidth of that working set. */
#include <stdio.h>
#include <stdlib.h>

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
    sinew_spring_options_default(&options);
    options.tolerance = tolerance, options.volume = volume, options.solver = solver;
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
        sinew_spring_frame frame = {.weights = weights, .index = k};
        sinew_spring_info info;
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
    const sinew_spring_summary *s = sinew_spring_describe(spring);
    if (steady > 0)
        snprintf(limit, sizeof limit, "worst %.1f ms, %.0f x a steady step", f.worst * 1e3,
                 f.mean / steady);
    else
        snprintf(limit, sizeof limit, "worst %.1f ms, read %.1f MB", f.worst * 1e3, f.bytes / 1e6);
    snprintf(figures, sizeof figures,
             "\"vertices\": %d, \"springs\": %d, \"tets\": %d, \"worst_ms\": %.4g, "
             "\"newton_steps\": %.3g, \"cg_steps\": %.4g, \"not_converged\": %d, "
             "\"bytes_per_vertex\": %.0f",
             s->vertex_count, s->spring_count, s->tet_count, f.worst * 1e3, f.newton, f.inner,
             f.not_converged, s->bytes_per_vertex);
    double bound = steady > 0 ? 0 : f.bytes / bench_read_bandwidth(b, f.bytes);
    bench_report_more(b, name, f.mean, bound, limit, figures);
}

static void size_case(bench *b, int vertices) {
    sinew_error error = {0};
    sinew_sample_options sample = sinew_sample_default_options();
    sample.vertices = vertices;
    sinew_rig *rig = NULL;
    bench_need(sinew_sample_rig("bar", &sample, &rig, &error), &error);
    static const struct {
        const char *name;
        double tolerance, volume;
        bool independent;
        sinew_spring_solver solver;
        int steps; /* of the 36 */
    } runs[] = {{"steady-1e-4", 1e-4, 0, false, SINEW_SPRING_DEFAULT, STEPS},
                {"steady-1e-6", 1e-6, 0, false, SINEW_SPRING_DEFAULT, STEPS},
                {"cold-1e-4", 1e-4, 0, true, SINEW_SPRING_DEFAULT, STEPS},
                {"cold-1e-6", 1e-6, 0, true, SINEW_SPRING_DEFAULT, STEPS},
                {"volume-1e-4", 1e-4, 1, false, SINEW_SPRING_DEFAULT, STEPS},
                {"volume-1e-6", 1e-6, 1, false, SINEW_SPRING_DEFAULT, STEPS},
                {"newton-1e-4", 1e-4, 0, false, SINEW_SPRING_NEWTON, NEWTON_STEPS},
                {"newton-1e-6", 1e-6, 0, false, SINEW_SPRING_NEWTON, NEWTON_STEPS},
                /* the published way diverges on long steps: it is timed where it still converges */
                {"published-1e-4", 1e-4, 0, false, SINEW_SPRING_PUBLISHED, PUBLISHED_STEPS},
                {"published-1e-6", 1e-6, 0, false, SINEW_SPRING_PUBLISHED, PUBLISHED_STEPS}};
    double steady[2] = {0}; /* at 1e-4 and 1e-6 */
    for (int k = 0; k < (int)(sizeof runs / sizeof *runs); k++) {
        const sinew_spring *spring = NULL;
        run_figures f = run(rig, runs[k].tolerance, runs[k].volume, runs[k].solver,
                            runs[k].independent, runs[k].steps, &spring);
        if (k < 2) steady[k] = f.mean;
        bool ours = runs[k].solver == SINEW_SPRING_DEFAULT;
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

const bench_case bench_spring[] = {{"2k", "2.2k vertices, 36 steps of a bend", two},
                                   {"8k", "8.1k vertices", eight},
                                   {"7k", "7.3k vertices", seven},
                                   {"8k5", "8.5k vertices", eight_half},
                                   {"18k", "18.6k vertices, 145k springs", eighteen},
                                   BENCH_END};
