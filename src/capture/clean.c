/* The calm stretch, gaps, and the head. */
#include "capture/clean.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/rotation.h"
#include "base/sort.h"
#include "base/status.h"
#include "base/vec3.h"
#include "capture/similarity.h"
#include "capture/take.h"

static bool seen_at(const sinew_markers *take, int t, int i) {
    return isfinite(sn_take_at(take, t, i)[0]);
}

/* ---- calm ------------------------------------------------------------------------------------ */

/* Seconds of a stretch; markers that must be seen; how much more than the calmest tenth is calm. */
#define STRETCH 0.25
#define NEARLY  0.9
#define CALM    2.0
/* Of the largest change of a take: as near as this the last sample is the first again. */
#define COMES_BACK 0.1
enum { PARTNERS = 4 };

/* Mean change of the distances between markers from one sample to another; NaN: not seen. Head
 * motion does not change them. */
static double change_between(const sinew_markers *take, int t, int u) {
    int n = take->marker_count, found = 0;
    double sum = 0;
    for (int i = 0; i < n; i++)
        for (int k = 1; k <= PARTNERS; k++) {
            int j = (i + k * (n / (2 * PARTNERS) + 1)) % n;
            if (i == j || !seen_at(take, t, i) || !seen_at(take, t, j) || !seen_at(take, u, i) ||
                !seen_at(take, u, j))
                continue;
            double a =
                sn_distance(sn_at(sn_take_at(take, t, i), 0), sn_at(sn_take_at(take, t, j), 0));
            double b =
                sn_distance(sn_at(sn_take_at(take, u, i), 0), sn_at(sn_take_at(take, u, j), 0));
            sum += fabs(b - a), found++;
        }
    return found ? sum / found : NAN;
}

/* A take that comes back to its first pose started in the neutral, also when its calmest stretch is
 * an expression that was held. */
static bool comes_back(const sinew_markers *take, const int *seen, int most, int first) {
    int last = take->time_count - 1;
    while (last > first && seen[last] < most) last--;
    double range = 0;
    for (int t = first; t <= last; t++) {
        double change = change_between(take, first, t);
        if (change > range) range = change;
    }
    return last > first && change_between(take, first, last) <= COMES_BACK * range;
}

sinew_status sn_take_calm(const sinew_markers *take, int *sample, double *speed,
                          sinew_error *error) {
    int samples = take->time_count, most = 0;
    double duration = take->times[samples - 1] - take->times[0];
    double rate = duration > 0 ? (samples - 1) / duration : 0;
    *sample = 0, *speed = 0;
    int *seen = SN_NEW0(int, samples);
    double *change = SN_NEW(double, 3 * (size_t)samples);
    if (!seen || !change) {
        sn_free(seen), sn_free(change);
        return sn_no_memory(error);
    }
    double *mean = change + samples, *sorted = mean + samples;
    for (int t = 0; t < samples; t++) {
        for (int i = 0; i < take->marker_count; i++) seen[t] += seen_at(take, t, i);
        most = seen[t] > most ? seen[t] : most;
        change[t] = t + 1 < samples ? change_between(take, t, t + 1) : NAN;
    }
    int window = (int)(STRETCH * rate), known = 0, first = -1;
    if (window < 1) window = 1;
    for (int t = 0; t < samples; t++) {
        double sum = 0;
        int used = 0;
        for (int k = t; k < t + window && k + 1 < samples; k++)
            if (isfinite(change[k])) sum += change[k], used++;
        mean[t] = 2 * used >= window ? sum / used : NAN;
        if (isfinite(mean[t])) sorted[known++] = mean[t];
        if (first < 0 && seen[t] == most) first = t;
    }
    *sample = first < 0 ? 0 : first;
    if (known > 0 && !(first >= 0 && comes_back(take, seen, most, first))) {
        sn_sort_doubles((size_t)known, sorted);
        double calm = CALM * sorted[known / 10];
        for (int t = 0; t < samples; t++)
            if (seen[t] >= NEARLY * most && mean[t] <= calm) {
                /* the sample of the stretch that shows most */
                *sample = t, *speed = mean[t] * rate;
                for (int k = t; k < t + window && k < samples; k++)
                    if (seen[k] > seen[*sample]) *sample = k;
                break;
            }
    }
    sn_free(seen), sn_free(change);
    return SINEW_OK;
}

