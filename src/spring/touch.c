/* Which points of the surface are near or inside an obstacle, and which way is out.
 *
 * Vertices ask the obstacle's signed distance. Triangles look for their deepest point
 * (contact/deepest.c). Each look adds the deepest point that is not known yet (cutting planes), so
 * that after a few rounds the whole triangle is out.
 *
 * The way out. Of a smooth obstacle it is the direction to its nearest surface point. Inside a
 * triangle that direction is at right angles to the triangle when the point is the deepest one;
 * where it is not (an edge or a corner pokes through, or a blade is so thin that the nearest way
 * leads sideways) the triangle must yield along its own normal, and the gap is how far the obstacle
 * reaches along it. Later looks keep to the side of the first: a direction that turned by more than
 * 60 degrees while the point is still inside is that of another side. Vertices are followed from
 * look to look: one that was outside leaves by where it went in, also when it has come out on the
 * far side since, so that steps may be longer than obstacles are thick.
 */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "mesh/closest.h"
#include "spring/contact.h"

static const double SAME_SIDE = 0.5; /* cosine between ways out of one side */
static const double TURNS = 0.9;     /* cosine by which ways out turn along a smooth surface */
static const double BARELY = 10;     /* tolerances outside: as good as touching */
static const double SQUARE = 0.95;   /* cosine to the triangle's normal that counts as square */
/* Shares of the longest edge within which points are one: while they may move, and when not. */
static const double SAME_POINT = 0.15, SAME_STILL_POINT = 0.02;
static const double CORNER = 0.97;  /* barycentric weight: the vertex speaks for itself */
static const double ON_SIDE = 1e-3; /* barycentric weight: the point is on the side opposite */
enum { MARCH_STEPS = 64, HALVINGS = 20, PASSAGE_CUTS = 4 };

/* How far along `direction` until the obstacle is left (from inside) or met (from outside), at most
 * `limit`. Steps as long as the distance are safe; along a thin blade they would never end, so a
 * step is at least a small fraction of the limit, and the crossing is then halved down. */
static double way_along(const sinew_obstacle *obstacle, sn_vec3 from, sn_vec3 direction, bool leave,
                        double limit) {
    double before = 0, t = 0;
    sn_vec3 n;
    for (;;) {
        double d = sn_obstacle_query(obstacle, sn_add_scaled(from, t, direction), limit, &n);
        if (leave ? d >= 0 : d <= 0) break;
        before = t;
        t += fmax(fabs(d), limit / MARCH_STEPS);
        if (t >= limit) return limit;
    }
    for (int k = 0; k < HALVINGS && t - before > 1e-12 * limit; k++) {
        double middle = 0.5 * (before + t);
        double d = sn_obstacle_query(obstacle, sn_add_scaled(from, middle, direction), limit, &n);
        if (leave ? d >= 0 : d <= 0)
            t = middle;
        else
            before = middle;
    }
    return t;
}

/* ---- gaps and ways out ---- */

static sn_place place_at(const sinew_obstacle *obstacle, sn_vec3 at, double reach, double allowed) {
    sn_place place = {.at = at};
    place.distance = sn_obstacle_query(obstacle, at, reach, &place.out) + allowed;
    return place;
}

/* From outside to inside: the last place outside. */
static sn_place halve(const sinew_obstacle *obstacle, sn_place a, sn_place b, double allowed) {
    for (int k = 0; k < HALVINGS; k++) {
        sn_place middle = place_at(obstacle, sn_lerp(a.at, b.at, 0.5), INFINITY, allowed);
        if (middle.distance < 0)
            b = middle;
        else
            a = middle;
    }
    return a;
}

static bool enters(const sinew_obstacle *obstacle, const sn_place *a, const sn_place *b,
                   double allowed, int cuts, sn_place *entry) {
    if (cuts == 0 || a->distance + b->distance >= sn_distance(a->at, b->at)) return false;
    sn_place middle = place_at(obstacle, sn_lerp(a->at, b->at, 0.5), INFINITY, allowed);
    if (middle.distance < 0) {
        *entry = halve(obstacle, *a, middle, allowed);
        return true;
    }
    return enters(obstacle, a, &middle, allowed, cuts - 1, entry) ||
           enters(obstacle, &middle, b, allowed, cuts - 1, entry);
}

