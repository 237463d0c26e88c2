/* The past of a spring state: its settings, its bytes, and the way back from a failed solve. */
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "spring/contact.h"
#include "spring/structure.h"

void sinew_spring_state_reset(sinew_spring_state *state) {
    if (!state) return;
    state->history_count = 0;
    state->history_index = state->last_index = -2;
    state->tame = false;
    sn_contacts_forget(state->contacts, state->spring->network->surface_count);
}

sinew_status sinew_spring_state_set(sinew_spring_state *state, const sinew_spring_options *options,
                                    sinew_error *error) {
    SN_REQUIRE(state && options, error);
    if (!(options->tolerance > 0 && options->tolerance < 1) || options->max_iterations < 1 ||
        !(options->time_limit > 0) || options->max_rounds < 1 || !(options->friction >= 0))
        return sn_fail(error, SINEW_BAD_INPUT, "spring: a setting of the solve is out of range");
    sinew_spring_options *own = &state->settings;
    own->tolerance = options->tolerance;
    own->max_iterations = options->max_iterations;
    own->time_limit = options->time_limit;
    own->independent = options->independent;
    own->friction = options->friction;
    own->max_rounds = options->max_rounds;
    own->sample_edges = options->sample_edges;
    return SINEW_OK;
}

/* ---- bytes ----------------------------------------------------------------------------------- */

static size_t shape_size(const sinew_spring_state *state) {
    return SN_PAD * (size_t)state->spring->system->count;
}

/* The solver that starts from the last shape. */
static bool needs_shape(const sinew_spring_state *state) {
    return state->settings.solver == SINEW_SPRING_SOLVER_NEWTON;
}

static size_t touch_count(const sinew_spring_state *state) {
    const sn_contacts *contacts = state->contacts;
    if (!(state->settings.friction > 0) || !contacts || !contacts->touched) return 0;
    return (size_t)contacts->past_room * (size_t)state->spring->network->surface_count;
}

void sn_spring_pack(const sinew_spring_state *state, sn_pack *pack) {
    size_t moving = SN_PAD * (size_t)state->spring->system->free_count;
    size_t sliders = (size_t)state->spring->rig->slider_count;
    sn_pack_int(pack, state->history_count);
    sn_pack_int(pack, state->history_index);
    sn_pack_int(pack, state->last_index);
    sn_pack_int(pack, state->tame);
    for (int h = 0; h < state->history_count; h++)
        sn_pack_array(pack, state->history[h], moving, sizeof(double));
    for (int h = 0; h < state->history_count; h++)
        sn_pack_array(pack, state->history_weights[h], sliders, sizeof(double));
    if (needs_shape(state)) sn_pack_array(pack, state->x, shape_size(state), sizeof(double));
    size_t touches = touch_count(state);
    int room = touches ? state->contacts->past_room : 0;
    sn_pack_int(pack, room);
    if (!touches) return;
    sn_pack_array(pack, state->contacts->touched, touches, sizeof(bool));
    sn_pack_array(pack, state->contacts->anchor, touches, sizeof(sn_obstacle_anchor));
}

static sinew_status unpack_touches(sinew_spring_state *state, sn_unpack *unpack,
                                   sinew_error *error) {
    int room = sn_unpack_int(unpack);
    size_t n = (size_t)state->spring->network->surface_count;
    if (unpack->failed || room <= 0) {
        sn_contacts_forget(state->contacts, (int)n);
        return SINEW_OK;
    }
    size_t count = (size_t)room * n;
    bool *touched = sn_unpack_array(unpack, count, sizeof *touched);
    sn_obstacle_anchor *anchor = sn_unpack_array(unpack, count, sizeof *anchor);
    if (!state->contacts) state->contacts = SN_NEW0(sn_contacts, 1);
    if (!touched || !anchor || !state->contacts) {
        sn_free(touched), sn_free(anchor);
        return unpack->failed ? sn_unpack_fail(unpack, error) : sn_no_memory(error);
    }
    sn_free(state->contacts->touched), sn_free(state->contacts->anchor);
    state->contacts->touched = touched, state->contacts->anchor = anchor;
    state->contacts->past_room = room;
    return SINEW_OK;
}

sinew_status sn_spring_unpack(sinew_spring_state *state, sn_unpack *unpack, sinew_error *error) {
    size_t moving = SN_PAD * (size_t)state->spring->system->free_count;
    size_t sliders = (size_t)state->spring->rig->slider_count;
    int count = sn_unpack_int(unpack), index = sn_unpack_int(unpack);
    int last = sn_unpack_int(unpack), tame = sn_unpack_int(unpack);
    if (unpack->failed || count < 0 || count > SN_HISTORY) return sn_unpack_fail(unpack, error);
    for (int h = 0; h < count; h++)
        sn_unpack_into(unpack, state->history[h], moving, sizeof(double));
    for (int h = 0; h < count; h++)
        sn_unpack_into(unpack, state->history_weights[h], sliders, sizeof(double));
    if (needs_shape(state)) sn_unpack_into(unpack, state->x, shape_size(state), sizeof(double));
    SN_TRY(unpack_touches(state, unpack, error));
    state->history_count = count, state->history_index = index;
    state->last_index = last, state->tame = tame != 0;
    return SINEW_OK;
}

/* ---- the way back ---------------------------------------------------------------------------- */

/* A solve that fails has not written the history: only its counters and its order go back. Friction
 * and the last shape are written as it goes, and are kept as bytes. */
sinew_status sn_spring_keep(sinew_spring_state *state, sn_spring_past *past, sinew_error *error) {
    memcpy(past->history, state->history, sizeof past->history);
    memcpy(past->history_weights, state->history_weights, sizeof past->history_weights);
    past->history_count = state->history_count, past->history_index = state->history_index;
    past->last_index = state->last_index, past->tame = state->tame;
    past->packed = needs_shape(state) || touch_count(state) > 0;
    state->kept.size = 0, state->kept.failed = false;
    if (past->packed) sn_spring_pack(state, &state->kept);
    return state->kept.failed ? sn_no_memory(error) : SINEW_OK;
}

void sn_spring_restore(sinew_spring_state *state, const sn_spring_past *past) {
    memcpy(state->history, past->history, sizeof past->history);
    memcpy(state->history_weights, past->history_weights, sizeof past->history_weights);
    state->history_count = past->history_count, state->history_index = past->history_index;
    state->last_index = past->last_index, state->tame = past->tame;
    sn_unpack unpack = {.bytes = state->kept.bytes, .size = state->kept.size};
    if (past->packed)
        sn_spring_unpack(state, &unpack, NULL);
    else
        sn_contacts_forget(state->contacts, state->spring->network->surface_count);
}
