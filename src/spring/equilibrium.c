/* Based on: Newton-CG with truncation (Steihaug 1983; Nocedal and Wright, ch. 7) and projected
 * Newton. We differ in: the projection is used only where the true Hessian fails and only as far as
 * it must be, steps away from saddles are lengthened, and the linear solves run in single
 * precision, because the outer iteration corrects them. */
#include "spring/equilibrium.h"

#include <math.h>
#include <string.h>

#include "algebra/vector.h"
#include "base/mat3.h"
#include "base/memory.h"
#include "base/monitor.h"
#include "base/parallel.h"
#include "base/status.h"

/* Residual reduction asked of a linear solve: loose far from the answer, just enough near it. */
static const double LOOSEST = 0.3, TIGHTEST = 0.01, NEEDED = 0.3;
/* A start within tolerance still gets one step unless it is this much better: small forces can hide
 * errors of long waves. */
static const double POLISHED = 0.01;
static const double SUFFICIENT_DECREASE = 1e-4;
/* A step is lengthened while more than this fraction of its slope is left, by at most so much. */
static const double KEPT_SLOPE = 0.5, LONGEST_LEAP = 4;
/* Energies this close relative to the larger cannot be told apart. */
static const double ENERGY_NOISE = 1e-13;
enum {
    CG_LIMIT = 400,
    BACKTRACKS = 30,
    LENGTHENINGS = 6,
    HOLD_AFTER_FAILURE = 2,
    HOLD_MOST = 4,
    PROJECTED = 3
};
/* Shares of the negative curvature that are tried one after the other: 1 is the Hessian, 0 its
 * projection. The largest share that is still definite gives the longest steps away from a saddle.
 */
static const double KEPT[PROJECTED + 1] = {1, 0.9, 0.6, 0};

/* ---- storage ---- */

sinew_status sn_solver_create(const sn_system *system, const sn_preconditioner *preconditioner,
                              sn_solver **result, sinew_error *error) {
    *result = NULL;
    sn_solver *solver = SN_NEW0(sn_solver, 1);
    if (!solver) return sn_no_memory(error);
    solver->system = system;
    size_t n = (size_t)system->count, f = (size_t)system->free_count;
    double **doubles[] = {&solver->gradient, &solver->trial, &solver->trial_gradient, &solver->step,
                          &solver->forces};
    sinew_status status = SINEW_OK;
    for (int k = 0; k < 5; k++) {
        *doubles[k] = sn_alloc_aligned(SN_PAD * n, sizeof(double));
        if (!*doubles[k])
            status = sn_no_memory(error);
        else
            memset(*doubles[k], 0, SN_PAD * n * sizeof(double));
    }
    solver->scale = SN_NEW0(double, f);
    solver->rhs = sn_alloc_aligned(SN_PAD * f, sizeof(float));
    solver->direction = sn_alloc_aligned(SN_PAD * f, sizeof(float));
    solver->without_contacts = sn_alloc_aligned(SN_PAD * f, sizeof(float));
    if (!solver->scale || !solver->rhs || !solver->direction || !solver->without_contacts)
        status = sn_no_memory(error);
    if (status == SINEW_OK) status = sn_load_create(system, &solver->load, error);
    if (status == SINEW_OK) status = sn_linearization_create(system, &solver->lin, error);
    if (status == SINEW_OK) status = sn_scratch_create(system, &solver->scratch, error);
    if (status == SINEW_OK)
        status = sn_constraints_create(system->free_count, &solver->constraints, error);
    if (status == SINEW_OK)
        status = sn_preconditioning_create(system, preconditioner, &solver->preconditioning, error);
    if (status == SINEW_OK) status = sn_pcg_work_create_f32(SN_PAD * f, &solver->pcg, error);
    if (status != SINEW_OK) {
        sn_solver_destroy(solver);
        return status;
    }
    solver->bytes = 5 * SN_PAD * n * 8 + f * (8 + 2 * 16 + 5 * 16) +
                    (size_t)system->spring_count * 24 + (size_t)system->tet_count * 56 +
                    (size_t)system->triangle_count * 56 +
                    SN_PAD * system->window_start[SN_CHUNKS] * 8 + SN_PAD * n * 8 +
                    solver->preconditioning->bytes;
    *result = solver;
    return SINEW_OK;
}

