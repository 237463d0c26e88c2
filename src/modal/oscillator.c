/* Damped oscillators between two values.
 *
 * Based on: Huang et al., "Interactive shape interpolation through controllable dynamic
 * deformation" (2011), section on modal motion.
 * We differ in: one form for all regimes; the rest of the motion at the second key by default (with
 * the rest at the first one, damping makes the motion grow as e^(zeta T)); and the fit of bounded
 * velocity, which is a root of one equation for the default rest, and for other rests a scan that
 * Levenberg-Marquardt only refines (started alone it stops in a worse minimum for half the modes;
 * the published weights depend on units). */
#include "modal/oscillator.h"

#include <cminpack.h>
#include <math.h>
#include <stdbool.h>

static const double PI = 3.14159265358979323846;

/* sin(w a)/w, and a for w -> 0. */
static double sine_over(double w, double a) {
    double x = w * a;
    return fabs(x) < 1e-4 ? a * (1 - x * x / 6) : sin(x) / w;
}

/* With s(t) = sin(wt)/w | t | sinh(ut)/u and w^2 = lambda^2 - zeta^2 = -u^2:
 *
 *   a(t) = e^(-zeta t) s(T - t)/s(T),      b(t) = e^(zeta (T - t)) s(t)/s(T).
 *
 * Over-damped, every exponent is kept negative: with p(x) = (1 - e^(-2ux))/(1 - e^(-2uT)),
 *
 *   a = e^(-(zeta + u) t) p(T - t),        b = e^((zeta - u)(T - t)) p(t),
 *
 * and zeta - u = lambda^2/(zeta + u), which does not cancel. */
sn_oscillation sn_oscillation_at(double lambda, double zeta, double duration, double t) {
    double d = (lambda - zeta) * (lambda + zeta), T = duration;
    sn_oscillation o;
    if (d >= 0) {
        double w = sqrt(d), whole = sine_over(w, T);
        double decay = exp(-zeta * t), growth = exp(zeta * (T - t));
        o.a = decay * sine_over(w, T - t) / whole;
        o.b = growth * sine_over(w, t) / whole;
        o.a_rate = -zeta * o.a - decay * cos(w * (T - t)) / whole;
        o.b_rate = -zeta * o.b + growth * cos(w * t) / whole;
        return o;
    }
    double u = sqrt(-d), fast = zeta + u, slow = lambda * lambda / fast;
    double whole = -expm1(-2 * u * T);
    if (2 * u * T < 1e-8) { /* critical: p(x) -> x/T */
        double decay = exp(-zeta * t), growth = exp(zeta * (T - t));
        o.a = decay * (T - t) / T, o.b = growth * t / T;
        o.a_rate = -zeta * o.a - decay / T, o.b_rate = -zeta * o.b + growth / T;
        return o;
    }
    /* a = (e^(-fast t) - e^(-slow t - 2uT)) / whole */
    double quick = exp(-fast * t), late = exp(-slow * t - 2 * u * T);
    double ahead = -2 * u * (T - t);
    o.a = (ahead < 1 ? -quick * expm1(ahead) : quick - late) / whole;
    o.a_rate = (slow * late - fast * quick) / whole;
    double growth = exp(slow * (T - t));
    o.b = growth * -expm1(-2 * u * t) / whole;
    o.b_rate = -slow * o.b + growth * 2 * u * exp(-2 * u * t) / whole;
    return o;
}

/* g(x) = x cos x + c sin x changes sign once in ((k - 1/2) pi, k pi]: +-c at one end, +-k pi at the
 * other. */
double sn_gentle_root(int k, double damping) {
    double low = (k - 0.5) * PI, high = k * PI, sign = k % 2 ? 1 : -1;
    for (int i = 0; i < 60; i++) {
        double x = 0.5 * (low + high);
        if (sign * (x * cos(x) + damping * sin(x)) > 0)
            low = x;
        else
            high = x;
    }
    return 0.5 * (low + high);
}

/* Settling (rest = to): z'(0) = 0 <=> x cos x + zeta T sin x = 0 at x = wT. Up to the first root
 * the velocity is bounded anyway and nothing is fitted, so that the straight limit stays straight.
 * Above, the nearest root is taken, and near the middle between two roots their motions are
 * crossfaded: the motion is a continuous function of lambda. */
