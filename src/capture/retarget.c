/* The actor's neutral sample n shows the markers at rest: a smooth warp W leads from there to their
 * places on the rig, and
 *   marker := place + J(m_n) (m - m_n),   J the Jacobian of W there,
 * so that motions grow and shrink with the proportions.
 *
 * A marker that is not seen in n but first in sample f has its m_n estimated: the others, seen in
 * both, tell by a warp from f back to n where it was, m_n = V(m_f). */
#include "capture/take.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/monitor.h"
#include "base/status.h"
#include "sinew/warp.h"

/* Of the warps: places on the rig are hand-made or nearest points. */
#define RETARGET_SMOOTHING 1e-2

typedef struct retargeting {
    sinew_capture *capture;
    double *start;     /* m_n of each marker of the map, NaN: never seen */
    double *from, *to; /* pairs of a warp */
} retargeting;

static double *position(const retargeting *r, int sample, int marker) {
    return sn_take_at(r->capture->take, sample, r->capture->index[marker]);
}

static bool seen_in(const retargeting *r, int sample, int marker) {
    return sn_capture_seen(r->capture, sample, marker);
}

/* From where the markers stand in a sample, if also in the neutral one, to `images` (3 per marker
 * of the map). */
static sinew_status warp_from(const retargeting *r, int sample, const double *images,
                              sinew_warp **warp, sinew_error *error) {
    int pairs = 0;
    for (int i = 0; i < r->capture->map->count; i++) {
        if (!seen_in(r, sample, i) || !seen_in(r, r->capture->info.neutral_sample, i)) continue;
        sn_put(r->from, pairs, sn_at(position(r, sample, i), 0));
        sn_put(r->to, pairs++, sn_at(images, i));
    }
    return sinew_warp_create(pairs, r->from, r->to, RETARGET_SMOOTHING, warp, error);
}

/* m_n of the markers that the neutral sample does not show; their names into the list. */
static sinew_status estimate_starts(const retargeting *r, char list[SN_CAPTURE_NAMES_SIZE],
                                    sinew_error *error) {
    const sinew_capture *c = r->capture;
    for (int i = 0; i < c->map->count; i++) {
        if (c->index[i] < 0 || seen_in(r, c->info.neutral_sample, i)) continue;
        int first = 0;
        while (first < r->capture->take->time_count && !seen_in(r, first, i)) first++;
        if (first == r->capture->take->time_count) continue;
        sinew_warp *back;
        SN_TRY(warp_from(r, first, r->start, &back, error));
        sinew_warp_point(back, position(r, first, i), r->start + 3 * (size_t)i);
        sinew_warp_destroy(back);
        sn_capture_add_name(list, c->map->names[i]);
    }
    return SINEW_OK;
}

static void carry(const retargeting *r, const sinew_warp *warp, int marker) {
    const double *start = r->start + 3 * (size_t)marker;
    const double *place = r->capture->points + 3 * (size_t)marker;
    double j[9];
    if (isnan(start[0])) return;
    sinew_warp_jacobian(warp, start, j);
    for (int f = 0; f < r->capture->take->time_count; f++) {
        double *p = position(r, f, marker);
        double d[3] = {p[0] - start[0], p[1] - start[1], p[2] - start[2]};
        for (int a = 0; a < 3; a++)
            p[a] = place[a] + j[3 * a] * d[0] + j[3 * a + 1] * d[1] + j[3 * a + 2] * d[2];
    }
}

static sinew_status retarget(const retargeting *r, const sinew_monitor *monitor,
                             sinew_error *error) {
    const sinew_capture *c = r->capture;
    int count = c->map->count, neutral = c->info.neutral_sample;
    for (int i = 0; i < count; i++)
        sn_put(r->start, i,
               seen_in(r, neutral, i) ? sn_at(position(r, neutral, i), 0) : sn_v3(NAN, NAN, NAN));
    char late[SN_CAPTURE_NAMES_SIZE] = "";
    SN_TRY(estimate_starts(r, late, error));
    if (*late)
        sn_log(monitor, SINEW_LOG_LEVEL_WARNING,
               "retargeting: the neutral sample %d does not show %s; their rest positions are "
               "estimated from the other markers",
               neutral, late);
    sinew_warp *warp;
    SN_TRY(warp_from(r, neutral, c->points, &warp, error));
    for (int i = 0; i < count; i++)
        if (c->index[i] >= 0) carry(r, warp, i);
    sinew_warp_destroy(warp);
    return SINEW_OK;
}

sinew_status sn_capture_retarget(sinew_capture *c, const sinew_monitor *monitor,
                                 sinew_error *error) {
    size_t size = 3 * (size_t)c->map->count;
    retargeting r = {c, SN_NEW(double, size), SN_NEW(double, size), SN_NEW(double, size)};
    sinew_status status =
        r.start && r.from && r.to ? retarget(&r, monitor, error) : sn_no_memory(error);
    sn_free(r.start), sn_free(r.from), sn_free(r.to);
    return status;
}
