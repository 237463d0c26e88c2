/* Contact of a blended shape with itself.
 *
 * Contact of triangles keeps the sides that pairs have where a step begins (force/contact.h).
 * Within one step from the neutral a blend passes lips through each other and on through the teeth:
 * the sides are lost, and pairs are pressed apart where they met first, not where they end. So the
 * shape x is approached along
 *
 *   x(t) = rest + t (x - rest),   t from 0 to 1,
 *
 * which is the path of the sliders for a linear blend. t advances in steps of 1 / STEPS times a
 * power of two. A step is taken again as two halves when the guarantee shortened paths or released
 * vertices in it, or when the two sides of a pair that presses move against each other by more than
 * SLIP: contact treats their motion as straight. Where nothing presses, one step is enough.
 *
 * A long step can pass the whole surface through itself. It is going to be halved, and pressing its
 * many pairs would cost more than all steps after it, so it is given up as soon as its pairs are
 * known when they slide too far, or are more than MOST_PER_POINT per vertex. Where even the
 * shortest step has as many, no contact is left that could be resolved, and the shape stays as it
 * was. */
#include "sinew/skin_contact.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/monitor.h"
#include "base/scope.h"
#include "base/sized.h"
#include "base/status.h"
#include "force/carry.h"
#include "force/give_way.h"
#include "force/layer_contact.h"
#include "force/layer_restore.h"
#include "force/lid_lift.h"
#include "force/riders.h"
#include "force/skin.h"

/* Fraction of the diagonal that the two sides of a pair may move against each other in a step. A
 * step whose pairs move this many times as far before they press is not finished. */
#define SLIP    0.002
#define TOO_FAR 1.5

/* Pairs per vertex, and in all, that a step may press: a surface that lies on itself everywhere has
 * about two per vertex. */
enum { MOST_PER_POINT = 2, LEAST_MOST = 1024, MOST_MOST = 8191 };

struct sinew_skin_contact {
    int vertex_count;
    double slip;  /* length units */
    double *rest; /* 3 per vertex */
    sn_riders riders;
    sn_layer_contact *contact;
    sn_carry_plan *carry;
    sn_layer_restore *restore;
    sn_give_way_plan *give_way;
    sn_lid_lift_plan *lift;
};

struct sinew_skin_contact_state {
    const sinew_skin_contact *contact;
    sn_layer_contact_work *press;
    sn_carry *carry;
    sn_layer_restore_work *restore;
    sn_give_way_work *give_way;
    sn_lid_lift *lift;
    double *lifted;               /* 3 per vertex: the shape with lids on the eyeballs */
    double *x;                    /* 3 per vertex: pressed apart */
    double *path;                 /* 3 per vertex: from rest to the shape */
    sn_pack kept;                 /* contact before a step */
    sinew_skin_contact_info info; /* of the last shape */
};

static sinew_status find_riders(sinew_skin_contact *c, const sn_skin *skin, const sinew_rig *rig,
                                const sinew_anatomy *anatomy, sinew_error *error) {
    const int *piece = sinew_anatomy_pieces(anatomy);
    bool *marked = SN_NEW(bool, skin->vertex_count + 1);
    if (!marked) return sn_no_memory(error);
    for (int v = 0; v < skin->vertex_count; v++)
        marked[v] = sinew_anatomy_piece_kind(anatomy, piece[v]) == SINEW_PIECE_KIND_SKIN;
    sinew_status status = sn_riders_find(skin, rig, marked, &c->riders, error);
    sn_free(marked);
    SN_TRY(status);
    sn_riders_leave_inner(&c->riders, anatomy);
    return SINEW_OK;
}

static sinew_status fill(sinew_skin_contact *c, const sinew_rig *rig, const sinew_anatomy *anatomy,
                         sinew_error *error) {
    sn_skin *skin;
    SN_TRY(sn_skin_create(rig, 0, NULL, &skin, error));
    sn_skin_fit_head(skin, rig, sinew_anatomy_eye_distance(anatomy));
    c->vertex_count = skin->vertex_count, c->slip = SLIP * skin->diagonal;
    c->rest = sn_memdup(skin->rest, 3 * (size_t)skin->vertex_count, sizeof(double));
    sinew_status status = c->rest ? find_riders(c, skin, rig, anatomy, error) : sn_no_memory(error);
    if (status == SINEW_OK)
        status = sn_layer_contact_create(skin, rig, anatomy, &c->riders, &c->contact, error);
    if (status == SINEW_OK)
        status = sn_carry_plan_create(skin, rig, anatomy, &c->riders, &c->carry, error);
    if (status == SINEW_OK)
        status = sn_layer_restore_create(skin, rig->neutral, anatomy, &c->riders,
                                         sn_layer_contact_surface(c->contact), &c->restore, error);
    if (status == SINEW_OK)
        status = sn_give_way_plan_create(skin, rig->neutral, anatomy, &c->riders, c->carry,
                                         &c->give_way, error);
    if (status == SINEW_OK)
        status = sn_lid_lift_plan_create(skin, rig->neutral, anatomy, &c->riders, &c->lift, error);
    sn_skin_destroy(skin);
    return status;
}

