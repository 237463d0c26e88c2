/* Wiggly splines.
 *
 * Based on: Kass and Anderson, "Animating oscillatory motion with overlap: wiggly splines" (2008).
 * We differ in: the unknowns. Their basis e^(+-zeta t) cos, sin is singular at zeta = 0 and badly
 * conditioned for long intervals; we solve for the velocities at the keys, a tridiagonal positive
 * definite system, and evaluate each interval from the state at its start. And the rest follows the
 * line between keys, since with rest 0 a held pose swings away. */
#include "modal/wiggly.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct vec2 {
    double x, y;
} vec2;
/* [[xx, xy], [yx, yy]] */
typedef struct mat2 {
    double xx, xy, yx, yy;
} mat2;

static vec2 apply(mat2 m, vec2 v) {
    return (vec2){m.xx * v.x + m.xy * v.y, m.yx * v.x + m.yy * v.y};
}
static vec2 apply_transposed(mat2 m, vec2 v) {
    return (vec2){m.xx * v.x + m.yx * v.y, m.xy * v.x + m.yy * v.y};
}
static double dot(vec2 a, vec2 b) {
    return a.x * b.x + a.y * b.y;
}

/* The answer g to a unit push, and its rate, at time t >= 0.
 *   under-damped   g = e^(-zeta t) sin(wt)/w
 *   over-damped    g = e^(-slow t) (1 - e^(-2ut))/(2u),  g' = e^(-fast t) - slow g,
 * fast = zeta + u, slow = lambda^2/fast. */
static vec2 impulse(double lambda, double zeta, double t) {
    double d = (lambda - zeta) * (lambda + zeta);
    if (d > 0) {
        double w = sqrt(d), x = w * t, decay = exp(-zeta * t);
        double s = x < 1e-4 ? t * (1 - x * x / 6) : sin(x) / w;
        return (vec2){decay * s, decay * (cos(x) - zeta * s)};
    }
    double u = sqrt(-d), fast = zeta + u, slow = fast > 0 ? lambda * lambda / fast : 0;
    double x = 2 * u * t;
    double g = exp(-slow * t) * t * (x > 1e-8 ? -expm1(-x) / x : 1 - x / 2);
    return (vec2){g, exp(-fast * t) - slow * g};
}

/* (y, y') after time t without force. */
static mat2 transition(double lambda, double zeta, double t) {
    vec2 g = impulse(lambda, zeta, t);
    return (mat2){g.y + 2 * zeta * g.x, g.x, -lambda * lambda * g.x, g.y};
}

void sn_wiggly_step(double lambda, double zeta, double t, double matrix[4]) {
    mat2 m = transition(lambda, zeta, t);
    matrix[0] = m.xx, matrix[1] = m.xy, matrix[2] = m.yx, matrix[3] = m.yy;
}

static const double GAUSS_X[6] = {0.125233408511468916, 0.367831498998180194, 0.587317954286617447,
                                  0.769902674194304687, 0.904117256370474857, 0.981560634246719251};
static const double GAUSS_W[6] = {0.249147045813402785, 0.233492536538354809,
                                  0.203167426723065922, 0.160078328543346226,
                                  0.106939325995318431, 0.0471753363865118272};

static void add_panel(double lambda, double zeta, double from, double to, mat2 *sum) {
    double middle = 0.5 * (from + to), half = 0.5 * (to - from);
    for (int k = 0; k < 12; k++) {
        double x = k % 2 ? GAUSS_X[k / 2] : -GAUSS_X[k / 2];
        vec2 g = impulse(lambda, zeta, middle + half * x);
        double w = half * GAUSS_W[k / 2];
        sum->xx += w * g.x * g.x, sum->xy += w * g.x * g.y, sum->yy += w * g.y * g.y;
    }
    sum->yx = sum->xy;
}

/* Composite Gauss, for intervals that are short against the mode's own times, where the closed
 * forms cancel. Very stiff dampers have a boundary layer at 0: panels that double in width resolve
 * it, and an even tail follows. */