void sn_solver_destroy(sn_solver *solver) {
    if (!solver) return;
    sn_free_aligned(solver->gradient), sn_free_aligned(solver->trial);
    sn_free_aligned(solver->trial_gradient), sn_free_aligned(solver->step);
    sn_free_aligned(solver->forces);
    sn_free_aligned(solver->rhs), sn_free_aligned(solver->direction);
    sn_free_aligned(solver->without_contacts);
    sn_free(solver->scale), sn_free(solver->factor_rhs);
    sn_load_free(&solver->load), sn_linearization_free(&solver->lin);
    sn_scratch_free(&solver->scratch), sn_constraints_free(&solver->constraints);
    sn_preconditioning_destroy(solver->preconditioning);
    sn_pcg_work_destroy_f32(solver->pcg);
    sn_sparse_destroy(solver->hessian);
    sn_cholesky_work_destroy(solver->factor_work);
    sn_cholesky_destroy(solver->factor);
    sn_free(solver);
}

typedef struct sum_scale_windows_loop {
    const sn_system *system;
    const double *rest;
    double *windows;
} sum_scale_windows_loop;

static void sum_scale_windows(void *context, sn_span span) {
    const sum_scale_windows_loop *loop = context;
    const sn_system *system = loop->system;
    const double *rest = loop->rest;
    double *windows = loop->windows;
    SN_IN_SPAN(int, c, span) {
        double *window = windows + system->window_start[c];
        int low = system->window_low[c];
        memset(window, 0, (system->window_start[c + 1] - system->window_start[c]) * sizeof *window);
        for (int i = system->chunk_row[c]; i < system->chunk_row[c + 1]; i++)
            for (int s = system->row_start[i]; s < system->row_start[i + 1]; s++) {
                double share = system->stiffness[s] * rest[s];
                window[i - low] += share;
                if (s < system->row_split[i]) window[system->other[s] - low] += share;
            }
    }
}

typedef struct gather_scales_loop {
    const sn_system *system;
    const double *windows;
    double *scale;
} gather_scales_loop;

static void gather_scales(void *context, sn_span span) {
    const gather_scales_loop *loop = context;
    const sn_system *system = loop->system;
    const double *windows = loop->windows;
    double *scale = loop->scale;
    SN_IN_SPAN(int, v, span) {
        double sum = 0;
        for (int c = 0; c < SN_CHUNKS; c++)
            if (v >= system->window_low[c] && v < system->window_high[c])
                sum += windows[system->window_start[c] + (size_t)(v - system->window_low[c])];
        scale[v] = sum;
    }
}

void sn_solver_set_scale(sn_solver *solver) {
    const sn_system *system = solver->system;
    const double *rest = solver->load.rest;
    double *windows = solver->scratch.window;
    sn_parallel_for_weighted(SN_CHUNKS, 1, system->spring_count, sum_scale_windows,
                             &(sum_scale_windows_loop){system, rest, windows});
    sn_parallel_for(system->free_count, 256, gather_scales,
                    &(gather_scales_loop){system, windows, solver->scale});
    double total = 0;
    for (int v = 0; v < system->free_count; v++) total += solver->scale[v];
    /* a vertex painted soft must not ask for more than the arithmetic can give */
    double least = 0.5e-3 * total / (system->free_count > 0 ? system->free_count : 1);
    for (int v = 0; v < system->free_count; v++)
        if (!(solver->scale[v] > least)) solver->scale[v] = least > 0 ? least : 1;
}

/* ---- residual ---- */

