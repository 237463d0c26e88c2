#include "modal/frame.h"

#include <string.h>

#include "base/memory.h"
#include "base/threads.h"
#include "modal/field.h"
#include "modal/pose.h"

sinew_status sinew_modal_state_create(const sinew_modal *modal, sinew_modal_state **state,
                                      sinew_error *error) {
    SN_REQUIRE(modal != NULL && state != NULL, error);
    *state = NULL;
    const sn_body *body = modal->body;
    sinew_modal_state *result = SN_NEW0(sinew_modal_state, 1);
    if (!result) return sn_no_memory(error);
    result->tracks = SN_NEW(double, sn_track_count(modal));
    result->displacement = SN_NEW(double, (size_t)3 * body->vertex_count);
    result->coordinates = SN_NEW(double, (size_t)SN_RS_SIZE * body->rs->element_count);
    result->positions = sn_memdup(body->rest, (size_t)3 * body->vertex_count, sizeof(double));
    sinew_status status =
        result->tracks && result->displacement && result->coordinates && result->positions
            ? sn_rotation_strain_work_create(body->rs, &result->work, error)
            : sn_no_memory(error);
    if (status == SINEW_OK && modal->fast)
        status = sn_fast_state_create(body, modal->modes, modal->fast, &result->fast, error);
    if (status != SINEW_OK) {
        sinew_modal_state_destroy(result);
        return status;
    }
    *state = result;
    return SINEW_OK;
}

void sinew_modal_state_destroy(sinew_modal_state *state) {
    if (!state) return;
    sn_rotation_strain_work_destroy(state->work);
    sn_fast_state_destroy(state->fast);
    sn_free(state->tracks);
    sn_free(state->displacement);
    sn_free(state->coordinates);
    sn_free(state->positions);
    sn_free(state);
}

/* Coordinates of weights and residuals into state->coordinates. */
static void set_coordinates(const sinew_modal *modal, sinew_modal_state *state,
                            const double *weights, const sn_residual_sum *residual) {
    size_t size = (size_t)SN_RS_SIZE * modal->body->rs->element_count;
    double *coordinates = state->coordinates;
#pragma omp parallel for num_threads(sn_threads()) schedule(static)
    for (size_t i = 0; i < size; i++) {
        double sum = 0;
        for (int k = 0; k < residual->count; k++)
            sum += residual->weights[k] * residual->poses[k]->residual[i];
        coordinates[i] = sum;
    }
    sn_modes_displace(modal->modes, weights, state->displacement);
    sn_field_add(modal->body->rs, state->displacement, coordinates);
}

void sn_frame_shape(const sinew_modal *modal, sinew_modal_state *state,
                    const sn_residual_sum *residual, double *positions) {
    const sn_body *body = modal->body;
    const double *weights = state->tracks, *turns = weights + modal->modes->column_count;
    const double *centres = turns + 3 * body->rs->component_count;
    if (state->fast) {
        sn_fast_rebuild(body, modal->fast, state->fast, weights, residual, centres, turns,
                        state->positions);
        /* Leftovers of a cage turn with its tets. */
        sn_fast_hosts(body, modal->fast, state->fast, residual, state->coordinates);
    } else {
        set_coordinates(modal, state, weights, residual);
        sn_rotation_strain_rebuild(body->rs, state->work, state->coordinates, centres,
                                   state->positions);
        sn_rotation_strain_turn(body->rs, centres, turns, 1, state->positions);
    }
    sn_body_drop(body, state->positions, positions);
    for (int k = 0; k < residual->count; k++)
        if (residual->poses[k]->leftover) {
            sn_add_leftovers(body, residual, state->coordinates, turns, positions);
            break;
        }
}

void sinew_modal_frame(const sinew_modal_motion *motion, sinew_modal_state *state, double time,
                       double *positions) {
    if (!motion || !state || !positions || !isfinite(time)) return;
    sn_motion_tracks(motion, time, state->tracks);
    sn_residual_sum residual = sn_motion_residual(motion, time);
    sn_frame_shape(motion->modal, state, &residual, positions);
}

sinew_status sinew_modal_frame_mixed(const sinew_modal_motion *motion, sinew_modal_state *state,
                                     double time, const double *given, double share,
                                     double *positions, sinew_error *error) {
    SN_REQUIRE(motion && state && given && positions && isfinite(time), error);
    if (!isfinite(share)) return sn_fail(error, SINEW_BAD_INPUT, "the share is not finite");
    const sinew_modal *modal = motion->modal;
    sn_pose pose;
    SN_TRY(sn_pose_read(modal, given, NULL, &pose, error));
    sn_motion_tracks(motion, time, state->tracks);
    for (int i = 0; i < motion->track_count; i++)
        state->tracks[i] = (1 - share) * pose.tracks[i] + share * state->tracks[i];
    sn_residual_sum residual = sn_motion_residual(motion, time);
    for (int k = 0; k < residual.count; k++) residual.weights[k] *= share;
    sn_residual_sum both = residual;
    both.moving = NULL; /* the given shape has weights of its own for all columns */
    both.poses[both.count] = &pose, both.weights[both.count++] = 1 - share;
    sn_frame_shape(modal, state, &both, positions);
    sn_pose_free(&pose);
    return SINEW_OK;
}

int sinew_modal_inverted(const sinew_modal_motion *motion, const sinew_modal_state *state) {
    if (!motion || !state) return 0;
    return sn_inverted_elements(motion->modal->body, state->positions);
}
