/* The marker layer: spreads the distance that a solve leaves at the markers smoothly over the skin.
 *
 *   delta = argmin (1/m) sum_i c_i |r_i - (S delta)_i|^2
 *                  + mu D^4 sum_v a_v |(Laplacian delta)_v|^2 + sum_v (1e-6 + p_v) a_v |delta_v|^2
 *
 * r_i is the marker minus its position on the solved shape, m the number of markers, a_v fractions
 * of the area, D the bounding-box diagonal, of a body at most 7 distances between the eyes (and the
 * area a_v relates to that of the head); delta = 0 on held vertices. The matrix does not depend on
 * the frame: delta = Psi l with one small solve for l. Skin far from all markers does not move:
 * p_v grows from 0 to mu (D / h)^4 between h and 2 h along the skin from the nearest marker, h the
 * spacing of markers. Only the outer skin moves: what lies inside (the mouth bag, sockets, eyes,
 * teeth, tongue) follows its own rig motion. Parts without markers that lie on the skin and move
 * with it under the rig's targets (brows, lashes) follow it. Works on any shape: of a static fit as
 * well as of the force model. */
#ifndef SINEW_MARKER_LAYER_H
#define SINEW_MARKER_LAYER_H

#include <stdint.h>

#include "sinew/marker_map.h"
#include "sinew/monitor.h"
#include "sinew/rig.h"

#ifdef __cplusplus
extern "C" {
#endif

/* mu for clean markers. Use 1e-6 or more for noisy ones, otherwise the layer follows their jitter.
 */
#define SINEW_MARKER_LAYER_SMOOTHING 1e-7

/* Seconds over which a lost marker fades out and a returning one fades in. */
#define SINEW_MARKER_LAYER_MEMORY 0.1

/* Owns scratch memory: one per thread. */
typedef struct sinew_marker_layer sinew_marker_layer;

/* contact: keep the layer from pushing skin through what lies below it, relative to the shape
 * without the layer: lids stay on the eyeballs, lips and cheeks in front of teeth and mouth bag.
 * smoothing mu in [1e-12, 1]. Boundary vertices that no target moves are held, as in the force
 * model. The map is copied; the rig may be destroyed afterwards. */
SINEW_API sinew_status sinew_marker_layer_create(const sinew_rig *rig, const sinew_marker_map *map,
                                                 double smoothing, bool contact,
                                                 const sinew_monitor *monitor,
                                                 sinew_marker_layer **layer, sinew_error *error);
SINEW_API void sinew_marker_layer_destroy(sinew_marker_layer *layer);
/* Adds delta to positions[3 * vertex_count]. markers[3 * map->count], NaN where missing;
 * marker_weights (>= 0) may be NULL. Allocates nothing. */
SINEW_API sinew_status sinew_marker_layer_apply(sinew_marker_layer *layer, const double *markers,
                                                const double *marker_weights, double *positions,
                                                sinew_error *error);
/* The same for the frames of a clip, `seconds` (>= 0) apart: lost markers fade out instead of
 * stopping at once, and fade in when they return. INFINITY discards earlier frames. */
SINEW_API sinew_status sinew_marker_layer_follow(sinew_marker_layer *layer, double seconds,
                                                 const double *markers,
                                                 const double *marker_weights, double *positions,
                                                 sinew_error *error);

/* trust[map->count], 0 to 1: factors of the weights of the markers with which a layer with this
 * smoothing and contact does not fold the skin: in frame_count frames of a take (markers and
 * marker_weights as above, positions[3 * vertex_count] each: the shapes without the layer), it
 * turns no triangle of the outer skin by more than 30 degrees, but for what contact presses apart.
 * Markers that cause no more have 1. On another face than the actor's, the distances of the markers
 * are mostly differences of proportion. Frames in which the face moves most are enough. */
SINEW_API sinew_status sinew_marker_layer_limit(const sinew_rig *rig, const sinew_marker_map *map,
                                                double smoothing, bool contact, int frame_count,
                                                const double *markers, const double *marker_weights,
                                                const double *positions,
                                                const sinew_monitor *monitor, double *trust,
                                                sinew_error *error);

/* The factors of the marker weights from now on; NULL: 1. */
SINEW_API sinew_status sinew_marker_layer_set_trust(sinew_marker_layer *layer, const double *trust,
                                                    sinew_error *error);

/* Discards earlier frames. */
SINEW_API void sinew_marker_layer_reset(sinew_marker_layer *layer);

typedef struct sinew_marker_layer_info {
    uint32_t size; /* of this structure in bytes */
    int held;      /* vertices of the last frame that contact held back */
    int eyeballs;  /* that lids are kept on */
    int covered;   /* vertices of the outer skin with something close below them */
    int contacts;  /* pairs that press in the last frame */
    int released;  /* vertices of the last frame that keep their shape without contact */
    int restored;  /* vertices of the last frame at which the layer was taken back, because it would
                      add intersections, or that gave way to squeezed lids */
} sinew_marker_layer_info;
SINEW_API void sinew_marker_layer_get_info(const sinew_marker_layer *layer,
                                           sinew_marker_layer_info *info);

#ifdef __cplusplus
}
#endif
#endif
