/* Based on: Lewis et al., Practice and theory of blendshape facial models, 2014 (fits of weights to
 * markers). We differ in: parameters scaled by the rig's own motion, in-betweens and combinations
 * through the Jacobian, and trust in markers found by re-weighting against those that jump. */
#include "sinew/fit.h"

#include <math.h>
#include <string.h>

#include "algebra/box_qp.h"
#include "algebra/dense.h"
#include "algebra/solver_libraries.h"
#include "base/memory.h"
#include "base/monitor.h"
#include "base/sized.h"
#include "base/sort.h"
#include "base/status.h"
#include "base/vec3.h"
#include "rig/activations.h"
#include "rig/marker_rows.h"
#include "rig/marker_sliders.h"

/* The last change of a weight below which Gauss-Newton stops. */
#define STEP_TOLERANCE 1e-7
/* The last change of a marker's trust below which re-weighting stops. */
#define TRUST_TOLERANCE 0.01
/* A marker with less trust is an outlier. */
#define OUTLIER 0.5

struct sinew_fit {
    const sinew_rig *rig;
    sinew_marker_map *map;
    sinew_fit_options options;
    sn_activation_plan *plan;
    double scale; /* mean over sliders of the square motion at the markers, 1 when nothing moves */
    double reach; /* length up to which every marker is believed */
    bool *held;   /* per slider */
    double ridge; /* l2 of the solve at hand */

    double *rest;        /* 3 per marker: positions on the neutral */
    double *rows;        /* S T, 3m x targets */
    double *jacobian;    /* S T da/dw with rows scaled by the square roots of the weights */
    double *activations; /* per target */
    double *derivatives; /* of the activations */
    double *residual;    /* 3m: d - x(w), unscaled */
    double *scaled;      /* 3m */
    double *given;       /* per marker: its weight, 0 where it is not seen */
    double *trust;       /* per marker, in [0, 1]: what the fit makes of it */
    double *trusted;     /* per marker: given, 0 for outliers */
    double *distances;   /* per marker, for the median */
    double *hessian, *gradient, *lower, *upper, *step, *trial, *last;
    sn_box_qp *qp;
};

void sinew_fit_options_init(sinew_fit_options *options) {
    *options = (sinew_fit_options){
        .size = sizeof *options, .outlier = SINEW_FIT_OUTLIER, .iterations = SINEW_FIT_ITERATIONS};
    sinew_fit_options_set_method(options, SINEW_FIT_METHOD_RSBS);
}

void sinew_fit_options_set_method(sinew_fit_options *options, sinew_fit_method method) {
    bool regularized = method == SINEW_FIT_METHOD_RSBS, unbounded = method == SINEW_FIT_METHOD_ULS;
    options->l1 = regularized ? SINEW_FIT_RSBS_L1 : 0;
    options->l2 = regularized ? SINEW_FIT_RSBS_L2 : unbounded ? SINEW_FIT_ULS_L2 : 0;
    options->bounded_below = options->bounded_above = true;
    options->undershoot = options->overshoot = unbounded ? 1 : 0;
}

static sinew_status check_options(const sinew_fit_options *o, sinew_error *error) {
    if (!(o->l1 >= 0 && o->l2 >= 0 && o->smooth >= 0 && o->symmetry >= 0) || !isfinite(o->l1) ||
        !isfinite(o->l2) || !isfinite(o->smooth) || !isfinite(o->symmetry))
        return sn_fail(error, SINEW_BAD_INPUT,
                       "fit: l1, l2, smooth and symmetry must be 0 or more");
    if (!(o->undershoot >= 0 && o->overshoot >= 0))
        return sn_fail(error, SINEW_BAD_INPUT, "fit: undershoot and overshoot must be 0 or more");
    if (!(o->outlier > 0) || o->iterations < 1)
        return sn_fail(error, SINEW_BAD_INPUT, "fit: outlier and iterations must be positive");
    if (o->l1 > 0 && !(o->bounded_below && o->undershoot == 0))
        return sn_fail(error, SINEW_BAD_INPUT, "fit: l1 needs weights that are not negative");
    return SINEW_OK;
}

