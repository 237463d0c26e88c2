#include "io/markers.h"

#include <math.h>
#include <string.h>

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
