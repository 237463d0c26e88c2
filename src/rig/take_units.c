/* Units and up axes of takes. */
#include <string.h>

#include "base/status.h"
#include "base/unit.h"
#include "sinew/curves.h"

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
            return sn_fail(error, SINEW_BAD_INPUT,
                           "the marker file does not specify its unit of length");
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
        if (markers->residuals) markers->residuals[i] *= (float)scale;
    }
    if (up) markers->up = up;
    return SINEW_OK;
}
