/* The face: shape, parts and expressions, shared between its files. Centimetres inside, metres in
 * the rig. */
#ifndef SN_SAMPLES_FACE_H
#define SN_SAMPLES_FACE_H

#include "samples/cage.h"

/* Values carried by every vertex beside its coordinates. */
enum {
    SN_FACE_JAW = 3,   /* 0 skull .. 1 moves with the jaw */
    SN_FACE_LIP,       /* 0 .. 1 on the red of the lips */
    SN_FACE_SIDE,      /* of the mouth: 1 upper, -1 lower, 0 at the corner and away from it */
    SN_FACE_UPPER_LID, /* 0 .. 1 at the rim */
    SN_FACE_LOWER_LID,
    SN_FACE_INSIDE, /* 0 on the outer skin .. 1 in mouth and eye sockets */
    SN_FACE_CHANNELS
};

enum sn_face_part {
    SN_PART_SKIN,
    SN_PART_EYE_LEFT,
    SN_PART_EYE_RIGHT,
    SN_PART_TEETH_UPPER,
    SN_PART_TEETH_LOWER,
    SN_PART_TONGUE,
    SN_PART_COUNT
};

/* What tells one face from another. Centimetres. */
typedef struct sn_face_shape {
    const char *name;
    double width, height, depth; /* factors of the whole head */
    double jaw_width;            /* factor at the jaw, fading upwards */
    sn_vec3 eye;                 /* centre of the left eyeball */
    double eye_radius;
    double nose_length, nose_width; /* factors */
    double mouth_width, lip_fullness;
    double chin; /* forward */
} sn_face_shape;

/* The left half of the skin, then its mirror image; the rim of the neck is its only boundary. */
void sn_face_skin(const sn_face_shape *shape, sn_cage *cage);

#endif
