/* Motion attenuation: the weights that leave locked coordinates in place.
 *
 * Based on: Lewis, Mooser, Deng, Neumann, "Reducing blendshape interference by selected motion
 * attenuation", I3D 2005.
 * We differ in: the change of weights is regularized instead of nothing; motion below a tolerance
 * is left alone; sliders keep their limits inside the solve; the sliders a user moves may be kept;
 * coordinates are held at the pose of their own lock; in-betweens and combinations are followed.
 * docs/locks.md has the figures behind each.
 *
 * With da = a(w) - a(asked), m1 the asked motion of the locked coordinates and H their strengths,
 *
 *   alpha |m1 + S da - slack|^2_H + da^T P da        slack = m1 - soft(m1),  P = T^T T - Q
 * = alpha |soft(m1)|^2_H + 2 alpha soft(m1)^T H S da + da^T (T^T T + (alpha - 1) Q) da
 *
 * so the problem in target space has A = T^T T + (alpha - 1) Q and g = alpha S^T H soft(m1), both
 * fixed during the solve. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/parallel.h"
#include "base/scope.h"
#include "base/sized.h"
#include "base/status.h"
#include "rig/lock_state.h"

/* Motions of held vertices become those from their lock pose, times the root of their strength. */
static void weigh(const sn_held *held, int first, int count, double *motion) {
    const double *strengths = held->strengths + 3 * (size_t)first;
    const double *reference = held->reference + 3 * (size_t)first;
    for (int i = 0; i < 3 * count; i++) motion[i] = sqrt(strengths[i]) * (motion[i] - reference[i]);
}

typedef struct measure_blocks_loop {
    const sn_row_blocks *rows;
    const double *activations;
    double *motion;
} measure_blocks_loop;

static void measure_blocks(void *context, sn_span span) {
    const measure_blocks_loop *loop = context;
    const sn_row_blocks *rows = loop->rows;
    const double *activations = loop->activations;
    double *motion = loop->motion;
    SN_IN_SPAN(int, b, span)
        sn_row_block_motion(rows, b, activations, motion + (size_t)b * SN_BLOCK_ROWS);
}

static void measure_motion(const sinew_locks *locks, const double *activations, double *motion) {
    const sn_row_blocks *rows = &locks->held.rows;
    sn_parallel_for(rows->block_count, 1, measure_blocks,
                    &(measure_blocks_loop){rows, activations, motion});
    weigh(&locks->held, 0, locks->held.count, motion);
}

double sn_locks_rms(const sinew_locks *locks, const double *motion) {
    double sum = 0;
    for (int i = 0; i < 3 * locks->held.count; i++) sum += motion[i] * motion[i];
    return locks->held.coordinates > 0 ? sqrt(sum / locks->held.coordinates) : 0;
}

typedef struct pull_of_blocks_loop {
    sinew_locks *locks;
    double zone;
} pull_of_blocks_loop;

static void pull_of_blocks(void *context, sn_span span) {
    const pull_of_blocks_loop *loop = context;
    sinew_locks *locks = loop->locks;
    double zone = loop->zone;
    const sn_row_blocks *rows = &locks->held.rows;
    SN_IN_SPAN(int, b, span) {
        int first = b * SN_BLOCK_VERTICES, count = sn_row_block_vertices(rows, b);
        const double *strengths = locks->held.strengths + 3 * (size_t)first;
        double *motion = locks->asked_motion + 3 * (size_t)first;
        double excess[SN_BLOCK_ROWS] = {0}, whole[SN_BLOCK_ROWS] = {0};
        sn_row_block_motion(rows, b, locks->activations, motion);
        weigh(&locks->held, first, count, motion);
        for (int i = 0; i < 3 * count; i++) {
            double root = sqrt(strengths[i]), size = fabs(motion[i]), edge = zone * root;
            excess[i] = size > edge ? locks->alpha * root * copysign(size - edge, motion[i]) : 0;
            whole[i] = root * motion[i];
        }
        sn_row_block_pull(rows, b, excess, whole, locks->excess_pulls, locks->motion_pulls);
    }
}

/* m1, g = alpha S^T H soft(m1), the pull of what exceeds the dead zone, and S^T H m1: block by
 * block, so that the rows are read once. */
static void pull_of_motion(sinew_locks *locks) {
    const sn_row_blocks *rows = &locks->held.rows;
    double zone = locks->options.dead_zone * locks->space->diagonal;
    sn_parallel_for(rows->block_count, 1, pull_of_blocks, &(pull_of_blocks_loop){locks, zone});
    int targets = locks->space->rig->target_count;
    sn_row_blocks_sum(rows, locks->excess_pulls, targets, locks->gradient);
    sn_row_blocks_sum(rows, locks->motion_pulls, targets, locks->pull);
}

/* Is the locked motion at most the asked one, by what is known without measuring it? The solution
 * of a linear rig, for which no change at all was allowed too, has
 *
 *   da^T A da + ridge |da|^2 <= -g^T da,   and A = P + alpha Q >= alpha Q,   so that
 *   |m2|^2 - |m1|^2 = 2 da^T S^T H m1 + da^T Q da
 *                  <= 2 da^T S^T H m1 - (g^T da + ridge |da|^2) / alpha. */
