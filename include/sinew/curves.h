/* Values over time: slider curves and marker trajectories. */
#ifndef SINEW_CURVES_H
#define SINEW_CURVES_H

#include "sinew/memory.h"
#include "sinew/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One value per time and channel, linear in between, constant outside. */
typedef struct sinew_curves {
    int channel_count;
    char **names;
    int time_count;
    double *times;  /* seconds, increasing */
    double *values; /* time_count rows of channel_count */
} sinew_curves;

SINEW_API sinew_status sinew_curves_create(int channel_count, int time_count, sinew_curves **curves,
                                           sinew_error *error);
SINEW_API void sinew_curves_destroy(sinew_curves *curves);
/* values[channel_count] at a time. */
SINEW_API void sinew_curves_sample(const sinew_curves *curves, double time, double *values);

/* Marker trajectories; a missing marker has NaN coordinates. */
typedef struct sinew_markers {
    int marker_count;
    char **names;
    int time_count;
    double *times;     /* seconds, increasing */
    double *positions; /* time_count rows of 3 * marker_count */
    char unit[8];      /* "m", "cm", "mm", or "" when the file does not say */
} sinew_markers;

SINEW_API sinew_status sinew_markers_create(int marker_count, int time_count,
                                            sinew_markers **markers, sinew_error *error);
SINEW_API void sinew_markers_destroy(sinew_markers *markers);

#ifdef __cplusplus
}
#endif
#endif