/* Vertices are visited in blocks: largest values of blocks do not depend on the threads. */
static int vertex_blocks(const sn_system *system) {
    return (system->free_count + SN_VERTEX_BLOCK - 1) / SN_VERTEX_BLOCK;
}

static int block_end(const sn_system *system, int block) {
    int end = (block + 1) * SN_VERTEX_BLOCK;
    return end < system->free_count ? end : system->free_count;
}

/* NaN when any is. */
static double largest_of(int count, const double *values) {
    double largest = 0;
    for (int k = 0; k < count && !isnan(largest); k++)
        if (!(values[k] <= largest)) largest = values[k];
    return largest;
}

typedef struct find_worst_forces_loop {
    const sn_system *system;
    const double *forces;
    const double *scale;
    double *partial;
} find_worst_forces_loop;

static void find_worst_forces(void *context, sn_span span) {
    const find_worst_forces_loop *loop = context;
    const sn_system *system = loop->system;
    const double *forces = loop->forces;
    const double *scale = loop->scale;
    double *partial = loop->partial;
    SN_IN_SPAN(int, b, span) {
        double worst = 0;
        bool finite = true;
        for (int v = b * SN_VERTEX_BLOCK; v < block_end(system, b); v++) {
            const double *f = forces + SN_PAD * (size_t)v;
            double squared = f[0] * f[0] + f[1] * f[1] + f[2] * f[2];
            double relative = squared / (scale[v] * scale[v]);
            if (relative > worst) worst = relative;
            finite = finite && relative < INFINITY;
        }
        partial[b] = finite ? worst : NAN;
    }
}

/* Largest projected force over its scale; NaN when any force is. The projected gradient goes to
 * `forces`. */
static double find_residual(sn_solver *solver, const double *gradient, double *forces) {
    const sn_system *system = solver->system;
    int blocks = vertex_blocks(system);
    memcpy(forces, gradient, SN_PAD * (size_t)system->free_count * sizeof *forces);
    if (!sn_constraints_empty(&solver->constraints))
        sn_constraints_project(&solver->constraints, forces);
    double *partial = solver->scratch.partial;
    sn_parallel_for(blocks, 1, find_worst_forces,
                    &(find_worst_forces_loop){system, forces, solver->scale, partial});
    return sqrt(largest_of(blocks, partial));
}

/* ---- rigid motions ---- */

/* Take the rigid motion out of the step of every component that nothing holds:
 *   mean of d, then the rotation w with I w = sum (x - c) cross d, I = sum |y|^2 - y y^T. */
static void remove_rigid_motion(const sn_solver *solver, const double *x, double *d) {
    const sn_system *system = solver->system;
    int n = system->free_count;
    for (int part = 0; part < solver->component_count; part++) {
        double count = 0;
        sn_vec3 center = {0, 0, 0}, mean = {0, 0, 0}, moment = {0, 0, 0};
        for (int v = 0; v < n; v++) {
            if (solver->component[system->order[v]] != part) continue;
            const double *p = x + SN_PAD * (size_t)v, *s = d + SN_PAD * (size_t)v;
            count++;
            center = sn_add(center, sn_v3(p[0], p[1], p[2]));
            mean = sn_add(mean, sn_v3(s[0], s[1], s[2]));
        }
        if (count < 1) continue;
        center = sn_scale(1 / count, center), mean = sn_scale(1 / count, mean);
        sn_mat3 inertia = {{{0}}}, inverse;
        for (int v = 0; v < n; v++) {
            if (solver->component[system->order[v]] != part) continue;
            const double *p = x + SN_PAD * (size_t)v, *s = d + SN_PAD * (size_t)v;
            sn_vec3 y = sn_sub(sn_v3(p[0], p[1], p[2]), center);
            moment = sn_add(moment, sn_cross(y, sn_v3(s[0], s[1], s[2])));
            double r[3] = {y.x, y.y, y.z}, squared = sn_dot(y, y);
            for (int i = 0; i < 3; i++)
                for (int j = 0; j < 3; j++) inertia.m[i][j] += (i == j ? squared : 0) - r[i] * r[j];
        }
        sn_vec3 spin = {0, 0, 0};
        if (!solver->guided && sn_mat3_inverse(inertia, &inverse))
            spin = sn_mat3_apply(inverse, moment);
        for (int v = 0; v < n; v++) {
            if (solver->component[system->order[v]] != part) continue;
            const double *p = x + SN_PAD * (size_t)v;
            double *s = d + SN_PAD * (size_t)v;
            sn_vec3 rigid = sn_add(mean, sn_cross(spin, sn_sub(sn_v3(p[0], p[1], p[2]), center)));
            s[0] -= rigid.x, s[1] -= rigid.y, s[2] -= rigid.z;
        }
    }
}

