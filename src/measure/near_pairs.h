/* Vertices of different parts that are close together in all poses, and how far a frame separates
 * them. */
#ifndef SN_MEASURE_NEAR_PAIRS_H
#define SN_MEASURE_NEAR_PAIRS_H

#include "sinew/rig.h"

typedef struct sn_near_pairs {
    int count;
    int *vertices;   /* two per pair */
    double *longest; /* largest distance of the pair in any pose */
} sn_near_pairs;

/* `reach`: maximum distance of a pair in any pose. Every vertex is paired with the nearest corner
 * of each of the nearest parts. */
sinew_status sn_near_pairs_create(const sinew_rig *rig, double reach, sn_near_pairs *pairs,
                                  sinew_error *error);
void sn_near_pairs_free(sn_near_pairs *pairs);

/* The largest increase of a pair's distance over its maximum in any pose; NaN if there are no
 * pairs. */
double sn_near_pairs_drift(const sn_near_pairs *pairs, const double *positions);

#endif
