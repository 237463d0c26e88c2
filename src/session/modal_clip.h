/* What all frames of a modal clip have in common: the keys, the motion through them, the blend that
 * curves drive instead. Constant once made, and shared by the solvers of a session; parts that did
 * not change are shared by the clips before and after a patch. */
#ifndef SN_SESSION_MODAL_CLIP_H
#define SN_SESSION_MODAL_CLIP_H

#include "session/modal_follow.h"
#include "session/model.h"
#include "session/shared.h"
#include "sinew/frames.h"
#include "sinew/modal.h"

typedef struct sn_modal_keys {
    int count, inner_count;
    double *times, *inner_times;
    double **poses, **inner_poses;
    double **velocities; /* per key, units per second; NULL: free, at rest at the ends */
    bool has_velocities;
    char *path_file; /* that guides the whole between keys, or NULL */
    bool at_rest;    /* curves drive: these keys are none of the scene's */
} sn_modal_keys;

/* Values per mode, of sinew_modal_parameters; NULL: the scene gives none. */
typedef struct sn_mode_values {
    double *gamma, *kappa, *amplitude, *fit;
} sn_mode_values;

typedef struct sn_modal_moves {
    sinew_modal_motion *motion;
    sinew_modal_parameters set; /* what the motion was made with, its arrays in `values` */
    sn_mode_values values;
    double from, to; /* span of the clip that the guard has seen */
    double damped;   /* what the guard multiplied amplitudes by */
} sn_modal_moves;

typedef struct sn_modal_clip {
    sn_shared *keys;  /* sn_modal_keys */
    sn_shared *moves; /* sn_modal_moves */
    sn_shared *given; /* sinew_frames: the motion that is mixed in; NULL: none */
    char *given_file;
    sn_modal_follow follow; /* curves drive instead of keys */
} sn_modal_clip;

static inline const sn_modal_keys *sn_modal_clip_keys(const sn_modal_clip *clip) {
    return clip->keys->object;
}
static inline const sn_modal_moves *sn_modal_clip_moves(const sn_modal_clip *clip) {
    return clip->moves->object;
}

static inline sinew_modal_info sn_modal_body_info(const sinew_modal *modal) {
    sinew_modal_info info = {.size = sizeof info};
    sinew_modal_get_info(modal, &info);
    return info;
}

/* `derive` and `forget` of the model. */
sinew_status sn_modal_clip_derive(const sn_model_setup *setup, const void *structure,
                                  const void *before, uint32_t changed, void **clip,
                                  sinew_error *error);
void sn_modal_clip_forget(void *clip);

#endif
