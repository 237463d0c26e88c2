/* Based on: Horn 1987, Closed-form solution of absolute orientation; Theobald 2005, Rapid
 * calculation of RMSDs using a quaternion-based characteristic polynomial.
 * We differ in: the rotation is the derivative of the largest root, not an eigenvector. */
#include "force/ring_rotation.h"

#include <stdbool.h>

#include "base/inline.h"

/* Four vectors at a time: one is divided while the others wait. */
enum { LANES = SN_RING_LANES, VECTORS = 4 };
typedef double lanes __attribute__((vector_size(LANES * sizeof(double)), may_alias));
typedef long long lane_bits __attribute__((vector_size(LANES * sizeof(double))));

/* From 40% above the root Newton's method reaches rounding in six steps. */
enum { NEWTON_STEPS = 8 };
/* The rest of a step after which Newton's method is at rounding: it squares. */
#define NEWTON_STOP 1e-8
/* Of l^3: below it the points are on a line. */
#define LEAST_SPREAD 1e-9

SN_ALWAYS_INLINE lanes where(lane_bits which, lanes value) {
    return (lanes)((lane_bits)value & which);
}

SN_ALWAYS_INLINE lanes dot(lanes a, lanes b, lanes c, const lanes v[3]) {
    return a * v[0] + b * v[1] + c * v[2];
}

/* m[3 a + b] are the entries of S over `bound`. */
SN_ALWAYS_INLINE void load(const double S[9][SN_RING_BATCH], const double bound[SN_RING_BATCH],
                           int first, lanes m[9]) {
    lanes size = *(const lanes *)(bound + first);
    lane_bits any = size > 1e-300;
    lanes scale = where(any, 1 / (size + where(~any, (lanes){0} + 1)));
    for (int k = 0; k < 9; k++) m[k] = *(const lanes *)(S[k] + first) * scale;
}

SN_ALWAYS_INLINE void find_cofactors(const lanes m[9], lanes cof[9]) {
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++) {
            int p = 3 * ((a + 1) % 3), q = 3 * ((a + 2) % 3), r = (b + 1) % 3, s = (b + 2) % 3;
            cof[3 * a + b] = m[p + r] * m[q + s] - m[p + s] * m[q + r];
        }
}

/* Coefficients of the polynomial l^4 - 2 f l^2 - 8 d l + e. */
typedef struct quartic {
    lanes f, d, e;
} quartic;

SN_ALWAYS_INLINE quartic find_quartic(const lanes m[9]) {
    lanes cof[9], f = {0}, c = {0};
    find_cofactors(m, cof);
    for (int k = 0; k < 9; k++) f += m[k] * m[k], c += cof[k] * cof[k];
    lanes d = m[0] * cof[0] + m[1] * cof[1] + m[2] * cof[2];
    return (quartic){f, d, f * f - 4 * c};
}

/* Largest roots, from l = 1 downwards. */
SN_ALWAYS_INLINE void find_roots(const quartic *of, lanes *root, const int vectors) {
    for (int i = 0; i < vectors; i++) root[i] = (lanes){0} + 1;
    for (int step = 0; step < NEWTON_STEPS; step++) {
        lane_bits moving = {0};
        for (int i = 0; i < vectors; i++) {
            lanes l = root[i], square = l * l;
            lanes value = ((square - 2 * of[i].f) * l - 8 * of[i].d) * l + of[i].e;
            lanes slope = 4 * ((square - of[i].f) * l - 2 * of[i].d);
            lane_bits good = slope > 0;
            lanes change = where(good, value / (slope + where(~good, (lanes){0} + 1)));
            root[i] = l - change;
            moving |= (change > NEWTON_STOP) | (change < -NEWTON_STOP);
        }
        long long any = 0;
        for (int i = 0; i < LANES; i++) any |= moving[i];
        if (!any) break;
    }
}

/* out = R v = ((l^2 + f) S v + 2 l cof S v - 2 S S^T S v) / (l^3 - f l - 2 d) */
SN_ALWAYS_INLINE void apply(const lanes m[9], const quartic *of, lanes l, const lanes v[3],
                            lanes out[3]) {
    lanes cof[9], once[3], back[3];
    find_cofactors(m, cof);
    for (int a = 0; a < 3; a++) once[a] = dot(m[3 * a], m[3 * a + 1], m[3 * a + 2], v);
    for (int b = 0; b < 3; b++) back[b] = dot(m[b], m[3 + b], m[6 + b], once);
    lanes below = (l * l - of->f) * l - 2 * of->d;
    lane_bits spread = (below > LEAST_SPREAD * l * l * l) & (of->f > LEAST_SPREAD);
    lanes over = where(spread, 1 / (below + where(~spread, (lanes){0} + 1)));
    for (int a = 0; a < 3; a++) {
        lanes turned = dot(cof[3 * a], cof[3 * a + 1], cof[3 * a + 2], v);
        lanes thrice = dot(m[3 * a], m[3 * a + 1], m[3 * a + 2], back);
        out[a] =
            over * ((l * l + of->f) * once[a] + 2 * (l * turned - thrice)) + where(~spread, v[a]);
    }
}

SN_ALWAYS_INLINE void turn(const double S[9][SN_RING_BATCH], const double bound[SN_RING_BATCH],
                           int first, const int vectors, double v[3][SN_RING_BATCH]) {
    lanes m[VECTORS][9], root[VECTORS];
    quartic of[VECTORS];
    for (int i = 0; i < vectors; i++) {
        load(S, bound, first + i * LANES, m[i]);
        of[i] = find_quartic(m[i]);
    }
    find_roots(of, root, vectors);
    for (int i = 0; i < vectors; i++) {
        lanes in[3], out[3];
        for (int a = 0; a < 3; a++) in[a] = *(const lanes *)(v[a] + first + i * LANES);
        apply(m[i], &of[i], root[i], in, out);
        for (int a = 0; a < 3; a++) *(lanes *)(v[a] + first + i * LANES) = out[a];
    }
}

void sn_ring_rotate(int count, const double S[9][SN_RING_BATCH], const double bound[SN_RING_BATCH],
                    double v[3][SN_RING_BATCH]) {
    int first = 0;
    for (; first + VECTORS * LANES <= count; first += VECTORS * LANES)
        turn(S, bound, first, VECTORS, v);
    for (; first < count; first += LANES) turn(S, bound, first, 1, v);
}
