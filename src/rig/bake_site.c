/* Sites of contact.
 *
 * The linear blend moves every vertex linearly in the weights, so the gap between two surfaces, a
 * lid and the other lid, is 1 - c.u in a suitable unit, with a slope for each slider that narrows
 * it. The surfaces meet where c.u reaches 1, and a model with contact pushes them apart by what is
 * missing, in proportion to
 *
 *   phi = max(0, c.u - 1)
 *
 * Two sliders that meet give two equations: with one at full, the other crosses from its onset on.
 * The slopes of a site fit the equations of all its meetings, within [0, 1] so that no slider alone
 * has contact, the shape of the artist being what it is. Meetings whose equations do not fit touch
 * at other vertices first; they become a site of their own.
 *
 * A slider that meets none of them alone still narrows the gap, or widens it, as jawOpen does that
 * of the lips. With a meeting at (1, onset) it shifts the onset, and its slope is that of the
 * shifted slider times the shift. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "rig/baker.h"

enum { SWEEPS = 200, MOST_MEETINGS = 16 /* of a site; its other sliders are found later */ };
#define MISFIT 0.1    /* of an equation c.u = 1 */
#define SHIFT  0.0625 /* of an onset that counts */

void sn_bake_site_free(sn_bake_site *site) {
    sn_free(site->slopes), sn_free(site->fitted), sn_free(site->shape);
}

static int by_crossed(const void *x, const void *y) {
    const sn_bake_meeting *p = x, *q = y;
    if (p->crossed != q->crossed) return p->crossed > q->crossed ? -1 : 1;
    return p->pair - q->pair;
}

/* Keeps the sites that cross most, and of each the meetings that do. Real heads have hundreds of
 * meetings, most of them of a few triangles in the corners of the mouth. */
static void prune(sn_baker *b, int limit) {
    int kept = 0, sites = 0;
    if (b->meeting_count > 0)
        qsort(b->meetings, (size_t)b->meeting_count, sizeof *b->meetings, by_crossed);
    for (int i = 0; i < b->meeting_count; i++) {
        int same = 0;
        for (int k = 0; k < kept; k++) same += b->meetings[k].site == b->meetings[i].site;
        if (same == MOST_MEETINGS || (same == 0 && sites == limit)) continue;
        sites += same == 0;
        b->meetings[kept++] = b->meetings[i];
    }
    b->meeting_count = kept;
}

/* From here on, only what intersects in the meetings of a site counts, or in one of them (only
 * >= 0): another slider may make other surfaces cross. row: rest weights, which it keeps. */
static sinew_status watch(sn_baker *b, int site, int only, double *row, bool *marks) {
    b->watched = NULL;
    memset(marks, 0, (size_t)b->rig->neutral->vertex_count * sizeof *marks);
    for (int i = 0; i < b->meeting_count; i++)
        if (only >= 0 ? i == only : b->meetings[i].site == site)
            SN_TRY(sn_bake_mark(b, &b->meetings[i], row, marks));
    b->watched = marks;
    return SINEW_OK;
}

/* Of the slider `which` of a meeting, with the other at full. */
static sinew_status find_onset(sn_baker *b, sn_bake_meeting *m, int which, double *row) {
    sinew_rig_rest_weights(b->rig, row);
    row[m->slider[!which]] = sn_bake_weight(&b->rig->sliders[m->slider[!which]], 1);
    return sn_bake_onset(b, row, m->slider[which], 0, 1, &m->onset[which]);
}

double sn_bake_hinge(const sn_baker *b, const double *slopes, const double *weights) {
    double sum = 0;
    for (int s = 0; s < b->rig->slider_count; s++)
        if (slopes[s] != 0)
            sum += slopes[s] * fmin(sn_bake_unit(&b->rig->sliders[s], weights[s]), 1);
    return fmax(sum - 1, 0);
}

