/* Anatomy of a head rig: connected pieces, outer skin, eyes, mouth interior, and landmarks such as
 * lids, mouth corners and chin.
 *
 * Everything is derived from the neutral, its part names and the targets that move it (blink
 * targets locate the lids, jawOpen the chin), so that any rig with ARKit-like sliders has landmarks
 * and regions. A rig without such sliders still has pieces and an outer skin. */
#ifndef SINEW_ANATOMY_H
#define SINEW_ANATOMY_H

#include <stdint.h>

#include "sinew/monitor.h"
#include "sinew/rig.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The first SINEW_LANDMARK_PAIRS exist on both sides of the face. */
typedef enum sinew_landmark {
    SINEW_LANDMARK_LID_UPPER,
    SINEW_LANDMARK_LID_LOWER,
    SINEW_LANDMARK_EYE_INNER,
    SINEW_LANDMARK_EYE_OUTER,
    SINEW_LANDMARK_BROW_INNER,
    SINEW_LANDMARK_BROW_MIDDLE,
    SINEW_LANDMARK_BROW_OUTER,
    SINEW_LANDMARK_NOSE_WING,
    SINEW_LANDMARK_MOUTH_CORNER,
    SINEW_LANDMARK_LIP_UPPER_SIDE,
    SINEW_LANDMARK_LIP_LOWER_SIDE,
    SINEW_LANDMARK_CHEEK,
    SINEW_LANDMARK_TEMPLE,
    SINEW_LANDMARK_FOREHEAD_SIDE,
    SINEW_LANDMARK_PAIRS,
    SINEW_LANDMARK_NOSE_BRIDGE = SINEW_LANDMARK_PAIRS,
    SINEW_LANDMARK_NOSE_TIP,
    SINEW_LANDMARK_NOSE_BASE,
    SINEW_LANDMARK_LIP_UPPER,
    SINEW_LANDMARK_LIP_LOWER,
    SINEW_LANDMARK_CHIN,
    SINEW_LANDMARK_BROW_CENTER,
    SINEW_LANDMARK_FOREHEAD,
    SINEW_LANDMARK_COUNT
} sinew_landmark;

/* The character's left and right, not the viewer's. */
typedef enum sinew_side { SINEW_SIDE_LEFT, SINEW_SIDE_RIGHT, SINEW_SIDE_NONE } sinew_side;

typedef enum sinew_piece_kind {
    SINEW_PIECE_KIND_SKIN,  /* carries the outer skin that targets move */
    SINEW_PIECE_KIND_EYE,   /* an eyeball, or what lies on or around it below the lids */
    SINEW_PIECE_KIND_TEETH, /* teeth and gums */
    SINEW_PIECE_KIND_TONGUE,
    SINEW_PIECE_KIND_MOUTH,  /* any other piece inside the mouth */
    SINEW_PIECE_KIND_OUTSIDE /* lies on the skin or next to it: brows, lashes, hair, clothes */
} sinew_piece_kind;

/* Fraction of the directions above a vertex from which it must be visible to be outer skin. */
#define SINEW_ANATOMY_OPEN 0.12

/* Constant once created: may be shared between threads. */
typedef struct sinew_anatomy sinew_anatomy;

/* The rig may be destroyed afterwards. */
SINEW_API sinew_status sinew_anatomy_create(const sinew_rig *rig, const sinew_monitor *monitor,
                                            sinew_anatomy **anatomy, sinew_error *error);
SINEW_API void sinew_anatomy_destroy(sinew_anatomy *anatomy);

/* Connected pieces of the neutral, in the order of their first vertex; vertices at exactly the same
 * position count as one, so seams do not split a piece. */
SINEW_API int sinew_anatomy_piece_count(const sinew_anatomy *anatomy);
SINEW_API sinew_piece_kind sinew_anatomy_piece_kind(const sinew_anatomy *anatomy, int piece);
/* Per vertex: its piece. */
SINEW_API const int *sinew_anatomy_pieces(const sinew_anatomy *anatomy);
/* Per vertex: whether it belongs to the outer skin. The mouth bag and the sockets behind the eyes
 * do not, though they may be connected to it. */
SINEW_API const bool *sinew_anatomy_skin(const sinew_anatomy *anatomy);
/* Per vertex: the fraction of the directions above it that lead outside, 0 to 1. */
SINEW_API const double *sinew_anatomy_openness(const sinew_anatomy *anatomy);

/* Returns false when the landmark cannot be derived from the rig's targets. `side` is
 * SINEW_SIDE_NONE for single landmarks. point and vertex (the nearest of the outer skin) may be
 * NULL. */
SINEW_API bool sinew_anatomy_landmark(const sinew_anatomy *anatomy, sinew_landmark landmark,
                                      sinew_side side, double point[3], int *vertex);
/* "mouth corner" and so on. */
SINEW_API const char *sinew_landmark_name(sinew_landmark landmark);
/* Unit vectors to the character's left, up and to the front; false when they cannot be derived from
 * the targets. */
SINEW_API bool sinew_anatomy_axes(const sinew_anatomy *anatomy, double left[3], double up[3],
                                  double front[3]);
/* The distance between the eyes' centers; 0 when they are not known. */
SINEW_API double sinew_anatomy_eye_distance(const sinew_anatomy *anatomy);

/* Derived regions, by index; NULL beyond the last. "lips", "lids", "brows", "cheeks", "nose",
 * "chin", "forehead", "skin", "eyes", "teeth", "tongue", "mouthBag"; lids, brows, cheeks and eyes
 * also with the suffix "Left" or "Right". */
SINEW_API const char *sinew_anatomy_region_name(int index);
/* The vertices of a derived region, increasing; release with sinew_free. *count is 0 and *vertices
 * NULL when the region cannot be derived. Returns SINEW_BAD_INPUT for an unknown name. */
SINEW_API sinew_status sinew_anatomy_region(const sinew_anatomy *anatomy, const char *name,
                                            int **vertices, int *count, sinew_error *error);

#ifdef __cplusplus
}
#endif
#endif