bool sn_contact_enters(const sinew_obstacle *obstacle, const sn_place *a, const sn_place *b,
                       double allowed, sn_place *entry) {
    return enters(obstacle, a, b, allowed, PASSAGE_CUTS, entry);
}

void sn_contacts_lose_sight(const sinew_spring *spring, sn_contacts *contacts, int obstacles) {
    size_t count = (size_t)obstacles * (size_t)spring->network->surface_count;
    for (size_t k = 0; k < count; k++) contacts->before[k].distance = NAN;
}

/* How far back along the touch's normal, through the obstacle, from a point behind it. */
static bool measure_behind(const sinew_obstacle *obstacle, sn_vec3 p, double limit,
                           sn_touch *touch) {
    double to = way_along(obstacle, p, touch->normal, false, limit);
    if (to >= limit) return false;
    sn_vec3 there = sn_add_scaled(p, to + 1e-9 * limit, touch->normal);
    touch->gap = -to - way_along(obstacle, there, touch->normal, true, limit);
    return true;
}

/* A vertex that was outside at the last look leaves by where it went in, however far it has come
 * since. Known: its touch says which side that is. */
static void measure_passage(const sinew_obstacle *obstacle, const sn_place *before,
                            const sn_place *now, double allowed, bool known, double limit,
                            sn_touch *touch) {
    sn_place entry;
    if (isnan(before->distance) || (before->distance < 0 && !known)) return;
    if (now->distance >= 0) {
        if (before->distance >= 0 && !sn_contact_enters(obstacle, before, now, allowed, &entry))
            return;
        sn_vec3 out, side = known ? touch->normal : entry.out, was = touch->normal;
        sn_obstacle_query(obstacle, now->at, INFINITY, &out);
        if (sn_dot(side, out) > SAME_SIDE) return;
        touch->normal = side;
        touch->behind = measure_behind(obstacle, now->at, limit, touch);
        if (!touch->behind) touch->normal = was;
    } else if (!known && sn_dot(before->out, now->out) <= SAME_SIDE) {
        entry = halve(obstacle, *before, *now, allowed);
        if (sn_dot(entry.out, now->out) > SAME_SIDE) return;
        double out = way_along(obstacle, now->at, entry.out, true, limit);
        if (out < limit) touch->normal = entry.out, touch->gap = -out;
    }
}

/* A vertex; known: it keeps to its side. */
static void measure_vertex(const sinew_obstacle *obstacle, sn_vec3 p, bool known, double limit,
                           double tolerance, sn_touch *touch) {
    sn_vec3 n;
    double d = sn_obstacle_query(obstacle, p, limit, &n), turn = sn_dot(n, touch->normal);
    if (touch->behind && d >= 0 && turn <= SAME_SIDE && measure_behind(obstacle, p, limit, touch))
        return;
    touch->behind = false;
    touch->gap = d;
    if (!known || turn > TURNS) {
        touch->normal = n;
    } else if (d >= 0) {
        /* just outside, beside an edge, distances are too small to have a direction of their own */
        if (d > BARELY * tolerance) touch->normal = n;
    } else if (turn > SAME_SIDE) {
        touch->normal = n;
    } else {
        double out = way_along(obstacle, p, touch->normal, true, limit);
        if (out < limit)
            touch->gap = -out;
        else /* there is no way out on this side */
            touch->normal = n;
    }
}

/* The way in which a point of a triangle yields: the nearest one where that is square to the
 * triangle (on a side of it: square to that side), as it is at the deepest point of a smooth
 * obstacle; else the triangle's own normal. */
