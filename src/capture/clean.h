/* A take without gaps, noise and head motion. All work on sn_take positions in place. */
#ifndef SN_CAPTURE_CLEAN_H
#define SN_CAPTURE_CLEAN_H

#include "sinew/capture.h"

/* The first calm stretch: the earliest quarter of a second in which nearly all markers are seen and
 * the distances between them change about as little as anywhere in the take. */
sinew_status sn_take_calm(const sinew_markers *take, int *sample, double *speed,
                          sinew_error *error);

/* Fills gaps of up to SINEW_CAPTURE_GAP seconds by cubic interpolation. trust[time][marker] becomes
 * 1 where a marker is seen, less where it is filled, 0 where it is missing. Returns the number of
 * filled positions. */
int sn_take_fill(sinew_markers *take, float *trust);

/* Head motion from all markers over the whole take: in each sample the rigid motion to the neutral
 * sample, with weights by how little a marker moves against the others, and outliers left out.
 * prior[marker]: how far the rig's targets move it, in length units; motion[time]: inverse motions.
 * *moves: false when the head hardly moves; the take is then left as it is. */
sinew_status sn_take_remove_head(sinew_markers *take, int neutral, const double *prior,
                                 double diagonal, sinew_rigid *motion, bool *moves,
                                 sinew_error *error);

/* Low pass without delay at `cutoff` Hz (half the amplitude there): the smoothest curve near the
 * samples, min sum trust |z - y|^2 + lambda |second difference|^2. cutoff < 0: as low as the noise
 * of the take asks for, 0 none. Returns the cut-off used, 0 when nothing was done, in *used, and
 * the estimated noise (standard deviation of a coordinate) in *noise. motion may be NULL. */
sinew_status sn_take_smooth(sinew_markers *take, const float *trust, double rate, double cutoff,
                            sinew_rigid *motion, double *used, double *noise, sinew_error *error);

#endif
