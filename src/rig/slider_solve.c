/* Gauss-Newton over slider weights: at w, with J = da/dw,
 *
 *   H = J^T A J + ridge 1,   q = J^T (A da + g) + ridge (w - base),
 *   step = argmin 1/2 d^T H d + q^T d  within the limits,
 *
 * and a line search on the true objective. On a rig of plain targets a(w) = w and the first step is
 * the answer. */
#include "rig/slider_solve.h"

#include <math.h>
#include <string.h>

#include "algebra/block_solver.h"
#include "algebra/box_qp.h"
#include "algebra/dense.h"
#include "algebra/vector.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "base/status.h"

struct sn_slider_work {
    const sinew_slider_space *space;
    long version;             /* of the problem that hessian and factor belong to; -1: none */
    bool factored, boxed;     /* the factor, and the box solver's matrix, are those of hessian */
    double *hessian, *factor; /* slider_count squared */
    sn_block_solver *blocks;
    sn_box_qp *box;

    double *activations, *start, *target_gradient, *target_scratch; /* target_count */
    double *derivatives;
    double *gradient, *step, *trial, *lower, *upper; /* slider_count */
    double *columns, *small;                         /* for fixed sliders, see solve_fixed */
    bool *held;                                      /* slider_count */
    int *fixed_list, *kept_list;
    int fixed_count; /* of kept_list, whose columns are there; -1: none */
    signed char *sign;

    /* of pivot_limits: which bound each slider is at, kept from solve to solve */
    signed char *place, *place_next;
    double *pivot_weights, *pivot_slopes, *pivot_change, *pivot_packed;
    int *free_list;
};

enum { FREE, AT_LOWER, AT_UPPER };

/* Residuals of the bounded step, in weights: what is aimed at, and what still counts as solved when
 * rounding allows no more. */
#define BOX_TOLERANCE 1e-8
#define BOX_GOOD      1e-5
/* A slider that the L1 term leaves within this of where it was asked to be has not responded. */
#define HOME 1e-12

/* Up to so many fixed sliders go through the factor of all; beyond, they are cut out. */
enum { FEW_FIXED = 16, PIVOT_ROUNDS = 40 };

sinew_status sn_slider_work_create(const sinew_slider_space *space, sn_slider_work **work,
                                   sinew_error *error) {
    *work = NULL;
    sn_slider_work *made = SN_NEW0(sn_slider_work, 1);
    if (!made) return sn_no_memory(error);
    size_t m = (size_t)space->rig->target_count, s = (size_t)space->rig->slider_count;
    made->space = space;
    made->version = -1;
    made->hessian = SN_NEW0(double, s *s);
    made->factor = SN_NEW0(double, s *s);
    made->activations = SN_NEW0(double, m);
    made->start = SN_NEW0(double, m);
    made->target_gradient = SN_NEW0(double, m);
    made->target_scratch = SN_NEW0(double, m);
    made->derivatives = SN_NEW0(double, space->plan->derivative_start[m]);
    made->gradient = SN_NEW0(double, s);
    made->step = SN_NEW0(double, s);
    made->trial = SN_NEW0(double, s);
    made->lower = SN_NEW0(double, s);
    made->upper = SN_NEW0(double, s);
    made->columns = SN_NEW0(double, s *(FEW_FIXED + 1));
    made->small = SN_NEW0(double, FEW_FIXED *FEW_FIXED + FEW_FIXED);
    made->fixed_list = SN_NEW0(int, s);
    made->kept_list = SN_NEW0(int, s);
    made->held = SN_NEW0(bool, s);
    made->sign = SN_NEW0(signed char, s);
    made->place = SN_NEW0(signed char, s);
    made->place_next = SN_NEW0(signed char, s);
    made->pivot_weights = SN_NEW0(double, s);
    made->pivot_slopes = SN_NEW0(double, s);
    made->pivot_change = SN_NEW0(double, s);
    made->pivot_packed = SN_NEW0(double, s);
    made->free_list = SN_NEW0(int, s);
    bool all = made->hessian && made->factor && made->activations && made->start &&
               made->target_gradient && made->target_scratch && made->derivatives &&
               made->gradient && made->step && made->trial && made->lower && made->upper &&
               made->columns && made->small && made->fixed_list && made->kept_list && made->held &&
               made->sign && made->place && made->place_next && made->pivot_weights &&
               made->pivot_slopes && made->pivot_change && made->pivot_packed && made->free_list;
    sinew_status status = all ? SINEW_OK : sn_no_memory(error);
    if (status == SINEW_OK) status = sn_block_solver_create((int)s, &made->blocks, error);
    if (status == SINEW_OK) status = sn_box_qp_create((int)s, &made->box, error);
    if (status != SINEW_OK) {
        sn_slider_work_destroy(made);
        return status;
    }
    *work = made;
    return SINEW_OK;
}

