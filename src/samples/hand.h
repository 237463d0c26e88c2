/* The cage of the hand, for what carries one. */
#ifndef SN_SAMPLES_HAND_H
#define SN_SAMPLES_HAND_H

#include "samples/cage.h"

enum { SN_HAND_CHANNELS = 8, SN_WRIST = 20 };

/* The hand, open at the wrist; ring: the rim there, counter-clockwise seen from the arm. The cage
 * needs SN_HAND_CHANNELS. */
void sn_hand_cage(sn_cage *cage, int ring[SN_WRIST]);
/* Closes such a ring, its middle pushed along x. */
void sn_hand_close_wrist(sn_cage *cage, const int ring[SN_WRIST], double push);
/* positions[3 * vertex_count] of a refined hand in one of its poses, centimetres; what has no
 * weight of a digit stays. */
sinew_status sn_hand_pose(const sn_fine *fine, const char *pose, double *positions,
                          sinew_error *error);

#endif
