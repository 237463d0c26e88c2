#include "rig/activations.h"

#include <math.h>

#include "base/memory.h"
#include "base/status.h"

/* The shapes of one slider are knots of a piecewise linear curve through shape space: the neutral
 * at `rest`, target k at `at_k`. Between neighboring knots t0 <= w < t1 the two share the
 * activation,
 *
 *   a_0 = (t1 - w) / (t1 - t0),   a_1 = (w - t0) / (t1 - t0),
 *
 * and beyond the outermost knots the outermost segments go on (overdrive), which keeps the curve
 * continuous and a lone plain target at a = w for every w. The neutral's own share moves nothing.
 *
 * So the hat of knot k rises from its previous knot, falls to its next, and is carried on beyond a
 * neighbor that is the outermost; an outermost knot has one flank only, carried on to both sides
 * when there are but two knots. */
static sn_hat find_hat(const sinew_rig *rig, int k) {
    const sinew_target *target = &rig->targets[k];
    sn_hat hat = {-INFINITY, target->at, INFINITY, -INFINITY, INFINITY};
    int below = 0, above = 0;
    for (int i = -1; i < rig->target_count; i++) {
        if (i == k || (i >= 0 && rig->targets[i].slider != target->slider)) continue;
        double at = i < 0 ? rig->sliders[target->slider].rest : rig->targets[i].at;
        if (at < hat.at) {
            below++;
            if (at > hat.previous) hat.previous = at;
        } else {
            above++;
            if (at < hat.next) hat.next = at;
        }
    }
    if (below > 1) hat.low_end = hat.previous;
    if (above > 1) hat.high_end = hat.next;
    return hat;
}

static double evaluate_hat(const sn_hat *hat, double w, double *slope) {
    bool rising = w >= hat->at ? hat->next == INFINITY : hat->previous != -INFINITY;
    if (w < hat->low_end || w >= hat->high_end) {
        *slope = 0;
        return 0;
    }
    if (rising) {
        *slope = 1 / (hat->at - hat->previous);
        return (w - hat->previous) / (hat->at - hat->previous);
    }
    *slope = -1 / (hat->next - hat->at);
    return (hat->next - w) / (hat->next - hat->at);
}

/* Smooth lowest: a = (1/n sum u_i^-p)^(-1/p), the power mean of exponent -p.
 *
 *   da/du_i = (1/n) (a / u_i)^(p+1)
 *
 * All u equal gives a = u; any u -> 0 gives a -> 0. With z of the n drivers at zero the limit along
 * equal increments of those is a / u = (n/z)^(1/p), which is the one-sided derivative used there.
 */
static double smooth_lowest(int n, const double *u, double *du) {
    const double p = SINEW_SMOOTH_LOWEST_POWER;
    int zeros = 0;
    double lowest = INFINITY, sum = 0;
    for (int i = 0; i < n; i++) {
        zeros += u[i] <= 0;
        if (u[i] < lowest) lowest = u[i];
    }
    if (zeros > 0) {
        double each = pow((double)n / zeros, (p + 1) / p) / n;
        for (int i = 0; du && i < n; i++) du[i] = u[i] <= 0 ? each : 0;
        return 0;
    }
    /* Scaled by the lowest: u^-p neither overflows nor vanishes. */
    for (int i = 0; i < n; i++) sum += pow(u[i] / lowest, -p);
    double a = lowest * pow(sum / n, -1 / p);
    for (int i = 0; du && i < n; i++) du[i] = pow(a / u[i], p + 1) / n;
    return a;
}

static double lowest_of(int n, const double *u, double *du) {
    int which = 0;
    for (int i = 1; i < n; i++)
        if (u[i] < u[which]) which = i;
    for (int i = 0; du && i < n; i++) du[i] = i == which;
    return u[which];
}

static double product_of(int n, const double *u, double *du) {
    double a = 1;
    for (int i = 0; i < n; i++) a *= u[i];
    for (int i = 0; du && i < n; i++) {
        du[i] = 1;
        for (int j = 0; j < n; j++)
            if (j != i) du[i] *= u[j];
    }
    return a;
}

/* A driver counts from its rest, in units of its full range to 1, and not below its rest: a product
 * of two negative sliders must not switch a corrective on. */
static double combination(const sinew_rig *rig, const sinew_target *target, const double *weights,
                          double *derivatives) {
    double u[SINEW_MAX_DRIVERS] = {0}, slope[SINEW_MAX_DRIVERS] = {0};
    int n = target->driver_count;
    for (int i = 0; i < n; i++) {
        double rest = rig->sliders[target->drivers[i]].rest, range = 1 - rest;
        slope[i] = range != 0 ? 1 / range : 1;
        u[i] = (weights[target->drivers[i]] - rest) * slope[i];
        if (!(u[i] >= 0)) {
            u[i] = 0;
            slope[i] = 0;
        }
    }
    double a = target->combine == SINEW_COMBINE_MULTIPLY ? product_of(n, u, derivatives)
               : target->combine == SINEW_COMBINE_LOWEST ? lowest_of(n, u, derivatives)
                                                         : smooth_lowest(n, u, derivatives);
    for (int i = 0; derivatives && i < n; i++) derivatives[i] *= slope[i];
    return a;
}

/* A polynomial: sum of c_t * prod_f u_f^p_f, with u held within [0, 1] because the fit has seen
 * nothing beyond. At an end of the range the derivative is the one inwards. */