static void fit_settling(sn_oscillator *o, double lambda, double zeta) {
    double d = (lambda - zeta) * (lambda + zeta), T = o->duration;
    if (d <= 0) return;
    double x = sqrt(d) * T, damping = zeta * T;
    double first = sn_gentle_root(1, damping);
    if (x <= first) return;
    int k = (int)fmax(1, floor(x / PI)); /* root k lies in ((k - 1/2) pi, k pi] */
    double below = sn_gentle_root(k, damping);
    if (below > x && k > 1) below = sn_gentle_root(--k, damping);
    double above = sn_gentle_root(k + 1, damping);
    if (above <= x) below = above, above = sn_gentle_root(k + 2, damping);
    double place = (x - below) / (above - below);
    const double width = 0.3; /* of the step between roots is crossfaded */
    double fade = fmin(fmax((place - 0.5) / width + 0.5, 0), 1);
    o->share = fade * fade * (3 - 2 * fade);
    o->lambda[0] = hypot(below / T, zeta);
    o->lambda[1] = hypot(above / T, zeta);
}

/* ---- rest offsets below 1 ----------------------------------------------------------------- */

typedef struct fit_problem {
    double from, to; /* less the rest, over the larger of the two */
    double duration, x, zeta;
    sn_fit_weights weights;
} fit_problem;

/* x = wT, negative for an over-damped u = -x/T: one axis through all regimes. */
static double lambda_of(double x, double zeta, double duration) {
    double w = x / duration, square = w * fabs(w) + zeta * zeta;
    return sqrt(fmax(square, 0));
}

/* The square roots of the three terms of
 *   1/2 (z'(0)/(w' s))^2 + 1/4 ((w' - w) T/pi)^2 + 1/4 ((zeta' - zeta) T)^2. */
static void residuals(const fit_problem *p, double x, double zeta, double *r) {
    sn_oscillation o = sn_oscillation_at(lambda_of(x, zeta, p->duration), zeta, p->duration, 0);
    double velocity = (p->from * o.a_rate + p->to * o.b_rate) * p->duration / fmax(fabs(x), 1);
    r[0] = sqrt(p->weights.velocity) * velocity;
    r[1] = sqrt(p->weights.frequency) * (x - p->x) / PI;
    r[2] = sqrt(p->weights.damping) * (zeta - p->zeta) * p->duration;
    for (int k = 0; k < 3; k++)
        if (!(fabs(r[k]) < 1e100)) r[k] = 1e100;
}

static double cost(const fit_problem *p, double x, double zeta) {
    double r[3];
    residuals(p, x, zeta, r);
    return r[0] * r[0] + r[1] * r[1] + r[2] * r[2];
}

/* zeta' = v[1]^2 >= 0 */
static int minpack_residuals(void *user, int m, int n, const double *v, double *r, int flag) {
    (void)m, (void)n, (void)flag;
    residuals(user, v[0], v[1] * v[1], r);
    return 0;
}

static void fit_offset(sn_oscillator *o, double lambda, double zeta, sn_fit_weights weights) {
    double d = (lambda - zeta) * (lambda + zeta), T = o->duration;
    double from = o->from - o->rest, to = o->to - o->rest;
    double size = fmax(fabs(from), fabs(to));
    if (!(size > 0)) return;
    fit_problem p = {from / size, to / size, T, copysign(sqrt(fabs(d)), d) * T, zeta, weights};
    enum { STEPS = 64, FEWER = 3 };
    double best_x = p.x, best_zeta = zeta, best = cost(&p, p.x, zeta);
    for (int j = 0; j <= FEWER; j++) /* less damping: what tames a growing exponential */
        for (int i = 0; i <= STEPS; i++) {
            double x = p.x + PI * (2.0 * i / STEPS - 1), z = zeta * (1 - (double)j / FEWER);
            if (p.x >= 0 && x <= 0) continue;
            double c = cost(&p, x, z);
            if (c < best) best = c, best_x = x, best_zeta = z;
        }
    double v[2] = {best_x, sqrt(best_zeta)}, r[3], work[64];
    int pivots[2];
    int info = lmdif1(minpack_residuals, &p, 3, 2, v, r, 1e-10, pivots, work, 64);
    if (info >= 1 && info <= 4 && isfinite(v[0]) && isfinite(v[1]) &&
        cost(&p, v[0], v[1] * v[1]) < best)
        best_x = v[0], best_zeta = v[1] * v[1];
    o->zeta[0] = o->zeta[1] = best_zeta;
    o->lambda[0] = o->lambda[1] = lambda_of(best_x, best_zeta, T);
}