void sn_slider_work_destroy(sn_slider_work *work) {
    if (!work) return;
    sn_free(work->hessian);
    sn_free(work->factor);
    sn_block_solver_destroy(work->blocks);
    sn_box_qp_destroy(work->box);
    sn_free(work->activations);
    sn_free(work->start);
    sn_free(work->target_gradient);
    sn_free(work->target_scratch);
    sn_free(work->derivatives);
    sn_free(work->gradient);
    sn_free(work->step);
    sn_free(work->trial);
    sn_free(work->lower);
    sn_free(work->upper);
    sn_free(work->columns);
    sn_free(work->small);
    sn_free(work->fixed_list);
    sn_free(work->kept_list);
    sn_free(work->held);
    sn_free(work->sign);
    sn_free(work->place);
    sn_free(work->place_next);
    sn_free(work->pivot_weights);
    sn_free(work->pivot_slopes);
    sn_free(work->pivot_change);
    sn_free(work->pivot_packed);
    sn_free(work->free_list);
    sn_free(work);
}

/* --- matrices ---------------------------------------------------------------------------------
 */

/* H at the weights whose derivatives are in the work. */
static void build_hessian(sn_slider_work *work, const sn_slider_problem *problem) {
    size_t s = (size_t)work->space->rig->slider_count;
    sn_pull_back_matrix(work->space, work->derivatives, problem->matrix, work->hessian,
                        work->target_scratch);
    for (size_t i = 0; i < s; i++) work->hessian[i * s + i] += problem->ridge;
    work->factored = false;
    work->boxed = false;
    sn_block_solver_set_matrix(work->blocks, work->hessian);
}

typedef struct copy_triangle_loop {
    sn_slider_work *work;
    size_t s;
} copy_triangle_loop;

static void copy_triangle(void *context, sn_span span) {
    const copy_triangle_loop *loop = context;
    sn_slider_work *work = loop->work;
    size_t s = loop->s;
    SN_IN_SPAN(size_t, i, span) /* the lower triangle, which is what is factored */
        memcpy(work->factor + i * (s + 1), work->hessian + i * (s + 1), sizeof(double) * (s - i));
}

/* The factor of H. A singular H (sliders that move nothing, targets that are there twice) gets a
 * little on its diagonal, so that such sliders share the answer evenly. A pivot that rounding alone
 * could have left counts as singular: its factor would be noise. */
static void factor(sn_slider_work *work) {
    size_t s = (size_t)work->space->rig->slider_count;
    double trace = 0;
    for (size_t i = 0; i < s; i++) trace += work->hessian[i * s + i];
    double unit = trace > 0 ? trace / (double)s : 1;
    for (double extra = 0; extra < 1; extra = extra == 0 ? 1e-10 : 10 * extra) {
        sn_parallel_for(s, 16, copy_triangle, &(copy_triangle_loop){work, s});
        for (size_t i = 0; i < s; i++) work->factor[i * s + i] += extra * unit;
        if (sn_dense_cholesky((int)s, work->factor, NULL) != SINEW_OK) continue;
        bool clear = true;
        for (size_t i = 0; i < s; i++) {
            double pivot = work->factor[i * s + i];
            if (extra == 0 && !(pivot * pivot > 1e-13 * work->hessian[i * s + i])) clear = false;
        }
        if (clear) break;
    }
    work->factored = true;
    work->fixed_count = -1;
}

/* --- steps ------------------------------------------------------------------------------------
 */

/* x = 0 where fixed, through the factor of all sliders: with y = -H^-1 q and Z the columns of H^-1
 * of the fixed ones, x = y - Z Z_E^-1 y_E. Z is kept while the same sliders are fixed, as during a
 * drag. */