/* Equation 0 or 1 of a meeting: the parts of its two sliders. */
static void find_parts(const sn_bake_meeting *m, int equation, double u[2]) {
    u[0] = equation == 0 ? m->onset[0] : 1;
    u[1] = equation == 1 ? m->onset[1] : 1;
}

/* One slope from the others: the minimum of sum (c.u - 1)^2 over the equations of the site. */
static double find_slope(const sn_baker *b, int site, const double *slopes, int slider) {
    double along = 0, square = 0, u[2];
    for (int i = 0; i < b->meeting_count; i++) {
        const sn_bake_meeting *m = &b->meetings[i];
        int own = m->slider[1] == slider;
        if (m->site != site || (!own && m->slider[0] != slider)) continue;
        for (int e = 0; e < 2; e++) {
            find_parts(m, e, u);
            along += u[own] * (1 - slopes[m->slider[!own]] * u[!own]);
            square += u[own] * u[own];
        }
    }
    return square > 0 ? fmin(fmax(along / square, 0), 1) : 0;
}

/* The worst equation of a meeting. */
static double misfit_of(const sn_bake_meeting *m, const double *slopes) {
    double most = 0, u[2];
    for (int e = 0; e < 2; e++) {
        find_parts(m, e, u);
        most = fmax(most, fabs(slopes[m->slider[0]] * u[0] + slopes[m->slider[1]] * u[1] - 1));
    }
    return most;
}

static void fit_slopes(const sn_baker *b, int site, double *slopes) {
    memset(slopes, 0, (size_t)b->rig->slider_count * sizeof *slopes);
    for (int i = 0; i < b->meeting_count; i++)
        for (int k = 0; b->meetings[i].site == site && k < 2; k++)
            slopes[b->meetings[i].slider[k]] = 0.7;
    for (int sweep = 0; sweep < SWEEPS; sweep++)
        for (int s = 0; s < b->rig->slider_count; s++)
            if (slopes[s] != 0) slopes[s] = fmax(find_slope(b, site, slopes, s), 1e-6);
}

/* Moves the meetings that fit the slopes worst to a new site until the others fit. */
static void split(sn_baker *b, int site, int next, double *slopes) {
    for (;;) {
        int worst = -1, count = 0;
        double most = MISFIT;
        fit_slopes(b, site, slopes);
        for (int i = 0; i < b->meeting_count; i++) {
            if (b->meetings[i].site != site) continue;
            double misfit = misfit_of(&b->meetings[i], slopes);
            if (misfit > most) most = misfit, worst = i;
            count++;
        }
        if (worst < 0 || count == 1) return;
        b->meetings[worst].site = next;
    }
}

/* The meeting of a site whose contact is deepest, and which of its sliders to shift: the one whose
 * onset is farther from both ends. */
static const sn_bake_meeting *find_probe(const sn_baker *b, int site, int *shifted) {
    const sn_bake_meeting *best = NULL;
    for (int i = 0; i < b->meeting_count; i++) {
        const sn_bake_meeting *m = &b->meetings[i];
        if (m->site == site &&
            (!best || m->onset[0] + m->onset[1] < best->onset[0] + best->onset[1]))
            best = m;
    }
    *shifted = fabs(best->onset[1] - 0.5) < fabs(best->onset[0] - 0.5);
    return best;
}

static bool meet(const sn_baker *b, int x, int y) {
    for (int i = 0; i < b->meeting_count; i++) {
        const sn_bake_meeting *m = &b->meetings[i];
        if ((m->slider[0] == x && m->slider[1] == y) || (m->slider[0] == y && m->slider[1] == x))
            return true;
    }
    return false;
}

/* Slopes of the other sliders, unless they meet one of the two at another site: which of the sites
 * crosses would be unknown. */