static sinew_status choose_held(sinew_fit *fit, const sinew_marker_map *map, sinew_error *error) {
    int n = fit->rig->slider_count;
    fit->held = SN_NEW(bool, n);
    if (!fit->held) return sn_no_memory(error);
    if (fit->options.held) {
        memcpy(fit->held, fit->options.held, sizeof(bool) * (size_t)n);
        return SINEW_OK;
    }
    return sn_fit_held(fit->rig, map, fit->held, error);
}

/* Bounds of the weights: the slider's range, 0 to 1 where it has none. */
static void set_bounds(sinew_fit *fit) {
    const sinew_fit_options *o = &fit->options;
    for (int s = 0; s < fit->rig->slider_count; s++) {
        const sinew_slider *slider = &fit->rig->sliders[s];
        double low = isfinite(slider->minimum) ? slider->minimum : 0;
        double high = isfinite(slider->maximum) ? slider->maximum : fmax(low, 0) + 1;
        double range = high - low;
        fit->lower[s] = o->bounded_below ? low - o->undershoot * range : -INFINITY;
        fit->upper[s] = o->bounded_above ? high + o->overshoot * range : INFINITY;
    }
}

static sinew_status build(sinew_fit *fit, const sinew_marker_map *map, sinew_error *error) {
    const sinew_rig *rig = fit->rig;
    size_t sliders = (size_t)rig->slider_count, targets = (size_t)rig->target_count;
    size_t height = 3 * (size_t)map->count;
    SN_TRY(sinew_marker_map_check(map, rig->neutral, error));
    SN_TRY(sinew_marker_map_copy(map, &fit->map, error));
    SN_TRY(choose_held(fit, map, error));
    SN_TRY(sn_activation_plan_create(rig, &fit->plan, error));
    SN_TRY(sn_box_qp_create((int)sliders, &fit->qp, error));
    fit->rest = SN_NEW(double, height);
    fit->rows = SN_NEW(double, height *targets);
    fit->jacobian = SN_NEW(double, height *sliders);
    fit->activations = SN_NEW(double, targets);
    fit->derivatives = SN_NEW(double, fit->plan->derivative_start[targets]);
    fit->residual = SN_NEW(double, height);
    fit->scaled = SN_NEW(double, height);
    fit->given = SN_NEW(double, map->count);
    fit->trust = SN_NEW(double, map->count);
    fit->trusted = SN_NEW0(double, map->count);
    fit->distances = SN_NEW(double, map->count);
    fit->hessian = SN_NEW(double, sliders *sliders);
    fit->gradient = SN_NEW(double, sliders);
    fit->lower = SN_NEW(double, sliders);
    fit->upper = SN_NEW(double, sliders);
    fit->step = SN_NEW(double, sliders);
    fit->trial = SN_NEW(double, sliders);
    fit->last = SN_NEW(double, sliders);
    if (!fit->rest || !fit->rows || !fit->jacobian || !fit->activations || !fit->derivatives ||
        !fit->residual || !fit->scaled || !fit->given || !fit->trust || !fit->trusted ||
        !fit->distances || !fit->hessian || !fit->gradient || !fit->lower || !fit->upper ||
        !fit->step || !fit->trial || !fit->last)
        return sn_no_memory(error);
    sinew_marker_map_points(map, rig->neutral, rig->neutral->positions, fit->rest);
    SN_TRY(sn_marker_rows(rig, map, fit->rows, error));
    double sum = 0;
    int moving = 0;
    for (size_t k = 0; k < targets; k++) {
        double square = 0;
        for (size_t i = 0; i < height; i++)
            square += fit->rows[height * k + i] * fit->rows[height * k + i];
        sum += square, moving += square > 0;
    }
    fit->scale = moving ? sum / moving : 1;
    fit->reach =
        fit->options.outlier * sinew_diagonal(rig->neutral->vertex_count, rig->neutral->positions);
    set_bounds(fit);
    return SINEW_OK;
}