static mat2 gramian_by_quadrature(double lambda, double zeta, double h) {
    mat2 sum = {0, 0, 0, 0};
    if (zeta * h > 50) {
        double to = 1 / zeta, from = 0;
        while (from < h) {
            to = fmin(to, h);
            add_panel(lambda, zeta, from, to, &sum);
            from = to, to = 1.5 * to;
        }
        return sum;
    }
    int panels = (int)ceil(fmax(lambda, 2 * zeta) * h / 3) + 1;
    for (int i = 0; i < panels; i++)
        add_panel(lambda, zeta, h * i / panels, h * (i + 1) / panels, &sum);
    return sum;
}

/* W(h) = integral over [0, h] of (g, g')(g, g')^T: the cost of reaching a state is e^T W^-1 e.
 *   w12 = g^2/2,  w22 = (1 - g'^2 - lambda^2 g^2)/(4 zeta),  w11 = (w22 - 2 zeta w12 - g
 * g')/lambda^2 from the energy balance of the impulse; with little damping through the integrals of
 * e^(-2 zeta t) and e^(-2 zeta t) cos 2wt, sin 2wt. */
static mat2 gramian(double lambda, double zeta, double h) {
    if (fmax(lambda, 2 * zeta) * h < 12 || (zeta * h > 0.5 && lambda * lambda * h / zeta < 0.01))
        return gramian_by_quadrature(lambda, zeta, h);
    vec2 g = impulse(lambda, zeta, h);
    mat2 w;
    w.xy = w.yx = 0.5 * g.x * g.x;
    if (zeta * h > 0.5) {
        w.yy = (1 - g.y * g.y - lambda * lambda * g.x * g.x) / (4 * zeta);
        w.xx = (w.yy - 2 * zeta * w.xy - g.x * g.y) / (lambda * lambda);
        return w;
    }
    double o = sqrt((lambda - zeta) * (lambda + zeta)), decay = exp(-2 * zeta * h);
    double plain = zeta * h > 1e-12 ? -expm1(-2 * zeta * h) / (2 * zeta) : h;
    double c = cos(2 * o * h), s = sin(2 * o * h), twice = 2 * lambda * lambda;
    double with_cos = (decay * (-zeta * c + o * s) + zeta) / twice;
    double with_sin = (decay * (-zeta * s - o * c) + o) / twice;
    w.xx = (plain - with_cos) / (2 * o * o);
    w.yy = 0.5 * (plain + with_cos) - zeta / o * with_sin + zeta * zeta * w.xx;
    return w;
}

/* Inverse of a symmetric positive matrix, scaled to a unit diagonal first: its entries differ by
 * many orders of magnitude. */
static mat2 inverse(mat2 w) {
    double a = 1 / sqrt(w.xx), b = 1 / sqrt(w.yy), r = w.xy * a * b;
    double det = fmax(1 - r * r, 1e-15);
    return (mat2){a * a / det, -r * a * b / det, -r * a * b / det, b * b / det};
}

/* With the velocities v as unknowns, the miss of one interval is
 *   e = a + c v_k + d v_(k+1),   c = -Phi(h) (0, 1)^T,   d = (0, 1)^T,
 * a its value without them, and the cost sum e^T W^-1 e is quadratic in v: tridiagonal. */
typedef struct interval {
    double length;
    mat2 weight, phi;
    vec2 a, c;
    double rest, slope;
} interval;

/* Intervals of one length share Phi and W: `last` is the one before, or NULL. */
static interval make_interval(const double *times, const double *values, int k, double lambda,
                              double zeta, sn_wiggly_rest rest, const interval *last) {
    double h = times[k + 1] - times[k], change = values[k + 1] - values[k];
    interval i = {.length = h};
    if (last && last->length == h)
        i.weight = last->weight, i.phi = last->phi;
    else
        i.weight = inverse(gramian(lambda, zeta, h)), i.phi = transition(lambda, zeta, h);
    i.rest = rest == SN_WIGGLY_LINE ? values[k] : rest == SN_WIGGLY_NEXT ? values[k + 1] : 0;
    i.slope = rest == SN_WIGGLY_LINE ? change / h : 0;
    vec2 start = {values[k] - i.rest, -i.slope}, moved = apply(i.phi, start);
    i.a = (vec2){values[k + 1] - i.rest - i.slope * h - moved.x, -i.slope - moved.y};
    i.c = (vec2){-i.phi.xy, -i.phi.yy};
    return i;
}