/* ---- gaps ------------------------------------------------------------------------------------ */

/* Seconds into a gap at which a filled position counts half. The error of a cubic grows with the
 * fourth power of the gap: a sample that is lost between two others is known nearly as well as they
 * are, and a weight that jumped there would move the whole face. */
#define HALF_KNOWN 0.05

/* Catmull-Rom through the samples around the gap a ... b, with uneven times. */
static void fill(sinew_markers *take, int marker, int a, int b, float *trust) {
    int n = take->marker_count, before = a > 0 && seen_at(take, a - 1, marker) ? a - 1 : a;
    int after = b + 1 < take->time_count && seen_at(take, b + 1, marker) ? b + 1 : b;
    double ta = take->times[a], tb = take->times[b], span = tb - ta;
    sn_vec3 pa = sn_at(sn_take_at(take, a, marker), 0), pb = sn_at(sn_take_at(take, b, marker), 0);
    sn_vec3 chord = sn_scale(1 / span, sn_sub(pb, pa)), va = chord, vb = chord;
    if (before < a)
        va = sn_scale(1 / (tb - take->times[before]),
                      sn_sub(pb, sn_at(sn_take_at(take, before, marker), 0)));
    if (after > b)
        vb = sn_scale(1 / (take->times[after] - ta),
                      sn_sub(sn_at(sn_take_at(take, after, marker), 0), pa));
    for (int t = a + 1; t < b; t++) {
        double s = (take->times[t] - ta) / span, r = 1 - s;
        sn_vec3 p = sn_scale(r * r * (1 + 2 * s), pa);
        p = sn_add_scaled(p, s * s * (3 - 2 * s), pb);
        p = sn_add_scaled(p, span * s * r * r, va);
        p = sn_add_scaled(p, -span * s * s * r, vb);
        sn_put(sn_take_at(take, t, marker), 0, p);
        double into = fmin(take->times[t] - ta, tb - take->times[t]) / HALF_KNOWN;
        trust[(size_t)t * (size_t)n + (size_t)marker] =
            (float)(1 / (1 + into * into * into * into));
    }
}

int sn_take_fill(sinew_markers *take, float *trust) {
    int filled = 0, n = take->marker_count;
    for (int i = 0; i < n; i++) {
        int last = -1;
        for (int t = 0; t < take->time_count; t++) {
            bool seen = seen_at(take, t, i);
            trust[(size_t)t * (size_t)n + (size_t)i] = seen;
            if (!seen) continue;
            if (last >= 0 && t > last + 1 &&
                take->times[t] - take->times[last] <= SINEW_CAPTURE_GAP) {
                fill(take, i, last, t, trust);
                filled += t - last - 1;
            }
            last = t;
        }
    }
    return filled;
}

/* ---- the head -------------------------------------------------------------------------------- */

/* Of the diagonal: motion of the stable markers below which the head stands still; the least
 * non-rigid motion that a marker is given. */
#define STANDS 0.004
#define LEAST  0.001
/* Targets are rarely at full weight. */
#define TYPICAL 0.3
enum { PASSES = 3, ROUNDS = 4 };

typedef struct head {
    sinew_markers *take;
    int count;
    double *reference; /* 3 per marker, of the neutral sample */
    double *sigma;     /* per marker: non-rigid motion; INFINITY: not in the neutral sample */
    double *seen, *weights, *off, *sorted;
} head;