static sn_vec3 direction_of(const sn_vec3 corner[3], const double b[3], sn_vec3 n) {
    sn_vec3 inward =
        sn_normalize(sn_cross(sn_sub(corner[2], corner[0]), sn_sub(corner[1], corner[0])));
    int opposite = -1;
    for (int c = 0; c < 3; c++)
        if (b[c] < ON_SIDE) opposite = c;
    if (opposite < 0) return sn_dot(n, inward) > SQUARE ? n : inward;
    sn_vec3 side = sn_normalize(sn_sub(corner[(opposite + 2) % 3], corner[(opposite + 1) % 3]));
    double along = sn_dot(n, side);
    return fabs(along) < SQUARE ? sn_normalize(sn_add_scaled(n, -along, side)) : inward;
}

/* A point of a triangle, with the gap along its direction; known: it keeps to its side. side: that
 * of its corners, or zero. */
static void measure_point(const sinew_obstacle *obstacle, const sn_vec3 corner[3], sn_vec3 side,
                          bool known, double limit, sn_touch *touch) {
    sn_vec3 p = sn_triangle_point(corner, touch->weight), n;
    double d = sn_obstacle_query(obstacle, p, limit, &n);
    sn_vec3 way = direction_of(corner, touch->weight, n);
    if (known && d < 0 && sn_dot(way, touch->normal) < SAME_SIDE) way = touch->normal;
    if (d < 0 && sn_dot(way, side) < 0) way = sn_normalize(side);
    touch->gap = d, touch->normal = way;
    if (sn_dot(way, n) > SQUARE) return;
    double reach = d < 0 ? way_along(obstacle, p, way, true, limit)
                         : way_along(obstacle, p, sn_scale(-1, way), false, limit);
    if (d >= 0)
        touch->gap = reach;
    else if (reach < limit)
        touch->gap = -reach;
    else /* there is no way out on this side */
        touch->normal = n;
}

/* ---- one look at all points ---- */

static int add(sn_contacts *contacts, const sn_touch *made) {
    if (!SN_RESERVE(contacts->list, contacts->capacity, contacts->count + 1)) return -1;
    contacts->list[contacts->count] = *made;
    return contacts->count++;
}

/* Friction holds a point where its vertices touched in the frame before, carried along by the
 * obstacle, or else where it touches now. */
static void find_place(const sn_contacts *contacts, const sinew_obstacle *obstacle, int surface,
                       sn_vec3 at, sn_touch *touch) {
    touch->place = sn_add_scaled(at, -touch->gap, touch->normal);
    sn_vec3 past = {0, 0, 0};
    for (int a = 0; a < touch->count; a++) {
        size_t slot = (size_t)touch->obstacle * (size_t)surface + (size_t)touch->vertex[a];
        if (touch->obstacle >= contacts->past_room || !contacts->touched[slot]) return;
        past = sn_add_scaled(past, touch->weight[a],
                             sn_obstacle_carry(obstacle, &contacts->anchor[slot]));
    }
    touch->place = past;
}

typedef struct look {
    const sinew_spring *spring;
    sinew_spring_state *state;
    const sinew_spring_frame *frame;
    double tolerance, margin, limit;
} look;