/* ---- directions ---- */

static void apply_hessian(const float *p, float *y, void *user) {
    sn_solver *solver = user;
    sn_hessian_multiply(solver->system, &solver->lin, p, y, &solver->scratch);
    if (!sn_constraints_empty(&solver->constraints))
        sn_constraints_project_f32(&solver->constraints, y);
}

/* The preconditioner does not know contacts, which are stiffer than everything around them: their
 * directions are taken out before and after it, Q M Q^T, and answered on their own. */
static void apply_preconditioner(const float *r, float *z, void *user) {
    sn_solver *solver = user;
    const sn_linearization *lin = &solver->lin;
    if (lin->contact_count > 0) {
        size_t n = SN_PAD * (size_t)solver->system->free_count;
        memcpy(solver->without_contacts, r, n * sizeof *r);
        sn_contacts_remove(lin, true, solver->without_contacts);
        sn_preconditioning_apply(solver->system, solver->preconditioning, solver->without_contacts,
                                 z);
        sn_contacts_remove(lin, false, z);
        sn_contacts_give(lin, r, z);
    } else {
        sn_preconditioning_apply(solver->system, solver->preconditioning, r, z);
    }
    if (!sn_constraints_empty(&solver->constraints))
        sn_constraints_project_f32(&solver->constraints, z);
}

typedef struct find_largest_forces_loop {
    const sn_system *system;
    const double *forces;
    double *partial;
} find_largest_forces_loop;

static void find_largest_forces(void *context, sn_span span) {
    const find_largest_forces_loop *loop = context;
    const sn_system *system = loop->system;
    const double *forces = loop->forces;
    double *partial = loop->partial;
    SN_IN_SPAN(int, b, span) {
        partial[b] = 0;
        for (int k = SN_PAD * SN_VERTEX_BLOCK * b; k < SN_PAD * block_end(system, b); k++)
            if (fabs(forces[k]) > partial[b]) partial[b] = fabs(forces[k]);
    }
}

typedef struct scale_forces_loop {
    const double *forces;
    double inverse;
    float *rhs;
} scale_forces_loop;

static void scale_forces(void *context, sn_span span) {
    const scale_forces_loop *loop = context;
    const double *forces = loop->forces;
    double inverse = loop->inverse;
    float *rhs = loop->rhs;
    SN_IN_SPAN(size_t, k, span) rhs[k] = (float)(forces[k] * inverse);
}

typedef struct scale_direction_loop {
    const float *direction;
    double largest;
    double *step;
} scale_direction_loop;

static void scale_direction(void *context, sn_span span) {
    const scale_direction_loop *loop = context;
    const float *direction = loop->direction;
    double largest = loop->largest;
    double *step = loop->step;
    SN_IN_SPAN(size_t, k, span) step[k] = largest * (double)direction[k];
}

