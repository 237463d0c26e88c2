/* From what the scene says drives the rig to slider weights at every frame. */
#ifndef SN_SESSION_CLIP_H
#define SN_SESSION_CLIP_H

#include "session/model.h"

/* Of rigs, where the scene does not say. */
#define SN_RIG_UNIT "m"

/* Frames stand at start + k / rate, k = 0 ... ceil(duration * rate), the last clamped to the end.
 *   weights   one frame                        steps      N + 1 frames at k / rate
 *   curves    from the first to the last time  keys, markers   likewise
 * needs_weights: it is bad input when nothing gives weights. */
sinew_status sn_clip_create(const sinew_scene *scene, const sinew_rig *rig, bool needs_weights,
                            const sinew_monitor *monitor, sn_clip *clip, sinew_error *error);
void sn_clip_free(sn_clip *clip);

/* Weights of {"smile": 0.5, ...} over the sliders' rest values. `place` is for the message. */
sinew_status sn_scene_weights(const sinew_scene *scene, const sinew_rig *rig, const json_t *map,
                              const char *place, double *weights, sinew_error *error);

#endif
