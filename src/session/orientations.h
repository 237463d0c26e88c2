/* Regions of a scene that are guided to an orientation, which may change over time. */
#ifndef SN_SESSION_ORIENTATIONS_H
#define SN_SESSION_ORIENTATIONS_H

#include "session/model.h"
#include "session/obstacles.h"

typedef struct sn_orientation {
    int vertex_count;
    int *vertices;
    double turn[3]; /* axis times radians, at the time of the last query */
    double weight;
    sn_motion motion; /* of the rotation; empty: it does not change */
} sn_orientation;

typedef struct sn_orientations {
    int count;
    sn_orientation *list;
} sn_orientations;

/* The scene's "orientations"; *orientations is overwritten. */
sinew_status sn_orientations_read(const sn_model_setup *setup, sn_orientations *orientations,
                                  sinew_error *error);
void sn_orientations_free(sn_orientations *orientations);
/* Sets `turn` of all. Allocates nothing. */
void sn_orientations_at(sn_orientations *orientations, double time);

#endif