static void solve_free(sn_slider_work *work, int fixed_count) {
    int s = work->space->rig->slider_count;
    for (int i = 0; i < s; i++) work->step[i] = -work->gradient[i];
    sn_dense_cholesky_solve(s, work->factor, 1, work->step);
    if (fixed_count == 0) return;
    bool same = work->fixed_count == fixed_count;
    for (int e = 0; same && e < fixed_count; e++) same = work->fixed_list[e] == work->kept_list[e];
    if (!same) {
        memset(work->columns, 0, sizeof(double) * (size_t)s * (size_t)fixed_count);
        for (int e = 0; e < fixed_count; e++) {
            work->columns[(size_t)e * (size_t)s + (size_t)work->fixed_list[e]] = 1;
            work->kept_list[e] = work->fixed_list[e];
        }
        sn_dense_cholesky_solve(s, work->factor, fixed_count, work->columns);
        for (int e = 0; e < fixed_count; e++)
            for (int f = 0; f < fixed_count; f++)
                work->small[f * fixed_count + e] =
                    work->columns[(size_t)f * (size_t)s + (size_t)work->fixed_list[e]];
        /* A principal block of a positive definite inverse: it has a factor. */
        sn_dense_cholesky(fixed_count, work->small, NULL);
        work->fixed_count = fixed_count;
    }
    double y[FEW_FIXED];
    for (int e = 0; e < fixed_count; e++) y[e] = work->step[work->fixed_list[e]];
    sn_dense_cholesky_solve(fixed_count, work->small, 1, y);
    for (int e = 0; e < fixed_count; e++)
        for (int i = 0; i < s; i++)
            work->step[i] -= work->columns[(size_t)e * (size_t)s + (size_t)i] * y[e];
    for (int e = 0; e < fixed_count; e++) work->step[work->fixed_list[e]] = 0;
}

/* Box of the step: limits, fixed sliders, and with `sign` the side of base a slider may be on. */
static void step_limits(sn_slider_work *work, const sn_slider_problem *problem,
                        const double *weights, bool signs) {
    int s = work->space->rig->slider_count;
    for (int i = 0; i < s; i++) {
        double low = problem->lower ? problem->lower[i] - weights[i] : -INFINITY;
        double high = problem->upper ? problem->upper[i] - weights[i] : INFINITY;
        double home = problem->base[i] - weights[i];
        if (signs && work->sign[i] > 0) low = fmax(low, home);
        if (signs && work->sign[i] < 0) high = fmin(high, home);
        if (problem->fixed && problem->fixed[i]) low = high = 0;
        work->lower[i] = fmin(low, high);
        work->upper[i] = high;
    }
}

/* r += H change, column by column while few sliders change. */
static void add_slopes(const sn_slider_work *work, const double *change, double *r) {
    size_t s = (size_t)work->space->rig->slider_count, count = 0;
    for (size_t i = 0; i < s; i++) count += change[i] != 0;
    if (count > s / 8) {
        sn_dense_apply(SN_AS_IS, (int)s, (int)s, 1, work->hessian, change, 1, r);
        return;
    }
    for (size_t i = 0; i < s; i++)
        if (change[i] != 0) sn_vector_axpy(s, change[i], work->hessian + i * s, r);
}

/* Where a slider belongs, seen from its place, its weight and the slope there. */
static signed char better_place(const sn_slider_work *work, int i, double x, double slope,
                                double least) {
    double low = work->lower[i], high = work->upper[i];
    switch (work->place[i]) {
    case FREE:
        return x < low ? AT_LOWER : x > high ? AT_UPPER : FREE;
    case AT_LOWER:
        return slope < -least && low < high ? FREE : AT_LOWER;
    default:
        return slope > least && low < high ? FREE : AT_UPPER;
    }
}

/* How far from a solution, in weights: max |x - clamp(x - slope / H_ii)|. */
static double distance_to_solution(const sn_slider_work *work, const double *x, const double *r) {
    size_t s = (size_t)work->space->rig->slider_count;
    double worst = 0;
    for (size_t i = 0; i < s; i++) {
        double own = work->hessian[i * s + i];
        double to = own > 0 ? x[i] - r[i] / own : x[i];
        worst = fmax(worst, fabs(x[i] - fmin(fmax(to, work->lower[i]), work->upper[i])));
        if (!isfinite(x[i])) return INFINITY;
    }
    return worst;
}

