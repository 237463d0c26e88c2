/* A rig with one more piece: what a camera, a floor or a body adds to a face. */
#ifndef TESTS_CAPTURE_CARD_H
#define TESTS_CAPTURE_CARD_H

#include "sinew/rig.h"

/* A copy of the face with a square of two triangles that no target moves; its corners go left to
 * right, below (or behind) and then above (or in front). */
sinew_rig *test_rig_with_card(const sinew_rig *face, const double corners[4][3]);
/* The face with a floor of 4 m below it, as of a whole body. */
sinew_rig *test_rig_with_body(const sinew_rig *face);

#endif
