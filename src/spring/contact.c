/* Leaning on obstacles.
 *
 * After each equilibrium: who is inside? Those points are held at the surface in the direction of
 * its normal only, and the rest is solved again, until nothing new penetrates and nothing held
 * pulls. The result is a complementarity solution: gap >= 0, reaction >= 0, one of them zero, to
 * tolerance.
 *
 *   round:  gaps and normals at x
 *           hold     what is deeper than the tolerance
 *           release  what is held by a reaction that pulls (below -1e-3 of the force scale), at
 *                    most twice a solve
 *           done     when neither happened and all held points are at the surface
 *           project  held points to the surface; solve with steps along it
 *
 * Points are surface vertices, and one point of each triangle whose corners are all clear
 * (so that an obstacle thinner than a triangle is not missed). A set of held points that comes back
 * is a cycle: from then on nothing is released any more.
 *
 * Friction (Coulomb): a held vertex sticks where it touched. When the tangential reaction exceeds
 * mu times the normal one it slides: free along the surface against a constant force of that size.
 *
 * Based on: the published collision rule. We differ in: it holds the whole vertex (which cycles
 * and stretches edges by 62% on an eyelid); we hold the normal component, refresh normals, and let
 * go. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "contact/obstacle.h"
#include "spring/structure.h"

static const double PULLING = 1e-3; /* reactions below minus this share of the scale let go */
static const double DETECT = 0.5;   /* of the allowed penetration */
/* Points inside triangles may be this much deeper than vertices: several of them on neighbouring
 * triangles can ask for more than the vertices between them can give. */
static const double INNER_DEPTH = 6;
enum { TRIANGLE_POINTS = 3, RELEASES = 2, SEARCH_BUDGET = 48, MARCH_STEPS = 64, HALVINGS = 16 };

typedef struct contact {
    int count;     /* 1: a vertex, 3: a point of a triangle */
    int vertex[3]; /* network */
    double weight[3];
    int obstacle;
    sn_vec3 normal;
    double gap; /* signed distance plus what is allowed */
    int releases;
    bool held;
    bool slides;      /* friction: past the cone */
    sn_vec3 friction; /* force while sliding */
    sn_vec3 before;   /* where it was before the last solve */
    int sticks;       /* times it stopped sliding */
    int row;          /* of the constraints, or -1 */
} contact;

struct sn_contacts {
    int count;
    size_t capacity;
    contact *list;
    int *of_vertex;   /* per surface vertex and obstacle: contact, or -1 */
    int *of_triangle; /* per triangle and obstacle: TRIANGLE_POINTS */
    int obstacle_room;
    double *distance; /* per surface vertex: to the present obstacle */
    uint64_t *seen;   /* hashes of held sets */
    int seen_count, seen_capacity;
    sn_soft_pull *soft; /* the frame's pulls and the friction forces */
    size_t soft_capacity;
    /* friction's past: where vertices were held in the frame before */
    double *touched; /* 3 per surface vertex */
    bool *has_touched;
};

void sn_contacts_forget(sn_contacts *contacts, int surface_count) {
    if (contacts && contacts->has_touched)
        memset(contacts->has_touched, 0, (size_t)surface_count * sizeof(bool));
}

void sn_contacts_destroy(sn_contacts *contacts) {
    if (!contacts) return;
    sn_free(contacts->list), sn_free(contacts->of_vertex), sn_free(contacts->of_triangle);
    sn_free(contacts->distance), sn_free(contacts->seen), sn_free(contacts->soft);
    sn_free(contacts->touched), sn_free(contacts->has_touched);
    sn_free(contacts);
}

