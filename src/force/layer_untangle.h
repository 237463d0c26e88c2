/* The marker layer makes no surface cross that does not cross without it. */
#ifndef SN_FORCE_LAYER_UNTANGLE_H
#define SN_FORCE_LAYER_UNTANGLE_H

#include "base/status.h"
#include "sinew/mesh.h"

/* before, after: the shape without and with the layer, 3 per vertex. Around pairs of triangles that
 * cross in `after` and not in `before`, the correction is taken back, most of it first and all of
 * it if need be. share[vertex_count]: what was left of it in the last frame, 1 at first; it comes
 * back within a fifth of a second. room: 4 * vertex_count doubles. *left: pairs that remained. */
sinew_status sn_layer_untangle(const sinew_mesh *mesh, double diagonal, double seconds,
                               const double *before, double *after, double *share, double *room,
                               int *left, sinew_error *error);

#endif
