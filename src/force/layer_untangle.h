/* The marker layer makes no surface cross that does not cross without it. */
#ifndef SN_FORCE_LAYER_UNTANGLE_H
#define SN_FORCE_LAYER_UNTANGLE_H

#include "contact/pairs.h"
#include "sinew/mesh.h"

/* before, after: the shape without and with the layer, 3 per vertex. The way from the one to the
 * other is followed by continuous tests; where parts of the surface would meet, the correction is
 * taken back around them, and as far as need be vertex by vertex. share[vertex_count]: what was
 * left of it in the last frame, 1 at first; it comes back within half a second. room: 7 *
 * vertex_count doubles. *held: vertices that kept less than half. */
sinew_status sn_layer_untangle(const sn_contact_surface *surface, sn_contact_work *work,
                               const sinew_mesh *mesh, double seconds, const double *before,
                               double *after, double *share, double *room, int *held,
                               sinew_error *error);

#endif
