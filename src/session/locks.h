/* Locks of a scene on the weights that drive a rig. */
#ifndef SN_SESSION_LOCKS_H
#define SN_SESSION_LOCKS_H

#include "session/clip.h"
#include "session/lock_times.h"
#include "sinew/lock.h"

/* The locks of one solver. All zero: the scene has none. */
typedef struct sn_session_locks {
    sinew_slider_space *space;
    sinew_locks *locks;
    double *pose;    /* weights at the moment of locking */
    bool *keep;      /* sliders that stay as they are in a take; NULL: none */
    bool corrective; /* what sliders cannot cancel, vertices do */
    sn_lock_times times;
} sn_session_locks;

/* The scene's enabled locks, each at its own pose, or at the common one: clip->asked,
 * "attenuation.at" or "attenuation.from". */
sinew_status sn_locks_create(const sinew_scene *scene, const sinew_rig *rig,
                             const sinew_loader *loader, const sn_clip *clip,
                             sn_session_locks *locks, sinew_error *error);
/* clip->asked to clip->weights. A clip of one frame is an edit, a longer one a take. */
sinew_status sn_locks_filter(const sn_session_locks *locks, const sinew_rig *rig, sn_clip *clip,
                             const sinew_monitor *monitor, sinew_error *error);
/* The same for weights that are given directly, in place. */
sinew_status sn_locks_edit(const sn_session_locks *locks, double *weights, sinew_error *error);
/* Moves what is locked back to its pose and lets the surface around follow; adds the strain to the
 * frame's fields (may be NULL). Nothing happens without "attenuation.corrective". */
sinew_status sn_locks_correct(const sn_session_locks *locks, double *positions, json_t *fields,
                              sinew_error *error);
void sn_locks_free(sn_session_locks *locks);
bool sn_scene_has_locks(const sinew_scene *scene);

#endif