static sinew_status prepare(const sinew_spring *spring, sinew_spring_state *state, int obstacles,
                            sinew_error *error) {
    const sn_network *network = spring->network;
    size_t n = (size_t)network->surface_count;
    if (!state->contacts) {
        state->contacts = SN_NEW0(sn_contacts, 1);
        if (!state->contacts) return sn_no_memory(error);
    }
    sn_contacts *contacts = state->contacts;
    if (!contacts->distance) {
        contacts->distance = SN_NEW(double, n);
        contacts->touched = SN_NEW0(double, 3 * n);
        contacts->has_touched = SN_NEW0(bool, n);
        contacts->seen = SN_NEW(uint64_t, spring->options.max_rounds);
        contacts->seen_capacity = spring->options.max_rounds;
    }
    if (obstacles > contacts->obstacle_room) {
        sn_free(contacts->of_vertex), sn_free(contacts->of_triangle);
        contacts->of_vertex = SN_NEW(int, n *(size_t)obstacles);
        contacts->of_triangle =
            SN_NEW(int, TRIANGLE_POINTS *(size_t)network->triangle_count *(size_t)obstacles);
        contacts->obstacle_room = contacts->of_vertex && contacts->of_triangle ? obstacles : 0;
    }
    if (!contacts->distance || !contacts->touched || !contacts->has_touched || !contacts->seen ||
        contacts->obstacle_room < obstacles)
        return sn_no_memory(error);
    contacts->count = contacts->seen_count = 0;
    memset(contacts->of_vertex, -1, n * (size_t)obstacles * sizeof(int));
    memset(contacts->of_triangle, -1,
           TRIANGLE_POINTS * (size_t)network->triangle_count * (size_t)obstacles * sizeof(int));
    return SINEW_OK;
}

/* ---- where points are ---- */

static sn_vec3 position_of(const sinew_spring *spring, const sinew_spring_state *state, int v) {
    const double *at = state->x + SN_PAD * (size_t)spring->system->place[v];
    return sn_v3(at[0], at[1], at[2]);
}

static bool can_be_held(const sinew_spring *spring, const sinew_spring_state *state, int v) {
    int at = spring->system->place[v];
    return at < spring->system->free_count && !state->solver->constraints.frozen[at];
}

static double allowed_at(const sinew_spring_frame *frame, int obstacle, int v) {
    if (!frame->allowed_depth || !frame->allowed_depth[obstacle]) return 0;
    double depth = frame->allowed_depth[obstacle][v];
    return depth > 0 ? depth : 0;
}

/* ---- points inside triangles ---- */

typedef struct piece {
    double b[3][3]; /* barycentric corners */
    double bound;   /* no point of it is nearer than this */
} piece;

static sn_vec3 mix(const sn_vec3 corner[3], const double b[3]) {
    return sn_add(sn_scale(b[0], corner[0]),
                  sn_add(sn_scale(b[1], corner[1]), sn_scale(b[2], corner[2])));
}

/* How far along `direction` until the obstacle is left (from inside) or met (from outside), at
 * most `limit`. Steps as long as the distance are safe; along a thin blade they would never end, so
 * a step is at least a small share of the limit, and the crossing is then halved down. */
static double march(const sinew_obstacle *obstacle, sn_vec3 from, sn_vec3 direction, bool leave,
                    double limit) {
    double before = 0, t = 0;
    while (t < limit) {
        sn_vec3 n;
        double d = sn_obstacle_query(obstacle, sn_add_scaled(from, t, direction), limit, &n);
        if (leave) d = -d;
        if (d <= 0) break;
        before = t;
        t += fmax(d, limit / MARCH_STEPS);
    }
    if (t >= limit) return limit;
    for (int k = 0; k < HALVINGS; k++) {
        sn_vec3 n;
        double middle = 0.5 * (before + t);
        double d = sn_obstacle_query(obstacle, sn_add_scaled(from, middle, direction), limit, &n);
        if ((leave ? -d : d) <= 0)
            t = middle;
        else
            before = middle;
    }
    return t;
}

/* The gap of a triangle whose corners are clear. An obstacle that reaches it came through its outer
 * side, and may be thin: its own nearest way out can lie sideways. The triangle must yield inwards,
 * so gaps are measured along its normal.
 *
 * The search is best first: distances change at most as fast as points move, so a piece whose
 * centre is farther out than its radius is clear. INFINITY when nothing is near. */
