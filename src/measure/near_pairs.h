/* Vertices of different parts that lie close together in all poses, and how far a frame takes them
 * apart. */
#ifndef SN_MEASURE_NEAR_PAIRS_H
#define SN_MEASURE_NEAR_PAIRS_H

#include "sinew/rig.h"

typedef struct sn_near_pairs {
    int count;
    int *vertices;   /* 2 each */
    double *longest; /* their largest distance in a pose */
} sn_near_pairs;

/* `reach`: a pair is no further apart than this in any pose. Every vertex is paired with the
 * nearest corner of each of the nearest parts. */
sinew_status sn_near_pairs_create(const sinew_rig *rig, double reach, sn_near_pairs *pairs,
                                  sinew_error *error);
void sn_near_pairs_free(sn_near_pairs *pairs);

/* By how much a pair is further apart than in any pose, at most; NaN without pairs. */
double sn_near_pairs_drift(const sn_near_pairs *pairs, const double *positions);

#endif