sinew_status sinew_fit_create(const sinew_rig *rig, const sinew_marker_map *map,
                              const sinew_fit_options *options, sinew_fit **fit,
                              sinew_error *error) {
    SN_REQUIRE(rig && map && fit, error);
    SN_TRY(sn_solvers_load(error)); /* products have no status */
    *fit = NULL;
    SN_OPTIONS(sinew_fit_options, chosen, options, error);
    SN_TRY(check_options(&chosen, error));
    if (map->count < 1) return sn_fail(error, SINEW_BAD_INPUT, "fit: the map has no markers");
    if (rig->slider_count < 1)
        return sn_fail(error, SINEW_BAD_INPUT, "fit: the rig has no sliders");
    sinew_fit *created = SN_NEW0(sinew_fit, 1);
    if (!created) return sn_no_memory(error);
    created->rig = rig;
    created->options = chosen;
    sinew_status status = build(created, map, error);
    created->options.held = NULL; /* the caller's */
    if (status != SINEW_OK) {
        sinew_fit_destroy(created);
        return status;
    }
    *fit = created;
    return SINEW_OK;
}

void sinew_fit_destroy(sinew_fit *fit) {
    if (!fit) return;
    sinew_marker_map_destroy(fit->map);
    sn_activation_plan_destroy(fit->plan);
    sn_box_qp_destroy(fit->qp);
    sn_free(fit->rest), sn_free(fit->rows), sn_free(fit->jacobian), sn_free(fit->activations);
    sn_free(fit->derivatives), sn_free(fit->residual), sn_free(fit->scaled);
    sn_free(fit->given), sn_free(fit->trust), sn_free(fit->trusted), sn_free(fit->distances);
    sn_free(fit->hessian);
    sn_free(fit->gradient), sn_free(fit->lower), sn_free(fit->upper), sn_free(fit->step);
    sn_free(fit->trial), sn_free(fit->last), sn_free(fit->held);
    sn_free(fit);
}

/* residual = d - x(w), zero where a marker is not seen. */
static void measure(sinew_fit *fit, const double *markers, const double *weights) {
    int height = 3 * fit->map->count;
    sn_activations(fit->plan, weights, fit->activations, fit->derivatives);
    memcpy(fit->residual, fit->rest, sizeof(double) * (size_t)height);
    sn_dense_apply(SN_AS_IS, height, fit->rig->target_count, 1, fit->rows, fit->activations, 1,
                   fit->residual);
    for (int i = 0; i < fit->map->count; i++)
        for (int k = 0; k < 3; k++)
            fit->residual[3 * i + k] =
                fit->given[i] > 0 ? markers[3 * i + k] - fit->residual[3 * i + k] : 0;
}

/* Columns of S T carried through da/dw, rows scaled by the square roots of the marker weights. */
static void carry_rows(sinew_fit *fit) {
    const sinew_rig *rig = fit->rig;
    size_t height = 3 * (size_t)fit->map->count;
    memset(fit->jacobian, 0, sizeof(double) * height * (size_t)rig->slider_count);
    for (int k = 0; k < rig->target_count; k++) {
        const sinew_target *target = &rig->targets[k];
        int first = fit->plan->derivative_start[k];
        int count = fit->plan->derivative_start[k + 1] - first;
        for (int d = 0; d < count; d++) {
            int slider =
                target->kind == SINEW_TARGET_KIND_COMBINATION ? target->drivers[d] : target->slider;
            double rate = fit->derivatives[first + d];
            if (rate == 0) continue;
            double *column = fit->jacobian + height * (size_t)slider;
            const double *row = fit->rows + height * (size_t)k;
            for (size_t i = 0; i < height; i++) column[i] += rate * row[i];
        }
    }
    for (int s = 0; s < rig->slider_count; s++)
        for (size_t i = 0; i < height; i++)
            fit->jacobian[height * (size_t)s + i] *= sqrt(fit->given[i / 3] * fit->trust[i / 3]);
}