static sinew_status add_others(sn_baker *b, int site, double *slopes, double *row) {
    int shifted;
    const sn_bake_meeting *m = find_probe(b, site, &shifted);
    int moving = m->slider[shifted], full = m->slider[!shifted];
    double onset = m->onset[shifted], slope = slopes[moving], moved;
    sinew_rig_rest_weights(b->rig, row);
    row[full] = sn_bake_weight(&b->rig->sliders[full], 1);
    for (int s = 0; s < b->rig->slider_count; s++) {
        bool early = false, late = true;
        if (slopes[s] != 0 || meet(b, s, full) || meet(b, s, moving)) continue;
        row[s] = sn_bake_weight(&b->rig->sliders[s], 1);
        sinew_status status = SINEW_OK;
        if (onset > SHIFT) {
            row[moving] = sn_bake_weight(&b->rig->sliders[moving], onset - SHIFT);
            status = sn_bake_meets(b, row, &early);
        }
        if (status == SINEW_OK && !early && onset + SHIFT < 1) {
            row[moving] = sn_bake_weight(&b->rig->sliders[moving], onset + SHIFT);
            status = sn_bake_meets(b, row, &late);
        }
        row[moving] = b->rig->sliders[moving].rest;
        if (status == SINEW_OK && (early || !late)) {
            status = sn_bake_onset(b, row, moving, early ? 0 : onset, early ? onset : 1, &moved);
            slopes[s] = fmin(slope * (onset - moved), 1);
        }
        row[s] = b->rig->sliders[s].rest;
        if (status != SINEW_OK) return status;
    }
    return SINEW_OK;
}

/* From the sites of the meetings to b->sites, split where needed and named 0, 1, ... */
static sinew_status list_sites(sn_baker *b, int next) {
    for (int i = 0; i < b->meeting_count; i++) {
        int old = b->meetings[i].site;
        if (old < 0) continue;
        for (int site = old; site >= 0;) {
            if (!SN_RESERVE(b->sites, b->site_capacity, b->site_count + 1))
                return sn_no_memory(b->error);
            double *slopes = SN_NEW(double, b->rig->slider_count);
            if (!slopes) return sn_no_memory(b->error);
            int other = next++, left = -1;
            split(b, site, other, slopes);
            for (int k = 0; k < b->meeting_count; k++) {
                if (b->meetings[k].site == site) b->meetings[k].site = -1 - b->site_count;
                if (b->meetings[k].site == other) left = other;
            }
            b->sites[b->site_count++] = (sn_bake_site){.slopes = slopes};
            site = left;
        }
    }
    for (int i = 0; i < b->meeting_count; i++) b->meetings[i].site = -1 - b->meetings[i].site;
    return SINEW_OK;
}

sinew_status sn_bake_find_sites(sn_baker *b, int limit) {
    double *row = SN_NEW(double, b->rig->slider_count);
    bool *marks = SN_NEW(bool, b->rig->neutral->vertex_count);
    sinew_status status = row && marks ? SINEW_OK : sn_no_memory(b->error);
    int found = b->meeting_count;
    prune(b, limit);
    for (int i = 0; status == SINEW_OK && i < 2 * b->meeting_count; i++) {
        sinew_rig_rest_weights(b->rig, row);
        if (i % 2 == 0) status = watch(b, -1, i / 2, row, marks);
        if (status == SINEW_OK) status = find_onset(b, &b->meetings[i / 2], i % 2, row);
    }
    if (status == SINEW_OK) status = list_sites(b, found);
    for (int i = 0; status == SINEW_OK && i < b->site_count; i++) {
        sinew_rig_rest_weights(b->rig, row);
        status = watch(b, i, -1, row, marks);
        if (status == SINEW_OK) status = add_others(b, i, b->sites[i].slopes, row);
        b->sites[i].fitted =
            sn_memdup(b->sites[i].slopes, (size_t)b->rig->slider_count, sizeof *b->sites[i].slopes);
        if (status == SINEW_OK && !b->sites[i].fitted) status = sn_no_memory(b->error);
    }
    b->watched = NULL;
    sn_free(row), sn_free(marks);
    return status;
}