/* Which limits hold, by block principal pivoting (Kim and Park 2011): solve for the free sliders,
 * send those beyond a limit to it, free those that a limit holds against their will, all at once;
 * one at a time when that does not help. From the places of the last answer it takes one or two
 * rounds, whose blocks differ by few sliders. Slopes r = H x - linear are kept up with every move.
 * True: `step` is the solution. False: it is the best point seen. */
static bool pivot_limits(sn_slider_work *work, const double *linear) {
    int s = work->space->rig->slider_count, best = s + 1, patience = 3;
    double *x = work->pivot_weights, *r = work->pivot_slopes, *change = work->pivot_change,
           unit = 0;
    for (int i = 0; i < s; i++) {
        unit = fmax(unit, fabs(linear[i]));
        if (work->lower[i] == work->upper[i]) work->place[i] = AT_LOWER;
        if (work->place[i] == AT_LOWER && !isfinite(work->lower[i])) work->place[i] = FREE;
        if (work->place[i] == AT_UPPER && !isfinite(work->upper[i])) work->place[i] = FREE;
        x[i] = 0;
        r[i] = -linear[i];
    }
    for (int round = 0; round < PIVOT_ROUNDS; round++) {
        int free_count = 0, wrong = 0, last = -1;
        for (int i = 0; i < s; i++) {
            double to = work->place[i] == AT_LOWER   ? work->lower[i]
                        : work->place[i] == AT_UPPER ? work->upper[i]
                                                     : x[i];
            change[i] = to - x[i];
            x[i] = to;
        }
        add_slopes(work, change, r);
        for (int i = 0; i < s; i++) {
            change[i] = 0;
            if (work->place[i] != FREE) continue;
            work->pivot_packed[free_count] = -r[i];
            work->free_list[free_count++] = i;
        }
        if (!sn_block_solve(work->blocks, free_count, work->free_list, work->pivot_packed)) break;
        for (int k = 0; k < free_count; k++) {
            int i = work->free_list[k];
            change[i] = work->pivot_packed[k];
            x[i] += change[i];
        }
        add_slopes(work, change, r);
        for (int i = 0; i < s; i++) {
            work->place_next[i] = better_place(work, i, x[i], r[i], 1e-12 * unit);
            if (work->place_next[i] == work->place[i]) continue;
            wrong++;
            last = i;
        }
        if (wrong < best) {
            best = wrong;
            patience = 3;
            memcpy(work->step, x, sizeof(double) * (size_t)s);
        } else {
            patience--;
        }
        if (wrong == 0)
            return distance_to_solution(work, x, r) <=
                   BOX_TOLERANCE * (1 + sn_vector_max((size_t)s, x));
        if (patience > 0)
            memcpy(work->place, work->place_next, (size_t)s);
        else
            work->place[last] = work->place_next[last];
    }
    return false;
}

/* The projected Newton method has the last word where pivoting does not end. */
static bool solve_box(sn_slider_work *work, const double *linear) {
    if (pivot_limits(work, linear)) return true;
    if (!work->boxed && sn_box_qp_set_matrix(work->box, work->hessian, NULL) != SINEW_OK)
        return false;
    work->boxed = true;
    const sn_box_qp_options options = {.tolerance = BOX_TOLERANCE, .warm = true};
    sn_box_qp_info info;
    sinew_status status = sn_box_qp_solve(work->box, linear, work->lower, work->upper, &options,
                                          work->step, &info, NULL);
    return status == SINEW_OK || (status == SINEW_NOT_CONVERGED && info.kkt <= BOX_GOOD);
}

/* With the L1 term: each slider is given a side of base; a slider that ends at base and would gain
 * by crossing changes its side. Every round lowers the objective, so the rounds end. */