sinew_status sinew_skin_contact_create(const sinew_rig *rig, const sinew_anatomy *anatomy,
                                       const sinew_monitor *monitor, sinew_skin_contact **contact,
                                       sinew_error *error) {
    SN_REQUIRE(rig && contact, error);
    *contact = NULL;
    if (rig->neutral->triangle_count == 0)
        return sn_fail(error, SINEW_BAD_INPUT, "self-contact: the neutral has no triangles");
    sinew_skin_contact *c = SN_NEW0(sinew_skin_contact, 1);
    if (!c) return sn_no_memory(error);
    sinew_anatomy *own = NULL;
    sn_call call;
    sn_call_begin(&call, monitor);
    sinew_status status = anatomy ? SINEW_OK : sinew_anatomy_create(rig, monitor, &own, error);
    if (status == SINEW_OK) status = fill(c, rig, anatomy ? anatomy : own, error);
    sinew_anatomy_destroy(own);
    status = sn_call_end(&call, status, error);
    if (status != SINEW_OK) {
        sinew_skin_contact_destroy(c);
        return status;
    }
    *contact = c;
    return SINEW_OK;
}

void sinew_skin_contact_destroy(sinew_skin_contact *c) {
    if (!c) return;
    sn_layer_contact_destroy(c->contact);
    sn_carry_plan_destroy(c->carry);
    sn_layer_restore_destroy(c->restore);
    sn_give_way_plan_destroy(c->give_way);
    sn_lid_lift_plan_destroy(c->lift);
    sn_riders_free(&c->riders);
    sn_free(c->rest);
    sn_free(c);
}

static int most_pairs(const sinew_skin_contact *c) {
    int points = sn_layer_contact_surface(c->contact)->point_count;
    if (points < LEAST_MOST / MOST_PER_POINT) return LEAST_MOST;
    return points < MOST_MOST / MOST_PER_POINT ? MOST_PER_POINT * points : MOST_MOST;
}

sinew_status sinew_skin_contact_state_create(const sinew_skin_contact *contact,
                                             sinew_skin_contact_state **state, sinew_error *error) {
    SN_REQUIRE(contact && state, error);
    *state = NULL;
    sinew_skin_contact_state *s = SN_NEW0(sinew_skin_contact_state, 1);
    if (!s) return sn_no_memory(error);
    s->contact = contact;
    s->x = SN_NEW(double, 3 * (size_t)contact->vertex_count);
    s->path = SN_NEW(double, 3 * (size_t)contact->vertex_count);
    s->lifted = SN_NEW(double, 3 * (size_t)contact->vertex_count);
    sinew_status status = s->x && s->path && s->lifted ? SINEW_OK : sn_no_memory(error);
    if (status == SINEW_OK)
        status = sn_layer_contact_work_create(contact->contact, &s->press, error);
    if (status == SINEW_OK) sn_layer_contact_set_most(s->press, most_pairs(contact));
    if (status == SINEW_OK) status = sn_carry_create(contact->carry, &s->carry, error);
    if (status == SINEW_OK)
        status = sn_layer_restore_work_create(contact->restore, &s->restore, error);
    if (status == SINEW_OK)
        status = sn_give_way_work_create(contact->give_way, &s->give_way, error);
    if (status == SINEW_OK) status = sn_lid_lift_create(contact->lift, &s->lift, error);
    if (status != SINEW_OK) {
        sinew_skin_contact_state_destroy(s);
        return status;
    }
    *state = s;
    return SINEW_OK;
}

void sinew_skin_contact_state_destroy(sinew_skin_contact_state *s) {
    if (!s) return;
    sn_layer_contact_work_destroy(s->press);
    sn_carry_destroy(s->carry);
    sn_layer_restore_work_destroy(s->restore);
    sn_give_way_work_destroy(s->give_way);
    sn_lid_lift_destroy(s->lift);
    sn_pack_free(&s->kept);
    sn_free(s->x), sn_free(s->path), sn_free(s->lifted);
    sn_free(s);
}

/* ---- shapes ---------------------------------------------------------------------------------- */

/* Tries to go from t = from / STEPS, where contact is, to to / STEPS. pressed->slip: along the
 * whole path. */
static sinew_status go(sinew_skin_contact_state *s, const double *shape, int from, int to,
                       sn_force_contact_info *pressed, bool *smooth, sinew_error *error) {
    size_t n = 3 * (size_t)s->contact->vertex_count;
    double t = (double)to / SINEW_SKIN_CONTACT_STEPS;
    double most = s->contact->slip * SINEW_SKIN_CONTACT_STEPS / (to - from);
    if (to == SINEW_SKIN_CONTACT_STEPS) /* the end of the path is the shape but for rounding */
        memcpy(s->x, shape, n * sizeof *s->x);
    else
        for (size_t i = 0; i < n; i++) s->x[i] = s->contact->rest[i] + t * s->path[i];
    sn_layer_contact_set_path(s->press, s->path, (double)from / SINEW_SKIN_CONTACT_STEPS, t,
                              to - from > 1 ? TOO_FAR * most : INFINITY);
    SN_TRY(sn_layer_contact_solve(s->press, s->x, pressed, error));
    *smooth =
        !pressed->crowded && pressed->cut == 1 && pressed->released == 0 && pressed->slip <= most;
    return SINEW_OK;
}

