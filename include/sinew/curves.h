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

/* Names are empty strings, times and values zero, to be filled in. */
SINEW_API sinew_status sinew_curves_create(int channel_count, int time_count, sinew_curves **curves,
                                           sinew_error *error);
SINEW_API void sinew_curves_destroy(sinew_curves *curves);
/* Replaces a channel's name by a copy. */
SINEW_API sinew_status sinew_curves_set_name(sinew_curves *curves, int channel, const char *name,
                                             sinew_error *error);
/* Returns SINEW_BAD_INPUT and names the time and channel unless times increase, all numbers are
 * finite, and channel names are unique. */
SINEW_API sinew_status sinew_curves_check(const sinew_curves *curves, sinew_error *error);
/* values[channel_count] at a time. */
SINEW_API void sinew_curves_sample(const sinew_curves *curves, double time, double *values);

/* Marker trajectories; a missing marker has NaN coordinates. */
typedef struct sinew_markers {
    int marker_count;
    char **names;
    int time_count;
    double *times;     /* seconds, increasing */
    double *positions; /* time_count rows of 3 * marker_count */
    char unit[8];      /* "m", "cm", "mm", "in", "ft", or "" when the file does not specify it */
    char up; /* 'x', 'y' or 'z', the axis that points up; 0 when the file does not specify it */
    float *residuals; /* per time and marker: error of the reconstruction, unit of length, 0 where
                         it was made up; NULL when the file has none. C3D files have them */
} sinew_markers;

SINEW_API sinew_status sinew_markers_create(int marker_count, int time_count,
                                            sinew_markers **markers, sinew_error *error);
SINEW_API void sinew_markers_destroy(sinew_markers *markers);
/* Scales to `unit` ("m", "dm", "cm", "mm", "in", "ft"; NULL or "": as it is) and rotates the up
 * axis to `up` (0: unchanged) by 90 degrees. Returns SINEW_BAD_INPUT when a unit is requested
 * but the unit of the take is unknown. If the file does not specify an up axis, it is assumed to be
 * the requested one. */
SINEW_API sinew_status sinew_markers_convert(sinew_markers *markers, const char *unit, char up,
                                             sinew_error *error);
SINEW_API sinew_status sinew_markers_set_name(sinew_markers *markers, int marker, const char *name,
                                              sinew_error *error);
/* positions[3 * marker_count] at a time, linear in between, constant outside; a marker missing at
 * either neighboring time is missing. */
SINEW_API void sinew_markers_sample(const sinew_markers *markers, double time, double *positions);

/* ---- accessors, for bindings that do not mirror the structure ---- */

/* Names and arrays belong to the curves. */
SINEW_API int sinew_curves_channel_count(const sinew_curves *curves);
/* NULL outside 0 <= channel < channel_count. */
SINEW_API const char *sinew_curves_channel_name(const sinew_curves *curves, int channel);
SINEW_API int sinew_curves_time_count(const sinew_curves *curves);
/* Seconds, increasing. */
SINEW_API const double *sinew_curves_times(const sinew_curves *curves);
/* time_count rows of channel_count. */
SINEW_API const double *sinew_curves_values(const sinew_curves *curves);

/* ---- accessors, for bindings that do not mirror the structure ---- */

/* Names and arrays belong to the markers. */
/* Number of markers. */
SINEW_API int sinew_markers_count(const sinew_markers *markers);
/* NULL outside 0 <= marker < count. */
SINEW_API const char *sinew_markers_name(const sinew_markers *markers, int marker);
SINEW_API int sinew_markers_time_count(const sinew_markers *markers);
/* Seconds, increasing. */
SINEW_API const double *sinew_markers_times(const sinew_markers *markers);
/* time_count rows of 3 per marker, NaN where missing. */
SINEW_API const double *sinew_markers_positions(const sinew_markers *markers);
/* "m", "cm", "mm", "in", "ft", or "" when unknown. */
SINEW_API const char *sinew_markers_unit(const sinew_markers *markers);
/* 'x', 'y' or 'z'; 0 when unknown. */
SINEW_API char sinew_markers_up(const sinew_markers *markers);
/* Copies time_count times, or time_count rows of channel_count values. */
SINEW_API void sinew_curves_set_times(sinew_curves *curves, const double *times);
SINEW_API void sinew_curves_set_values(sinew_curves *curves, const double *values);
/* Copies time_count times, or time_count rows of 3 coordinates per marker. */
SINEW_API void sinew_markers_set_times(sinew_markers *markers, const double *times);
SINEW_API void sinew_markers_set_positions(sinew_markers *markers, const double *positions);

#ifdef __cplusplus
}
#endif
#endif
