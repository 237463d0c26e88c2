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
    sn_free(follow->weights), sn_free(follow->lag);
    *follow = (sn_modal_follow){0};
}

static sinew_status make_blend(const sn_model_setup *setup, sn_modal_follow *follow,
                               sinew_error *error) {
    sinew_rotation_options options;
    sinew_rotation_options_init(&options);
    options.cache = setup->cache;
    sinew_rotation *rotation;
    SN_TRY(sinew_rotation_create(setup->rig, &options, setup->monitor, &rotation, error));
    sinew_status status = sinew_rotation_state_create(rotation, &follow->state, error);
    if (status != SINEW_OK)
        sinew_rotation_destroy(rotation);
    else
        follow->rotation = rotation;
    return status;
}

/* Weights of the modes in every frame of the blend. */
static sinew_status read_frames(const sn_model_setup *setup, const sinew_modal *modal,
                                const sn_modal_follow *follow, double *shape, double *weights,
                                sinew_error *error) {
    const sn_clip *clip = setup->clip;
    size_t sliders = (size_t)setup->rig->slider_count;
    for (int k = 0; k < clip->frame_count; k++) {
        if (sn_cancelled(setup->monitor))
            return sn_fail(error, SINEW_CANCELLED, "cancelled while reading the clip");
        sn_progress(setup->monitor, (double)k / clip->frame_count, "clip");
        sinew_rotation_evaluate(follow->rotation, follow->state,
                                clip->weights + sliders * (size_t)k, shape);
        SN_TRY(sinew_modal_project(modal, shape, weights + (size_t)follow->columns * (size_t)k,
                                   error));
    }
    return SINEW_OK;
}

sinew_status sn_modal_follow_update(const sn_model_setup *setup, const sinew_modal *modal,
                                    const sinew_modal_motion *motion, bool clip,
                                    sn_modal_follow *follow, sinew_error *error) {
    if (!sn_modal_follows(setup)) {
        sn_modal_follow_free(follow);
        return SINEW_OK;
    }
    const sn_clip *now = setup->clip;
    if (!clip && follow->rotation)
        return sinew_modal_lag(motion, now->frame_count, now->times, follow->weights, follow->lag,
                               error);
    sinew_modal_motion_info info = {.size = sizeof info};
    sinew_modal_motion_get_info(motion, &info);
    /* The blend is of the rig alone. */
    if (!follow->rotation) SN_TRY(make_blend(setup, follow, error));
    follow->columns = info.columns;
    size_t size = (size_t)info.columns * (size_t)now->frame_count;
    double *weights = SN_NEW(double, size), *lag = SN_NEW(double, size);
    double *shape = SN_NEW(double, 3 * (size_t)setup->rig->neutral->vertex_count);
    sinew_status status = weights && shape && lag ? SINEW_OK : sn_no_memory(error);
    if (status == SINEW_OK) status = read_frames(setup, modal, follow, shape, weights, error);
    if (status == SINEW_OK)
        status = sinew_modal_lag(motion, now->frame_count, now->times, weights, lag, error);
    sn_free(shape);
    if (status != SINEW_OK) {
        sn_free(weights), sn_free(lag);
        return status;
    }
    sn_free(follow->weights), sn_free(follow->lag);
    follow->weights = weights, follow->lag = lag, follow->frame_count = now->frame_count;
    return SINEW_OK;
}

void sn_modal_follow_at(sn_modal_follow *follow, const double *weights, int frame, double *shape,
                        sinew_modal_constraints *constraints) {
    sinew_rotation_evaluate(follow->rotation, follow->state, weights, shape);
    constraints->given = shape, constraints->share = 0;
    constraints->lag = follow->lag + (size_t)follow->columns * (size_t)frame;
}