static double triangle_gap(const sinew_obstacle *obstacle, const sn_vec3 corner[3], sn_vec3 inward,
                           double least, double limit, double best_b[3]) {
    piece pieces[2 * SEARCH_BUDGET];
    int count = 1;
    pieces[0] = (piece){{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}, -INFINITY};
    double best = INFINITY, nearest = INFINITY, nearest_b[3] = {0};
    for (int k = 0; k < SEARCH_BUDGET && count > 0; k++) {
        int next = 0;
        for (int p = 1; p < count; p++)
            if (pieces[p].bound < pieces[next].bound) next = p;
        if (pieces[next].bound > least) break;
        piece cut = pieces[next];
        pieces[next] = pieces[--count];
        sn_vec3 p[3];
        for (int c = 0; c < 3; c++) p[c] = mix(corner, cut.b[c]);
        int side = 0; /* the longest is split */
        for (int c = 1; c < 3; c++)
            if (sn_distance(p[c], p[(c + 1) % 3]) > sn_distance(p[side], p[(side + 1) % 3]))
                side = c;
        for (int half = 0; half < 2; half++) {
            piece part = cut;
            double centre[3] = {0}, radius = 0;
            for (int e = 0; e < 3; e++)
                part.b[half ? side : (side + 1) % 3][e] =
                    0.5 * (cut.b[side][e] + cut.b[(side + 1) % 3][e]);
            for (int c = 0; c < 3; c++)
                for (int e = 0; e < 3; e++) centre[e] += part.b[c][e] / 3;
            sn_vec3 at = mix(corner, centre), n;
            for (int c = 0; c < 3; c++)
                radius = fmax(radius, sn_distance(mix(corner, part.b[c]), at));
            double d = sn_obstacle_query(obstacle, at, radius, &n);
            if (d < nearest) nearest = d, memcpy(nearest_b, centre, sizeof centre);
            if (d < 0) {
                double gap = -march(obstacle, at, inward, true, limit);
                /* no way out within reach: the obstacle came through another side */
                if (gap < best && gap > -limit) best = gap, memcpy(best_b, centre, sizeof centre);
            }
            part.bound = d - radius;
            if (count < 2 * SEARCH_BUDGET) pieces[count++] = part;
        }
    }
    if (best < 0) return best;
    if (!isfinite(nearest)) return INFINITY;
    memcpy(best_b, nearest_b, sizeof nearest_b);
    return limit;
}

/* The gap of a given point of a triangle, along a given direction. */
static double point_gap(const sinew_obstacle *obstacle, sn_vec3 at, sn_vec3 inward, double limit) {
    sn_vec3 n;
    if (sn_obstacle_query(obstacle, at, limit, &n) < 0) {
        double out = march(obstacle, at, inward, true, limit);
        return out < limit ? -out : INFINITY;
    }
    double gap = march(obstacle, at, sn_scale(-1, inward), false, limit);
    return gap < limit ? gap : INFINITY;
}

/* ---- one look at all points ---- */

static int add_contact(sn_contacts *contacts, const contact *made) {
    if (!SN_RESERVE(contacts->list, contacts->capacity, contacts->count + 1)) return -1;
    contacts->list[contacts->count] = *made;
    return contacts->count++;
}

/* Known points keep their place and direction (the side the obstacle came from). A point deeper
 * than all of them is added while there is room. */
static sinew_status look_at_triangle(sn_contacts *contacts, const sinew_obstacle *obstacle,
                                     int index, const int v[3], const sn_vec3 corner[3],
                                     double least, double limit, int slots[TRIANGLE_POINTS]) {
    sn_vec3 inward =
        slots[0] >= 0
            ? contacts->list[slots[0]].normal
            : sn_normalize(sn_cross(sn_sub(corner[2], corner[0]), sn_sub(corner[1], corner[0])));
    double b[3] = {1.0 / 3, 1.0 / 3, 1.0 / 3};
    double deepest = triangle_gap(obstacle, corner, inward, least, limit, b);
    int used = 0;
    for (; used < TRIANGLE_POINTS && slots[used] >= 0; used++) {
        contact *known = &contacts->list[slots[used]];
        known->gap = point_gap(obstacle, mix(corner, known->weight), inward, limit);
        if (!isfinite(known->gap)) { /* it slid off: the nearest point may still be held */
            memcpy(known->weight, b, sizeof b);
            known->gap = point_gap(obstacle, mix(corner, b), inward, limit);
        }
        if (!isfinite(known->gap)) known->held = false, known->gap = limit;
        if (known->gap <= deepest + 0.5 * least) return SINEW_OK; /* the deepest is known */
    }
    if (!(deepest < -least) || used == TRIANGLE_POINTS) return SINEW_OK;
    contact made = {.count = 3, .obstacle = index, .normal = inward, .gap = deepest};
    memcpy(made.vertex, v, sizeof made.vertex);
    memcpy(made.weight, b, sizeof b);
    slots[used] = add_contact(contacts, &made);
    return slots[used] < 0 ? SINEW_NO_MEMORY : SINEW_OK;
}