static bool surely_no_worse(const sinew_locks *locks, double ridge, const double *asked,
                            const double *given) {
    const sinew_slider_space *space = locks->space;
    if (!space->aligned) return false;
    double along = 0, gain = 0, size = 0;
    for (int k = 0; k < space->rig->target_count; k++) {
        double da = given[k] - asked[k];
        along += 2 * da * locks->pull[k];
        gain += da * locks->gradient[k] + ridge * da * da;
        size += fabs(da * locks->pull[k]);
    }
    return along - gain / locks->alpha <= -1e-9 * size;
}

/* Within the dead zone a coordinate may trade its slack for another's: pull back along the change
 * until the locked motion is no larger than asked. On a linear rig the motion is m1 + s (m2 - m1),
 * as large as m1 at s = -2 m1.(m2 - m1) / |m2 - m1|^2; elsewhere halve on. */
static void never_worse(sinew_locks *locks, const double *asked, double *given) {
    int sliders = locks->space->rig->slider_count;
    for (int trial = 0; trial < 30; trial++) {
        double before = 0, after = 0, along = 0, change = 0;
        for (int i = 0; i < 3 * locks->held.count; i++) {
            double m1 = locks->asked_motion[i], d = locks->given_motion[i] - m1;
            before += m1 * m1;
            after += locks->given_motion[i] * locks->given_motion[i];
            along += m1 * d;
            change += d * d;
        }
        if (after <= before * (1 + 1e-12)) return;
        double s = trial > 0 ? 0.5 : -2 * along / change * (1 - 1e-12);
        if (!(s > 0) || trial == 29) s = 0;
        for (int i = 0; i < sliders; i++) given[i] = asked[i] + s * (given[i] - asked[i]);
        sn_activations(locks->space->plan, given, locks->activations, NULL);
        measure_motion(locks, locks->activations, locks->given_motion);
        if (s == 0) return;
    }
}

sn_slider_solution sn_locks_solve(sinew_locks *locks, const double *asked, const double *lower,
                                  const double *upper, const bool *fixed, bool measured,
                                  double *given) {
    size_t sliders = (size_t)locks->space->rig->slider_count;
    sn_activations(locks->space->plan, asked, locks->activations, NULL);
    pull_of_motion(locks);
    bool any = false;
    for (int k = 0; k < locks->space->rig->target_count; k++) any |= locks->gradient[k] != 0;
    sn_slider_solution solution = {.converged = true};
    if (!any) { /* nothing locked moves visibly, or alpha is 0 */
        memmove(given, asked, sizeof(double) * sliders);
        memcpy(locks->given_motion, locks->asked_motion,
               3 * sizeof(double) * (size_t)locks->held.count);
        return solution;
    }
    sn_slider_problem problem = {.matrix = locks->matrix,
                                 .version = locks->version,
                                 .gradient = locks->gradient,
                                 .base = asked,
                                 .ridge = locks->options.ridge * locks->space->mean_square,
                                 .lower = lower,
                                 .upper = upper,
                                 .fixed = fixed,
                                 .few = locks->options.few,
                                 .tolerance = locks->options.tolerance,
                                 .iteration_limit = locks->options.iteration_limit};
    solution = sn_slider_solve(locks->work, &problem, locks->solution);
    bool sure = solution.converged && problem.few == 0 &&
                surely_no_worse(locks, problem.ridge, asked, locks->solution);
    if (measured || !sure) {
        sn_activations(locks->space->plan, locks->solution, locks->activations, NULL);
        measure_motion(locks, locks->activations, locks->given_motion);
        never_worse(locks, asked, locks->solution);
    }
    memmove(given, locks->solution, sizeof(double) * sliders);
    return solution;
}

/* da^T M db */
static double form(size_t m, const double *matrix, const double *da, const double *db) {
    double sum = 0;
    for (size_t j = 0; j < m; j++) {
        if (db[j] == 0) continue;
        double column = 0;
        for (size_t i = 0; i < m; i++) column += matrix[j * m + i] * da[i];
        sum += column * db[j];
    }
    return sum;
}

/* Unlocked motion of asked and given away from `from`, through the rig itself: shapes are linear in
 * activations, so differences of activations are exact. */