static sinew_status look_at_vertices(const look *l, int o, sinew_error *error) {
    const sn_network *network = l->spring->network;
    sn_contacts *contacts = l->state->contacts;
    const sinew_obstacle *obstacle = l->frame->obstacles[o];
    for (int v = 0; v < network->surface_count; v++) {
        size_t at = (size_t)o * (size_t)network->surface_count + (size_t)v;
        int slot = contacts->of_vertex[at];
        sn_place *before = &contacts->before[at];
        double allowed = sn_contact_allowed(l->frame, o, v);
        sn_place now =
            place_at(obstacle, sn_contact_position(l->spring, l->state, v), l->limit, allowed);
        contacts->distance[v] = now.distance - allowed;
        if (slot >= 0) {
            sn_touch *known = &contacts->list[slot];
            sn_vec3 side = known->normal;
            measure_vertex(obstacle, now.at, true, network->diagonal, l->tolerance, known);
            if (!known->behind && now.distance >= 0 && sn_dot(side, now.out) <= SAME_SIDE) {
                known->normal = side;
                measure_passage(obstacle, before, &now, allowed, true, network->diagonal, known);
                if (!known->behind) known->normal = now.out;
            }
            contacts->distance[v] = known->gap;
            known->gap += allowed;
        } else if (sn_contact_watched(l->spring, l->state, o, v)) {
            sn_touch made = {.count = 1,
                             .vertex = {v},
                             .weight = {1},
                             .obstacle = o,
                             .normal = now.out,
                             .gap = now.distance - allowed,
                             .term = -1};
            measure_passage(obstacle, before, &now, allowed, false, network->diagonal, &made);
            made.gap += allowed;
            if (made.gap < l->margin) {
                find_place(contacts, obstacle, network->surface_count, now.at, &made);
                contacts->of_vertex[at] = add(contacts, &made);
                if (contacts->of_vertex[at] < 0) return sn_no_memory(error);
            }
        }
        *before = now;
    }
    return SINEW_OK;
}

/* The slot for a newly found point: one that is as good as the same, an empty one, or the idle one
 * that is farthest out. -1: none. */
static int choose_slot(const sn_contacts *contacts, const sn_vec3 corner[3], const double b[3],
                       double longest, const int slots[SN_TRIANGLE_POINTS]) {
    int idle = -1;
    for (int k = 0; k < SN_TRIANGLE_POINTS; k++) {
        if (slots[k] < 0) return k;
        const sn_touch *known = &contacts->list[slots[k]];
        double same = (contacts->still ? SAME_STILL_POINT : SAME_POINT) * longest;
        if (sn_distance(sn_triangle_point(corner, known->weight), sn_triangle_point(corner, b)) <
            same)
            return k;
        if (known->force == 0 && (idle < 0 || known->gap > contacts->list[slots[idle]].gap))
            idle = k;
    }
    return idle;
}

/* Corners that have gone through, or in deeper than looks reach, come back first; what is between
 * them follows. */
static bool corners_lead(const look *l, const int touch[3]) {
    for (int c = 0; c < 3; c++) {
        const sn_touch *t = touch[c] < 0 ? NULL : &l->state->contacts->list[touch[c]];
        if (t && (t->behind || t->gap < -l->margin)) return true;
    }
    return false;
}

static sn_vec3 side_of_corners(const sn_contacts *contacts, const int touch[3]) {
    sn_vec3 side = {0, 0, 0};
    for (int c = 0; c < 3; c++)
        if (touch[c] >= 0) side = sn_add(side, contacts->list[touch[c]].normal);
    return side;
}

