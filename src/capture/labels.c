/* Labels that a tracking system exchanged are mended before anything else looks at a take.
 *
 * Tracks go on from sample to sample. Each expects its marker where it was, moved by what the
 * markers moved on the whole (the median), so that a moving head does not count. A marker that
 * jumps by about the spacing of its neighbors, right to where another one is expected that jumps
 * away or vanishes at the same time, has got the other's label: no marker on a face moves so far
 * within a sample. Several may change places in a ring. In the end a track has the label that it
 * carried for most of the take. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/sort.h"
#include "base/status.h"
#include "capture/labels.h"
#include "capture/take.h"

/* Of the distance to the nearest other marker: a jump is at least this, and ends at the other as
 * near as that. */
#define JUMP 0.7
#define NEAR 0.35
/* A jump is this many times the longest step of the track just before it. */
#define SUDDEN 3.0
/* Samples per second below which a face moves too far between samples to tell. */
#define LEAST_RATE 20.0

typedef struct tracks {
    int count;
    int *label;      /* per track: its label in the sample at hand */
    int *next;       /* the same for the sample that is looked at */
    int *votes;      /* track x label: samples */
    double *at;      /* 3 per track: where it is expected; NaN before it was seen */
    double *spacing; /* per track: distance to the nearest other one */
    double *speed;   /* per track: its longest step of late, without the common motion */
    bool *jumps;
    double *list; /* for medians */
} tracks;

static void release(tracks *k) {
    sn_free(k->label), sn_free(k->next), sn_free(k->votes), sn_free(k->at), sn_free(k->spacing);
    sn_free(k->speed), sn_free(k->jumps), sn_free(k->list);
}

static bool seen(const double *p) {
    return isfinite(p[0]) && isfinite(p[1]) && isfinite(p[2]);
}

/* What the tracks moved on the whole, median by coordinate, and adds it to where they are expected.
 */
static void follow_head(const sinew_markers *take, int t, tracks *k) {
    double shift[3] = {0};
    for (int a = 0; a < 3; a++) {
        int found = 0;
        for (int i = 0; i < k->count; i++) {
            const double *p = sn_take_at(take, t, k->label[i]);
            if (seen(p) && seen(k->at + 3 * i)) k->list[found++] = p[a] - k->at[3 * i + a];
        }
        sn_sort_doubles((size_t)found, k->list);
        if (found > 0) shift[a] = k->list[found / 2];
    }
    for (int i = 0; i < 3 * k->count; i++) k->at[i] += shift[i % 3];
}

static void find_spacing(tracks *k) {
    for (int i = 0; i < k->count; i++) {
        k->spacing[i] = INFINITY;
        for (int j = 0; j < k->count; j++)
            if (j != i && seen(k->at + 3 * i) && seen(k->at + 3 * j))
                k->spacing[i] = fmin(k->spacing[i], sn_distance(sn_at(k->at, i), sn_at(k->at, j)));
    }
}

/* The track whose place the observation of track i has taken, or -1. */
static int find_host(const sinew_markers *take, int t, const tracks *k, int i) {
    const double *p = sn_take_at(take, t, k->label[i]);
    for (int j = 0; j < k->count; j++)
        if (j != i && seen(k->at + 3 * j) &&
            sn_distance(sn_at(p, 0), sn_at(k->at, j)) < NEAR * k->spacing[j] &&
            (k->jumps[j] || !seen(sn_take_at(take, t, k->label[j]))))
            return j;
    return -1;
}

static void find_jumps(const sinew_markers *take, int t, tracks *k) {
    for (int i = 0; i < k->count; i++) {
        const double *p = sn_take_at(take, t, k->label[i]);
        k->jumps[i] = false;
        if (!seen(p) || !seen(k->at + 3 * i)) continue;
        double step = sn_distance(sn_at(p, 0), sn_at(k->at, i));
        k->jumps[i] = step > JUMP * k->spacing[i] && step > SUDDEN * k->speed[i];
    }
}

/* Labels go to the tracks whose places their markers have taken. A ring is closed by the labels
 * that are left over, which belong to markers that are not seen. */
static bool exchange(const sinew_markers *take, int t, tracks *k) {
    bool any = false;
    memcpy(k->next, k->label, sizeof(int) * (size_t)k->count);
    for (int i = 0; i < k->count; i++) {
        if (!k->jumps[i]) continue;
        int from = i, to = find_host(take, t, k, i), length = 0;
        /* along the chain: each step hands a label on */
        while (to >= 0 && k->next[to] == k->label[to] && length++ < k->count) {
            k->next[to] = k->label[from];
            k->jumps[from] = false;
            from = to;
            to = k->jumps[from] ? find_host(take, t, k, from) : -1;
            any = true;
        }
        if (length > 0 && k->next[i] == k->label[i]) k->next[i] = k->label[from];
    }
    if (any) memcpy(k->label, k->next, sizeof(int) * (size_t)k->count);
    return any;
}