void sn_wiggly_solve(int count, const double *times, const double *values, const double *velocities,
                     double lambda, double zeta, sn_wiggly_rest rest, double *scratch,
                     sn_wiggly_piece *pieces) {
    const vec2 d = {0, 1};
    double *diagonal = scratch, *above = scratch + count, *v = scratch + 2 * count;
    for (int k = 0; k < count; k++) diagonal[k] = above[k] = v[k] = 0;
    interval i;
    for (int k = 0; k + 1 < count; k++) {
        i = make_interval(times, values, k, lambda, zeta, rest, k > 0 ? &i : NULL);
        vec2 wa = apply(i.weight, i.a), wc = apply(i.weight, i.c);
        /* A trace of the forward entry keeps a key that no force reaches (e^(-zeta h) = 0)
         * solvable. */
        diagonal[k] += dot(i.c, wc) + 1e-12 * i.weight.yy;
        above[k] += dot(d, wc);
        diagonal[k + 1] += i.weight.yy * (1 + 1e-12);
        v[k] -= dot(i.c, wa);
        v[k + 1] -= dot(d, wa);
        pieces[k] = (sn_wiggly_piece){.y = i.a.x, /* a and c, until the velocities are known */
                                      .y_rate = i.a.y,
                                      .push = {i.c.x, i.c.y},
                                      .weight = {i.weight.xx, i.weight.xy, i.weight.yy},
                                      .rest = i.rest,
                                      .rest_rate = i.slope};
    }
    for (int k = 0; k < count; k++) {
        double fixed = velocities ? velocities[k] : k == 0 || k == count - 1 ? 0 : NAN;
        if (isnan(fixed)) continue;
        if (k > 0) v[k - 1] -= above[k - 1] * fixed, above[k - 1] = 0;
        if (k + 1 < count) v[k + 1] -= above[k] * fixed, above[k] = 0;
        diagonal[k] = 1, v[k] = fixed;
    }
    for (int k = 1; k < count; k++) {
        double factor = above[k - 1] / diagonal[k - 1];
        diagonal[k] -= factor * above[k - 1];
        v[k] -= factor * v[k - 1];
    }
    for (int k = count - 1; k >= 0; k--) {
        if (k + 1 < count) v[k] -= above[k] * v[k + 1];
        v[k] /= diagonal[k];
    }
    for (int k = 0; k + 1 < count; k++) {
        sn_wiggly_piece *piece = &pieces[k];
        const double *w = piece->weight;
        vec2 miss = {piece->y + piece->push[0] * v[k],
                     piece->y_rate + piece->push[1] * v[k] + v[k + 1]};
        piece->push[0] = w[0] * miss.x + w[1] * miss.y;
        piece->push[1] = w[1] * miss.x + w[2] * miss.y;
        piece->y = values[k] - piece->rest;
        piece->y_rate = v[k] - piece->rest_rate;
    }
}

/* y(t) = Phi(t) s_0 + W(t) Phi(h - t)^T W(h)^-1 e */
double sn_wiggly_at(int count, const double *times, const sn_wiggly_piece *pieces, double lambda,
                    double zeta, double t) {
    int k = 0;
    while (k + 2 < count && t >= times[k + 1]) k++;
    const sn_wiggly_piece *piece = &pieces[k];
    double h = times[k + 1] - times[k], s = t - times[k];
    if (s < 0) return piece->rest + piece->y;
    vec2 start = {piece->y, piece->y_rate}, push = {piece->push[0], piece->push[1]};
    double inside = fmin(s, h);
    vec2 state = apply(transition(lambda, zeta, inside), start);
    if (inside > 0) {
        vec2 back = apply_transposed(transition(lambda, zeta, h - inside), push);
        vec2 reached = apply(gramian(lambda, zeta, inside), back);
        state.x += reached.x, state.y += reached.y;
    }
    double rest = piece->rest + piece->rest_rate * inside;
    if (s > h) { /* the rest stays where it is; the mode swings about it */
        state.y += piece->rest_rate;
        state = apply(transition(lambda, zeta, s - h), state);
    }
    return rest + state.x;
}

double sn_wiggly_energy(int count, const double *times, const sn_wiggly_piece *pieces,
                        double lambda, double zeta) {
    double sum = 0;
    for (int k = 0; k + 1 < count; k++) {
        vec2 push = {pieces[k].push[0], pieces[k].push[1]};
        sum += dot(push, apply(gramian(lambda, zeta, times[k + 1] - times[k]), push));
    }
    return sum;
}
