/* Inside an anatomy: what its files share. */
#ifndef SN_CAPTURE_ANATOMY_STATE_H
#define SN_CAPTURE_ANATOMY_STATE_H

#include "base/vec3.h"
#include "sinew/anatomy.h"

typedef struct sn_landmark_point {
    bool known;
    int vertex; /* the nearest of the outer skin */
    sn_vec3 point;
} sn_landmark_point;

/* Region bits per vertex. */
typedef enum sn_region_bit {
    SN_REGION_LIPS = 1,
    SN_REGION_LIDS = 2,
    SN_REGION_BROWS = 4,
    SN_REGION_CHEEKS = 8,
    SN_REGION_NOSE = 16,
    SN_REGION_CHIN = 32,
    SN_REGION_FOREHEAD = 64
} sn_region_bit;

struct sinew_anatomy {
    int vertex_count;
    double *positions; /* 3 per vertex */
    int piece_count;
    int *piece; /* per vertex */
    sinew_piece_kind *kind;
    double *openness;
    bool *skin;
    unsigned char *region; /* per vertex: bits of sn_region_bit */

    bool oriented; /* axes and eyes are known */
    sn_vec3 left, up, front, center;
    sn_vec3 eye[2]; /* centers, by side */
    double eye_distance;
    sn_landmark_point points[SINEW_LANDMARK_COUNT][2]; /* single ones at the first side */
};

/* Coordinates in the face's own axes, in units of the eye distance. */
static inline sn_vec3 sn_anatomy_local(const sinew_anatomy *a, sn_vec3 p) {
    sn_vec3 d = sn_sub(p, a->center);
    double s = 1 / a->eye_distance;
    return sn_v3(s * sn_dot(d, a->left), s * sn_dot(d, a->up), s * sn_dot(d, a->front));
}

/* size[vertex_count] := how far the plain targets of a slider move each vertex; false when there is
 * no such slider or it moves nothing. A slider that the rig has for both sides together counts for
 * either. */
bool sn_motion_of(const sinew_rig *rig, const char *slider, double *size);

/* openness and skin, and kind of the pieces by what is visible. */
sinew_status sn_anatomy_find_skin(const sinew_rig *rig, sinew_anatomy *anatomy,
                                  const sinew_monitor *monitor, sinew_error *error);
/* Axes and landmarks, as far as the targets tell. */
sinew_status sn_anatomy_find_landmarks(const sinew_rig *rig, sinew_anatomy *anatomy,
                                       sinew_error *error);
/* Kinds of the inner pieces, and the regions' bits. */
sinew_status sn_anatomy_find_regions(const sinew_rig *rig, sinew_anatomy *anatomy,
                                     sinew_error *error);

#endif
