/* Curves as the driver of modal motion: the rotation-aware blend moves the rig, and modes lag
 * behind it. */
#ifndef SN_SESSION_MODAL_FOLLOW_H
#define SN_SESSION_MODAL_FOLLOW_H

#include "session/model.h"
#include "session/shared.h"
#include "sinew/modal.h"
#include "sinew/rotation.h"

/* Constant once made. */
typedef struct sn_modal_follow {
    sn_shared *rotation; /* sinew_rotation; NULL: keys drive */
    sn_shared *weights;  /* of the modes in the blend, per frame, `columns` each */
    sn_shared *lag;      /* likewise: how far they are behind */
    int columns;
} sn_modal_follow;

/* Weights of the clip and no keys. */
bool sn_modal_follows(const sn_model_setup *setup);

/* Follows the clip, or has no rotation. `motion` has the parameters; its keys do not matter.
 * before   NULL, or one of the same rig and modes, whose parts are shared:
 *          its weights if the clip is the same, its lag if the motion is, too */
sinew_status sn_modal_follow_create(const sn_model_setup *setup, const sinew_modal *modal,
                                    const sinew_modal_motion *motion, const sn_modal_follow *before,
                                    bool same_clip, bool same_motion, sn_modal_follow *follow,
                                    sinew_error *error);
void sn_modal_follow_free(sn_modal_follow *follow);
/* The blend at the given weights into shape[3 * vertex_count], and the constraints that add the lag
 * of a frame to it. */
void sn_modal_follow_at(const sn_modal_follow *follow, sinew_rotation_state *state,
                        const double *weights, int frame, double *shape,
                        sinew_modal_constraints *constraints);

#endif
