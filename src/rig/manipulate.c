/* With da = a(w) - a(now), r the displacement that the dragged coordinates need and k that of the
 * locked ones from their pose, the objective is
 *
 *   |S da - r|^2_W + hold |L da + k|^2 + ridge |w - now|^2
 *
 * so in target space A = S^T W S + hold Q and g = -S^T W r + hold L^T k (halved): the problem of
 * slider_solve.h. */
#include "sinew/manipulate.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/sized.h"
#include "base/status.h"
#include "rig/lock_state.h"

struct sinew_manipulator {
    const sinew_slider_space *space;
    const sinew_locks *locks;
    sinew_manipulate_options options;
    long version;
    sn_slider_work *work;
    sn_row_pack pack;
    double *matrix;                         /* target_count squared */
    double *activations, *gradient;         /* target_count */
    double *lower, *upper, *base, *weights; /* slider_count */
    int *vertices;
    double *factors;
    size_t vertex_capacity, factor_capacity;
};

void sinew_manipulate_options_init(sinew_manipulate_options *options) {
    *options = (sinew_manipulate_options){.size = sizeof *options,
                                          .ridge = SINEW_MANIPULATE_RIDGE,
                                          .hold = SINEW_MANIPULATE_HOLD,
                                          .bounded = true,
                                          .tolerance = SINEW_MANIPULATE_TOLERANCE,
                                          .iteration_limit = SINEW_MANIPULATE_ITERATION_LIMIT};
}

sinew_status sinew_manipulator_create(const sinew_slider_space *space,
                                      const sinew_manipulate_options *options,
                                      const sinew_locks *locks, sinew_manipulator **manipulator,
                                      sinew_error *error) {
    SN_REQUIRE(space && manipulator, error);
    *manipulator = NULL;
    SN_OPTIONS(sinew_manipulate_options, wanted, options, error);
    if (!(wanted.ridge >= 0) || isinf(wanted.ridge) || !(wanted.hold >= 0) || isinf(wanted.hold) ||
        !(wanted.few >= 0 && wanted.few <= 1) || !(wanted.tolerance > 0) ||
        wanted.iteration_limit < 1)
        return sn_fail(error, SINEW_BAD_INPUT,
                       "drag: ridge %g and hold %g must be 0 or more, few %g 0 to 1, tolerance %g "
                       "and iteration limit %d above 0",
                       wanted.ridge, wanted.hold, wanted.few, wanted.tolerance,
                       wanted.iteration_limit);
    SN_REQUIRE(!locks || locks->space == space, error);
    sinew_manipulator *made = SN_NEW0(sinew_manipulator, 1);
    if (!made) return sn_no_memory(error);
    size_t m = (size_t)space->rig->target_count, s = (size_t)space->rig->slider_count;
    made->space = space;
    made->locks = locks;
    made->options = wanted;
    made->matrix = SN_NEW0(double, m *m);
    made->activations = SN_NEW0(double, m);
    made->gradient = SN_NEW0(double, m);
    made->lower = SN_NEW0(double, s);
    made->upper = SN_NEW0(double, s);
    made->base = SN_NEW0(double, s);
    made->weights = SN_NEW0(double, s);
    sinew_status status = made->matrix && made->activations && made->gradient && made->lower &&
                                  made->upper && made->base && made->weights
                              ? SINEW_OK
                              : sn_no_memory(error);
    if (status == SINEW_OK) status = sn_row_pack_create(space, &made->pack, error);
    if (status == SINEW_OK) status = sn_slider_work_create(space, &made->work, error);
    if (status != SINEW_OK) {
        sinew_manipulator_destroy(made);
        return status;
    }
    *manipulator = made;
    return SINEW_OK;
}

void sinew_manipulator_destroy(sinew_manipulator *manipulator) {
    if (!manipulator) return;
    sn_slider_work_destroy(manipulator->work);
    sn_row_pack_free(&manipulator->pack);
    sn_free(manipulator->matrix);
    sn_free(manipulator->activations);
    sn_free(manipulator->gradient);
    sn_free(manipulator->lower);
    sn_free(manipulator->upper);
    sn_free(manipulator->base);
    sn_free(manipulator->weights);
    sn_free(manipulator->vertices);
    sn_free(manipulator->factors);
    sn_free(manipulator);
}