/* s->x: the shape, pressed apart along its path from the neutral. */
static sinew_status follow_path(sinew_skin_contact_state *s, const double *shape,
                                sinew_error *error) {
    const double *rest = s->contact->rest;
    size_t n = 3 * (size_t)s->contact->vertex_count;
    for (size_t i = 0; i < n; i++) s->path[i] = shape[i] - rest[i];
    sn_layer_contact_forget(s->press);
    int at = 0, step = SINEW_SKIN_CONTACT_STEPS;
    while (at < SINEW_SKIN_CONTACT_STEPS) {
        sn_force_contact_info pressed;
        double most = SINEW_SKIN_CONTACT_STEPS * s->contact->slip;
        bool smooth;
        s->kept.size = 0, s->kept.failed = false;
        sn_layer_contact_pack(s->press, &s->kept);
        if (s->kept.failed) return sn_no_memory(error);
        SN_TRY(go(s, shape, at, at + step, &pressed, &smooth, error));
        s->info.steps++;
        if (!smooth && step > 1) {
            sn_unpack back = {.bytes = s->kept.bytes, .size = s->kept.size};
            SN_TRY(sn_layer_contact_unpack(s->press, &back, error));
            for (step /= 2; step > 1 && step * pressed.slip > most;) step /= 2;
            continue;
        }
        if (pressed.crowded)
            return sn_fail(error, SINEW_BAD_INPUT, "self-contact: too much touches at once");
        at += step;
        s->info.contacts = pressed.pressing, s->info.released = pressed.released;
        bool fits = at % (2 * step) == 0 && at + 2 * step <= SINEW_SKIN_CONTACT_STEPS;
        if (fits && 2 * step * pressed.slip <= most) step *= 2;
    }
    return SINEW_OK;
}

static bool is_finite(const double *x, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += 0 * x[i];
    return sum == 0;
}

/* s->x; *worse: it is of no use. */
static sinew_status press_apart(sinew_skin_contact_state *s, const double *shape, bool *worse,
                                sinew_error *error) {
    size_t bytes = 3 * sizeof(double) * (size_t)s->contact->vertex_count;
    memcpy(s->lifted, shape, bytes);
    SN_TRY(sn_lid_lift_apply(s->lift, s->lifted, error));
    SN_TRY(follow_path(s, s->lifted, error));
    *worse = false;
    if (memcmp(s->x, shape, bytes) != 0) {
        SN_TRY(sn_carry_apply(s->carry, shape, s->x, error));
        sn_layer_restore_start(s->restore, shape);
        s->info.restored = sn_layer_restore_apply(s->restore, shape, s->x);
        SN_TRY(sn_lid_lift_apply(s->lift, s->x, error));
    }
    int gave_way;
    SN_TRY(sn_give_way(s->give_way, s->carry, s->restore, s->path, s->x, &gave_way, error));
    s->info.restored += gave_way;
    if (memcmp(s->x, shape, bytes) == 0) return SINEW_OK;
    *worse = sn_layer_restore_count(s->restore, s->x) > sn_layer_restore_count(s->restore, shape);
    return SINEW_OK;
}

sinew_status sinew_skin_contact_apply(sinew_skin_contact_state *s, double *positions,
                                      const sinew_monitor *monitor, sinew_error *error) {
    SN_REQUIRE(s && positions, error);
    size_t n = 3 * (size_t)s->contact->vertex_count;
    if (!is_finite(positions, n))
        return sn_fail(error, SINEW_BAD_INPUT, "the shape has a coordinate that is not finite");
    s->info = (sinew_skin_contact_info){0};
    bool worse;
    sinew_error crowded = {0};
    const sinew_monitor *before = sn_monitor_enter(monitor);
    sinew_status status = press_apart(s, positions, &worse, &crowded);
    sn_monitor_leave(before);
    if (status == SINEW_BAD_INPUT) worse = true; /* too much is close to each other at once */
    if (status != SINEW_OK && status != SINEW_BAD_INPUT) {
        if (error) *error = crowded;
        return status;
    }
    if (worse)
        s->info = (sinew_skin_contact_info){.steps = s->info.steps, .unchanged = true};
    else
        memcpy(positions, s->x, n * sizeof(double));
    return SINEW_OK;
}

sinew_status sinew_skin_contact_get_info(const sinew_skin_contact_state *state,
                                         sinew_skin_contact_info *info) {
    SN_REQUIRE(state && info && sn_info_ready(info), NULL);
    sn_info_write(info, &state->info, sizeof state->info);
    return SINEW_OK;
}