/* step := about -H^-1 forces. False: negative curvature was met on the way. */
static bool direction_by_cg(sn_solver *solver, const sn_equilibrium_options *options,
                            const double *x, const double *forces, double residual, double negative,
                            sn_equilibrium_info *info) {
    const sn_system *system = solver->system;
    size_t n = SN_PAD * (size_t)system->free_count;
    sn_linearize(system, &solver->load, x, negative, &solver->lin);
    sn_preconditioning_update(system, &solver->lin, x, &solver->scratch, solver->preconditioning);
    int blocks = vertex_blocks(system);
    double *partial = solver->scratch.partial;
    sn_parallel_for(blocks, 1, find_largest_forces,
                    &(find_largest_forces_loop){system, forces, partial});
    double largest = largest_of(blocks, partial), inverse = -1 / largest;
    sn_parallel_for(n, 1024, scale_forces, &(scale_forces_loop){forces, inverse, solver->rhs});
    double goal = NEEDED * options->tolerance / residual;
    goal = goal > LOOSEST ? LOOSEST : goal < TIGHTEST ? TIGHTEST : goal;
    sn_pcg_options pcg = {.tolerance = goal,
                          .max_iterations = CG_LIMIT,
                          .flexible = false,
                          .monitor = options->monitor};
    sn_pcg_info result;
    sn_pcg_solve_f32(solver->pcg, &pcg, apply_hessian, apply_preconditioner, solver, solver->rhs,
                     solver->direction, &result);
    info->inner_iterations += result.iterations;
    sn_parallel_for(n, 1024, scale_direction,
                    &(scale_direction_loop){solver->direction, largest, solver->step});
    return !result.negative_curvature;
}

/* Three well-spread free vertices of every component that floats: 3 + 2 + 1 of their coordinates
 * get something on the diagonal. Forces have no net force or torque, so this adds no stress. */
static void pin_six(const sn_solver *solver, const double *x, sn_sparse *hessian) {
    const sn_system *system = solver->system;
    int n = system->free_count;
    for (int part = 0; part < solver->component_count; part++) {
        int first = -1, second = -1, third = -1;
        double best = -1;
        for (int v = 0; v < n && first < 0; v++)
            if (solver->component[system->order[v]] == part) first = v;
        if (first < 0) continue;
        const double *a = x + SN_PAD * (size_t)first;
        sn_vec3 origin = sn_v3(a[0], a[1], a[2]), axis = {0, 0, 0}, up = {0, 0, 0};
        for (int v = 0; v < n; v++) {
            if (solver->component[system->order[v]] != part) continue;
            const double *p = x + SN_PAD * (size_t)v;
            sn_vec3 away = sn_sub(sn_v3(p[0], p[1], p[2]), origin);
            if (sn_dot(away, away) > best) best = sn_dot(away, away), second = v, axis = away;
        }
        best = -1;
        for (int v = 0; v < n; v++) {
            if (solver->component[system->order[v]] != part) continue;
            const double *p = x + SN_PAD * (size_t)v;
            sn_vec3 away = sn_cross(axis, sn_sub(sn_v3(p[0], p[1], p[2]), origin));
            if (sn_dot(away, away) > best) best = sn_dot(away, away), third = v, up = away;
        }
        /* the six directions: all of the first, across the axis at the second, up at the third */
        sn_vec3 u = sn_normalize(up), w = sn_normalize(sn_cross(axis, u));
        double rows[6][3] = {{1, 0, 0},       {0, 1, 0},       {0, 0, 1},
                             {u.x, u.y, u.z}, {w.x, w.y, w.z}, {u.x, u.y, u.z}};
        int at[6] = {first, first, first, second, second, third};
        for (int k = 0; k < 6; k++)
            for (int r = 0; r < 3; r++)
                for (int c = 0; c <= r; c++)
                    *sn_hessian_entry(system, hessian, at[k], -1, r, c) +=
                        system->mean_stiffness * rows[k][r] * rows[k][c];
    }
}