/* Refresh gaps and normals of the known contacts and add points that penetrate. */
static sinew_status look(const sinew_spring *spring, sinew_spring_state *state,
                         const sinew_spring_frame *frame, double tolerance, sinew_error *error) {
    const sn_network *network = spring->network;
    sn_contacts *contacts = state->contacts;
    int n = network->surface_count;
    /* a triangle that would have to yield by more than a spring's length is not what was hit */
    double reach = 2 * network->mean_length, limit = network->mean_length;
    for (int o = 0; o < frame->obstacle_count; o++) {
        const sinew_obstacle *obstacle = frame->obstacles[o];
        for (int v = 0; v < n; v++) {
            int *slot = &contacts->of_vertex[(size_t)o * (size_t)n + (size_t)v];
            sn_vec3 normal;
            double d = sn_obstacle_query(obstacle, position_of(spring, state, v), reach, &normal);
            contacts->distance[v] = d;
            double gap = d + allowed_at(frame, o, v);
            if (*slot < 0) {
                if (!(gap < -DETECT * tolerance) || !can_be_held(spring, state, v)) continue;
                contact made = {.count = 1, .vertex = {v}, .weight = {1}, .obstacle = o};
                *slot = add_contact(contacts, &made);
                if (*slot < 0) return sn_no_memory(error);
            }
            contacts->list[*slot].gap = gap, contacts->list[*slot].normal = normal;
        }
        for (int t = 0; t < network->triangle_count && spring->options.sample_edges; t++) {
            const int *v = network->triangles + 3 * (size_t)t;
            int *slots =
                contacts->of_triangle +
                TRIANGLE_POINTS * ((size_t)o * (size_t)network->triangle_count + (size_t)t);
            sn_vec3 corner[3];
            bool clear = true, near = true, movable = false;
            for (int c = 0; c < 3; c++) corner[c] = position_of(spring, state, v[c]);
            for (int c = 0; c < 3; c++) {
                double longest = fmax(sn_distance(corner[c], corner[(c + 1) % 3]),
                                      sn_distance(corner[c], corner[(c + 2) % 3]));
                int own = contacts->of_vertex[(size_t)o * (size_t)n + (size_t)v[c]];
                clear &= contacts->distance[v[c]] > DETECT * tolerance &&
                         !(own >= 0 && contacts->list[own].held);
                near &= contacts->distance[v[c]] < longest;
                movable |= can_be_held(spring, state, v[c]);
            }
            if (slots[0] < 0 && (!clear || !near || !movable)) continue;
            sinew_status status = look_at_triangle(contacts, obstacle, o, v, corner,
                                                   DETECT * tolerance, limit, slots);
            if (status != SINEW_OK) return sn_no_memory(error);
        }
    }
    return SINEW_OK;
}

/* ---- holding ---- */

static uint64_t hash_held(const sn_contacts *contacts) {
    uint64_t hash = 1469598103934665603ull;
    for (int k = 0; k < contacts->count; k++) {
        const contact *c = &contacts->list[k];
        if (!c->held) continue;
        uint64_t key = (uint64_t)c->vertex[0] * 64 + (uint64_t)c->obstacle * 4 +
                       (uint64_t)c->slides * 2 + (uint64_t)(c->count > 1);
        hash = (hash ^ key) * 1099511628211ull;
    }
    return hash;
}

/* A vertex that was held in the frame before sticks to its place there, at the surface as it is
 * now. */
static void stick(const sinew_spring *spring, sinew_spring_state *state,
                  const sinew_spring_frame *frame, contact *c) {
    sn_contacts *contacts = state->contacts;
    int v = c->vertex[0];
    if (!contacts->has_touched[v] || c->sticks > 0) return;
    sn_vec3 at = sn_at(contacts->touched, v);
    double gap = sn_obstacle_query(frame->obstacles[c->obstacle], at, INFINITY, &c->normal) +
                 allowed_at(frame, c->obstacle, v);
    at = sn_add_scaled(at, -gap, c->normal);
    double *x = state->x + SN_PAD * (size_t)spring->system->place[v];
    x[0] = at.x, x[1] = at.y, x[2] = at.z;
    c->gap = 0;
}

