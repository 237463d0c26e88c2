/* Inside a capture: the take as it is brought to the face, step by step. */
#ifndef SN_CAPTURE_TAKE_H
#define SN_CAPTURE_TAKE_H

#include <math.h>

#include "base/vec3.h"
#include "capture/map_check.h"
#include "sinew/capture.h"

struct sinew_capture {
    const sinew_rig *rig;
    sinew_markers *take; /* own copy; in the end without head motion */
    sinew_marker_map *map;
    int *index;           /* marker of the take for each of the map, or -1 */
    double *points;       /* 3 per marker of the map: on the neutral */
    sinew_rigid *motion;  /* of the head per sample of the take; NULL: none */
    sn_vec3 center;       /* of the neutral */
    double diagonal;      /* of the neutral */
    double size;          /* of the head; set when its motion is found */
    float *trust;         /* per sample and marker of the take: 1 seen, less filled, 0 missing */
    sn_map_doubts doubts; /* by markers of the map */
    sinew_capture_info info;
};

static inline double *sn_take_at(const sinew_markers *take, int sample, int marker) {
    return take->positions + 3 * ((size_t)sample * (size_t)take->marker_count + (size_t)marker);
}

/* Whether a marker of the map is seen in a sample. */
static inline bool sn_capture_seen(const sinew_capture *c, int sample, int marker) {
    return c->index[marker] >= 0 && isfinite(sn_take_at(c->take, sample, c->index[marker])[0]);
}

/* Room for some names of markers in a message, and one more of them. */
enum { SN_CAPTURE_NAMES_SIZE = 160 };
void sn_capture_add_name(char list[SN_CAPTURE_NAMES_SIZE], const char *name);

/* A map of markers named "v12", "vertex12", "12" or after a region, when most are and four at
 * least; *map stays NULL otherwise. */
sinew_status sn_map_by_name(const sinew_rig *rig, const sinew_markers *take, sinew_marker_map **map,
                            sinew_error *error);

/* Warns when the take lies off its points on the face in the neutral sample, and refuses it when it
 * is lost, with the unit that would explain it. rig_unit: meters, or 0. */
sinew_status sn_capture_check_points(const sinew_capture *c, double rig_unit,
                                     const sinew_monitor *monitor, sinew_error *error);

/* Moves the take's markers to where they would sit on the rig's face. Those that the neutral sample
 * does not show are named in a warning. */
sinew_status sn_capture_retarget(sinew_capture *c, const sinew_monitor *monitor,
                                 sinew_error *error);

#endif
