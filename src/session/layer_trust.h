/* How closely the marker layer meets each marker of a take. */
#ifndef SN_SESSION_LAYER_TRUST_H
#define SN_SESSION_LAYER_TRUST_H

#include "session/model.h"
#include "sinew/capture.h"

/* Factors of the markers' weights in the layer, from the whole take, see sinew_marker_layer_limit:
 * one per marker of the capture's map, new. NULL when the scene has no layer, or states how smooth
 * it is. The report's "layer" says what was chosen. */
sinew_status sn_layer_trust(const sn_model_setup *setup, const sinew_capture *capture,
                            double **trust, sinew_error *error);

#endif
