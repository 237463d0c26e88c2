/* Where the markers of a take sit on the face: the map, from its file or found, and whether the
 * take lies where the map says. */
#ifndef SN_JOB_CAPTURE_MAP_H
#define SN_JOB_CAPTURE_MAP_H

#include "job/capture.h"

/* Without a map, markers farther than this share of the diagonal from the surface, after alignment,
 * are not on it. */
#define SN_CAPTURE_REACH 0.05
/* Median distance of the markers from their places in the take's neutral sample, as a share of the
 * diagonal: from here on it is said, */
#define SN_CAPTURE_FAR 0.1
/* and from here on the take is refused. */
#define SN_CAPTURE_LOST 1.0

/* Room for some names of markers in a message, and one more of them. */
enum { SN_CAPTURE_NAMES_SIZE = 160 };
void sn_capture_add_name(char list[SN_CAPTURE_NAMES_SIZE], const char *name);

/* The scene's neutral sample of the take, or the first in which most markers are seen. */
sinew_status sn_capture_neutral(const sn_model_setup *setup, const sinew_markers *take, int *sample,
                                sinew_error *error);

/* capture->map: the map of the scene's file; or by names, or by nearest points, which is logged.
 * *moved: the nearest points are those after this rigid motion of the take. */
sinew_status sn_capture_map(const sn_model_setup *setup, const sinew_markers *take,
                            sn_capture *capture, sinew_rigid *motion, bool *moved,
                            sinew_error *error);

/* Warns of a take that lies off the places on the face in its neutral sample, and refuses it when
 * it is lost, with the unit that would explain it. */
sinew_status sn_capture_check_places(const sn_model_setup *setup, const sinew_markers *take,
                                     const sn_capture *capture, sinew_error *error);

#endif
