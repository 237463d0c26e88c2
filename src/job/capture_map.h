/* Where the markers of a take sit on the face: the map, from its file or found, and whether the
 * take lies where the map says. */
#ifndef SN_JOB_CAPTURE_MAP_H
#define SN_JOB_CAPTURE_MAP_H

#include "job/model.h"
#include "sinew/marker_map.h"

/* Without a map, markers farther than this share of the diagonal from the surface, after alignment,
 * are not on it. */
#define SN_CAPTURE_REACH 0.05
/* Median distance of the markers from their places in the take's neutral sample, as a share of the
 * diagonal: from here on it is said, */
#define SN_CAPTURE_FAR 0.1
/* and from here on the take is refused. */
#define SN_CAPTURE_LOST 1.0

/* The first sample in which most markers are seen. */
int sn_take_neutral(const sinew_markers *take);

/* The map of the scene's file; or by names, or by nearest points, which is logged. *moved: the
 * nearest points are those after this rigid motion of the take. */
sinew_status sn_capture_map(const sn_model_setup *setup, const sinew_markers *take,
                            sinew_marker_map **map, sinew_rigid *motion, bool *moved,
                            sinew_error *error);

/* Warns of a take that lies off the places on the face, and refuses it when it is lost, with the
 * unit that would explain it. index[map->count]: the marker of the take of each, or -1. */
sinew_status sn_capture_check_places(const sn_model_setup *setup, const sinew_markers *take,
                                     const sinew_marker_map *map, const int *index,
                                     sinew_error *error);

#endif
