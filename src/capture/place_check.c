/* Whether the take lies where the map says. */
#include <math.h>
#include <stdio.h>

#include "base/memory.h"
#include "base/monitor.h"
#include "base/number.h"
#include "base/sort.h"
#include "base/status.h"
#include "base/unit.h"
#include "capture/take.h"

static double spread(int count, const double *points) {
    sn_vec3 middle = {0, 0, 0};
    double sum = 0;
    for (int i = 0; i < count; i++) middle = sn_add_scaled(middle, 1.0 / count, sn_at(points, i));
    for (int i = 0; i < count; i++) {
        double d = sn_distance(middle, sn_at(points, i));
        sum += d * d;
    }
    return sqrt(sum);
}

/* What most likely explains a take whose markers spread `ratio` times as far as their points. A rig
 * in units of u meters whose markers look r times too large has markers in units of u / r, or, when
 * their file states its unit, is itself in units of u r. */
static void advise(const sinew_capture *c, double rig_unit, double ratio, char *text, size_t size) {
    bool known = sn_unit_metres(c->take->unit) > 0;
    const char *unit =
        rig_unit > 0 ? sn_unit_near(known ? rig_unit * ratio : rig_unit / ratio) : NULL;
    if (ratio > 1 / 1.5 && ratio < 1.5)
        snprintf(text, size,
                 "they are of its size but elsewhere: name stable markers, or retarget them");
    else if (unit)
        sn_print(text, size,
                 "they spread %.4g times as far, as if %s were in %s: set the unit of %s", ratio,
                 known ? "the rig" : "they", unit, known ? "the rig" : "the markers");
    else
        sn_print(text, size,
                 "they spread %.4g times as far: set the unit of the markers, or retarget them",
                 ratio);
}

sinew_status sn_capture_check_points(const sinew_capture *c, double rig_unit,
                                     const sinew_monitor *monitor, sinew_error *error) {
    int count = c->map->count, seen = 0, sample = c->info.neutral_sample;
    double *points = SN_NEW(double, 3 * (size_t)count), *there = SN_NEW(double, 3 * (size_t)count);
    double *distances = SN_NEW(double, count);
    sinew_status status = points && there && distances ? SINEW_OK : sn_no_memory(error);
    for (int i = 0; status == SINEW_OK && i < count; i++) {
        if (!sn_capture_seen(c, sample, i)) continue;
        sn_put(there, seen, sn_at(sn_take_at(c->take, sample, c->index[i]), 0));
        sn_put(points, seen, sn_at(c->points, i));
        distances[seen] = sn_distance(sn_at(there, seen), sn_at(points, seen));
        seen++;
    }
    if (status == SINEW_OK && seen > 0 && c->diagonal > 0) {
        sn_sort_doubles((size_t)seen, distances);
        double off = distances[seen / 2] / c->diagonal, size = spread(seen, points);
        char advice[200];
        advise(c, rig_unit, size > 0 ? spread(seen, there) / size : 1, advice, sizeof advice);
        if (off > SINEW_CAPTURE_LOST)
            status = sn_fail(error, SINEW_BAD_INPUT,
                             "the markers are %.3g of the face's diagonals off their points "
                             "(median, sample %d); %s",
                             off, sample, advice);
        else if (off > SINEW_CAPTURE_FAR)
            sn_log(monitor, SINEW_LOG_LEVEL_WARNING,
                   "the markers are %.3g%% of the face's diagonal off their points (median, sample "
                   "%d); %s",
                   100 * off, sample, advice);
    }
    sn_free(points), sn_free(there), sn_free(distances);
    return status;
}