/* Hard pulls again, then a row per held contact; x is moved to the surfaces. */
static sinew_status hold(const sinew_spring *spring, sinew_spring_state *state,
                         const sinew_spring_frame *frame, double friction, sinew_error *error) {
    sn_contacts *contacts = state->contacts;
    sn_solver *solver = state->solver;
    const sn_system *system = spring->system;
    sn_constraints *constraints = &solver->constraints;
    sn_constraints_clear(constraints);
    for (int k = 0; k < frame->pull_count; k++)
        if (isinf(frame->pulls[k].stiffness) &&
            system->place[frame->pulls[k].vertex] < system->free_count)
            sn_constraints_freeze(constraints, system->place[frame->pulls[k].vertex]);
    int soft = state->soft_used;
    for (int k = 0; k < contacts->count; k++) {
        contact *c = &contacts->list[k];
        c->row = -1;
        if (!c->held) continue;
        double squared = 0;
        sn_constraint_row row = {.gap = c->gap, .normal = {c->normal.x, c->normal.y, c->normal.z}};
        for (int a = 0; a < c->count; a++) {
            if (!can_be_held(spring, state, c->vertex[a])) continue;
            row.vertex[row.count] = system->place[c->vertex[a]];
            row.weight[row.count++] = c->weight[a];
            squared += c->weight[a] * c->weight[a];
        }
        if (!row.count || !(squared > 0)) {
            c->held = false;
            continue;
        }
        c->before = position_of(spring, state, c->vertex[0]);
        if (friction > 0 && c->count == 1 && !c->slides) {
            double *x = state->x + SN_PAD * (size_t)row.vertex[0];
            for (int d = 0; d < 3; d++) x[d] -= c->gap * row.normal[d];
            stick(spring, state, frame, c);
            sn_constraints_freeze(constraints, row.vertex[0]);
            continue;
        }
        if (friction > 0 && c->count == 1) {
            if (!SN_RESERVE(contacts->soft, contacts->soft_capacity, soft + 1))
                return sn_no_memory(error);
            contacts->soft[soft++] = (sn_soft_pull){
                .vertex = row.vertex[0], .force = {c->friction.x, c->friction.y, c->friction.z}};
        }
        c->row = constraints->row_count;
        if (!sn_constraints_add(constraints, &row)) return sn_no_memory(error);
    }
    sn_constraints_finish(constraints);
    sn_constraints_restore(constraints, state->x);
    if (friction > 0) {
        /* the frame's own pulls first */
        if (!SN_RESERVE(contacts->soft, contacts->soft_capacity, soft + 1))
            return sn_no_memory(error);
        if (state->soft_used > 0)
            memcpy(contacts->soft, state->soft, (size_t)state->soft_used * sizeof *contacts->soft);
        solver->load.soft = contacts->soft, solver->load.soft_count = soft;
    }
    return SINEW_OK;
}

/* ---- friction ---- */

/* Full reactions of sticking vertices against the cone; true when something began to slide or a
 * sliding force still changes. */
static bool slide(const sinew_spring *spring, sinew_spring_state *state, double friction) {
    sn_contacts *contacts = state->contacts;
    sn_solver *solver = state->solver;
    bool changed = false;
    for (int k = 0; k < contacts->count; k++) {
        contact *c = &contacts->list[k];
        if (!c->held || c->count > 1) continue;
        int at = spring->system->place[c->vertex[0]];
        const double *g = solver->gradient + SN_PAD * (size_t)at;
        sn_vec3 reaction = sn_v3(g[0], g[1], g[2]);
        sn_vec3 moved = sn_sub(position_of(spring, state, c->vertex[0]), c->before);
        if (c->slides && c->sticks < RELEASES && sn_dot(moved, c->friction) > 0) {
            /* friction only ever resists: what it would push along sticks where it is */
            c->slides = false, c->friction = sn_v3(0, 0, 0), c->sticks++, changed = true;
            continue;
        }
        if (c->slides) reaction = sn_add(reaction, c->friction); /* the force is in the gradient */
        double pushing = sn_dot(reaction, c->normal);
        sn_vec3 tangential = sn_add_scaled(reaction, -pushing, c->normal);
        double size = sn_length(tangential), limit = friction * fmax(pushing, 0);
        if (!c->slides && size <= limit * (1 + 1e-6)) continue;
        sn_vec3 force = c->slides && sn_length(c->friction) > 0
                            ? sn_scale(limit / sn_length(c->friction), c->friction)
                            : sn_scale(size > 0 ? limit / size : 0, tangential);
        double change = sn_distance(force, c->friction);
        changed |= !c->slides || change > PULLING * solver->scale[at];
        /* the force changes the reaction that it comes from: half steps */
        c->friction = c->slides ? sn_lerp(c->friction, force, 0.5) : force;
        c->slides = true;
    }
    return changed;
}

