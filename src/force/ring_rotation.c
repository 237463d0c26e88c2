/* Based on: Horn 1987, Closed-form solution of absolute orientation; Theobald 2005, Rapid
 * calculation of RMSDs using a quaternion-based characteristic polynomial.
 * We differ in: the rotation is the derivative of the largest root, not an eigenvector. */
#include "force/ring_rotation.h"

#include <math.h>
#include <stdbool.h>

/* From 40% above the root Newton's method reaches rounding in six steps. */
enum { NEWTON_STEPS = 8, LANES = 8 };
/* Of l^3: below it the points are on a line. */
#define LEAST_SPREAD 1e-9

/* The rest of a step after which Newton's method is at rounding: it squares. */
#define NEWTON_STOP 1e-8

/* Largest roots of l^4 - 2 f l^2 - 8 d l + f^2 - 4 c, from l = 1 downwards. */
static void find_roots(const double f[LANES], const double d[LANES], const double c[LANES],
                       double root[LANES]) {
    for (int i = 0; i < LANES; i++) root[i] = 1;
    for (int step = 0; step < NEWTON_STEPS; step++) {
        double most = 0;
#pragma omp simd reduction(max : most)
        for (int i = 0; i < LANES; i++) {
            double l = root[i], square = l * l;
            double value = ((square - 2 * f[i]) * l - 8 * d[i]) * l + f[i] * f[i] - 4 * c[i];
            double slope = 4 * ((square - f[i]) * l - 2 * d[i]);
            double change = slope > 0 ? value / slope : 0;
            root[i] = l - change;
            change = fabs(change);
            most = change > most ? change : most;
        }
        if (most < NEWTON_STOP) break;
    }
}

static void turn(double S[9][SN_RING_BATCH], const double bound[SN_RING_BATCH], int first) {
    double m[9][LANES], cof[9][LANES], f[LANES], d[LANES], c[LANES], root[LANES];
#pragma omp simd
    for (int i = 0; i < LANES; i++) {
        double scale = bound[first + i] > 1e-300 ? 1 / bound[first + i] : 0;
        double sum = 0, cofactor = 0;
        for (int k = 0; k < 9; k++) {
            m[k][i] = S[k][first + i] * scale;
            sum += m[k][i] * m[k][i];
        }
        cof[0][i] = m[4][i] * m[8][i] - m[5][i] * m[7][i];
        cof[1][i] = m[5][i] * m[6][i] - m[3][i] * m[8][i];
        cof[2][i] = m[3][i] * m[7][i] - m[4][i] * m[6][i];
        cof[3][i] = m[2][i] * m[7][i] - m[1][i] * m[8][i];
        cof[4][i] = m[0][i] * m[8][i] - m[2][i] * m[6][i];
        cof[5][i] = m[1][i] * m[6][i] - m[0][i] * m[7][i];
        cof[6][i] = m[1][i] * m[5][i] - m[2][i] * m[4][i];
        cof[7][i] = m[2][i] * m[3][i] - m[0][i] * m[5][i];
        cof[8][i] = m[0][i] * m[4][i] - m[1][i] * m[3][i];
        for (int k = 0; k < 9; k++) cofactor += cof[k][i] * cof[k][i];
        f[i] = sum, c[i] = cofactor;
        d[i] = m[0][i] * cof[0][i] + m[1][i] * cof[1][i] + m[2][i] * cof[2][i];
    }
    find_roots(f, d, c, root);
#pragma omp simd
    for (int i = 0; i < LANES; i++) {
        double l = root[i], below = (l * l - f[i]) * l - 2 * d[i];
        bool round = below > LEAST_SPREAD * l * l * l && f[i] > LEAST_SPREAD;
        double over = round ? 1 / below : 0, one = round ? 0 : 1;
        double linear = l * l + f[i], twice = 2 * l;
        double gram[6]; /* S S^T */
        gram[0] = m[0][i] * m[0][i] + m[1][i] * m[1][i] + m[2][i] * m[2][i];
        gram[1] = m[0][i] * m[3][i] + m[1][i] * m[4][i] + m[2][i] * m[5][i];
        gram[2] = m[0][i] * m[6][i] + m[1][i] * m[7][i] + m[2][i] * m[8][i];
        gram[3] = m[3][i] * m[3][i] + m[4][i] * m[4][i] + m[5][i] * m[5][i];
        gram[4] = m[3][i] * m[6][i] + m[4][i] * m[7][i] + m[5][i] * m[8][i];
        gram[5] = m[6][i] * m[6][i] + m[7][i] * m[7][i] + m[8][i] * m[8][i];
        for (int b = 0; b < 3; b++) {
            double x = m[b][i], y = m[3 + b][i], z = m[6 + b][i];
            double p = gram[0] * x + gram[1] * y + gram[2] * z;
            double q = gram[1] * x + gram[3] * y + gram[4] * z;
            double r = gram[2] * x + gram[4] * y + gram[5] * z;
            S[b][first + i] = over * (linear * x + twice * cof[b][i] - 2 * p);
            S[3 + b][first + i] = over * (linear * y + twice * cof[3 + b][i] - 2 * q);
            S[6 + b][first + i] = over * (linear * z + twice * cof[6 + b][i] - 2 * r);
        }
        S[0][first + i] += one, S[4][first + i] += one, S[8][first + i] += one;
    }
}

void sn_ring_rotations(int count, double S[9][SN_RING_BATCH], const double bound[SN_RING_BATCH]) {
    for (int first = 0; first < count; first += LANES) turn(S, bound, first);
}
