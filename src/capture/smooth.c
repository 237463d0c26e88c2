/* Based on: Whittaker 1923, Eilers 2003 (a perfect smoother).
 *
 * With the second-difference operator D the smoothed curve solves (W + lambda D^T D) z = W y. Far
 * from the ends a sine of frequency f keeps 1 / (1 + lambda (2 sin(pi f / rate))^4) of its
 * amplitude, so lambda = (2 sin(pi f_c / rate))^-4 halves it at the cut-off f_c.
 *
 * Without a given cut-off the lowest one is taken whose residual is no larger than the noise
 * (Morozov's discrepancy principle). Fourth differences tell the noise: they multiply white noise
 * by the square root of 70 and leave little of motion that is slow against the sampling rate. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/rotation.h"
#include "base/sort.h"
#include "base/status.h"
#include "base/vec3.h"
#include "capture/clean.h"
#include "capture/take.h"

enum { TRIED = 12 }; /* markers on which cut-offs are tried */

/* Room for one curve of the length of the take. */
typedef struct curve {
    int count;
    double *y, *w, *z;
    double *diagonal, *first, *second; /* of the factor */
} curve;

static sinew_status curve_create(int count, curve *c, sinew_error *error) {
    *c = (curve){.count = count, .y = SN_NEW(double, 6 * (size_t)count)};
    if (!c->y) return sn_no_memory(error);
    c->w = c->y + count, c->z = c->w + count;
    c->diagonal = c->z + count, c->first = c->diagonal + count, c->second = c->first + count;
    return SINEW_OK;
}

/* z from y and w over [from, to); samples without weight are bridged. */
static void smooth_run(curve *c, int from, int to, double lambda) {
    int n = to - from;
    const double *y = c->y + from, *w = c->w + from;
    double *z = c->z + from, *d = c->diagonal + from, *e = c->first + from, *f = c->second + from;
    if (n < 3) {
        memcpy(z, y, sizeof(double) * (size_t)n);
        return;
    }
    for (int i = 0; i < n; i++) { /* the band of W + lambda D^T D */
        double a = 0, b = 0, g = 0;
        for (int k = i - 2; k <= i; k++) { /* row k of D is 1 -2 1 at k, k + 1, k + 2 */
            if (k < 0 || k + 2 >= n) continue;
            double own = k == i - 1 ? -2 : 1;
            a += own * own;
            if (i - k < 2) b += own * (i + 1 - k == 1 ? -2 : 1);
            if (i - k < 1) g += own;
        }
        d[i] = w[i] + lambda * a + 1e-12, e[i] = lambda * b, f[i] = lambda * g;
        z[i] = w[i] * y[i] + 1e-12 * y[i];
    }
    for (int i = 0; i < n; i++) { /* L D L^T, in place */
        if (i + 1 < n) {
            double l = e[i] / d[i];
            d[i + 1] -= l * e[i];
            if (i + 2 < n) e[i + 1] -= l * f[i];
            z[i + 1] -= l * z[i];
            if (i + 2 < n) {
                double m = f[i] / d[i];
                d[i + 2] -= m * f[i];
                z[i + 2] -= m * z[i];
            }
        }
    }
    for (int i = n - 1; i >= 0; i--) {
        double sum = z[i];
        if (i + 1 < n) sum -= e[i] * z[i + 1];
        if (i + 2 < n) sum -= f[i] * z[i + 2];
        z[i] = sum / d[i];
    }
}

/* Runs of finite samples one by one. Returns the sum of squares of z - y, and adds to *seen. */
static double smooth_curve(curve *c, double lambda, int *seen) {
    double sum = 0;
    for (int from = 0; from < c->count;) {
        int to = from;
        while (to < c->count && isfinite(c->y[to])) to++;
        if (to > from) smooth_run(c, from, to, lambda);
        for (int t = from; t < to; t++) {
            if (c->w[t] < 1) continue;
            sum += (c->z[t] - c->y[t]) * (c->z[t] - c->y[t]), (*seen)++;
        }
        if (to == from) c->z[from] = c->y[from], to++;
        from = to;
    }
    return sum;
}

static void load(const sinew_markers *take, const float *trust, int marker, int axis, curve *c) {
    for (int t = 0; t < c->count; t++) {
        c->y[t] = sn_take_at(take, t, marker)[axis];
        c->w[t] = (double)trust[(size_t)t * (size_t)take->marker_count + (size_t)marker];
    }
}

static double lambda_of(double cutoff, double rate) {
    double s = 2 * sin(3.14159265358979 * cutoff / rate);
    return 1 / (s * s * s * s);
}

/* Positions that were filled in are smooth, and would hide the noise of the others. */
static bool all_seen(const sinew_markers *take, const float *trust, int marker, int from) {
    for (int t = from; t < from + 5; t++)
        if (!(trust[(size_t)t * (size_t)take->marker_count + (size_t)marker] >= 1)) return false;
    return true;
}

