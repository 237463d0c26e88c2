/* The surface against itself.
 *
 * Distances between parts of one surface have no sign: which side is right is known only as long as
 * nothing crosses. So the shape is led from the last step of its way at which the blend is free of
 * crossings (way.c), and a safe shape is kept beside it that never crosses: what a solve asks for
 * is cut back along the straight path from the safe shape (contact/pairs.h), pairs that have come
 * near become contacts, and the next solve starts from there. When nothing is cut back any more and
 * the contacts agree, the safe shape is the answer.
 *
 * A shape that does not cross itself is left alone, and pairs may come as near as they are in the
 * poses in use: poses that do not cross stay exact. What crosses in the neutral has no side to keep
 * to. Pieces that are embedded in larger ones (mesh/embedded.h) take no part, nor do single
 * triangles that still cross without them (contact/pairs.h).
 *
 * Based on: Li and others 2020, Incremental potential contact. We differ in: contacts with forces
 * instead of a barrier, so that what does not touch is not pushed. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/monitor.h"
#include "base/scope.h"
#include "base/status.h"
#include "contact/left_out.h"
#include "mesh/embedded.h"
#include "mesh/intersection.h"
#include "rig/pose.h"
#include "spring/contact.h"

/* The distance that is kept, in contact depths. */
static const double GAP = 2;
/* Least distance of contacts over that of cutting back. */
static const double CLEAR = 2;
enum { EMPTY = -1, FIRST_SLOTS = 1024 };

/* ---- which triangles take part ---- */

sinew_status sn_self_create(sinew_spring *spring, const sinew_monitor *monitor,
                            sinew_error *error) {
    const sn_network *network = spring->network;
    int n = network->surface_count, count = 0;
    bool *embedded = SN_NEW(bool, n + 1);
    spring->crosses_at_rest = SN_NEW(bool, n + 1);
    int *triangles = SN_NEW(int, 3 * (size_t)network->triangle_count + 1);
    sinew_status status =
        embedded && triangles && spring->crosses_at_rest
            ? sn_embedded_pieces(n, network->neutral, network->triangle_count, network->triangles,
                                 monitor, embedded, spring->crosses_at_rest, error)
            : sn_no_memory(error);
    for (int t = 0; status == SINEW_OK && t < network->triangle_count; t++) {
        const int *v = network->triangles + 3 * (size_t)t;
        if (!embedded[v[0]]) memcpy(triangles + 3 * (size_t)count++, v, 3 * sizeof *v);
    }
    if (status == SINEW_OK)
        status = sn_contact_surface_create(n, network->neutral, count, triangles, NULL, NULL,
                                           GAP * spring->options.contact_depth * network->diagonal,
                                           &spring->self, error);
    int left_out = status == SINEW_OK ? sn_self_leaves_out(spring) : 0;
    if (left_out > 0)
        status = sn_contact_log_left_out(spring->rig->neutral, NULL, spring->self, left_out,
                                         monitor, error);
    sn_free(embedded), sn_free(triangles);
    return status;
}

int sn_self_leaves_out(const sinew_spring *spring) {
    return spring->self ? spring->network->triangle_count - spring->self->triangle_count : 0;
}

/* ---- state ---- */

struct sn_self {
    sn_contact_work *work;
    double *plain;  /* 3 per surface vertex: the shape without contact */
    double *safe;   /* 3 per surface vertex: never crosses */
    double *asked;  /* 3 per surface vertex: what the last solve asked for */
    double *wanted; /* 3 per surface vertex: scratch */
    bool *crosses;  /* per triangle of the surface: scratch */
    bool *meets;    /* per surface vertex: of a triangle that crossed in this frame */
    int pose_count;
    size_t pose_capacity;
    double *poses; /* 3 per surface vertex and active target */
    int *slots;    /* hash table of touches by their pair, or EMPTY */
    int slot_count;
};

void sn_self_destroy(sn_self *self) {
    if (!self) return;
    sn_contact_work_destroy(self->work);
    sn_free(self->plain), sn_free(self->safe), sn_free(self->asked), sn_free(self->wanted),
        sn_free(self->poses), sn_free(self->slots);
    sn_free(self->crosses), sn_free(self->meets);
    sn_free(self);
}