static double polynomial(const sinew_rig *rig, const sinew_target *target, const double *weights,
                         double *derivatives) {
    double sum = 0;
    for (int i = 0; derivatives && i < target->driver_count; i++) derivatives[i] = 0;
    for (int t = 0; t < target->term_count; t++) {
        const sinew_term *term = &target->terms[t];
        double value[SINEW_TERM_FACTORS], rise[SINEW_TERM_FACTORS], product = term->coefficient;
        for (int f = 0; f < SINEW_TERM_FACTORS; f++) {
            value[f] = 1, rise[f] = 0;
            if (term->power[f] == 0) continue;
            int slider = target->drivers[term->driver[f]];
            double rest = rig->sliders[slider].rest, range = 1 - rest;
            double slope = range != 0 ? 1 / range : 1, u = (weights[slider] - rest) * slope;
            if (!(u >= 0)) u = 0, slope = 0;
            if (u > 1) u = 1, slope = 0;
            double lower = 1; /* u^(power - 1) */
            for (int p = 1; p < term->power[f]; p++) lower *= u;
            value[f] = lower * u;
            rise[f] = term->power[f] * lower * slope;
            product *= value[f];
        }
        sum += product;
        for (int f = 0; derivatives && f < SINEW_TERM_FACTORS; f++) {
            if (term->power[f] == 0) continue;
            double d = term->coefficient * rise[f];
            for (int g = 0; g < SINEW_TERM_FACTORS; g++)
                if (g != f) d *= value[g];
            derivatives[term->driver[f]] += d;
        }
    }
    return sum;
}

/* max(0, p - 1); at the kink the derivative is the one of the flat side. */
static double hinge(const sinew_rig *rig, const sinew_target *target, const double *weights,
                    double *derivatives) {
    double p = polynomial(rig, target, weights, derivatives);
    if (p > 1) return p - 1;
    for (int i = 0; derivatives && i < target->driver_count; i++) derivatives[i] = 0;
    return 0;
}

/* Activation of one target; derivatives (may be NULL) of its own sliders. */
static double activation(const sinew_rig *rig, int k, const sn_hat *hat, const double *weights,
                         double *derivatives) {
    const sinew_target *target = &rig->targets[k];
    if (target->kind == SINEW_TARGET_KIND_COMBINATION)
        return target->combine == SINEW_COMBINE_POLYNOMIAL
                   ? polynomial(rig, target, weights, derivatives)
               : target->combine == SINEW_COMBINE_HINGE
                   ? hinge(rig, target, weights, derivatives)
                   : combination(rig, target, weights, derivatives);
    double slope, a = evaluate_hat(hat, weights[target->slider], &slope);
    if (derivatives) *derivatives = slope;
    return a;
}

void sn_activations(const sn_activation_plan *plan, const double *weights, double *activations,
                    double *derivatives) {
    for (int k = 0; k < plan->rig->target_count; k++) {
        double *own = derivatives ? derivatives + plan->derivative_start[k] : NULL;
        double a = activation(plan->rig, k, &plan->hats[k], weights, own);
        if (activations) activations[k] = a;
    }
}

void sn_activations_range(const sn_activation_plan *plan, int begin, int end, const double *weights,
                          double *activations) {
    if (end > plan->rig->target_count) end = plan->rig->target_count;
    for (int k = begin; k < end; k++)
        activations[k - begin] = activation(plan->rig, k, &plan->hats[k], weights, NULL);
}

void sinew_rig_activations(const sinew_rig *rig, const double *weights, double *activations) {
    if (!rig || !weights || !activations) return;
    for (int k = 0; k < rig->target_count; k++) {
        sn_hat hat = {0};
        if (rig->targets[k].kind != SINEW_TARGET_KIND_COMBINATION) hat = find_hat(rig, k);
        activations[k] = activation(rig, k, &hat, weights, NULL);
    }
}

sinew_status sn_activation_plan_create(const sinew_rig *rig, sn_activation_plan **plan,
                                       sinew_error *error) {
    *plan = NULL;
    sn_activation_plan *made = SN_NEW0(sn_activation_plan, 1);
    if (!made) return sn_no_memory(error);
    made->rig = rig;
    made->hats = SN_NEW0(sn_hat, rig->target_count);
    made->derivative_start = SN_NEW0(int, rig->target_count + 1);
    if (!made->hats || !made->derivative_start) {
        sn_activation_plan_destroy(made);
        return sn_no_memory(error);
    }
    made->linear = true;
    for (int k = 0; k < rig->target_count; k++) {
        const sinew_target *target = &rig->targets[k];
        bool own = target->kind != SINEW_TARGET_KIND_COMBINATION;
        if (own) made->hats[k] = find_hat(rig, k);
        made->derivative_start[k + 1] =
            made->derivative_start[k] + (own ? 1 : target->driver_count);
        if (target->kind != SINEW_TARGET_KIND_PLAIN || made->hats[k].previous != 0 ||
            target->at != 1 || made->hats[k].low_end != -INFINITY || made->hats[k].next != INFINITY)
            made->linear = false;
    }
    *plan = made;
    return SINEW_OK;
}

void sn_activation_plan_destroy(sn_activation_plan *plan) {
    if (!plan) return;
    sn_free(plan->hats);
    sn_free(plan->derivative_start);
    sn_free(plan);
}