/* H = J^T J + regularisation; the gradient is for the new weights themselves, w = J^T(r + J w0). */
static void assemble(sinew_fit *fit, const double *weights, const double *last) {
    const sinew_fit_options *o = &fit->options;
    int height = 3 * fit->map->count, n = fit->rig->slider_count;
    carry_rows(fit);
    for (int i = 0; i < height; i++)
        fit->scaled[i] = fit->residual[i] * sqrt(fit->given[i / 3] * fit->trust[i / 3]);
    sn_dense_apply(SN_AS_IS, height, n, 1, fit->jacobian, weights, 1, fit->scaled);
    sn_dense_gram(height, n, 1, fit->jacobian, 0, fit->hessian);
    sn_dense_apply(SN_TRANSPOSED, height, n, 1, fit->jacobian, fit->scaled, 0, fit->gradient);
    double s = fit->scale;
    for (int i = 0; i < n; i++) {
        fit->hessian[i + (size_t)n * (size_t)i] += s * (fit->ridge + o->smooth);
        /* Weights are not negative where l1 is used: |w|_1 is linear. */
        fit->gradient[i] += s * (o->smooth * last[i] - 0.5 * o->l1);
        int mirror = fit->rig->sliders[i].mirror;
        if (o->symmetry > 0 && mirror > i && mirror < n) {
            fit->hessian[i + (size_t)n * (size_t)i] += s * o->symmetry;
            fit->hessian[mirror + (size_t)n * (size_t)mirror] += s * o->symmetry;
            fit->hessian[i + (size_t)n * (size_t)mirror] -= s * o->symmetry;
            fit->hessian[mirror + (size_t)n * (size_t)i] -= s * o->symmetry;
        }
    }
}

/* The objective without its constant, for the step length of curved rigs. */
static double objective(const sinew_fit *fit, const double *weights, const double *last) {
    const sinew_fit_options *o = &fit->options;
    double sum = 0, regular = 0;
    for (int i = 0; i < 3 * fit->map->count; i++)
        sum += fit->given[i / 3] * fit->trust[i / 3] * fit->residual[i] * fit->residual[i];
    for (int i = 0; i < fit->rig->slider_count; i++) {
        double change = weights[i] - last[i];
        regular +=
            o->l1 * weights[i] + fit->ridge * weights[i] * weights[i] + o->smooth * change * change;
        int mirror = fit->rig->sliders[i].mirror;
        if (o->symmetry > 0 && mirror > i && mirror < fit->rig->slider_count)
            regular +=
                o->symmetry * (weights[i] - weights[mirror]) * (weights[i] - weights[mirror]);
    }
    return sum + fit->scale * regular;
}

/* One Gauss-Newton step with halving; returns the largest change of a weight. */
static sinew_status improve(sinew_fit *fit, const double *markers, const double *last,
                            double *weights, double *change, sinew_error *error) {
    int n = fit->rig->slider_count;
    double before = objective(fit, weights, last);
    assemble(fit, weights, last);
    SN_TRY(sn_box_qp_set_matrix(fit->qp, fit->hessian, error));
    memcpy(fit->step, weights, sizeof(double) * (size_t)n);
    sn_box_qp_options options = {.warm = true};
    sinew_status status = sn_box_qp_solve(fit->qp, fit->gradient, fit->lower, fit->upper, &options,
                                          fit->step, NULL, error);
    if (status != SINEW_OK && status != SINEW_NOT_CONVERGED) return status;
    *change = 0;
    for (double length = 1; length > 1e-4; length *= 0.5) {
        for (int i = 0; i < n; i++)
            fit->trial[i] = weights[i] + length * (fit->step[i] - weights[i]);
        measure(fit, markers, fit->trial);
        if (objective(fit, fit->trial, last) > before * (1 + 1e-12)) continue;
        for (int i = 0; i < n; i++) {
            *change = fmax(*change, fabs(fit->trial[i] - weights[i]));
            weights[i] = fit->trial[i];
        }
        return SINEW_OK;
    }
    measure(fit, markers, weights);
    return SINEW_OK;
}