/* ---- rounds ---- */

sinew_status sn_contact_solve(const sinew_spring *spring, sinew_spring_state *state,
                              const sinew_spring_frame *frame,
                              const sn_equilibrium_options *options, sn_equilibrium_info *counts,
                              sinew_spring_info *info, sinew_error *error) {
    SN_TRY(prepare(spring, state, frame->obstacle_count, error));
    sn_contacts *contacts = state->contacts;
    sn_solver *solver = state->solver;
    double diagonal = spring->network->diagonal;
    double tolerance = spring->options.contact_depth * diagonal;
    double friction = spring->options.friction;
    info->rounds = 0, info->cycled = false;
    sinew_status status = sn_equilibrium(solver, options, state->x, counts, error);
    if (status != SINEW_OK && status != SINEW_NOT_CONVERGED) return status;
    for (;; info->rounds++) {
        SN_TRY(look(spring, state, frame, tolerance, error));
        sn_constraints_reactions(&solver->constraints, solver->gradient);
        bool changed = false;
        double worst = 0;
        info->depth = info->adhesion = info->pose_depth = 0, info->contacts = 0;
        for (int k = 0; k < contacts->count; k++) {
            contact *c = &contacts->list[k];
            if (c->held) {
                double scale = 0, reaction = 0;
                for (int a = 0; a < c->count; a++) {
                    int at = spring->system->place[c->vertex[a]];
                    if (at < spring->system->free_count) scale = fmax(scale, solver->scale[at]);
                }
                int at = spring->system->place[c->vertex[0]];
                const double *g = solver->gradient + SN_PAD * (size_t)at;
                if (c->row >= 0)
                    reaction = solver->constraints.rows[c->row].multiplier;
                else
                    reaction = sn_dot(sn_v3(g[0], g[1], g[2]), c->normal);
                bool pulls = reaction < -PULLING * scale;
                if (pulls && c->releases < RELEASES && !info->cycled) {
                    c->held = c->slides = false, c->friction = sn_v3(0, 0, 0);
                    c->releases++, changed = true;
                } else {
                    info->adhesion = fmax(info->adhesion, -reaction / scale);
                    worst = fmax(worst, fabs(c->gap) / (c->count > 1 ? INNER_DEPTH : 1));
                }
            } else if (c->gap < -DETECT * tolerance * (c->count > 1 ? INNER_DEPTH : 1)) {
                c->held = true, changed = true;
            }
            info->contacts += c->held;
            if (c->count == 1) info->depth = fmax(info->depth, -c->gap / diagonal);
            info->pose_depth =
                fmax(info->pose_depth,
                     c->count == 1 ? allowed_at(frame, c->obstacle, c->vertex[0]) / diagonal : 0);
        }
        if (friction > 0 && slide(spring, state, friction)) changed = true;
        if (!changed && worst <= DETECT * tolerance) break;
        if (info->rounds >= spring->options.max_rounds) {
            if (status == SINEW_OK) status = SINEW_NOT_CONVERGED;
            break;
        }
        if (changed) {
            uint64_t hash = hash_held(contacts);
            for (int k = 0; k < contacts->seen_count; k++)
                info->cycled |= contacts->seen[k] == hash;
            if (contacts->seen_count < contacts->seen_capacity)
                contacts->seen[contacts->seen_count++] = hash;
        }
        SN_TRY(hold(spring, state, frame, friction, error));
        status = sn_equilibrium(solver, options, state->x, counts, error);
        if (status != SINEW_OK && status != SINEW_NOT_CONVERGED) return status;
        if (status == SINEW_NOT_CONVERGED && counts->iterations >= options->max_iterations) break;
    }
    memset(contacts->has_touched, 0, (size_t)spring->network->surface_count * sizeof(bool));
    for (int k = 0; k < contacts->count && friction > 0; k++) {
        const contact *c = &contacts->list[k];
        if (!c->held || c->count > 1) continue;
        contacts->has_touched[c->vertex[0]] = true;
        sn_put(contacts->touched, c->vertex[0], position_of(spring, state, c->vertex[0]));
    }
    return status;
}
