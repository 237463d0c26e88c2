/* Moist lips: pairs that touched stay together for a while. A frame is solved as if nothing stuck;
 * pairs that would part by little then pull, and it is solved once more. */
#include <math.h>
#include <string.h>

#include "force/contact_state.h"

/* What is left of the opening of a pair that would be `apart` without sticking: nothing up to the
 * length s, all of it from 2 s on, and smoothly between. It depends on the shape alone, not on the
 * time between frames. */
static double share_parted(double apart, double s) {
    double t = fmin(fmax(apart / s - 1, 0), 1);
    return t * t * (3 - 2 * t);
}

/* Which pairs stick, from the shape x in which none does. Pairs are pulled back along the normal of
 * their last touch: skin may slide. Returns whether any pulls. */
static bool find_sticking(sn_force_contact *c, const double *x) {
    bool any = false;
    for (size_t p = 0; p < c->touch_count; p++) {
        sn_touch *t = &c->touches[p];
        double weight[4];
        sn_vec3 normal;
        t->unstuck = t->force;
        if (t->force > 0) {
            t->sticks = true, t->held_normal = t->normal;
            memcpy(t->held_weight, t->weight, sizeof t->weight);
        }
        if (!t->sticks) continue;
        double share =
            share_parted(sn_contact_distance(&t->pair, x, weight, &normal) - t->gap, c->stick);
        memcpy(t->weight, t->held_weight, sizeof t->weight), t->normal = t->held_normal;
        double opening = sn_touch_along(t, x) - t->gap;
        t->sticks = share < 1;
        t->pulls = t->sticks && opening > t->gap, t->parted = share * opening;
        any |= t->pulls;
    }
    return any;
}

sinew_status sn_force_contact_stick(sn_force_contact *c, const double *x0, double *x,
                                    sn_force_contact_info *info, const sinew_monitor *monitor,
                                    sinew_error *error) {
    size_t bytes = 3 * sizeof(double) * (size_t)c->surface->vertex_count;
    sn_force_contact_info pulled;
    if (!find_sticking(c, x)) return SINEW_OK;
    memcpy(x, c->goal, bytes);
    c->pulls = true;
    sinew_status status = sn_force_contact_find(c, x0, x, &pulled, monitor, error);
    c->pulls = false;
    for (size_t p = 0; p < c->touch_count; p++) c->touches[p].pulls = false;
    /* the next frame starts from forces that press; it would not lose those that pull in a few
     * sweeps */
    for (size_t p = 0; p < c->touch_count; p++) c->touches[p].force = c->touches[p].unstuck;
    SN_TRY(status);
    if (pulled.released > 0) { /* it would tear the skin, and lets go */
        memcpy(x, c->unstuck, bytes);
        for (size_t p = 0; p < c->touch_count; p++) c->touches[p].sticks = false;
    } else
        *info = pulled;
    return SINEW_OK;
}