/* ---- as published -------------------------------------------------------------------------- */

/* w_z z'(0)^2 + w_w (w' - w)^2 + w_d (zeta' - zeta)^2 over w' and zeta' >= 0, in the units of the
 * poses and seconds. */
static int published_residuals(void *user, int m, int n, const double *v, double *r, int flag) {
    (void)m, (void)n, (void)flag;
    const fit_problem *p = user;
    double zeta = v[1] * v[1], lambda = hypot(v[0], zeta);
    sn_oscillation o = sn_oscillation_at(lambda, zeta, p->duration, 0);
    r[0] = sqrt(p->weights.velocity) * (p->from * o.a_rate + p->to * o.b_rate);
    r[1] = sqrt(p->weights.frequency) * (v[0] - p->x);
    r[2] = sqrt(p->weights.damping) * (zeta - p->zeta);
    for (int k = 0; k < 3; k++)
        if (!(fabs(r[k]) < 1e100)) r[k] = 1e100;
    return 0;
}

sn_oscillator sn_oscillator_about(double lambda, double zeta, double from, double to,
                                  double duration, double rest) {
    return (sn_oscillator){.from = from,
                           .to = to,
                           .rest = rest,
                           .duration = duration,
                           .lambda = {lambda, lambda},
                           .zeta = {zeta, zeta}};
}

sn_oscillator sn_oscillator_published(double lambda, double zeta, double from, double to,
                                      double duration, double rest, sn_fit_weights weights) {
    sn_oscillator o = sn_oscillator_about(lambda, zeta, from, to, duration, rest);
    double d = (lambda - zeta) * (lambda + zeta);
    if (!(d > 0)) return o; /* over-damped modes are left as they are */
    fit_problem p = {from - rest, to - rest, duration, sqrt(d), zeta, weights};
    double v[2] = {p.x, sqrt(zeta)}, r[3], work[64];
    int pivots[2];
    int info = lmdif1(published_residuals, &p, 3, 2, v, r, 1e-10, pivots, work, 64);
    if (info >= 1 && info <= 4 && isfinite(v[0]) && isfinite(v[1])) {
        o.zeta[0] = o.zeta[1] = v[1] * v[1];
        o.lambda[0] = o.lambda[1] = hypot(v[0], v[1] * v[1]);
    }
    return o;
}

sn_oscillator sn_oscillator_fit_about(double lambda, double zeta, double from, double to,
                                      double duration, double rest, sn_fit_weights weights) {
    sn_oscillator o = sn_oscillator_about(lambda, zeta, from, to, duration, rest);
    if (from == rest && to == rest) return o; /* it does not move */
    if (rest == to)
        fit_settling(&o, lambda, zeta);
    else if (lambda > 0 || zeta > 0)
        fit_offset(&o, lambda, zeta, weights);
    return o;
}

sn_oscillator sn_oscillator_fit(double lambda, double zeta, double from, double to, double duration,
                                double rest_offset, sn_fit_weights weights) {
    double rest = (1 - rest_offset) * from + rest_offset * to;
    return sn_oscillator_fit_about(lambda, zeta, from, to, duration, rest_offset == 1 ? to : rest,
                                   weights);
}

/* Past the interval the same formula goes on; without spring and damper the mode stays. */
double sn_oscillator_at(const sn_oscillator *o, double t) {
    double z = 0;
    for (int k = 0; k < 2; k++) {
        double share = k ? o->share : 1 - o->share;
        if (share == 0) continue;
        double time = t;
        if (o->lambda[k] == 0 && o->zeta[k] == 0) time = fmin(t, o->duration);
        sn_oscillation at = sn_oscillation_at(o->lambda[k], o->zeta[k], o->duration, time);
        double value = o->rest;
        if (o->from != o->rest) value += (o->from - o->rest) * at.a;
        if (o->to != o->rest) value += (o->to - o->rest) * at.b;
        z += share * value;
    }
    return z;
}
