/* What the camera looks at when a take is shown on a rig: the face, unobstructed. */
#ifndef CLI_FACE_VIEW_H
#define CLI_FACE_VIEW_H

#include "sinew/capture.h"
#include "sinew/frames.h"
#include "verb.h"

typedef struct cli_face_view {
    sinew_marker_map *points; /* markers, or landmarks; NULL: no face was found */
    bool z_up;
    double facing; /* azimuth of the face's front, degrees: a multiple of 90 */
    /* Selections of what hides the face from the views: pieces outside the skin that no target
     * moves, such as hair, or whole parts where all pieces of the part are like that. */
    char **covers;
    int cover_count;
} cli_face_view;

/* take NULL: the points are the landmarks of the rig. azimuths[count]: the views, 0 is the front of
 * the face; elevation as in pictures. */
sinew_status cli_face_view_create(cli_call *call, const sinew_rig *rig, const sinew_markers *take,
                                  int count, const double *azimuths, cli_face_view *view);
/* The way a face looks: its azimuth in degrees, a multiple of 90, and its up axis. Unchanged when
 * no face was found. */
void cli_face_front(const sinew_anatomy *anatomy, bool *z_up, double *facing);
void cli_face_view_free(cli_face_view *view);

/* x, y, z and radius of a sphere with the points in every frame, and a margin around them. */
sinew_status cli_face_view_sphere(cli_call *call, const cli_face_view *view, const sinew_mesh *mesh,
                                  const sinew_frames *frames, double sphere[4]);

#endif
