/* Curves as the driver of modal motion: the rotation-aware blend moves the rig, and modes lag
 * behind it. */
#ifndef SN_SESSION_MODAL_FOLLOW_H
#define SN_SESSION_MODAL_FOLLOW_H

#include "session/model.h"
#include "sinew/modal.h"
#include "sinew/rotation.h"

typedef struct sn_modal_follow {
    sinew_rotation *rotation; /* NULL: keys drive */
    sinew_rotation_state *state;
    int columns, frame_count;
    double *weights; /* of the modes in the blend, per frame, `columns` each */
    double *lag;     /* likewise: how far they are behind */
} sn_modal_follow;

/* Weights of the clip and no keys. */
bool sn_modal_follows(const sn_model_setup *setup);

/* Follows the clip, or stops following. `motion` has the parameters; its keys do not matter.
 * clip false: the clip is that of the last update, and only the lag is computed again. Stays as it
 * was on failure. */
sinew_status sn_modal_follow_update(const sn_model_setup *setup, const sinew_modal *modal,
                                    const sinew_modal_motion *motion, bool clip,
                                    sn_modal_follow *follow, sinew_error *error);
void sn_modal_follow_free(sn_modal_follow *follow);
/* The blend at the given weights into shape[3 * vertex_count], and the constraints that add the lag
 * of a frame to it. */
void sn_modal_follow_at(sn_modal_follow *follow, const double *weights, int frame, double *shape,
                        sinew_modal_constraints *constraints);

#endif
