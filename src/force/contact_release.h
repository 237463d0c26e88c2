/* Takes contact back where it leaves a shape worse than it would be without contact. */
#ifndef SN_FORCE_CONTACT_RELEASE_H
#define SN_FORCE_CONTACT_RELEASE_H

#include "force/skin.h"

/* goal, x: the shape without and with contact, 3 per vertex. Around edges that contact stretched
 * into a spike, connected vertices that contact moved by more than `least` go back to the goal.
 * stack: vertex_count ints. Returns how many vertices went back. */
int sn_force_contact_release(const sn_skin *skin, double least, const double *goal, double *x,
                             int *stack);

#endif
