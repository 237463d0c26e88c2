#include "io/markers.h"

#include <math.h>
#include <string.h>

#include "base/unit.h"

void sn_markers_hide_partial(double *row, int marker_count) {
    for (int i = 0; i < marker_count; i++) {
        double *p = row + 3 * (size_t)i;
        if (isnan(p[0]) || isnan(p[1]) || isnan(p[2])) p[0] = p[1] = p[2] = NAN;
    }
}

sinew_status sn_markers_build(const sn_names *names, int time_count, const double *times,
                              const double *positions, sinew_markers **markers,
                              sinew_error *error) {
    SN_TRY(sinew_markers_create(names->count, time_count, markers, error));
    sinew_markers *m = *markers;
    memcpy(m->times, times, (size_t)time_count * sizeof(double));
    memcpy(m->positions, positions, (size_t)time_count * 3 * (size_t)names->count * sizeof(double));
    for (int i = 0; i < names->count; i++) {
        sinew_status status = sinew_markers_set_name(m, i, names->names[i], error);
        if (status == SINEW_OK) continue;
        sinew_markers_destroy(m);
        *markers = NULL;
        return status;
    }
    return SINEW_OK;
}

/* --- units and axes --------------------------------------------------------------------------- */

/* The quarter turn that takes the old up axis to the new one; every coordinate is kept, two change
 * place and one its sign, so that the frame stays right-handed. */
static void turn(double *p, char from, char to) {
    int a = from - 'x', b = to - 'x';
    if (a == b) return;
    double up = p[a], other = p[b];
    p[b] = up;
    p[a] = -other;
}

sinew_status sinew_markers_convert(sinew_markers *markers, const char *unit, char up,
                                   sinew_error *error) {
    SN_REQUIRE(markers, error);
    double scale = 1;
    if (unit && *unit && strcmp(unit, markers->unit) != 0) {
        double from = sn_unit_metres(markers->unit), to = sn_unit_metres(unit);
        if (to == 0) return sn_fail(error, SINEW_BAD_INPUT, "'%s' is not a unit of length", unit);
        if (from == 0)
            return sn_fail(error, SINEW_BAD_INPUT, "the markers do not say their unit of length");
        scale = from / to;
        strcpy(markers->unit, unit);
    }
    if (up && (up < 'x' || up > 'z'))
        return sn_fail(error, SINEW_BAD_INPUT, "'%c' is not an axis", up);
    char from_up = markers->up && up ? markers->up : 'y', to_up = markers->up && up ? up : 'y';
    size_t count = (size_t)markers->time_count * (size_t)markers->marker_count;
    for (size_t i = 0; i < count; i++) {
        double *p = markers->positions + 3 * i;
        for (int k = 0; k < 3; k++) p[k] *= scale;
        turn(p, from_up, to_up);
    }
    if (up) markers->up = up;
    return SINEW_OK;
}