static sinew_status make_room(const sinew_spring *spring, sn_contacts *contacts,
                              sinew_error *error) {
    size_t n = (size_t)spring->network->surface_count;
    if (!contacts->self) {
        contacts->self = SN_NEW0(sn_self, 1);
        if (!contacts->self) return sn_no_memory(error);
    }
    sn_self *self = contacts->self;
    if (!self->plain) self->plain = SN_NEW(double, 3 * n);
    if (!self->safe) self->safe = SN_NEW(double, 3 * n);
    if (!self->asked) self->asked = SN_NEW(double, 3 * n);
    if (!self->wanted) self->wanted = SN_NEW(double, 3 * n);
    if (!self->slots) {
        self->slots = SN_NEW(int, FIRST_SLOTS);
        self->slot_count = FIRST_SLOTS;
    }
    if (!self->crosses) self->crosses = SN_NEW(bool, spring->self->triangle_count + 1);
    if (!self->meets) self->meets = SN_NEW(bool, n + 1);
    if (!self->plain || !self->safe || !self->asked || !self->wanted || !self->slots ||
        !self->crosses || !self->meets)
        return sn_no_memory(error);
    if (!self->work) SN_TRY(sn_contact_work_create(spring->self, &self->work, error));
    return SINEW_OK;
}

sinew_status sn_self_begin(const sinew_spring *spring, sinew_spring_state *state,
                           sinew_error *error) {
    SN_TRY(sn_check_interrupt(error));
    SN_TRY(make_room(spring, state->contacts, error));
    SN_TRY(sn_check_interrupt(error));
    sn_self *self = state->contacts->self;
    size_t n = 3 * (size_t)spring->network->surface_count;
    memset(self->slots, EMPTY, (size_t)self->slot_count * sizeof *self->slots);
    self->pose_count = 0;
    for (int t = 0; t < spring->rig->target_count; t++) {
        if (state->activations[t] == 0) continue;
        if (!SN_RESERVE(self->poses, self->pose_capacity, n * (size_t)(self->pose_count + 1)))
            return sn_no_memory(error);
        sn_rig_pose(spring->rig, t, self->poses + n * (size_t)self->pose_count++);
    }
    return SINEW_OK;
}

static void read_shape(const sinew_spring *spring, const sinew_spring_state *state, double *to) {
    for (int v = 0; v < spring->network->surface_count; v++)
        sn_put(to, v, sn_contact_position(spring, state, v));
}

static void write_shape(const sinew_spring *spring, sinew_spring_state *state, const double *from) {
    for (int v = 0; v < spring->network->surface_count; v++)
        memcpy(state->x + SN_PAD * (size_t)spring->system->place[v], from + 3 * (size_t)v,
               3 * sizeof *from);
}

/* ---- crossings ---- */

sinew_status sn_self_crosses(const sinew_spring *spring, sinew_spring_state *state,
                             const double *positions, bool *crosses, sinew_error *error) {
    const sn_contact_surface *surface = spring->self;
    sn_self *self = state->contacts->self;
    sn_call call; /* in a scope, the loops of the search can be stopped */
    sn_call_begin(&call, sn_monitor_entered());
    memset(self->crosses, 0, (size_t)surface->triangle_count * sizeof(bool));
    sinew_status status =
        sn_crossing_triangles(spring->network->surface_count, positions, surface->triangle_count,
                              surface->triangles, self->crosses, error);
    status = sn_call_end(&call, status, error);
    *crosses = false;
    for (int t = 0; status == SINEW_OK && t < surface->triangle_count; t++) {
        if (!self->crosses[t]) continue;
        *crosses = true;
        for (int c = 0; c < 3; c++)
            self->meets[surface->triangles[3 * (size_t)t + (size_t)c]] = true;
    }
    return status;
}

const bool *sn_self_meets(const sinew_spring_state *state) {
    return state->contacts->self->meets;
}