static double noise_of(const sinew_markers *take, const float *trust, int step, curve *c,
                       double *room) {
    int found = 0, limit = TRIED * 3 * c->count;
    for (int i = 0; i < take->marker_count; i += step)
        for (int a = 0; a < 3; a++)
            for (int t = 0; t + 4 < take->time_count; t++) {
                const double x[5] = {sn_take_at(take, t, i)[a], sn_take_at(take, t + 1, i)[a],
                                     sn_take_at(take, t + 2, i)[a], sn_take_at(take, t + 3, i)[a],
                                     sn_take_at(take, t + 4, i)[a]};
                double d = x[0] - 4 * x[1] + 6 * x[2] - 4 * x[3] + x[4];
                if (isfinite(d) && all_seen(take, trust, i, t) && found < limit)
                    room[found++] = fabs(d);
            }
    if (!found) return 0;
    sn_sort_doubles((size_t)found, room);
    return room[found / 2] / 0.6745 / sqrt(70);
}

static double choose_cutoff(const sinew_markers *take, const float *trust, double rate, int step,
                            double noise, curve *c) {
    static const double tries[] = {4, 5, 6, 7, 8, 10, 12, 15};
    for (size_t k = 0; k < sizeof tries / sizeof *tries; k++) {
        double sum = 0;
        int seen = 0;
        if (tries[k] > rate / 3) break;
        for (int i = 0; i < take->marker_count; i += step)
            for (int a = 0; a < 3; a++) {
                load(take, trust, i, a, c);
                sum += smooth_curve(c, lambda_of(tries[k], rate), &seen);
            }
        if (seen > 0 && sqrt(sum / seen) <= noise) return tries[k];
    }
    return 0;
}

/* Rotations as quaternions of one sign, smoothed and made unit again; translations as they are, of
 * the origin, so that a marker near it moves as smoothly. */
static void smooth_motion(sinew_rigid *motion, double lambda, curve *c, sn_quat *turns) {
    int seen = 0;
    for (int t = 0; t < c->count; t++) {
        sn_mat3 r;
        memcpy(&r, motion[t].rotation, sizeof r);
        turns[t] = sn_quat_from_mat3(r);
        double *q = (double *)&turns[t], *p = (double *)&turns[t > 0 ? t - 1 : 0];
        if (q[0] * p[0] + q[1] * p[1] + q[2] * p[2] + q[3] * p[3] < 0)
            for (int k = 0; k < 4; k++) q[k] = -q[k];
    }
    for (int k = 0; k < 7; k++) {
        for (int t = 0; t < c->count; t++) {
            c->y[t] = k < 4 ? ((double *)&turns[t])[k] : motion[t].translation[k - 4];
            c->w[t] = 1;
        }
        smooth_curve(c, lambda, &seen);
        for (int t = 0; t < c->count; t++) {
            if (k < 4)
                ((double *)&turns[t])[k] = c->z[t];
            else
                motion[t].translation[k - 4] = c->z[t];
        }
    }
    for (int t = 0; t < c->count; t++) {
        sn_mat3 r = sn_quat_to_mat3(sn_quat_normalize(turns[t]));
        memcpy(motion[t].rotation, &r, sizeof r);
    }
}

sinew_status sn_take_smooth(sinew_markers *take, const float *trust, double rate, double cutoff,
                            sinew_rigid *motion, double *used, double *noise, sinew_error *error) {
    int step = take->marker_count / TRIED + 1;
    curve c = {0};
    *used = 0, *noise = 0;
    if (!(rate > 0) || take->time_count < 8 || take->marker_count == 0) return SINEW_OK;
    double *room = SN_NEW(double, (size_t)(TRIED * 3) * (size_t)take->time_count);
    sn_quat *turns = SN_NEW(sn_quat, take->time_count);
    sinew_status status =
        room && turns ? curve_create(take->time_count, &c, error) : sn_no_memory(error);
    if (status == SINEW_OK) {
        *noise = noise_of(take, trust, step, &c, room);
        *used = cutoff < 0 ? choose_cutoff(take, trust, rate, step, *noise, &c) : cutoff;
        if (*used >= rate / 2) *used = 0;
    }
    if (status == SINEW_OK && *used > 0) {
        int seen = 0;
        double lambda = lambda_of(*used, rate);
        for (int i = 0; i < take->marker_count; i++)
            for (int a = 0; a < 3; a++) {
                load(take, trust, i, a, &c);
                smooth_curve(&c, lambda, &seen);
                for (int t = 0; t < c.count; t++) sn_take_at(take, t, i)[a] = c.z[t];
            }
        if (motion) smooth_motion(motion, lambda, &c, turns);
    }
    sn_free(c.y), sn_free(room), sn_free(turns);
    return status;
}