static sinew_status prepare_direct(sn_solver *solver, sinew_error *error) {
    if (solver->factor_rhs) return SINEW_OK;
    int n = solver->system->free_count;
    if (!solver->hessian) SN_TRY(sn_hessian_pattern(solver->system, &solver->hessian, error));
    if (!solver->factor) SN_TRY(sn_cholesky_analyze(solver->hessian, &solver->factor, error));
    if (!solver->factor_work)
        SN_TRY(sn_cholesky_work_create(solver->factor, 1, &solver->factor_work, error));
    solver->factor_rhs = SN_NEW(double, 3 * (size_t)n);
    return solver->factor_rhs ? SINEW_OK : sn_no_memory(error);
}

/* Frozen vertices in the direct solvers: a stiff diagonal; steps are projected afterwards. */
static void stiffen_constraints(const sn_solver *solver, sn_sparse *hessian) {
    static const double STIFF = 1e6;
    const sn_constraints *constraints = &solver->constraints;
    double k = STIFF * solver->system->mean_stiffness;
    for (int f = 0; f < constraints->frozen_count; f++)
        for (int c = 0; c < 3; c++)
            *sn_hessian_entry(solver->system, hessian, constraints->frozen_list[f], -1, c, c) += k;
}

/* step := -H^-1 forces by factorization; the true Hessian where it is definite when `exact`, its
 * projection otherwise. */
static sinew_status direction_by_factor(sn_solver *solver, const double *x, const double *forces,
                                        bool exact, sn_equilibrium_info *info, sinew_error *error) {
    SN_TRY(prepare_direct(solver, error));
    const sn_system *system = solver->system;
    int n = system->free_count;
    /* slightly shifted, so that loose vertices do not stop the factorization */
    static const double SHIFT = 1e-9;
    for (int attempt = exact ? 0 : 1; attempt < 3; attempt++) {
        sn_hessian_assemble(system, &solver->load, x, attempt == 0, solver->hessian);
        double shift = SHIFT * system->mean_stiffness * (attempt == 2 ? 1e6 : 1);
        for (int v = 0; v < n; v++)
            for (int c = 0; c < 3; c++)
                *sn_hessian_entry(system, solver->hessian, v, -1, c, c) += shift;
        if (solver->floating) pin_six(solver, x, solver->hessian);
        stiffen_constraints(solver, solver->hessian);
        info->factorizations++;
        sinew_status status = sn_cholesky_factor(solver->factor, solver->hessian, error);
        if (status == SINEW_OK) break;
        if (status != SINEW_BAD_INPUT || attempt == 2) return status;
    }
    for (int v = 0; v < n; v++)
        for (int c = 0; c < 3; c++)
            solver->factor_rhs[3 * v + c] = -forces[SN_PAD * (size_t)v + (size_t)c];
    sn_cholesky_solve(solver->factor, solver->factor_work, 1, solver->factor_rhs,
                      solver->factor_rhs);
    for (int v = 0; v < n; v++)
        for (int c = 0; c < 3; c++)
            solver->step[SN_PAD * (size_t)v + (size_t)c] = solver->factor_rhs[3 * v + c];
    if (!sn_constraints_empty(&solver->constraints))
        sn_constraints_project(&solver->constraints, solver->step);
    return SINEW_OK;
}

/* ---- the iteration ---- */

typedef struct take_some_steps_loop {
    const double *x;
    const double *step;
    double length;
    double *trial;
} take_some_steps_loop;

static void take_some_steps(void *context, sn_span span) {
    const take_some_steps_loop *loop = context;
    const double *x = loop->x;
    const double *step = loop->step;
    double length = loop->length;
    double *trial = loop->trial;
    SN_IN_SPAN(size_t, k, span) trial[k] = x[k] + length * step[k];
}

static void take_step(sn_solver *solver, const double *x, double length) {
    size_t n = SN_PAD * (size_t)solver->system->free_count;
    sn_parallel_for(n, 1024, take_some_steps,
                    &(take_some_steps_loop){x, solver->step, length, solver->trial});
}

