/* What the marker formats share. */
#ifndef SN_IO_MARKERS_H
#define SN_IO_MARKERS_H

#include "io/format.h"
#include "io/names.h"

/* Markers are tied to the map by name, and case does not count there. */
#define SN_MARKER_TWICE "two markers are named '%.*s' (case does not count)"

/* A marker with one missing coordinate is missing. */
void sn_markers_hide_partial(double *row, int marker_count);
/* Copies of everything; positions hold time_count rows of 3 per name. */
sinew_status sn_markers_build(const sn_names *names, int time_count, const double *times,
                              const double *positions, sinew_markers **markers, sinew_error *error);

#endif
