#include "mesh/rotation_lanes.h"

#include <math.h>

#include "mesh/rotation_strain.h"

#define LANES for (int l = 0; l < SN_ROTATION_LANES; l++)

typedef double lanes[SN_ROTATION_LANES];

/* The unit quaternion of a rotation vector, up to its sign: (cos x, sin x / |w| w), x = |w|/2.
 * x = k pi + r with |r| <= pi/2 changes the sign only, so sine and cosine are needed on that range
 * alone: Taylor polynomials around 0 to degree 21 and 22, which are exact to rounding there. pi is
 * subtracted in two parts, the first with so few digits that k times it is exact. */
static inline void exponential(const lanes w[3], lanes q[4]) {
#pragma omp simd
    LANES {
        double length = sqrt(w[0][l] * w[0][l] + w[1][l] * w[1][l] + w[2][l] * w[2][l] + 1e-200);
        double x = 0.5 * length;
        double k = (x * 0.31830988618379067 + 6755399441055744.0) - 6755399441055744.0;
        double r = (x - k * 3.1415926218032837) - k * 3.1786509547056392e-8;
        double s = r * r;
        double sine = 1.9572941063391263e-20;
        sine = sine * s - 8.2206352466243295e-18;
        sine = sine * s + 2.8114572543455206e-15;
        sine = sine * s - 7.6471637318198164e-13;
        sine = sine * s + 1.6059043836821613e-10;
        sine = sine * s - 2.5052108385441720e-8;
        sine = sine * s + 2.7557319223985893e-6;
        sine = sine * s - 1.9841269841269841e-4;
        sine = sine * s + 8.3333333333333332e-3;
        sine = sine * s - 1.6666666666666666e-1;
        sine = (sine * s + 1.0) * r;
        double cosine = -8.8967913924505740e-22;
        cosine = cosine * s + 4.1103176233121648e-19;
        cosine = cosine * s - 1.5619206968586225e-16;
        cosine = cosine * s + 4.7794773323873853e-14;
        cosine = cosine * s - 1.1470745597729725e-11;
        cosine = cosine * s + 2.0876756987868100e-9;
        cosine = cosine * s - 2.7557319223985888e-7;
        cosine = cosine * s + 2.4801587301587302e-5;
        cosine = cosine * s - 1.3888888888888889e-3;
        cosine = cosine * s + 4.1666666666666664e-2;
        cosine = cosine * s - 0.5;
        cosine = cosine * s + 1.0;
        double factor = sine / length;
        q[0][l] = cosine;
        q[1][l] = factor * w[0][l], q[2][l] = factor * w[1][l], q[3][l] = factor * w[2][l];
    }
}

/* exp(w) exp(q) as a matrix. */
static inline void rotation(const lanes c[SN_RS_SIZE], lanes R[9]) {
    lanes a[4], b[4];
    exponential(c + SN_RS_W, a);
    exponential(c + SN_RS_Q, b);
#pragma omp simd
    LANES {
        double w = a[0][l] * b[0][l] - a[1][l] * b[1][l] - a[2][l] * b[2][l] - a[3][l] * b[3][l];
        double x = a[0][l] * b[1][l] + a[1][l] * b[0][l] + a[2][l] * b[3][l] - a[3][l] * b[2][l];
        double y = a[0][l] * b[2][l] - a[1][l] * b[3][l] + a[2][l] * b[0][l] + a[3][l] * b[1][l];
        double z = a[0][l] * b[3][l] + a[1][l] * b[2][l] - a[2][l] * b[1][l] + a[3][l] * b[0][l];
        R[0][l] = 1 - 2 * (y * y + z * z), R[1][l] = 2 * (x * y - w * z);
        R[2][l] = 2 * (x * z + w * y), R[3][l] = 2 * (x * y + w * z);
        R[4][l] = 1 - 2 * (x * x + z * z), R[5][l] = 2 * (y * z - w * x);
        R[6][l] = 2 * (x * z - w * y), R[7][l] = 2 * (y * z + w * x);
        R[8][l] = 1 - 2 * (x * x + y * y);
    }
}

void sn_rotation_compose_lanes(const double *coordinates, const double *rest_stretch,
                               double gradients[9][SN_ROTATION_LANES]) {
    lanes c[SN_RS_SIZE], R[9];
    for (int i = 0; i < SN_RS_SIZE; i++) LANES c[i][l] = coordinates[SN_RS_SIZE * l + i];
    for (int i = 0; i < 6; i++)
        LANES c[SN_RS_S + i][l] += rest_stretch ? rest_stretch[6 * l + i] : i < 3;
    rotation((const lanes *)c, R);
    const lanes *s = (const lanes *)c + SN_RS_S;
    for (int a = 0; a < 3; a++) {
#pragma omp simd
        LANES {
            double x = R[3 * a][l], y = R[3 * a + 1][l], z = R[3 * a + 2][l];
            gradients[3 * a][l] = x * s[0][l] + y * s[3][l] + z * s[4][l];
            gradients[3 * a + 1][l] = x * s[3][l] + y * s[1][l] + z * s[5][l];
            gradients[3 * a + 2][l] = x * s[4][l] + y * s[5][l] + z * s[2][l];
        }
    }
}