sinew_status sn_self_shape_crosses(const sinew_spring *spring, sinew_spring_state *state,
                                   bool *crosses, sinew_error *error) {
    read_shape(spring, state, state->contacts->self->wanted);
    return sn_self_crosses(spring, state, state->contacts->self->wanted, crosses, error);
}

/* ---- the safe shape ---- */

void sn_self_start(const sinew_spring *spring, sinew_spring_state *state) {
    read_shape(spring, state, state->contacts->self->safe);
    read_shape(spring, state, state->contacts->self->asked);
}

sinew_status sn_self_cut_back(const sinew_spring *spring, sinew_spring_state *state, bool *cut,
                              sinew_error *error) {
    sn_self *self = state->contacts->self;
    double share = 1;
    read_shape(spring, state, self->wanted);
    memcpy(self->asked, self->wanted,
           3 * (size_t)spring->network->surface_count * sizeof *self->asked);
    SN_TRY(sn_contact_cut_back(spring->self, self->work, self->safe, self->wanted, &share, error));
    *cut = share < 1;
    if (*cut) write_shape(spring, state, self->wanted);
    memcpy(self->safe, self->wanted,
           3 * (size_t)spring->network->surface_count * sizeof *self->safe);
    return SINEW_OK;
}

/* ---- against the shape without contact ---- */

void sn_self_keep(const sinew_spring *spring, sinew_spring_state *state) {
    sn_self *self = state->contacts->self;
    read_shape(spring, state, self->plain);
    memset(self->meets, 0, (size_t)spring->network->surface_count * sizeof *self->meets);
}

sinew_status sn_self_compare(const sinew_spring *spring, sinew_spring_state *state,
                             sinew_error *error) {
    sn_self *self = state->contacts->self;
    read_shape(spring, state, self->wanted);
    SN_TRY(sn_self_release(spring, self->plain, self->wanted, &state->contacts->released, error));
    if (state->contacts->released > 0) write_shape(spring, state, self->wanted);
    return SINEW_OK;
}

/* ---- pairs as touches ---- */

static size_t hash_of(const int v[4]) {
    size_t hash = 1469598103934665603u;
    for (int c = 0; c < 4; c++) hash = (hash ^ (size_t)v[c]) * 1099511628211u;
    return hash ^ hash >> 29;
}

/* The slot of a pair, or the empty one where it belongs. */
static int *slot_of(const sn_contacts *contacts, const int v[4]) {
    sn_self *self = contacts->self;
    size_t mask = (size_t)self->slot_count - 1, at = hash_of(v) & mask;
    while (self->slots[at] != EMPTY &&
           memcmp(contacts->list[self->slots[at]].vertex, v, 4 * sizeof *v) != 0)
        at = (at + 1) & mask;
    return &self->slots[at];
}

static bool grow(sn_contacts *contacts, int touches) {
    sn_self *self = contacts->self;
    if (2 * touches < self->slot_count) return true;
    int wanted = self->slot_count;
    while (wanted <= 2 * touches) wanted *= 2;
    int *slots = SN_NEW(int, wanted);
    if (!slots) return false;
    sn_free(self->slots);
    self->slots = slots, self->slot_count = wanted;
    memset(slots, EMPTY, (size_t)wanted * sizeof *slots);
    for (int k = 0; k < contacts->count; k++)
        if (contacts->list[k].obstacle < 0) *slot_of(contacts, contacts->list[k].vertex) = k;
    return true;
}

/* What a pair has to keep: the gap, or less where it is nearer in a pose, but more than what
 * cutting back keeps: else the two would wait for each other. */
static double wanted_distance(const sinew_spring *spring, const sn_self *self,
                              const sn_contact_pair *pair) {
    double wanted = fmin(spring->self->gap, sn_contact_rest_distance(spring->self, pair));
    size_t n = 3 * (size_t)spring->network->surface_count;
    for (int p = 0; p < self->pose_count; p++) {
        double weight[4];
        sn_vec3 normal;
        wanted =
            fmin(wanted, sn_contact_distance(pair, self->poses + n * (size_t)p, weight, &normal));
    }
    return fmax(wanted, CLEAR * spring->self->reach);
}

