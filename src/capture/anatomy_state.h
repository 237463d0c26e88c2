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

/* The margins around an opening: of an eye from the inner corner to the outer, of the mouth from
 * the right corner to the left, at equal steps across it; all end in the corners. */
enum { SN_STATIONS = 17 };
typedef struct sn_opening {
    bool known;
    sn_vec3 upper[SN_STATIONS], lower[SN_STATIONS];
} sn_opening;
typedef enum sn_opening_kind {
    SN_OPENING_EYE_LEFT,
    SN_OPENING_EYE_RIGHT,
    SN_OPENING_MOUTH,
    SN_OPENINGS
} sn_opening_kind;

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
    sn_opening opening[SN_OPENINGS];
};

/* Coordinates in the face's own axes, in units of the eye distance. */
static inline sn_vec3 sn_anatomy_local(const sinew_anatomy *a, sn_vec3 p) {
    sn_vec3 d = sn_sub(p, a->center);
    double s = 1 / a->eye_distance;
    return sn_v3(s * sn_dot(d, a->left), s * sn_dot(d, a->up), s * sn_dot(d, a->front));
}

static inline sn_vec3 sn_anatomy_global(const sinew_anatomy *a, sn_vec3 local) {
    sn_vec3 p = sn_add_scaled(a->center, a->eye_distance * local.x, a->left);
    p = sn_add_scaled(p, a->eye_distance * local.y, a->up);
    return sn_add_scaled(p, a->eye_distance * local.z, a->front);
}

/* A margin at a fraction of the way across the opening. */
sn_vec3 sn_opening_at(const sn_vec3 margin[SN_STATIONS], double along);
/* How far across the point of a margin is that is nearest to a point. */
double sn_opening_along(const sn_vec3 margin[SN_STATIONS], sn_vec3 point);

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
/* Margins of the eyes and the mouth, from the corners and the eyes' centers. */
sinew_status sn_anatomy_find_openings(const sinew_rig *rig, sinew_anatomy *anatomy,
                                      sinew_error *error);
/* Kinds of the inner pieces, and the regions' bits. */
sinew_status sn_anatomy_find_regions(const sinew_rig *rig, sinew_anatomy *anatomy,
                                     sinew_error *error);

#endif