/* To the weights that are best at the present trust and ridge. */
static sinew_status solve(sinew_fit *fit, const double *markers, double *weights, int *iterations,
                          sinew_error *error) {
    double change = INFINITY;
    int limit = fit->plan->linear ? 1 : fit->options.iterations;
    for (int i = 0; i < limit && change > STEP_TOLERANCE; i++, ++*iterations)
        SN_TRY(improve(fit, markers, fit->last, weights, &change, error));
    return SINEW_OK;
}

/* A marker that lies off by more than the reach is less believed, from two reaches on not at all:
 * any rest of weight would move the sliders that no other marker sees. The reach is a length, as
 * most of a working face is still: the median alone is near 0, and every marker that moves would
 * lie beyond any number of medians. Returns the largest change of trust. */
static double reweigh(sinew_fit *fit, int *outliers) {
    int seen = 0, count = fit->map->count;
    double change = 0;
    for (int i = 0; i < count; i++)
        if (fit->given[i] > 0) fit->distances[seen++] = sn_length(sn_at(fit->residual, i));
    if (seen < 4) return 0;
    sn_sort_doubles((size_t)seen, fit->distances);
    double reach = fmax(SINEW_FIT_OUTLIER_SPREAD * fit->distances[seen / 2], fit->reach);
    *outliers = 0;
    for (int i = 0; i < count; i++) {
        if (!(fit->given[i] > 0)) continue;
        double beyond = sn_length(sn_at(fit->residual, i)) / reach - 1;
        double trust = beyond <= 0   ? 1
                       : beyond >= 1 ? 0
                                     : (1 - beyond * beyond) * (1 - beyond * beyond);
        change = fmax(change, fabs(trust - fit->trust[i]));
        *outliers += trust < OUTLIER;
        fit->trust[i] = trust;
    }
    return change;
}

sinew_status sinew_fit_frame(sinew_fit *fit, const double *markers, const double *marker_weights,
                             double *weights, sinew_fit_info *info, sinew_error *error) {
    SN_REQUIRE(fit && markers && weights && sn_info_ready(info), error);
    int n = fit->rig->slider_count, count = fit->map->count, seen = 0, outliers = 0, iterations = 0;
    for (int i = 0; i < n; i++) {
        if (!isfinite(weights[i])) weights[i] = fit->rig->sliders[i].rest;
        if (fit->held[i])
            fit->lower[i] = fit->upper[i] = weights[i];
        else
            weights[i] = fmin(fmax(weights[i], fit->lower[i]), fit->upper[i]);
    }
    for (int i = 0; i < count; i++) {
        double weight = marker_weights ? marker_weights[i] : 1;
        bool there = isfinite(markers[3 * i]) && isfinite(markers[3 * i + 1]) &&
                     isfinite(markers[3 * i + 2]) && weight > 0 && isfinite(weight);
        fit->given[i] = there ? weight : 0;
        fit->trust[i] = 1;
        fit->trusted[i] = fit->given[i];
        seen += there;
    }
    sinew_fit_info own = {0};
    if (seen == 0) {
        sn_info_write(info, &own, sizeof own);
        return SINEW_OK;
    }

    memcpy(fit->last, weights, sizeof(double) * (size_t)n);
    sinew_status status = SINEW_OK;
    measure(fit, markers, weights);
    /* Without a ridge a slider that one marker alone sees follows it anywhere and leaves no
     * residual to tell: who is believed is found with one. */
    fit->ridge = fmax(fit->options.l2, SINEW_FIT_RSBS_L2);
    bool settled = !isfinite(fit->options.outlier);
    for (int round = 0; status == SINEW_OK && !settled && round < fit->options.iterations;
         round++) {
        status = solve(fit, markers, weights, &iterations, error);
        settled = reweigh(fit, &outliers) < TRUST_TOLERANCE;
    }
    bool solved = settled && isfinite(fit->options.outlier) && fit->ridge == fit->options.l2;
    fit->ridge = fit->options.l2;
    if (status == SINEW_OK && !solved) status = solve(fit, markers, weights, &iterations, error);
    for (int i = 0; i < count; i++) fit->trusted[i] = fit->trust[i] < OUTLIER ? 0 : fit->given[i];
    if (status == SINEW_OK && info) {
        double sum = 0;
        for (int i = 0; i < count; i++) {
            sn_vec3 r = sn_at(fit->residual, i);
            sum += sn_dot(r, r);
        }
        own = (sinew_fit_info){.seen = seen,
                               .outliers = outliers,
                               .iterations = iterations,
                               .marker_error = sqrt(sum / seen)};
        sn_info_write(info, &own, sizeof own);
    }
    return status;
}

