/* From what the scene specifies drives the rig to slider weights at every frame. */
#ifndef SN_SESSION_CLIP_H
#define SN_SESSION_CLIP_H

#include "base/forms.h"
#include "base/vec3.h"
#include "session/scene.h"
#include "sinew/curves.h"
#include "sinew/loader.h"
#include "sinew/marker_map.h"
#include "sinew/monitor.h"
#include "sinew/rig.h"

/* Of rigs, if the scene does not specify it. */
#define SN_RIG_UNIT "m"

/* What drives the rig over time, sampled at the frames. */
typedef struct sn_clip {
    int frame_count;
    double rate;            /* frames per second */
    double *times;          /* seconds, per frame */
    double *weights;        /* per frame a row of slider weights, after locks; NULL: none given */
    double *asked;          /* the same before locks; NULL: the scene has none */
    sinew_rigid *head;      /* per frame: motion of the head by the scene's curves; NULL: none */
    sn_vec3 pivot;          /* of the head's rotation */
    sinew_markers *markers; /* of the scene's "markers", in the rig's unit; or NULL */
} sn_clip;

/* Markers without a rate in the scene have frames at the take's own rate; everything else 30 a
 * second. Frames are at start + k / rate, k = 0 ... ceil(duration * rate), the last clamped to
 * the end. weights   one frame                        steps      N + 1 frames at k / rate curves
 * from the first to the last time  keys, markers   as above; needs_weights: it is bad input when
 * nothing gives weights. */
sinew_status sn_clip_create(const sinew_scene *scene, const sinew_rig *rig,
                            const sinew_loader *loader, bool needs_weights,
                            const sinew_monitor *monitor, sn_clip *clip, sinew_error *error);
void sn_clip_free(sn_clip *clip);
/* weights[slider_count] are numbers within the limit. */
sinew_status sn_check_weights(const sinew_rig *rig, const double *weights, sinew_error *error);
/* The frame whose time is nearest. */
int sn_clip_nearest(const sn_clip *clip, double time);
/* Slider weights at a time, linear between frames; false: the clip has none. */
bool sn_clip_weights(const sn_clip *clip, int slider_count, double time, double *weights);

/* Weights of {"smile": 0.5, ...} over the sliders' rest values. `location` is for the message. */
sinew_status sn_scene_weights(const sinew_scene *scene, const sinew_rig *rig, const json_t *map,
                              const char *location, double *weights, sinew_error *error);

#endif
