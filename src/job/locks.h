/* Locks of a scene on the weights of its clip. */
#ifndef SN_JOB_LOCKS_H
#define SN_JOB_LOCKS_H

#include "job/model.h"

/* Attenuates the clip's weights in place; nothing happens without enabled locks. */
sinew_status sn_locks_apply(const sinew_scene *scene, const sinew_rig *rig, sn_clip *clip,
                            const sinew_monitor *monitor, sinew_error *error);

#endif