/* stopped: the call was cancelled, here and in `lengthen`; the trial then does not count.
 *
 * The longest of 1, 1/2 ... (or the minimum of the parabola) that lowers the energy enough. Where
 * energies cannot be told apart any more, forces decide. Returns 0 when there is none. The trial
 * position, gradient and energy are those of the returned length. */
static double line_search(sn_solver *solver, const double *x, double energy, double slope,
                          double residual, double *trial_energy, double *trial_residual,
                          double *forces, bool *stopped) {
    double length = 1, noise = ENERGY_NOISE * fabs(energy);
    for (int k = 0; k < BACKTRACKS; k++) {
        *stopped = sn_interrupted();
        if (*stopped) return 0;
        take_step(solver, x, length);
        double e = sn_energy(solver->system, &solver->load, solver->trial, solver->trial_gradient,
                             &solver->scratch);
        if (isfinite(e)) {
            bool lower = e <= energy + SUFFICIENT_DECREASE * length * slope;
            bool same = fabs(e - energy) <= noise || fabs(length * slope) <= noise;
            if (lower || same) {
                double r = find_residual(solver, solver->trial_gradient, forces);
                if (lower || (e <= energy + noise && r < residual)) {
                    *trial_energy = e, *trial_residual = r;
                    return length;
                }
            }
            /* minimum of the parabola through e(0), e'(0) and e(length) */
            double bend = e - energy - length * slope;
            double best = bend > 0 ? -slope * length * length / (2 * bend) : 0.5 * length;
            length = best > 0.5 * length ? 0.5 * length : best < 0.1 * length ? 0.1 * length : best;
        } else {
            length *= 0.1;
        }
    }
    return 0;
}

/* The projection makes every direction of negative curvature look stiff, so its steps creep away
 * from a saddle: go on in the same direction as long as the slope has not lost half of itself. */
static double lengthen(sn_solver *solver, const double *x, double slope, double length,
                       double *trial_energy, double *trial_residual, double *forces,
                       bool *stopped) {
    size_t n = SN_PAD * (size_t)solver->system->free_count;
    double first = length;
    for (int k = 0; k < LENGTHENINGS; k++) {
        *stopped = sn_interrupted();
        if (*stopped) return length;
        double here = sn_vector_dot(n, solver->trial_gradient, solver->step);
        if (!(here < KEPT_SLOPE * slope)) break;
        /* where the slope would vanish if it went on changing as it did */
        double ahead = here > slope ? slope / (slope - here) : LONGEST_LEAP;
        double longer = length * (ahead < LONGEST_LEAP ? ahead : LONGEST_LEAP);
        take_step(solver, x, longer);
        double e = sn_energy(solver->system, &solver->load, solver->trial, solver->trial_gradient,
                             &solver->scratch);
        if (!(e < *trial_energy)) {
            take_step(solver, x, length);
            sn_energy(solver->system, &solver->load, solver->trial, solver->trial_gradient,
                      &solver->scratch);
            break;
        }
        length = longer, *trial_energy = e;
    }
    if (length > first) *trial_residual = find_residual(solver, solver->trial_gradient, forces);
    return length;
}

/* Plain Newton, full steps, whatever the energy does. */
static double full_step(sn_solver *solver, const double *x, double *trial_energy,
                        double *trial_residual, double *forces) {
    take_step(solver, x, 1);
    *trial_energy = sn_energy(solver->system, &solver->load, solver->trial, solver->trial_gradient,
                              &solver->scratch);
    *trial_residual = find_residual(solver, solver->trial_gradient, forces);
    return isfinite(*trial_energy) && isfinite(*trial_residual) ? 1 : 0;
}

