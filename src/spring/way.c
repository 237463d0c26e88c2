/* Leading a shape to the obstacles in its way.
 *
 * A finger that closes through a cylinder in the blend has points beyond its middle: the nearest
 * way out is the far side, and the finger would be torn. Which side is right is said by the way
 * from the neutral to the frame's weights, t w with t from 0 to 1, along which the rotation-aware
 * blend moves smoothly. It belongs to the frame alone: no frame before it is asked.
 *
 *   find   along the blend: does a point that is inside turn its way out by more than 60 degrees
 *          from step to step? Only then the way has to be gone.
 *   step   rest lengths, volumes and blend at t w; the shape moves on by what the blend moved, its
 *          contacts hold it back on the side where they are.
 *
 * Based on: continuation in the load. We differ in: it starts anew in every frame, at the last step
 * before anything touches, and follows the blend, so that it ends in the blend's equilibrium. */
#include <math.h>
#include <string.h>

#include "base/monitor.h"
#include "base/status.h"
#include "spring/contact.h"

static const double STEP_LENGTH = 0.06;  /* of the diagonal, that the fastest point may move ... */
static const double STEP_SPRINGS = 0.75; /* ... or of the mean spring, if that is longer */
static const double DETOUR = 1.6;        /* longest way over the straight one: half a circle */
static const double SAME_SIDE = 0.5;     /* cosine between ways out of one side */
enum { LEAST_STEPS = 4, MOST_STEPS = 48 };

static int count_steps(const sinew_spring *spring, const sinew_spring_state *state) {
    double farthest = 0;
    for (int v = 0; v < spring->network->surface_count; v++)
        farthest = fmax(farthest, sn_distance(sn_contact_position(spring, state, v),
                                              sn_at(spring->network->neutral, v)));
    double steps = farthest / fmax(STEP_LENGTH * spring->network->diagonal,
                                   STEP_SPRINGS * spring->network->mean_length);
    return steps < LEAST_STEPS ? LEAST_STEPS : steps > MOST_STEPS ? MOST_STEPS : (int)steps;
}

/* Can a vertex have met an obstacle between the neutral and here? */
static bool may_meet(const sinew_spring *spring, const sinew_spring_state *state,
                     const sinew_spring_frame *frame) {
    for (int o = 0; o < frame->obstacle_count; o++) {
        if (sn_contact_carried(frame, o)) continue;
        for (int v = 0; v < spring->network->surface_count; v++) {
            if (!sn_contact_watched(spring, state, o, v)) continue;
            sn_vec3 at = sn_contact_position(spring, state, v), out;
            sn_vec3 from = sn_at(spring->network->neutral, v);
            double reach = DETOUR * sn_distance(from, at);
            /* half of the way from either end */
            if (sn_obstacle_query(frame->obstacles[o], at, reach, &out) < 0.5 * reach ||
                sn_obstacle_query(frame->obstacles[o], from, reach, &out) < 0.5 * reach)
                return true;
        }
    }
    return false;
}

/* The path of every vertex from the step before; true when one is inside now, or has been on it. */
static bool look_at_step(const sinew_spring *spring, const sinew_spring_state *state,
                         const sinew_spring_frame *frame, int step, bool *straight) {
    int n = spring->network->surface_count;
    bool inside = false;
    for (int o = 0; o < frame->obstacle_count; o++) {
        if (sn_contact_carried(frame, o)) continue;
        for (int v = 0; v < n; v++) {
            if (!sn_contact_watched(spring, state, o, v)) continue;
            sn_place *before = &state->contacts->before[(size_t)o * (size_t)n + (size_t)v];
            sn_place now = {.at = sn_at(state->blend, v)}, entry;
            double allowed = sn_contact_allowed(frame, o, v);
            now.distance =
                sn_obstacle_query(frame->obstacles[o], now.at, INFINITY, &now.out) + allowed;
            inside |= now.distance < 0;
            if (step > 0 && sn_dot(before->out, now.out) < SAME_SIDE) {
                bool through =
                    before->distance < 0 || now.distance < 0 ||
                    sn_contact_enters(frame->obstacles[o], before, &now, allowed, &entry);
                inside |= through, *straight &= !through;
            }
            /* the way out is kept from where it went in */
            if (step > 0 && now.distance < 0) now.out = before->out;
            *before = now;
        }
    }
    return inside;
}

sinew_status sn_way_find(const sinew_spring *spring, sinew_spring_state *state,
                         const sinew_spring_frame *frame, bool crosses, sn_way *way,
                         sinew_error *error) {
    *way = (sn_way){.steps = count_steps(spring, state), .straight = true, .crosses = crosses};
    bool touched = false;
    if (spring->self && !crosses)
        SN_TRY(sn_self_shape_crosses(spring, state, &way->crosses, error));
    if (way->crosses) way->straight = false;
    if (!way->crosses && !may_meet(spring, state, frame)) return SINEW_OK;
    for (int step = 0; step <= way->steps; step++) {
        if (sn_frame_blend(spring, state, frame, (double)step / way->steps) < 0)
            return sn_fail(error, SINEW_CANCELLED, "cancelled");
        touched |= look_at_step(spring, state, frame, step, &way->straight);
        if (way->crosses && !touched)
            SN_TRY(sn_self_crosses(spring, state, state->blend, &touched, error));
        if (!touched) way->first = step;
    }
    /* the last step has put the frame's own load back; its places are those of the blend */
    sn_contacts_lose_sight(spring, state->contacts, frame->obstacle_count);
    return SINEW_OK;
}

sinew_status sn_way_step(const sinew_spring *spring, sinew_spring_state *state,
                         const sinew_spring_frame *frame, const sn_way *way, int previous, int step,
                         sinew_error *error) {
    const double *blend = state->solver->load.blend;
    size_t all = SN_PAD * (size_t)spring->system->count;
    double share = (double)step / way->steps;
    if (previous >= 0)
        for (size_t k = 0; k < all; k++) state->start[k] = state->x[k] - blend[k];
    if (sn_frame_blend(spring, state, frame, share) < 0)
        return sn_fail(error, SINEW_CANCELLED, "cancelled");
    memcpy(state->x, blend, all * sizeof *state->x);
    if (previous >= 0)
        for (size_t k = 0; k < SN_PAD * (size_t)spring->system->free_count; k++)
            state->x[k] += state->start[k];
    /* what a region does not move follows the shape without contact */
    double follows =
        way->steps > way->first ? (double)(step - way->first) / (way->steps - way->first) : 0;
    for (size_t k = SN_PAD * (size_t)spring->system->free_count; state->off && k < all; k++)
        state->x[k] += follows * state->off[k];
    return sn_frame_pull(spring, state, frame, share, error);
}