static bool solve_few(sn_slider_work *work, const sn_slider_problem *problem, double price,
                      const double *weights) {
    int s = work->space->rig->slider_count;
    bool good = true;
    for (int i = 0; i < s; i++) {
        double off = weights[i] - problem->base[i];
        work->sign[i] = off != 0 ? (off > 0 ? 1 : -1) : (work->gradient[i] < 0 ? 1 : -1);
    }
    for (int round = 0; round < 20; round++) {
        step_limits(work, problem, weights, true);
        for (int i = 0; i < s; i++) work->trial[i] = -work->gradient[i] - price * work->sign[i];
        good = solve_box(work, work->trial);
        for (int i = 0; i < s; i++) { /* rounding is not a response */
            double home = problem->base[i] - weights[i];
            if (fabs(work->step[i] - home) <= HOME) work->step[i] = home;
        }
        sn_dense_apply(SN_AS_IS, s, s, 1, work->hessian, work->step, 0, work->trial);
        int flips = 0;
        for (int i = 0; i < s; i++) {
            if (problem->fixed && problem->fixed[i]) continue;
            double slope = work->trial[i] + work->gradient[i];
            bool home = work->step[i] == problem->base[i] - weights[i];
            if (home && work->sign[i] * slope > price * (1 + 1e-9)) {
                work->sign[i] = (signed char)-work->sign[i];
                flips++;
            }
        }
        if (flips == 0) break;
    }
    return good;
}

/* The step from `weights`, whose H and gradient are in the work. */
static bool solve_step(sn_slider_work *work, const sn_slider_problem *problem, double price,
                       const double *weights) {
    int s = work->space->rig->slider_count, fixed_count = 0;
    for (int i = 0; problem->fixed && i < s; i++)
        if (problem->fixed[i] && fixed_count < s) work->fixed_list[fixed_count++] = i;
    if (price > 0) return solve_few(work, problem, price, weights);
    if (!problem->lower && !problem->upper && fixed_count <= FEW_FIXED) {
        if (!work->factored) factor(work);
        solve_free(work, fixed_count);
        return true;
    }
    step_limits(work, problem, weights, false);
    for (int i = 0; i < s; i++) work->trial[i] = -work->gradient[i];
    return solve_box(work, work->trial);
}

/* --- the solve --------------------------------------------------------------------------------
 */

/* Objective at `weights`; leaves da in activations and A da + g in target_gradient. */
static double objective(sn_slider_work *work, const sn_slider_problem *problem, double price,
                        const double *weights) {
    const sinew_rig *rig = work->space->rig;
    int m = rig->target_count;
    sn_activations(work->space->plan, weights, work->activations, NULL);
    for (int k = 0; k < m; k++) work->activations[k] -= work->start[k];
    sn_dense_apply(SN_AS_IS, m, m, 1, problem->matrix, work->activations, 0, work->target_gradient);
    double value = 0;
    for (int k = 0; k < m; k++) {
        value += work->activations[k] * (0.5 * work->target_gradient[k] + problem->gradient[k]);
        work->target_gradient[k] += problem->gradient[k];
    }
    for (int i = 0; i < rig->slider_count; i++) {
        double off = weights[i] - problem->base[i];
        value += 0.5 * problem->ridge * off * off + price * fabs(off);
    }
    return value;
}

/* What silences every slider, as a slope: the largest gradient at base among those that may move.
 */
static double price_of(const sn_slider_work *work, const sn_slider_problem *problem) {
    double largest = 0;
    for (int i = 0; i < work->space->rig->slider_count; i++)
        if (!problem->fixed || !problem->fixed[i]) largest = fmax(largest, fabs(work->gradient[i]));
    return problem->few * largest;
}

void sn_slider_prepare(sn_slider_work *work, const sn_slider_problem *problem) {
    if (!work->space->plan->linear || work->version == problem->version) return;
    /* Any weights do: the Jacobian of plain targets is constant. */
    sn_activations(work->space->plan, work->step, NULL, work->derivatives);
    build_hessian(work, problem);
    if (!problem->lower && !problem->upper) factor(work);
    memset(work->step, 0, sizeof(double) * (size_t)work->space->rig->slider_count);
    work->version = problem->version;
}

/* Plain targets: one quadratic problem. */
static sn_slider_solution solve_linear(sn_slider_work *work, const sn_slider_problem *problem,
                                       double *weights) {
    int s = work->space->rig->slider_count;
    sn_slider_prepare(work, problem);
    sn_pull_back(work->space, work->derivatives, problem->gradient, work->gradient);
    bool good = solve_step(work, problem, price_of(work, problem), problem->base);
    sn_slider_solution solution = {.iterations = 1, .converged = good};
    for (int i = 0; i < s; i++) {
        weights[i] = problem->base[i] + work->step[i];
        if (!isfinite(weights[i])) { /* never NaN out */
            memcpy(weights, problem->base, sizeof(double) * (size_t)s);
            memset(work->step, 0, sizeof(double) * (size_t)s);
            solution.converged = false;
            break;
        }
    }
    return solution;
}