static void describe(sinew_locks *locks, const double *from, const double *asked,
                     const double *given, const sn_slider_solution *solution,
                     sinew_lock_info *info) {
    const sinew_slider_space *space = locks->space;
    size_t m = (size_t)space->rig->target_count;
    double *da = locks->activations, *db = locks->scratch, *base = locks->gradient;
    sn_activations(space->plan, from, base, NULL);
    sn_activations(space->plan, asked, da, NULL);
    sn_activations(space->plan, given, db, NULL);
    for (size_t k = 0; k < m; k++) {
        da[k] -= base[k];
        db[k] -= base[k];
    }
    double aa = form(m, space->gram, da, da) - form(m, locks->held_gram, da, da);
    double ab = form(m, space->gram, da, db) - form(m, locks->held_gram, da, db);
    double bb = form(m, space->gram, db, db) - form(m, locks->held_gram, db, db);
    aa = fmax(aa, 0);
    bb = fmax(bb, 0);
    info->kept = aa > 0 ? sqrt(bb / aa) : 1;
    info->cosine = aa > 0 && bb > 0 ? ab / sqrt(aa * bb) : 1;

    info->asked_motion = sn_locks_rms(locks, locks->asked_motion);
    info->given_motion = sn_locks_rms(locks, locks->given_motion);
    double tiny = 1e-12 * space->diagonal;
    info->reduction = (info->asked_motion + tiny) / (info->given_motion + tiny);
    double excess = 0, zone = locks->options.dead_zone * space->diagonal;
    for (int i = 0; i < 3 * locks->held.count; i++) {
        double over = fabs(locks->asked_motion[i]) - zone;
        if (over > 0) excess += over * over;
    }
    excess = locks->held.coordinates > 0 ? sqrt(excess / locks->held.coordinates) : 0;
    info->conflict = locks->alpha > 0 && excess > SINEW_LOCK_VISIBLE * space->diagonal &&
                     info->asked_motion - info->given_motion < 0.25 * excess;

    double wanted = 0, got = 0;
    info->lowest = INFINITY;
    info->highest = -INFINITY;
    info->changed = 0;
    for (int i = 0; i < space->rig->slider_count; i++) {
        double step = asked[i] - from[i];
        wanted += step * step;
        got += step * (given[i] - from[i]);
        info->lowest = fmin(info->lowest, given[i]);
        info->highest = fmax(info->highest, given[i]);
        info->changed += step == 0 && fabs(given[i] - asked[i]) > 0.05;
    }
    info->share = wanted > 0 ? got / wanted : 1;
    info->iterations = solution->iterations;
    info->residual = solution->residual;
}

sinew_status sinew_locks_apply(sinew_locks *locks, const double *from, const double *asked,
                               double *given, sinew_lock_info *info, sinew_error *error) {
    SN_REQUIRE(locks && asked && given && sn_info_ready(info), error);
    const sinew_rig *rig = locks->space->rig;
    const sinew_lock_options *options = &locks->options;
    if (!from) from = asked;
    for (int i = 0; i < rig->slider_count; i++) {
        if (!isfinite(asked[i]) || !isfinite(from[i]))
            return sn_fail(error, SINEW_BAD_INPUT, "the weight of slider \"%s\" is not finite",
                           rig->sliders[i].name);
        locks->fixed[i] = options->mode == SINEW_LOCK_MODE_KEEP && asked[i] != from[i];
        locks->lower[i] = fmin(asked[i], rig->sliders[i].minimum);
        locks->upper[i] = fmax(asked[i], rig->sliders[i].maximum);
    }
    sn_slider_solution solution = sn_locks_solve(
        locks, asked, options->bounded ? locks->lower : NULL,
        options->bounded ? locks->upper : NULL, locks->fixed, info != NULL, locks->solution);
    if (info) {
        sinew_lock_info own = {0};
        describe(locks, from, asked, locks->solution, &solution, &own);
        sn_info_write(info, &own, sizeof own);
    }
    memcpy(given, locks->solution, sizeof(double) * (size_t)rig->slider_count);
    return solution.converged ? SINEW_OK
                              : sn_fail(error, SINEW_NOT_CONVERGED,
                                        "lock: weights still change by %g after %d iterations",
                                        solution.residual, solution.iterations);
}

/* Puts the held coordinates where they were at locking; a painted strength below 1 goes as far of
 * the way. */
sinew_status sinew_locks_correct(sinew_locks *locks, double *positions, double *strain,
                                 const sinew_monitor *monitor, sinew_error *error) {
    SN_REQUIRE(locks && positions, error);
    const sn_held *held = &locks->held;
    const sinew_mesh *neutral = locks->space->rig->neutral;
    if (strain) *strain = 0;
    if (held->coordinates == 0) return SINEW_OK;
    if (!locks->corrective) {
        bool *mask = SN_NEW(bool, 3 * (size_t)held->count);
        if (!mask) return sn_no_memory(error);
        for (int i = 0; i < 3 * held->count; i++) mask[i] = held->strengths[i] > 0;
        sn_call call;
        sn_call_begin(&call, monitor);
        sinew_status status = sn_corrective_create(neutral, held->count, held->vertices, mask,
                                                   locks->options.falloff * locks->space->diagonal,
                                                   &locks->corrective, error);
        status = sn_call_end(&call, status, error);
        sn_free(mask);
        if (status != SINEW_OK) {
            sn_corrective_destroy(locks->corrective);
            locks->corrective = NULL;
            return status;
        }
    }
    double *values = locks->given_motion;
    for (int i = 0; i < held->count; i++)
        for (size_t c = 0; c < 3; c++) {
            size_t at = 3 * (size_t)i + c, v = 3 * (size_t)held->vertices[i] + c;
            double home = neutral->positions[v] + held->reference[at];
            values[at] = held->strengths[at] * (home - positions[v]);
        }
    double largest = sn_corrective_apply(locks->corrective, values, positions);
    if (strain) *strain = largest;
    return SINEW_OK;
}