static void advance(const sinew_markers *take, int t, tracks *k) {
    for (int i = 0; i < k->count; i++) {
        const double *p = sn_take_at(take, t, k->label[i]);
        k->votes[(size_t)i * (size_t)k->count + (size_t)k->label[i]] += seen(p);
        k->speed[i] *= 0.8;
        if (!seen(p)) continue;
        if (seen(k->at + 3 * i))
            k->speed[i] = fmax(k->speed[i], sn_distance(sn_at(p, 0), sn_at(k->at, i)));
        memcpy(k->at + 3 * i, p, 3 * sizeof(double));
    }
}

/* name[track]: the label that it carried most; each label goes to one track. */
static void name_tracks(tracks *k, int *name) {
    for (int i = 0; i < k->count; i++) name[i] = -1;
    bool *taken = k->jumps;
    for (int i = 0; i < k->count; i++) taken[i] = false;
    for (int round = 0; round < k->count; round++) {
        int best = -1, track = -1, label = -1;
        for (int i = 0; i < k->count; i++)
            for (int l = 0; name[i] < 0 && l < k->count; l++) {
                int votes = k->votes[(size_t)i * (size_t)k->count + (size_t)l];
                /* of equals the label that the track began with */
                if (!taken[l] && (votes > best || (votes == best && l == i && track != label)))
                    best = votes, track = i, label = l;
            }
        if (track < 0) break;
        name[track] = label, taken[label] = true;
    }
}

/* ---- the take -------------------------------------------------------------------------------- */

/* history[time x track]: labels, found in a pass over the take. */
static bool trace(const sinew_markers *take, tracks *k, int *history) {
    size_t n = (size_t)k->count;
    bool any = false;
    for (int i = 0; i < k->count; i++) k->label[i] = i;
    for (size_t i = 0; i < 3 * n; i++) k->at[i] = NAN;
    for (int t = 0; t < take->time_count; t++) {
        follow_head(take, t, k);
        if (t % 8 == 0 || t < 3) find_spacing(k);
        find_jumps(take, t, k);
        if (t > 1) any |= exchange(take, t, k);
        advance(take, t, k);
        memcpy(history + (size_t)t * n, k->label, sizeof(int) * n);
    }
    return any;
}

static int relabel(sinew_markers *take, const int *history, const int *name, double *row,
                   float *residuals, bool *touched) {
    size_t n = (size_t)take->marker_count;
    int mended = 0;
    for (int t = 0; t < take->time_count; t++) {
        double *p = sn_take_at(take, t, 0);
        float *r = take->residuals ? take->residuals + (size_t)t * n : NULL;
        memcpy(row, p, 3 * sizeof(double) * n);
        if (r) memcpy(residuals, r, sizeof(float) * n);
        for (size_t i = 0; i < n; i++) {
            int from = history[(size_t)t * n + i], to = name[i];
            if (from == to) continue;
            memcpy(p + 3 * to, row + 3 * from, 3 * sizeof(double));
            if (r) r[to] = residuals[from];
            touched[to] = true;
            mended += seen(p + 3 * to);
        }
    }
    return mended;
}

sinew_status sn_take_mend_labels(sinew_markers *take, int *mended, bool *touched,
                                 sinew_error *error) {
    size_t n = (size_t)take->marker_count;
    *mended = 0;
    for (size_t i = 0; i < n; i++) touched[i] = false;
    double duration = take->times[take->time_count - 1] - take->times[0];
    if (take->time_count < 3 || !((take->time_count - 1) >= LEAST_RATE * duration)) return SINEW_OK;
    tracks k = {.count = take->marker_count};
    k.label = SN_NEW(int, n), k.next = SN_NEW(int, n), k.votes = SN_NEW0(int, n *n);
    k.at = SN_NEW(double, 3 * n), k.spacing = SN_NEW(double, n), k.speed = SN_NEW0(double, n);
    k.jumps = SN_NEW0(bool, n), k.list = SN_NEW(double, 3 * n);
    int *history = SN_NEW(int, n *(size_t)take->time_count), *name = SN_NEW(int, n);
    float *residuals = SN_NEW(float, n);
    sinew_status status = k.label && k.next && k.votes && k.at && k.spacing && k.speed && k.jumps &&
                                  k.list && history && name && residuals
                              ? SINEW_OK
                              : sn_no_memory(error);
    if (status == SINEW_OK && trace(take, &k, history)) {
        name_tracks(&k, name);
        *mended = relabel(take, history, name, k.list, residuals, touched);
    }
    release(&k);
    sn_free(history), sn_free(name), sn_free(residuals);
    return status;
}
