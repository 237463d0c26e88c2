/* Locks of a scene, or of a command line, on the weights that drive a rig. */
#ifndef SN_SESSION_LOCKS_H
#define SN_SESSION_LOCKS_H

#include "session/model.h"
#include "sinew/lock.h"

/* Adds a lock on a selection (sinew/selection.h) at the pose of the weights. axes: letters of
 * "xyz", NULL: all. A mask gives each vertex its value as strength. folder: where a mask's path
 * starts; NULL: the working directory. */
sinew_status sn_locks_select(sinew_locks *locks, const sinew_rig *rig, const char *name,
                             const char *select, const char *axes, const char *folder,
                             const double *weights, sinew_error *error);

/* The locks of a job that go on holding after the weights: those of a vertex corrective. All zero:
 * there are none. */
typedef struct sn_job_locks {
    sinew_slider_space *space;
    sinew_locks *locks;
} sn_job_locks;

/* Attenuates the clip's weights in place; nothing happens without enabled locks. A clip of one
 * frame is an edit from the neutral or from "attenuation.from"; a longer one is a take, locked at
 * its first frame, at "attenuation.at" or at "attenuation.from". `held` is filled when
 * "attenuation.corrective" is on. */
sinew_status sn_locks_apply(const sinew_scene *scene, const sinew_rig *rig, sn_clip *clip,
                            const sinew_monitor *monitor, sn_job_locks *held, sinew_error *error);
/* Moves what is locked back to its pose and lets the surface around follow; adds the strain to the
 * frame's fields (may be NULL). */
sinew_status sn_locks_correct(const sn_job_locks *held, double *positions, json_t *fields,
                              sinew_error *error);
void sn_job_locks_free(sn_job_locks *held);

#endif
