/* The face: shape, parts and expressions, shared between its files.
 *
 *   face_skin, face_parts   the cage, with the values that expressions need
 *   face                    the refined neutral: round eyeballs, touching lips; the rig
 *   face_moves              where each expression takes a vertex
 *   face_targets            the table of expressions
 *
 * Inside these files lengths are centimeters and everything is defined for one face; other faces
 * are smooth warps of it and of its expressions. */
#ifndef SN_SAMPLES_FACE_H
#define SN_SAMPLES_FACE_H

#include "samples/cage.h"
#include "sinew/rig.h"

/* Values carried by every vertex beside its coordinates. */
enum {
    SN_FACE_JAW = 3,  /* 0 skull .. 1 moves with the jaw */
    SN_FACE_LIP,      /* 0 .. 1 on the red of the lips; teeth, tongue: place along them, 0 .. 1 */
    SN_FACE_SIDE,     /* of the mouth: 1 upper, -1 lower, 0 at the corner and away from it */
    SN_FACE_LID_RING, /* number of the ring around the eye, 0 outside the orbit */
    SN_FACE_LID_SIDE, /* 1 upper, -1 lower, 0 at the corners */
    SN_FACE_INSIDE,   /* 0 on the outer skin .. 1 in mouth and eye sockets */
    SN_FACE_CHANNELS
};

/* Rings around the eye that others refer to. */
enum { SN_LID_FOLD = 2, SN_LID_CREST = 5, SN_LID_BACK = 7, SN_LID_LAST = 8 };

typedef enum sn_face_part {
    SN_PART_SKIN,
    SN_PART_EYE_LEFT,
    SN_PART_EYE_RIGHT,
    SN_PART_TEETH_UPPER,
    SN_PART_TEETH_LOWER,
    SN_PART_TONGUE,
    SN_PART_BROW_LEFT,
    SN_PART_BROW_RIGHT,
    SN_PART_COUNT
} sn_face_part;

/* The left eyeball, and how far its cornea protrudes. */
static const sn_vec3 SN_EYE = {3.4, 0.2, 6.15};
#define SN_EYE_RADIUS 1.9
#define SN_EYE_CORNEA 0.07

/* The left half of the skin; the rim of the neck is its only boundary. */
void sn_face_skin(sn_cage *cage);
/* The left eyeball, and the left halves of teeth and tongue. */
void sn_face_eyeball(sn_cage *cage);
void sn_face_mouth_parts(sn_cage *cage);
/* The left eyebrow, with z counted from the skin below it. */
void sn_face_brow(sn_cage *cage);

/* Latitude of a lid's rim over longitude, as seen from the center of the left eye; radians. */
enum { SN_RIM_LIMIT = 512 };
typedef struct sn_rim {
    int count;
    double longitude[SN_RIM_LIMIT], latitude[SN_RIM_LIMIT];
} sn_rim;

/* A one-to-one map of space that is its own image under x -> -x. */
typedef sn_vec3 sn_face_warp(sn_vec3 p);
sn_face_warp sn_face_warp_second;

/* The refined neutral. */
typedef struct sn_face {
    sn_face_warp *warp; /* NULL: none */
    sn_fine fine;
    sn_face_part *part; /* per vertex */
    sn_rim upper_rim, lower_rim;
} sn_face;

/* The height at which the lips meet, and half their distance when closed. */
double sn_face_mouth_line(double x);
#define SN_LIP_GAP 0.012

/* One vertex, as an expression sees it. */
typedef struct sn_site {
    sn_vec3 p;
    const double *values;
    sn_face_part part;
} sn_site;

/* Where an expression of full strength takes a vertex. One-sided ones are those of the left. */
typedef sn_vec3 sn_face_move(const sn_face *face, const sn_site *site);

typedef struct sn_expression {
    const char *name; /* without Left or Right where there are two */
    const char *group;
    enum { SN_BOTH_SIDES, SN_ONE_SIDE, SN_MIRRORED_PAIR } kind;
    sn_face_move *move;
} sn_expression;

/* All expressions; *count receives their number. */
const sn_expression *sn_face_expressions(int *count);

/* Adds the named regions of the face to its rig. */
sinew_status sn_face_regions(const sn_face *face, sinew_rig *rig, sinew_error *error);
sn_site sn_face_site(const sn_face *face, int vertex);

sn_face_move sn_face_half_blink, sn_face_closed_open_jaw, sn_face_smile_with_pucker;

#endif