static sinew_status check_drags(const sinew_rig *rig, int count, const sinew_drag *drags,
                                const double *now, sinew_error *error) {
    if (count == 0) return sn_fail(error, SINEW_BAD_INPUT, "drag: no point is dragged");
    for (int i = 0; i < count; i++) {
        const sinew_drag *drag = &drags[i];
        if (drag->vertex < 0 || drag->vertex >= rig->neutral->vertex_count)
            return sn_fail(error, SINEW_BAD_INPUT,
                           "drag %d: vertex %d is out of range, the mesh has %d", i, drag->vertex,
                           rig->neutral->vertex_count);
        if (drag->axes == 0 || drag->axes > SINEW_AXIS_ALL)
            return sn_fail(error, SINEW_BAD_INPUT, "drag %d: no axis of x, y, z", i);
        if (!(drag->weight > 0) || isinf(drag->weight))
            return sn_fail(error, SINEW_BAD_INPUT, "drag %d: the weight %g is not above 0", i,
                           drag->weight);
        for (int c = 0; c < 3; c++)
            if (drag->axes >> c & 1 && !isfinite(drag->target[c]))
                return sn_fail(error, SINEW_BAD_INPUT, "drag %d: the target is not finite", i);
    }
    for (int i = 0; i < rig->slider_count; i++)
        if (!isfinite(now[i]))
            return sn_fail(error, SINEW_BAD_INPUT, "the weight of slider \"%s\" is not finite",
                           rig->sliders[i].name);
    return SINEW_OK;
}

/* Weighted sum of squares of the remaining displacement at `activations`, and the pull S^T W r when
 * wanted. */
static double way_left(const sinew_slider_space *space, int count, const sinew_drag *drags,
                       const double *activations, double *gradient, double *total_weight) {
    double sum = 0;
    *total_weight = 0;
    for (int i = 0; i < count; i++) {
        double motion[3], force[3] = {0};
        sn_vertex_motion(space, drags[i].vertex, activations, motion);
        for (int c = 0; c < 3; c++) {
            if (!(drags[i].axes >> c & 1)) continue;
            double at = space->rig->neutral->positions[3 * (size_t)drags[i].vertex + (size_t)c];
            double left = drags[i].target[c] - at - motion[c];
            sum += drags[i].weight * left * left;
            *total_weight += drags[i].weight;
            force[c] = -drags[i].weight * left;
        }
        if (gradient) sn_vertex_pull(space, drags[i].vertex, force, gradient);
    }
    return sum;
}

static double locked_terms(const sinew_locks *locks, double hold, const double *activations,
                           double *gradient) {
    const sn_held *held = &locks->held;
    double sum = 0;
    for (int i = 0; i < held->count; i++) {
        double motion[3], force[3];
        sn_vertex_motion(locks->space, held->vertices[i], activations, motion);
        for (size_t c = 0; c < 3; c++) {
            double off = motion[c] - held->reference[3 * (size_t)i + c];
            double strength = held->strengths[3 * (size_t)i + c];
            sum += strength * off * off;
            force[c] = hold * strength * off;
        }
        if (gradient) sn_vertex_pull(locks->space, held->vertices[i], force, gradient);
    }
    return held->coordinates > 0 ? sqrt(sum / held->coordinates) : 0;
}

