/* Leading a shape to the obstacles in its way.
 *
 * A finger that closes through a cylinder in the blend has points beyond its middle: the nearest
 * way out is the far side, and the finger would be torn. Which side is right is said by the way
 * from the neutral to the frame's weights, t w with t from 0 to 1, along which the rotation-aware
 * blend moves smoothly. It belongs to the frame alone: no frame before it is asked.
 *
 *   find   along the blend: does a point that is inside turn its way out by more than 60 degrees
 * from step to step? Only then the way has to be gone. step   rest lengths, volumes and blend at t
 * w; the shape moves on by what the blend moved, its contacts hold it back on the side where they
 * are.
 *
 * Based on: continuation in the load. We differ in: it starts anew in every frame, at the last step
 * before anything touches, and follows the blend, so that it ends in the blend's equilibrium. */
#include <math.h>
#include <string.h>

#include "base/status.h"
#include "spring/contact.h"

static const double STEP_LENGTH = 0.75; /* of the mean spring, that the fastest point may move */
static const double DETOUR = 1.6;       /* longest way over the straight one: half a circle */
static const double SAME_SIDE = 0.5;    /* cosine between ways out of one side */
enum { LEAST_STEPS = 4, MOST_STEPS = 48, HALVINGS = 4 };

static int count_steps(const sinew_spring *spring, const sinew_spring_state *state) {
    double farthest = 0;
    for (int v = 0; v < spring->network->surface_count; v++)
        farthest = fmax(farthest, sn_distance(sn_contact_position(spring, state, v),
                                              sn_at(spring->network->neutral, v)));
    double steps = farthest / (STEP_LENGTH * spring->network->mean_length);
    return steps < LEAST_STEPS ? LEAST_STEPS : steps > MOST_STEPS ? MOST_STEPS : (int)steps;
}

/* Can a vertex have met an obstacle between the neutral and here? */
static bool may_meet(const sinew_spring *spring, const sinew_spring_state *state,
                     const sinew_spring_frame *frame) {
    for (int o = 0; o < frame->obstacle_count; o++) {
        if (sn_contact_carried(frame, o)) continue;
        for (int v = 0; v < spring->network->surface_count; v++) {
            if (!sn_contact_movable(spring, state, v)) continue;
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

typedef struct place {
    sn_vec3 at, out;
    double distance;
} place;

static place place_at(const sinew_obstacle *obstacle, sn_vec3 at, double allowed) {
    place p = {.at = at};
    p.distance = sn_obstacle_query(obstacle, at, INFINITY, &p.out) + allowed;
    return p;
}

/* Does the segment between two places meet the obstacle? Balls of their distances around the ends
 * are free; what they leave open is halved. */
static bool meets(const sinew_obstacle *obstacle, const place *a, const place *b, double allowed,
                  int halvings) {
    if (a->distance < 0 || b->distance < 0) return true;
    if (halvings == 0 || a->distance + b->distance >= sn_distance(a->at, b->at)) return false;
    place middle = place_at(obstacle, sn_lerp(a->at, b->at, 0.5), allowed);
    return meets(obstacle, a, &middle, allowed, halvings - 1) ||
           meets(obstacle, &middle, b, allowed, halvings - 1);
}

/* The way of every vertex from the step before; true when one is inside now. */
static bool look_at_step(const sinew_spring *spring, const sinew_spring_state *state,
                         const sinew_spring_frame *frame, int step, bool *straight) {
    int n = spring->network->surface_count;
    bool inside = false;
    for (int o = 0; o < frame->obstacle_count; o++) {
        if (sn_contact_carried(frame, o)) continue;
        for (int v = 0; v < n; v++) {
            if (!sn_contact_movable(spring, state, v)) continue;
            double *room = state->contacts->way + SN_WAY_ROOM * ((size_t)o * (size_t)n + (size_t)v);
            double allowed = sn_contact_allowed(frame, o, v);
            place now = place_at(frame->obstacles[o], sn_at(state->blend, v), allowed);
            /* the way out is kept from where it went in */
            place before = {sn_at(room, 0), sn_at(room, 1), room[6]};
            if (step > 0 && *straight && sn_dot(before.out, now.out) < SAME_SIDE)
                *straight = !meets(frame->obstacles[o], &before, &now, allowed, HALVINGS);
            inside |= now.distance < 0;
            if (step == 0 || now.distance >= 0) sn_put(room, 1, now.out);
            sn_put(room, 0, now.at), room[6] = now.distance;
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
        sn_frame_blend(spring, state, frame, (double)step / way->steps);
        touched |= look_at_step(spring, state, frame, step, &way->straight);
        if (way->crosses && !touched)
            SN_TRY(sn_self_crosses(spring, state->blend, &touched, error));
        if (!touched) way->first = step;
    }
    /* the last step has put the frame's own load back */
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
    sn_frame_blend(spring, state, frame, share);
    memcpy(state->x, blend, all * sizeof *state->x);
    if (previous >= 0)
        for (size_t k = 0; k < SN_PAD * (size_t)spring->system->free_count; k++)
            state->x[k] += state->start[k];
    return sn_frame_pull(spring, state, frame, share, error);
}