static sinew_status look_at_triangle(const look *l, int o, const int v[3], const sn_vec3 corner[3],
                                     double longest, double allowed,
                                     int slots[SN_TRIANGLE_POINTS]) {
    sn_contacts *contacts = l->state->contacts;
    const sinew_obstacle *obstacle = l->frame->obstacles[o];
    double shallowest = INFINITY;
    const int *of_vertex =
        contacts->of_vertex + (size_t)o * (size_t)l->spring->network->surface_count;
    const int touch[3] = {of_vertex[v[0]], of_vertex[v[1]], of_vertex[v[2]]};
    if (corners_lead(l, touch)) {
        for (int k = 0; k < SN_TRIANGLE_POINTS && slots[k] >= 0; k++) {
            sn_touch *known = &contacts->list[slots[k]];
            known->gap = INFINITY, known->force = known->limit = 0, known->drag = sn_v3(0, 0, 0);
        }
        return SINEW_OK;
    }
    sn_vec3 side = side_of_corners(contacts, touch);
    for (int k = 0; k < SN_TRIANGLE_POINTS && slots[k] >= 0; k++) {
        sn_touch *known = &contacts->list[slots[k]];
        measure_point(obstacle, corner, side, true, l->limit, known);
        known->gap += allowed;
        shallowest = fmin(shallowest, known->gap);
    }
    sn_deepest best;
    if (!sn_obstacle_deepest(obstacle, corner, l->margin - allowed, l->tolerance, &best))
        return SINEW_OK;
    if (fmax(best.b[0], fmax(best.b[1], best.b[2])) > CORNER) return SINEW_OK;
    sn_touch made = {.count = 3, .obstacle = o, .term = -1};
    memcpy(made.vertex, v, 3 * sizeof *v);
    memcpy(made.weight, best.b, sizeof best.b);
    measure_point(obstacle, corner, side, false, l->limit, &made);
    made.gap += allowed;
    if (made.gap > shallowest - 0.1 * l->tolerance && made.gap > -l->tolerance) return SINEW_OK;
    int k = choose_slot(contacts, corner, best.b, longest, slots);
    if (k < 0 || (slots[k] >= 0 && contacts->still && contacts->list[slots[k]].force > 0))
        return SINEW_OK;
    find_place(contacts, obstacle, l->spring->network->surface_count,
               sn_triangle_point(corner, best.b), &made);
    if (slots[k] >= 0) { /* the point moves, its force stays */
        sn_touch *known = &contacts->list[slots[k]];
        made.force = known->force, made.limit = known->limit, made.drag = known->drag;
        *known = made;
        return SINEW_OK;
    }
    slots[k] = add(contacts, &made);
    return slots[k] < 0 ? SINEW_NO_MEMORY : SINEW_OK;
}

static sinew_status look_at_triangles(const look *l, int o, sinew_error *error) {
    const sn_network *network = l->spring->network;
    sn_contacts *contacts = l->state->contacts;
    double slack = sn_contact_slack(l->spring, l->frame, o);
    for (int t = 0; t < network->triangle_count; t++) {
        const int *v = network->triangles + 3 * (size_t)t;
        int *slots = contacts->of_triangle +
                     SN_TRIANGLE_POINTS * ((size_t)o * (size_t)network->triangle_count + (size_t)t);
        sn_vec3 corner[3];
        for (int c = 0; c < 3; c++) corner[c] = sn_contact_position(l->spring, l->state, v[c]);
        double longest = 0;
        for (int c = 0; c < 3; c++)
            longest = fmax(longest, sn_distance(corner[c], corner[(c + 1) % 3]));
        bool near = true, movable = false, stuck = false;
        for (int c = 0; c < 3; c++) {
            bool moves = sn_contact_watched(l->spring, l->state, o, v[c]);
            near &= contacts->distance[v[c]] < longest + l->margin;
            movable |= moves;
            stuck |= !moves && contacts->distance[v[c]] < 0;
        }
        /* a corner that is held inside keeps some of the triangle there, whatever the others do */
        double allowed = sn_contact_allowed_triangle(l->frame, o, t) + slack;
        if (!movable || stuck || (slots[0] < 0 && !near) || isinf(allowed)) continue;
        if (look_at_triangle(l, o, v, corner, longest, allowed, slots) != SINEW_OK)
            return sn_no_memory(error);
    }
    return SINEW_OK;
}

sinew_status sn_contacts_look(const sinew_spring *spring, sinew_spring_state *state,
                              const sinew_spring_frame *frame, double tolerance, double margin,
                              bool on_the_way, sinew_error *error) {
    look l = {spring, state, frame, tolerance, margin, 4 * spring->network->mean_length};
    for (int o = 0; o < frame->obstacle_count; o++) {
        if (on_the_way && sn_contact_carried(frame, o)) continue;
        SN_TRY(look_at_vertices(&l, o, error));
        /* where vertices may sink in, the flat triangles between them do as well: how far? */
        bool known = !frame->allowed_depth || !frame->allowed_depth[o] ||
                     (frame->allowed_triangle_depth && frame->allowed_triangle_depth[o]);
        if (known && state->settings.sample_edges) SN_TRY(look_at_triangles(&l, o, error));
    }
    return SINEW_OK;
}