static void measure(const sn_self *self, const sn_contact_pair *pair, sn_touch *touch) {
    touch->gap =
        sn_contact_distance(pair, self->safe, touch->weight, &touch->normal) - touch->wanted;
}

/* The same halfway from how it was held before. Where a vertex slides over an edge, it is held by
 * one side of it in one round, slides to the other, and is held by that one in the next: the mean
 * of both holds it at the edge. */
static void settle(const sn_self *self, const sn_contact_pair *pair, sn_touch *touch) {
    sn_touch was = *touch;
    measure(self, pair, touch);
    if (!(sn_dot(was.normal, touch->normal) > 0)) return;
    touch->normal = sn_normalize(sn_add(was.normal, touch->normal));
    for (int c = 0; c < 4; c++) touch->weight[c] = 0.5 * (was.weight[c] + touch->weight[c]);
}

/* A pair that the last solve drove together after a fraction of the way: it is held apart along the
 * direction in which it met, with the gap of the safe shape along it. */
static void measure_met(const sn_self *self, const sn_contact_pair *pair, double share,
                        sn_touch *touch) {
    static const int own[4] = {0, 1, 2, 3};
    double at[12];
    sn_contact_pair met = {.edges = pair->edges};
    memcpy(met.v, own, sizeof own);
    for (int c = 0; c < 4; c++)
        sn_put(at, c,
               sn_lerp(sn_at(self->safe, pair->v[c]), sn_at(self->asked, pair->v[c]), share));
    if (!(sn_contact_distance(&met, at, touch->weight, &touch->normal) > 0)) return;
    touch->gap = -touch->wanted;
    for (int c = 0; c < 4; c++)
        touch->gap += touch->weight[c] * sn_dot(touch->normal, sn_at(self->safe, pair->v[c]));
}

sinew_status sn_self_look(const sinew_spring *spring, sinew_spring_state *state, double margin,
                          bool settling, sinew_error *error) {
    sn_contacts *contacts = state->contacts;
    sn_self *self = contacts->self;
    for (int k = 0; k < contacts->count; k++) {
        sn_touch *touch = &contacts->list[k];
        if (touch->obstacle >= 0) continue;
        if (k % 1024 == 0) SN_TRY(sn_check_interrupt(error));
        sn_contact_pair pair = {.edges = touch->edges};
        memcpy(pair.v, touch->vertex, sizeof pair.v);
        if (settling && touch->force > 0)
            settle(self, &pair, touch);
        else
            measure(self, &pair, touch);
    }
    const sn_contact_pair *pairs;
    int count;
    double reach = spring->self->gap + margin;
    SN_TRY(sn_contact_find(spring->self, self->work, self->safe, self->asked, reach, &pairs, &count,
                           error));
    for (int k = 0; k < count; k++) {
        double weight[4];
        sn_vec3 normal;
        if (k % 128 == 0) SN_TRY(sn_check_interrupt(error));
        double share = sn_contact_impact(&pairs[k], self->safe, self->asked, spring->self->reach);
        if (share >= 1 && sn_contact_distance(&pairs[k], self->safe, weight, &normal) > reach)
            continue;
        if (!grow(contacts, contacts->count + 1)) return sn_no_memory(error);
        int *slot = slot_of(contacts, pairs[k].v);
        if (*slot == EMPTY) {
            sn_touch made = {.count = 4, .obstacle = -1, .edges = pairs[k].edges, .term = -1};
            memcpy(made.vertex, pairs[k].v, sizeof made.vertex);
            made.wanted = wanted_distance(spring, self, &pairs[k]);
            measure(self, &pairs[k], &made);
            if (!SN_RESERVE(contacts->list, contacts->capacity, contacts->count + 1))
                return sn_no_memory(error);
            *slot = contacts->count;
            contacts->list[contacts->count++] = made;
        }
        if (share < 1) measure_met(self, &pairs[k], share, &contacts->list[*slot]);
    }
    return SINEW_OK;
}