sinew_status sn_equilibrium(sn_solver *solver, const sn_equilibrium_options *options, double *x,
                            sn_equilibrium_info *info, sinew_error *error) {
    const sn_system *system = solver->system;
    size_t n = SN_PAD * (size_t)system->free_count;
    memcpy(solver->trial + n, x + n, (SN_PAD * (size_t)system->count - n) * sizeof *x);
    double *forces = solver->forces; /* projected gradient at x, then at the trial */
    double energy = sn_energy(system, &solver->load, x, solver->gradient, &solver->scratch);
    double residual = find_residual(solver, solver->gradient, forces);
    info->energy = energy, info->residual = residual;
    if (!isfinite(energy) || !isfinite(residual))
        return sn_fail(error, SINEW_BAD_INPUT,
                       "spring solve started from a shape without finite "
                       "energy");
    int level = 0, hold = 0, penalty = HOLD_AFTER_FAILURE; /* of KEPT, steps to stay there */
    bool near = false;                                     /* the projection has been used once */
    /* The assembled Hessian has no entries for contacts, which join vertices that no spring joins:
     * a step without them is stopped by the stiffest of its contacts. */
    bool factored =
        options->solver != SINEW_SPRING_SOLVER_DEFAULT && solver->load.contact_count == 0;
    sinew_status status = SINEW_NOT_CONVERGED;
    for (int step = 0; step < options->max_iterations; step++) {
        if (residual <= (step ? 1 : POLISHED) * options->tolerance) {
            status = SINEW_OK;
            break;
        }
        if (sn_cancelled(options->monitor)) {
            status = SINEW_CANCELLED;
            break;
        }
        if (sn_work_seconds() > options->work_limit) {
            info->out_of_time = true;
            break;
        }
        bool short_sighted = false;
        if (!factored) {
            /* as much of the negative curvature as leaves the Hessian definite; far from the
             * answer, where nothing but the projection is, do not try */
            bool failed = false;
            while (!direction_by_cg(solver, options, x, forces, residual, KEPT[level], info) &&
                   level < PROJECTED)
                level = near ? level + 1 : PROJECTED, failed = true;
            short_sighted = level > 0;
            if (failed) {
                hold = near ? penalty : 1;
                if (near && penalty < HOLD_MOST) penalty *= 2;
                near = true;
            } else if (level > 0 && --hold <= 0) {
                level--;
            }
        } else {
            status = direction_by_factor(
                solver, x, forces, options->solver == SINEW_SPRING_SOLVER_PUBLISHED, info, error);
            if (status != SINEW_OK) return status;
            status = SINEW_NOT_CONVERGED;
        }
        if (solver->floating) remove_rigid_motion(solver, x, solver->step);
        info->iterations++;
        double slope = sn_vector_dot(n, solver->gradient, solver->step);
        double length, trial_energy = 0, trial_residual = 0;
        bool stopped = false;
        if (options->solver == SINEW_SPRING_SOLVER_PUBLISHED)
            length = full_step(solver, x, &trial_energy, &trial_residual, forces);
        else
            length = slope < 0 ? line_search(solver, x, energy, slope, residual, &trial_energy,
                                             &trial_residual, forces, &stopped)
                               : 0;
        if (length == 1 && short_sighted && options->solver != SINEW_SPRING_SOLVER_PUBLISHED)
            length = lengthen(solver, x, slope, length, &trial_energy, &trial_residual, forces,
                              &stopped);
        if (stopped) {
            status = SINEW_CANCELLED;
            break;
        }
        if (length == 0) {
            if (!factored && level < PROJECTED) {
                /* the true Hessian led nowhere: once more with its projection */
                level = PROJECTED, hold = penalty;
                find_residual(solver, solver->gradient, forces);
                continue;
            }
            break;
        }
        memcpy(x, solver->trial, n * sizeof *x);
        double *swap = solver->gradient;
        solver->gradient = solver->trial_gradient, solver->trial_gradient = swap;
        energy = trial_energy, residual = trial_residual;
        info->energy = energy, info->residual = residual;
    }
    if (residual <= options->tolerance && status == SINEW_NOT_CONVERGED) status = SINEW_OK;
    return status;
}
