#include "session/modal_follow.h"

#include "base/memory.h"
#include "base/monitor.h"
#include "base/status.h"

bool sn_modal_follows(const sn_model_setup *setup) {
    return json_array_size(sn_scene_at(setup->scene, "keys")) == 0 && setup->clip->weights &&
           setup->clip->frame_count > 1;
}

void sn_modal_follow_free(sn_modal_follow *follow) {
    sinew_rotation_state_destroy(follow->state);
    sinew_rotation_destroy(follow->rotation);
    sn_free(follow->lag);
    *follow = (sn_modal_follow){0};
}

/* Weights of the modes in every frame of the blend. */
static sinew_status read_frames(const sn_model_setup *setup, const sinew_modal *modal,
                                sn_modal_follow *made, double *shape, double *weights,
                                sinew_error *error) {
    const sn_clip *clip = setup->clip;
    size_t sliders = (size_t)setup->rig->slider_count;
    for (int k = 0; k < clip->frame_count; k++) {
        if (sn_cancelled(setup->monitor))
            return sn_fail(error, SINEW_CANCELLED, "cancelled while reading the clip");
        sn_progress(setup->monitor, (double)k / clip->frame_count, "clip");
        sinew_rotation_evaluate(made->rotation, made->state, clip->weights + sliders * (size_t)k,
                                shape);
        SN_TRY(
            sinew_modal_project(modal, shape, weights + (size_t)made->columns * (size_t)k, error));
    }
    return SINEW_OK;
}

sinew_status sn_modal_follow_create(const sn_model_setup *setup, const sinew_modal *modal,
                                    const sinew_modal_motion *motion, sn_modal_follow *follow,
                                    sinew_error *error) {
    const sn_clip *clip = setup->clip;
    sinew_modal_motion_info info = {.size = sizeof info};
    sinew_modal_motion_get_info(motion, &info);
    sn_modal_follow made = {.columns = info.columns, .frame_count = clip->frame_count};
    size_t size = (size_t)info.columns * (size_t)clip->frame_count;
    double *weights = SN_NEW(double, size);
    double *shape = SN_NEW(double, 3 * (size_t)setup->rig->neutral->vertex_count);
    made.lag = SN_NEW(double, size);
    sinew_status status = weights && shape && made.lag ? SINEW_OK : sn_no_memory(error);
    if (status == SINEW_OK)
        status = sinew_rotation_create(setup->rig, NULL, setup->monitor, &made.rotation, error);
    if (status == SINEW_OK) status = sinew_rotation_state_create(made.rotation, &made.state, error);
    if (status == SINEW_OK) status = read_frames(setup, modal, &made, shape, weights, error);
    if (status == SINEW_OK)
        status = sinew_modal_lag(motion, clip->frame_count, clip->times, weights, made.lag, error);
    sn_free(weights), sn_free(shape);
    if (status != SINEW_OK)
        sn_modal_follow_free(&made);
    else
        *follow = made;
    return status;
}

void sn_modal_follow_at(sn_modal_follow *follow, const double *weights, int frame, double *shape,
                        sinew_modal_constraints *constraints) {
    sinew_rotation_evaluate(follow->rotation, follow->state, weights, shape);
    constraints->given = shape, constraints->share = 0;
    constraints->lag = follow->lag + (size_t)follow->columns * (size_t)frame;
}
