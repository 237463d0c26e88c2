#include "session/modal_follow.h"

#include "base/memory.h"
#include "base/monitor.h"
#include "base/status.h"

bool sn_modal_follows(const sn_model_setup *setup) {
    return json_array_size(sn_scene_at(setup->scene, "keys")) == 0 && setup->clip->weights &&
           setup->clip->frame_count > 1;
}

void sn_modal_follow_free(sn_modal_follow *follow) {
    sn_shared_drop(follow->lag), sn_shared_drop(follow->weights);
    sn_shared_drop(follow->rotation);
    *follow = (sn_modal_follow){0};
}

static void release_rotation(void *object) {
    sinew_rotation_destroy(object);
}

static void release_numbers(void *object) {
    sn_free(object);
}

static sinew_status make_blend(const sn_model_setup *setup, sn_modal_follow *follow,
                               sinew_error *error) {
    sinew_rotation_options options;
    sinew_rotation_options_init(&options);
    options.cache = setup->cache;
    sinew_rotation *rotation;
    SN_TRY(sinew_rotation_create(setup->rig, &options, setup->monitor, &rotation, error));
    follow->rotation = sn_shared_new(rotation, release_rotation);
    return follow->rotation ? SINEW_OK : sn_no_memory(error);
}

/* Weights of the modes in every frame of the blend. */
static sinew_status read_frames(const sn_model_setup *setup, const sinew_modal *modal,
                                const sn_modal_follow *follow, sinew_rotation_state *state,
                                double *shape, double *weights, sinew_error *error) {
    const sn_clip *clip = setup->clip;
    size_t sliders = (size_t)setup->rig->slider_count;
    for (int k = 0; k < clip->frame_count; k++) {
        if (sn_cancelled(setup->monitor))
            return sn_fail(error, SINEW_CANCELLED, "cancelled while reading the clip");
        sn_progress(setup->monitor, (double)k / clip->frame_count, "clip");
        sinew_rotation_evaluate(follow->rotation->object, state,
                                clip->weights + sliders * (size_t)k, shape);
        SN_TRY(sinew_modal_project(modal, shape, weights + (size_t)follow->columns * (size_t)k,
                                   error));
    }
    return SINEW_OK;
}

/* Room for numbers of all frames. */
static sinew_status make_room(const sn_model_setup *setup, const sn_modal_follow *follow,
                              sn_shared **made, sinew_error *error) {
    double *numbers = SN_NEW(double, (size_t)follow->columns *(size_t)setup->clip->frame_count);
    *made = numbers ? sn_shared_new(numbers, release_numbers) : NULL;
    return *made ? SINEW_OK : sn_no_memory(error);
}

static sinew_status make_weights(const sn_model_setup *setup, const sinew_modal *modal,
                                 sn_modal_follow *follow, sinew_error *error) {
    SN_TRY(make_room(setup, follow, &follow->weights, error));
    sinew_rotation_state *state = NULL;
    double *shape = SN_NEW(double, 3 * (size_t)setup->rig->neutral->vertex_count);
    sinew_status status = shape ? SINEW_OK : sn_no_memory(error);
    if (status == SINEW_OK)
        status = sinew_rotation_state_create(follow->rotation->object, &state, error);
    if (status == SINEW_OK)
        status = read_frames(setup, modal, follow, state, shape, follow->weights->object, error);
    sinew_rotation_state_destroy(state);
    sn_free(shape);
    return status;
}

static sinew_status make(const sn_model_setup *setup, const sinew_modal *modal,
                         const sinew_modal_motion *motion, bool same_motion,
                         sn_modal_follow *follow, sinew_error *error) {
    const sn_clip *clip = setup->clip;
    if (!follow->rotation) SN_TRY(make_blend(setup, follow, error));
    if (follow->weights && same_motion) return SINEW_OK;
    if (!follow->weights) SN_TRY(make_weights(setup, modal, follow, error));
    sn_shared_drop(follow->lag);
    SN_TRY(make_room(setup, follow, &follow->lag, error));
    return sinew_modal_lag(motion, clip->frame_count, clip->times, follow->weights->object,
                           follow->lag->object, error);
}

sinew_status sn_modal_follow_create(const sn_model_setup *setup, const sinew_modal *modal,
                                    const sinew_modal_motion *motion, const sn_modal_follow *before,
                                    bool same_clip, bool same_motion, sn_modal_follow *follow,
                                    sinew_error *error) {
    *follow = (sn_modal_follow){0};
    if (!sn_modal_follows(setup)) return SINEW_OK;
    sinew_modal_motion_info info = {.size = sizeof info};
    sinew_modal_motion_get_info(motion, &info);
    follow->columns = info.columns;
    if (before) {
        follow->rotation = sn_shared_hold(before->rotation);
        if (same_clip) follow->weights = sn_shared_hold(before->weights);
        if (same_clip) follow->lag = sn_shared_hold(before->lag);
    }
    sinew_status status = make(setup, modal, motion, same_motion, follow, error);
    if (status != SINEW_OK) sn_modal_follow_free(follow);
    return status;
}

void sn_modal_follow_at(const sn_modal_follow *follow, sinew_rotation_state *state,
                        const double *weights, int frame, double *shape,
                        sinew_modal_constraints *constraints) {
    const double *lag = follow->lag->object;
    sinew_rotation_evaluate(follow->rotation->object, state, weights, shape);
    constraints->given = shape, constraints->share = 0;
    constraints->lag = lag + (size_t)follow->columns * (size_t)frame;
}
