/* What a camera looks at to show a face: where the face is, which way it faces, and what hides it.
 */
#ifndef SINEW_FACE_VIEW_H
#define SINEW_FACE_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "sinew/anatomy.h"
#include "sinew/frames.h"
#include "sinew/marker_map.h"
#include "sinew/monitor.h"
#include "sinew/rig.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sinew_face_view sinew_face_view;

/* points: what belongs to the face, such as the markers of a take; NULL: the landmarks of the rig.
 * anatomy: that of the rig, or NULL to compute it. azimuths[count] and elevation, degrees: where
 * cameras stand, 0 being in front of the face. Everything is copied. */
SINEW_API sinew_status sinew_face_view_create(const sinew_rig *rig, const sinew_anatomy *anatomy,
                                              const sinew_marker_map *points, int count,
                                              const double *azimuths, double elevation,
                                              const sinew_monitor *monitor, sinew_face_view **view,
                                              sinew_error *error);
SINEW_API void sinew_face_view_destroy(sinew_face_view *view);

typedef struct sinew_face_view_info {
    uint32_t size;
    bool found;     /* there is a face: points were given, or landmarks were found */
    bool z_up;      /* otherwise y is up */
    double azimuth; /* of the face's front, degrees: a multiple of 90 */
    int covers;     /* see sinew_face_view_cover */
} sinew_face_view_info;
SINEW_API sinew_status sinew_face_view_get_info(const sinew_face_view *view,
                                                sinew_face_view_info *info);
/* Selections of what hides the face from the cameras: pieces outside the skin that no target moves,
 * such as hair, or whole parts where all pieces of the part are like that. NULL outside 0 <= index
 * < covers; valid as long as the view. */
SINEW_API const char *sinew_face_view_cover(const sinew_face_view *view, int index);
/* x, y, z and radius of a sphere around the points and the head that they are on in every frame,
 * without shoulders and body. SINEW_BAD_INPUT when the frames do not fit the rig, or when no face
 * was found. */
SINEW_API sinew_status sinew_face_view_sphere(const sinew_face_view *view,
                                              const sinew_frames *frames, double sphere[4],
                                              sinew_error *error);

#ifdef __cplusplus
}
#endif
#endif