/* A and the mean of its diagonal over the sliders that reach the dragged points. */
static sinew_status build_matrix(sinew_manipulator *manipulator, int count, const sinew_drag *drags,
                                 double hold, double *mean, sinew_error *error) {
    const sinew_slider_space *space = manipulator->space;
    size_t m = (size_t)space->rig->target_count;
    if (!SN_RESERVE(manipulator->vertices, manipulator->vertex_capacity, count) ||
        !SN_RESERVE(manipulator->factors, manipulator->factor_capacity, 3 * (size_t)count))
        return sn_no_memory(error);
    for (int i = 0; i < count; i++) {
        manipulator->vertices[i] = drags[i].vertex;
        for (int c = 0; c < 3; c++)
            manipulator->factors[3 * (size_t)i + (size_t)c] =
                drags[i].axes >> c & 1 ? drags[i].weight : 0;
    }
    memset(manipulator->matrix, 0, sizeof(double) * m * m);
    sn_picked_rows rows = {count, manipulator->vertices, manipulator->factors};
    SN_TRY(sn_add_gram(space, &rows, &manipulator->pack, manipulator->matrix, error));
    double trace = 0;
    int reach = 0;
    for (size_t k = 0; k < m; k++) {
        trace += manipulator->matrix[k * m + k];
        reach += manipulator->matrix[k * m + k] > 0;
    }
    *mean = reach > 0 ? trace / reach : 1;
    if (hold > 0)
        for (size_t i = 0; i < m * m; i++)
            manipulator->matrix[i] += hold * manipulator->locks->held_gram[i];
    manipulator->version++;
    return SINEW_OK;
}

sinew_status sinew_manipulate(sinew_manipulator *manipulator, int drag_count,
                              const sinew_drag *drags, const double *now, double *weights,
                              sinew_manipulate_info *info, sinew_error *error) {
    SN_REQUIRE(manipulator && now && weights && sn_info_ready(info), error);
    SN_REQUIRE(drag_count >= 0 && (drag_count == 0 || drags), error);
    const sinew_slider_space *space = manipulator->space;
    const sinew_rig *rig = space->rig;
    const sinew_locks *locks = manipulator->locks;
    const sinew_manipulate_options *options = &manipulator->options;
    SN_TRY(check_drags(rig, drag_count, drags, now, error));
    double hold = 0, mean = 1, total;
    if (locks && locks->held.coordinates > 0)
        hold = options->hold * (locks->options.alpha_relative ? locks->options.alpha : 1);
    if (hold > SINEW_LOCK_ALPHA_LIMIT) hold = SINEW_LOCK_ALPHA_LIMIT;
    SN_TRY(build_matrix(manipulator, drag_count, drags, hold, &mean, error));

    size_t m = (size_t)rig->target_count, s = (size_t)rig->slider_count;
    memset(manipulator->gradient, 0, sizeof(double) * m);
    sn_activations(space->plan, now, manipulator->activations, NULL);
    double before =
        way_left(space, drag_count, drags, manipulator->activations, manipulator->gradient, &total);
    if (hold > 0) locked_terms(locks, hold, manipulator->activations, manipulator->gradient);
    for (size_t i = 0; i < s; i++) {
        manipulator->base[i] = now[i];
        manipulator->lower[i] = fmin(now[i], rig->sliders[i].minimum);
        manipulator->upper[i] = fmax(now[i], rig->sliders[i].maximum);
    }
    sn_slider_problem problem = {.matrix = manipulator->matrix,
                                 .version = manipulator->version,
                                 .gradient = manipulator->gradient,
                                 .base = manipulator->base,
                                 .ridge = options->ridge * mean,
                                 .lower = options->bounded ? manipulator->lower : NULL,
                                 .upper = options->bounded ? manipulator->upper : NULL,
                                 .few = options->few,
                                 .tolerance = options->tolerance,
                                 .iteration_limit = options->iteration_limit};
    sn_slider_solution solution =
        sn_slider_solve(manipulator->work, &problem, manipulator->weights);
    memcpy(weights, manipulator->weights, sizeof(double) * s);
    if (info) {
        sn_activations(space->plan, weights, manipulator->activations, NULL);
        double after = way_left(space, drag_count, drags, manipulator->activations, NULL, &total);
        sinew_manipulate_info own = {.distance = sqrt(before / total),
                                     .left = sqrt(after / total),
                                     .iterations = solution.iterations,
                                     .residual = solution.residual};
        if (locks) own.locked_motion = locked_terms(locks, hold, manipulator->activations, NULL);
        sn_info_write(info, &own, sizeof own);
    }
    return solution.converged ? SINEW_OK
                              : sn_fail(error, SINEW_NOT_CONVERGED,
                                        "drag: weights still change by %g after %d iterations",
                                        solution.residual, solution.iterations);
}