/* Sliders that sit on a knot between two shapes, where a(w) has a kink. */
static void find_kinks(const sn_slider_work *work, const double *weights, bool *at_kink) {
    const sinew_rig *rig = work->space->rig;
    const double near = 1e-4;
    memset(at_kink, 0, sizeof *at_kink * (size_t)rig->slider_count);
    for (int k = 0; k < rig->target_count; k++) {
        const sn_hat *hat = &work->space->plan->hats[k];
        int s = rig->targets[k].slider;
        if (s < 0) continue;
        bool between = isfinite(hat->previous) && isfinite(hat->next);
        if (between && fabs(weights[s] - hat->at) < near) at_kink[s] = true;
        /* the neutral, when it lies between two shapes */
        if (isfinite(hat->low_end) && hat->low_end == rig->sliders[s].rest &&
            fabs(weights[s] - hat->low_end) < near)
            at_kink[s] = true;
    }
}

/* How the Jacobian is taken. At a kink of a(w) the slope upwards may promise what the slope
 * downwards does not keep: then it is taken a little along the failed step, and if that fails too,
 * sliders that sit on a knot stay there and the others go on. */
typedef enum stage { PLAIN, ALONG, HOLDING, STAGES } stage;

static void linearise(sn_slider_work *work, const sn_slider_problem *problem, stage now,
                      const double *weights) {
    int s = work->space->rig->slider_count;
    for (int i = 0; i < s; i++)
        work->trial[i] = weights[i] + (now == ALONG ? 1e-6 * copysign(1, work->step[i]) : 0);
    sn_activations(work->space->plan, work->trial, NULL, work->derivatives);
    build_hessian(work, problem);
    sn_pull_back(work->space, work->derivatives, work->target_gradient, work->gradient);
    for (int i = 0; i < s; i++)
        work->gradient[i] += problem->ridge * (weights[i] - problem->base[i]);
    find_kinks(work, weights, work->held);
    for (int i = 0; i < s; i++)
        work->held[i] = (now == HOLDING && work->held[i]) || (problem->fixed && problem->fixed[i]);
}

/* In-betweens and combinations: steps with a line search. */
static sn_slider_solution solve_curved(sn_slider_work *work, const sn_slider_problem *problem,
                                       double *weights) {
    int s = work->space->rig->slider_count;
    sn_slider_solution solution = {.residual = INFINITY};
    sn_slider_problem local = *problem;
    local.fixed = work->held;
    double price = 0;
    stage now = PLAIN;
    memcpy(weights, problem->base, sizeof(double) * (size_t)s);
    memset(work->step, 0, sizeof(double) * (size_t)s);
    work->version = -1;
    while (solution.iterations < problem->iteration_limit) {
        solution.iterations++;
        double value = objective(work, problem, price, weights);
        linearise(work, problem, now, weights);
        if (solution.iterations == 1 && problem->few > 0) {
            price = price_of(work, problem);
            value = objective(work, problem, price, weights);
        }
        /* An imperfect step is judged by the line search. */
        solve_step(work, &local, price, weights);
        double largest = 0, t = 1;
        for (int i = 0; i < s; i++) largest = fmax(largest, fabs(work->step[i]));
        if (!isfinite(largest)) return solution;
        bool lower = false;
        for (; t > 1e-6; t *= 0.5) {
            for (int i = 0; i < s; i++) work->trial[i] = weights[i] + t * work->step[i];
            lower = objective(work, problem, price, work->trial) < value;
            if (lower) break;
        }
        if (lower) memcpy(weights, work->trial, sizeof(double) * (size_t)s);
        double moved = lower ? t * largest : 0;
        if (moved > 1e-3 * largest && moved > problem->tolerance) {
            now = PLAIN;
            solution.residual = moved;
            continue;
        }
        /* No descent, or hardly any: try the next stage before accepting that. */
        if (largest <= problem->tolerance || ++now == STAGES) {
            solution.residual = moved;
            solution.converged = true;
            return solution;
        }
    }
    return solution;
}

sn_slider_solution sn_slider_solve(sn_slider_work *work, const sn_slider_problem *problem,
                                   double *weights) {
    sn_activations(work->space->plan, problem->base, work->start, NULL);
    return work->space->plan->linear ? solve_linear(work, problem, weights)
                                     : solve_curved(work, problem, weights);
}
