/* Pairs of sliders whose rotations must not add up.
 *
 * The rotation-aware blend adds the rotations that targets give to a triangle. A lid that a blink
 * stretches ten times its height may turn by a right angle when the brow comes down, as long as it
 * is short; added to the blink, that angle swings the long lid into the eye. For such pairs, the
 * blend keeps to the sum of the two displacements where both sliders are at 1. This is what a
 * combination of the two without displacements asks for, and so everything that understands
 * combinations follows.
 *
 * The same holds for jawOpen and mouthClose, by name: the second is sculpted as the lips' way back
 * from the first, up to the lower of the two weights.
 *
 * Any other pair counts where triangles that one of its targets stretches end far from that sum,
 * and are more than a sliver of what both move. Pairs for which the rig has a corrective are left
 * alone, and so is a rig to which pairs have been added already. */
#ifndef SN_RIG_STRETCHED_PAIRS_H
#define SN_RIG_STRETCHED_PAIRS_H

#include "sinew/rig.h"

/* *made: a copy of the rig with these combinations, or NULL when there is no such pair. */
sinew_status sn_stretched_pairs_add(const sinew_rig *rig, sinew_rig **made, sinew_error *error);

#endif