/* The rigid motion from sample t to the reference; false: too few markers. */
static bool fit_head(head *h, int t, sn_mat3 *r, sn_vec3 *x) {
    int used = 0;
    for (int i = 0; i < h->count; i++) {
        bool ok = seen_at(h->take, t, i) && isfinite(h->sigma[i]);
        h->weights[i] = ok ? 1 / (h->sigma[i] * h->sigma[i]) : 0;
        sn_put(h->seen, i, ok ? sn_at(sn_take_at(h->take, t, i), 0) : sn_v3(0, 0, 0));
        used += ok;
    }
    if (used < 3) return false;
    for (int round = 0; round < ROUNDS; round++) {
        sn_rigid_fit(h->count, h->seen, h->reference, h->weights, r, x);
        for (int i = 0; i < h->count; i++) {
            if (!(h->weights[i] > 0)) continue;
            h->off[i] = sn_distance(sn_add(sn_mat3_apply(*r, sn_at(h->seen, i)), *x),
                                    sn_at(h->reference, i));
            double s = h->off[i] / (2 * h->sigma[i]); /* Cauchy: far ones lose their influence */
            h->weights[i] = 1 / (h->sigma[i] * h->sigma[i]) / (1 + s * s);
        }
    }
    return true;
}

static bool stands_still(const head *h, double diagonal) {
    double sum = 0, total = 0;
    for (int i = 0; i < h->count; i++)
        for (int t = 0; isfinite(h->sigma[i]) && t < h->take->time_count; t++) {
            if (!seen_at(h->take, t, i)) continue;
            double d = sn_distance(sn_at(sn_take_at(h->take, t, i), 0), sn_at(h->reference, i));
            double w = 1 / pow(h->sigma[i], 4);
            sum += w * d * d, total += w;
        }
    return !(total > 0) || sqrt(sum / total) < STANDS * diagonal;
}

sinew_status sn_take_remove_head(sinew_markers *take, int neutral, const double *prior,
                                 double diagonal, sinew_rigid *motion, bool *moves,
                                 sinew_error *error) {
    size_t n = (size_t)take->marker_count;
    double *room = SN_NEW(double, 10 * n);
    *moves = false;
    if (!room) return sn_no_memory(error);
    head h = {take,         take->marker_count, room,         room + 3 * n,
              room + 4 * n, room + 7 * n,       room + 8 * n, room + 9 * n};
    memcpy(h.reference, sn_take_at(take, neutral, 0), 3 * n * sizeof(double));
    for (size_t i = 0; i < n; i++) {
        h.sigma[i] = hypot(TYPICAL * prior[i], LEAST * diagonal);
        if (isfinite(h.reference[3 * i])) continue;
        h.sigma[i] = INFINITY; /* not seen in the neutral sample: it does not count */
        sn_put(h.reference, (int)i, sn_v3(0, 0, 0));
    }
    if (stands_still(&h, diagonal)) {
        sn_free(room);
        return SINEW_OK;
    }
    *moves = true;
    sn_mat3 r = sn_mat3_identity();
    sn_vec3 x = {0, 0, 0};
    for (int pass = 0; pass < PASSES; pass++) {
        double *sum = h.sorted;
        memset(sum, 0, n * sizeof(double));
        int used = 0;
        for (int t = 0; t < take->time_count; t++) {
            fit_head(&h, t, &r, &x); /* or as before */
            sn_mat3 back = sn_mat3_transpose(r);
            memcpy(motion[t].rotation, &back, sizeof back);
            sn_put(motion[t].translation, 0, sn_scale(-1, sn_mat3_apply(back, x)));
            for (int i = 0; i < h.count; i++)
                if (h.weights[i] > 0)
                    sum[i] += fmin(h.off[i], 0.05 * diagonal) * fmin(h.off[i], 0.05 * diagonal);
            used++;
        }
        for (int i = 0; i < h.count && pass + 1 < PASSES; i++)
            if (isfinite(h.sigma[i])) h.sigma[i] = hypot(sqrt(sum[i] / used), LEAST * diagonal);
    }
    for (int t = 0; t < take->time_count; t++) {
        memcpy(&r, motion[t].rotation, sizeof r);
        r = sn_mat3_transpose(r);
        x = sn_scale(-1, sn_mat3_apply(r, sn_at(motion[t].translation, 0)));
        for (int i = 0; i < h.count; i++)
            if (seen_at(take, t, i))
                sn_put(sn_take_at(take, t, i), 0,
                       sn_add(sn_mat3_apply(r, sn_at(sn_take_at(take, t, i), 0)), x));
    }
    sn_free(room);
    return SINEW_OK;
}
