/* Based on: Horn 1987, Closed-form solution of absolute orientation; Theobald 2005, Rapid
 * calculation of RMSDs using a quaternion-based characteristic polynomial.
 * We differ in: the rotation is the derivative of the largest root, not an eigenvector. */
#include "force/ring_rotation.h"

#include <stdbool.h>

/* From 40% above the root Newton's method reaches rounding in six steps. */
enum { NEWTON_STEPS = 8 };
/* Of l^3: below it the points are on a line. */
#define LEAST_SPREAD 1e-9

void sn_ring_rotations(double S[9][SN_RING_BATCH], const double bound[SN_RING_BATCH]) {
#pragma omp simd
    for (int i = 0; i < SN_RING_BATCH; i++) {
        double scale = bound[i] > 1e-300 ? 1 / bound[i] : 0;
        double a = S[0][i] * scale, b = S[1][i] * scale, c = S[2][i] * scale;
        double d = S[3][i] * scale, e = S[4][i] * scale, f = S[5][i] * scale;
        double g = S[6][i] * scale, h = S[7][i] * scale, k = S[8][i] * scale;
        double A = e * k - f * h, B = f * g - d * k, C = d * h - e * g;
        double D = c * h - b * k, E = a * k - c * g, F = b * g - a * h;
        double G = b * f - c * e, H = c * d - a * f, K = a * e - b * d;
        double square = a * a + b * b + c * c + d * d + e * e + f * f + g * g + h * h + k * k;
        double cofactor = A * A + B * B + C * C + D * D + E * E + F * F + G * G + H * H + K * K;
        double det = a * A + b * B + c * C;
        double l = 1;
        for (int step = 0; step < NEWTON_STEPS; step++) {
            double value =
                ((l * l - 2 * square) * l - 8 * det) * l + square * square - 4 * cofactor;
            double slope = 4 * ((l * l - square) * l - 2 * det);
            l -= slope > 0 ? value / slope : 0;
        }
        double below = (l * l - square) * l - 2 * det;
        /* S S^T S */
        double p = a * a + b * b + c * c, q = a * d + b * e + c * f, r = a * g + b * h + c * k;
        double s = d * d + e * e + f * f, t = d * g + e * h + f * k;
        double u = g * g + h * h + k * k;
        double first = l * l + square, second = 2 * l;
        bool round = below > LEAST_SPREAD * l * l * l && square > LEAST_SPREAD;
        double over = round ? 1 / below : 0, one = round ? 0 : 1;
        S[0][i] = one + over * (first * a + second * A - 2 * (p * a + q * d + r * g));
        S[1][i] = over * (first * b + second * B - 2 * (p * b + q * e + r * h));
        S[2][i] = over * (first * c + second * C - 2 * (p * c + q * f + r * k));
        S[3][i] = over * (first * d + second * D - 2 * (q * a + s * d + t * g));
        S[4][i] = one + over * (first * e + second * E - 2 * (q * b + s * e + t * h));
        S[5][i] = over * (first * f + second * F - 2 * (q * c + s * f + t * k));
        S[6][i] = over * (first * g + second * G - 2 * (r * a + t * d + u * g));
        S[7][i] = over * (first * h + second * H - 2 * (r * b + t * e + u * h));
        S[8][i] = one + over * (first * k + second * K - 2 * (r * c + t * f + u * k));
    }
}