const double *sinew_fit_trusted(const sinew_fit *fit) {
    return fit ? fit->trusted : NULL;
}

sinew_status sinew_fit_get_summary(const sinew_fit *fit, sinew_fit_summary *summary,
                                   sinew_error *error) {
    SN_REQUIRE(fit && summary && sn_info_ready(summary), error);
    sinew_fit_summary own = {.weakest = {-1, -1, -1, -1}};
    SN_TRY(sn_fit_condition(fit->rig, 3 * fit->map->count, fit->rows, fit->held, &own, error));
    sn_info_write(summary, &own, sizeof own);
    return SINEW_OK;
}

sinew_status sinew_fit_take(sinew_fit *fit, const sinew_markers *markers,
                            const sinew_monitor *monitor, sinew_curves **curves,
                            sinew_fit_info *infos, sinew_error *error) {
    SN_REQUIRE(fit && markers && curves && sn_info_ready(infos), error);
    *curves = NULL;
    int n = fit->rig->slider_count, count = fit->map->count;
    int *index = SN_NEW(int, count);
    double *row = SN_NEW(double, 3 * (size_t)count), *weights = SN_NEW(double, n);
    sinew_curves *created = NULL;
    sinew_status status = index && row && weights ? SINEW_OK : sn_no_memory(error);
    if (status == SINEW_OK && sinew_marker_map_bind(fit->map, markers, index) == 0)
        status = sn_fail(error, SINEW_BAD_INPUT,
                         "fit: none of the take's %d markers is named in the map",
                         markers->marker_count);
    if (status == SINEW_OK) status = sinew_curves_create(n, markers->time_count, &created, error);
    for (int s = 0; status == SINEW_OK && s < n; s++)
        status = sinew_curves_set_name(created, s, fit->rig->sliders[s].name, error);
    if (status == SINEW_OK) sinew_rig_rest_weights(fit->rig, weights);
    for (int f = 0; status == SINEW_OK && f < markers->time_count; f++) {
        if (sn_cancelled(monitor)) {
            status = sn_fail(error, SINEW_CANCELLED, "cancelled");
            break;
        }
        const double *frame = markers->positions + 3 * (size_t)f * (size_t)markers->marker_count;
        for (int i = 0; i < count; i++)
            for (int k = 0; k < 3; k++)
                row[3 * i + k] = index[i] >= 0 ? frame[3 * (size_t)index[i] + (size_t)k] : NAN;
        sinew_fit_info info = {.size = sizeof info};
        status = sinew_fit_frame(fit, row, fit->map->weights, weights, &info, error);
        sn_infos_write(infos, f, &info, sizeof info);
        created->times[f] = markers->times[f];
        memcpy(created->values + (size_t)f * (size_t)n, weights, sizeof(double) * (size_t)n);
        sn_progress(monitor, (f + 1.0) / markers->time_count, "fit");
    }
    sn_free(index), sn_free(row), sn_free(weights);
    if (status != SINEW_OK) {
        sinew_curves_destroy(created);
        return status;
    }
    *curves = created;
    return SINEW_OK;
}
