/* Pins and orientations of a scene, for modal motion: who is held, and where at a time. */
#ifndef SN_SESSION_MODAL_HOLDS_H
#define SN_SESSION_MODAL_HOLDS_H

#include "session/model.h"
#include "session/obstacles.h"
#include "session/orientations.h"
#include "sinew/frames.h"
#include "sinew/modal.h"

typedef struct sn_modal_pin_entry {
    sn_motion motion;
    sinew_frames *frames; /* positions to follow, or NULL */
    int first, count;     /* its pins */
    double middle[3];     /* center of their rotation */
} sn_modal_pin_entry;

typedef struct sn_modal_holds {
    sinew_modal_pins *pins; /* NULL: none */
    int pin_count;
    int *vertices;
    double *positions; /* 3 per pin: where the first key has it */
    double *targets;   /* 3 per pin: at the time of the last query */
    int entry_count;
    sn_modal_pin_entry *entries;
    int orientation_count;
    sinew_modal_orientation *orientations;
    sn_orientations oriented; /* of the scene, as many */
    /* The parameter "hold": pins after the others that follow lines between the keys. */
    int held_first, key_count;
    double *key_times;
    double *held_places; /* 3 per held vertex, key by key */
} sn_modal_holds;

/* The key poses that pins start from and held vertices pass through. */
typedef struct sn_modal_key_poses {
    int count;
    const double *times;
    double *const *positions;
} sn_modal_key_poses;

sinew_status sn_modal_holds_create(const sn_model_setup *setup, const sinew_modal *modal,
                                   const sn_modal_key_poses *keys, sn_modal_holds *holds,
                                   sinew_error *error);
void sn_modal_holds_free(sn_modal_holds *holds);
/* Fills the constraints' pins and orientations for a frame of the clip. Allocates nothing. */
void sn_modal_holds_at(sn_modal_holds *holds, int frame, double time,
                       sinew_modal_constraints *constraints);

#endif
