/* Leaning on obstacles.
 *
 * Wanted is a complementarity solution: gap >= 0, force >= 0, one of them zero, forces along the
 * way out only, everything in balance. It is found by an augmented Lagrangian (energy_contact.c):
 *
 *   round:  look     gaps and ways out at x; points that came near are added
 *           done     when nothing is deeper than the tolerance and nothing pushes across a gap
 *           solve    the equilibrium with the contacts' energies, from x
 *           learn    the forces that the contacts had there
 *
 * The start is the shape without contact. Where that has passed an obstacle's middle, the nearest
 * way out is the wrong one: then the shape is led there from the neutral (way.c).
 *
 * Early rounds are solved loosely; the last one to the frame's tolerance. Contacts never pull, let
 * go by themselves, and may depend on each other, so there is no set of held points to cycle.
 *
 * Friction (Coulomb): a touch sticks to the place where it touched first, or where it was in the
 * frame before, carried along by the obstacle; what needs more than mu times the normal force
 * slides.
 *
 * Based on: the published collision rule. We differ in: it holds the whole vertex (which cycles
 * and stretches edges by 62% on an eyelid); here only the normal component yields, and it lets go.
 */
#include "spring/contact.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/monitor.h"
#include "base/parallel.h"
#include "base/status.h"

/* Of the allowed penetration: what is aimed at, and what will do after many rounds. */
static const double AIM = 0.1, ENOUGH = 0.9;
static const double NEAR = 0.1;        /* of the mean spring: points this near are watched */
static const double CLOSE = 0.05;      /* of the mean edge: pairs of the surface this close are */
static const double STIFF = 10;        /* a contact's stiffness over that of its vertices */
static const double TIGHTEN = 0.4;     /* from round to round */
static const double LOOSE = 1e-3;      /* relative force left by early rounds */
static const double ROUGH = 1e-2;      /* ... by steps of the way */
static const double STICKS = 0.999;    /* of the limit: friction below it holds its place */
static const double SAME_FORCE = 0.01; /* of the largest: friction limits that agree */
/* Of the scale of forces: what pairs of a surface that slides over itself may push across a gap
 * after many rounds. Which of them carry changes with every step of the slide. */
static const double LITTLE = 0.02;
/* Of the squared weights of a touch: with less on vertices that can move, it cannot yield. */
static const double LEAST_MOVING = 0.01;

/* A step of the way: solves after which self-contact is no longer asked to yield, and Newton
 * steps of each. */
enum { STEP_ROUNDS = 6, STEP_ITERATIONS = 4 };
/* At the end: rounds in which points of triangles that push may move (later they can go round for
 * ever), and rounds after which ENOUGH will do. */
enum { MOVING_ROUNDS = 1, PATIENCE = 12 };
/* Rounds after which pairs that push turn only halfway. */
enum { TURNING_ROUNDS = 5 };
/* Newton steps of rounds until then, when the surface meets itself: which pairs carry is found
 * sooner by looking again than by solving to the end with the wrong ones. */
enum { EARLY_ITERATIONS = 4 };

void sn_contacts_forget(sn_contacts *contacts, int surface_count) {
    if (contacts && contacts->touched)
        memset(contacts->touched, 0,
               (size_t)contacts->past_room * (size_t)surface_count * sizeof(bool));
}

void sn_contacts_destroy(sn_contacts *contacts) {
    if (!contacts) return;
    sn_free(contacts->list), sn_free(contacts->of_vertex), sn_free(contacts->of_triangle);
    sn_free(contacts->distance), sn_free(contacts->stiffness), sn_free(contacts->terms);
    sn_free(contacts->touched), sn_free(contacts->anchor), sn_free(contacts->before);
    sn_free(contacts->swallowed);
    sn_self_destroy(contacts->self);
    sn_free(contacts);
}

/* What a vertex resists with: its springs and the frame's soft pulls. Forces of contacts grow round
 * by round in proportion to the contact's stiffness, so one that ignored a stiff pull would need as
 * many rounds as the pull is stiffer. */
static void find_stiffness(const sinew_spring *spring, const sn_load *load, double *stiffness) {
    const sn_network *network = spring->network;
    memset(stiffness, 0, (size_t)network->surface_count * sizeof *stiffness);
    for (int s = 0; s < network->spring_count; s++)
        for (int end = 0; end < 2; end++) {
            int v = network->ends[2 * (size_t)s + (size_t)end];
            if (v < network->surface_count) stiffness[v] += network->stiffness[s];
        }
    /* painted soft, or alone: something to push against */
    double least = 1e-3 * spring->system->mean_stiffness;
    for (int v = 0; v < network->surface_count; v++) stiffness[v] = fmax(stiffness[v], least);
    for (int k = 0; k < load->soft_count; k++) {
        int v = spring->system->order[load->soft[k].vertex];
        if (v < network->surface_count) stiffness[v] += load->soft[k].stiffness;
    }
}

static sinew_status prepare(const sinew_spring *spring, sinew_spring_state *state, int obstacles,
                            sinew_error *error) {
    const sn_network *network = spring->network;
    size_t n = (size_t)network->surface_count, wanted = (size_t)obstacles;
    if (!state->contacts) {
        state->contacts = SN_NEW0(sn_contacts, 1);
        if (!state->contacts) return sn_no_memory(error);
    }
    sn_contacts *contacts = state->contacts;
    if (!contacts->stiffness) {
        sn_free(contacts->distance);
        contacts->distance = SN_NEW(double, n);
        contacts->stiffness = SN_NEW0(double, n);
    }
    if (obstacles > contacts->obstacle_room) {
        sn_free(contacts->of_vertex), sn_free(contacts->of_triangle), sn_free(contacts->before);
        sn_free(contacts->swallowed);
        contacts->swallowed = SN_NEW0(bool, (size_t)network->component_count *wanted);
        contacts->before = SN_NEW(sn_place, n * wanted);
        contacts->of_vertex = SN_NEW(int, n *wanted);
        contacts->of_triangle =
            SN_NEW(int, SN_TRIANGLE_POINTS *(size_t)network->triangle_count *wanted);
        contacts->obstacle_room =
            contacts->of_vertex && contacts->of_triangle && contacts->before && contacts->swallowed
                ? obstacles
                : 0;
    }
    if (state->settings.friction > 0 && obstacles > contacts->past_room) {
        sn_free(contacts->touched), sn_free(contacts->anchor);
        contacts->touched = SN_NEW0(bool, n *wanted);
        contacts->anchor = SN_NEW0(sn_obstacle_anchor, n * wanted);
        contacts->past_room = contacts->touched && contacts->anchor ? obstacles : 0;
        if (!contacts->past_room) return sn_no_memory(error);
    }
    if (!contacts->distance || !contacts->stiffness || contacts->obstacle_room < obstacles)
        return sn_no_memory(error);
    find_stiffness(spring, &state->solver->load, contacts->stiffness);
    contacts->count = contacts->released = 0;
    if (!obstacles) return SINEW_OK;
    sn_contacts_lose_sight(spring, contacts, obstacles);
    memset(contacts->of_vertex, -1, n * wanted * sizeof(int));
    memset(contacts->of_triangle, -1,
           SN_TRIANGLE_POINTS * (size_t)network->triangle_count * wanted * sizeof(int));
    return SINEW_OK;
}

/* ---- touches as energies ---- */

/* Held by vertices that cannot move. Where the point hardly depends on one that can, that vertex
 * would have to move many times the gap, pushed by a contact as many times stiffer squared. */
static bool is_stuck(const sinew_spring *spring, const sinew_spring_state *state,
                     const sn_touch *touch) {
    double all = 0, moving = 0;
    for (int a = 0; a < touch->count; a++) {
        double square = touch->weight[a] * touch->weight[a];
        all += square;
        if (sn_contact_movable(spring, state, touch->vertex[a])) moving += square;
    }
    return !(moving > LEAST_MOVING * all);
}

/* Vertices that cannot move are left out of the term; what they add to the point goes into offset
 * and place. */
static void make_term(const sinew_spring *spring, const sinew_spring_state *state,
                      const sn_touch *touch, sn_contact_term *term) {
    *term = (sn_contact_term){.normal = {touch->normal.x, touch->normal.y, touch->normal.z},
                              .force = touch->force,
                              .limit = touch->limit,
                              .drag = {touch->drag.x, touch->drag.y, touch->drag.z}};
    sn_vec3 place = touch->place;
    double compliance = 0;
    if (is_stuck(spring, state, touch)) return;
    for (int a = 0; a < touch->count; a++) {
        int v = touch->vertex[a];
        double w = touch->weight[a];
        if (!sn_contact_movable(spring, state, v)) {
            place = sn_add_scaled(place, -w, sn_contact_position(spring, state, v));
            continue;
        }
        if (w == 0) continue;
        term->vertex[term->count] = spring->system->place[v];
        term->weight[term->count++] = w;
        compliance += w * w / state->contacts->stiffness[v];
    }
    term->place[0] = place.x, term->place[1] = place.y, term->place[2] = place.z;
    if (!term->count) return;
    term->stiffness = STIFF / compliance;
    term->offset = sn_contact_gap(term, state->x) - touch->gap; /* the offset is 0 so far */
}

static sinew_status push(const sinew_spring *spring, sinew_spring_state *state, double margin,
                         sinew_error *error) {
    sn_contacts *contacts = state->contacts;
    sn_load *load = &state->solver->load;
    if (!SN_RESERVE(contacts->terms, contacts->term_capacity, contacts->count) ||
        !sn_linearization_reserve(&state->solver->lin, contacts->count))
        return sn_no_memory(error);
    load->contacts = contacts->terms, load->contact_count = 0;
    for (int k = 0; k < contacts->count; k++) {
        sn_touch *touch = &contacts->list[k];
        if (k % 1024 == 0) SN_TRY(sn_check_interrupt(error));
        touch->term = -1;
        if (!(touch->gap < margin) && touch->force == 0) continue;
        make_term(spring, state, touch, &contacts->terms[load->contact_count]);
        if (contacts->terms[load->contact_count].count) touch->term = load->contact_count++;
    }
    return SINEW_OK;
}

static double scale_of(const sinew_spring *spring, const sinew_spring_state *state,
                       const sn_touch *touch) {
    double scale = 0;
    for (int a = 0; a < touch->count; a++) {
        int at = spring->system->place[touch->vertex[a]];
        if (at < spring->system->free_count) scale = fmax(scale, state->solver->scale[at]);
    }
    return scale;
}

/* The forces that the touches had. *changing (may be NULL): those of friction still change.
 * Friction limits follow the normal forces, which friction moves in turn: after many rounds
 * (`settling`) the limits move only halfway, so that they cannot swing between two values, and
 * changes that the balance of forces does not resolve no longer count. Where a shape hardly
 * presses, rounding would otherwise decide whether the limits ever agree. */
static sinew_status learn(const sinew_spring *spring, sinew_spring_state *state, double friction,
                          double tolerance, bool settling, bool *changing, sinew_error *error) {
    sn_contacts *contacts = state->contacts;
    bool changes = false;
    double most = 0, change = 0;
    for (int k = 0; k < contacts->count; k++) {
        sn_touch *touch = &contacts->list[k];
        if (k % 1024 == 0) SN_TRY(sn_check_interrupt(error));
        if (touch->term < 0) continue;
        sn_contact_term *term = &contacts->terms[touch->term];
        sn_contact_update(term, state->x);
        touch->force = term->force;
        touch->drag = sn_v3(term->drag[0], term->drag[1], term->drag[2]);
        if (!(friction > 0) || touch->obstacle < 0) continue;
        double slip[3], limit = friction * touch->force;
        if (sn_length(touch->drag) < STICKS * term->limit)
            changes |= sn_contact_slip(term, state->x, slip) > tolerance;
        double differs = fabs(limit - touch->limit);
        if (settling) {
            differs -= state->settings.tolerance * scale_of(spring, state, touch);
            limit = 0.5 * (touch->limit + limit);
        }
        most = fmax(most, limit), change = fmax(change, differs);
        touch->limit = limit;
    }
    if (changing) *changing = changes || change > SAME_FORCE * most;
    return SINEW_OK;
}

/* ---- friction's past ---- */

static void remember(const sinew_spring *spring, sinew_spring_state *state,
                     const sinew_spring_frame *frame) {
    sn_contacts *contacts = state->contacts;
    int n = spring->network->surface_count;
    sn_contacts_forget(contacts, n);
    for (int k = 0; k < contacts->count; k++) {
        const sn_touch *touch = &contacts->list[k];
        if (!(touch->force > 0) || touch->obstacle < 0) continue;
        for (int a = 0; a < touch->count; a++) {
            size_t slot = (size_t)touch->obstacle * (size_t)n + (size_t)touch->vertex[a];
            contacts->touched[slot] = true;
            sn_obstacle_attach(frame->obstacles[touch->obstacle],
                               sn_contact_position(spring, state, touch->vertex[a]),
                               &contacts->anchor[slot]);
        }
    }
}

/* ---- rounds ---- */

/* What is left to do: *wrong when some touch is too deep or pushes across a gap. */
static sinew_status judge(const sinew_spring *spring, const sinew_spring_state *state,
                          const sinew_spring_frame *frame, double tolerance, bool settling,
                          bool *wrong, sinew_spring_frame_info *info, sinew_error *error) {
    const sn_contacts *contacts = state->contacts;
    double diagonal = spring->network->diagonal;
    *wrong = false;
    info->depth = info->adhesion = info->pose_depth = 0, info->contacts = 0;
    for (int k = 0; k < contacts->count; k++) {
        const sn_touch *touch = &contacts->list[k];
        if (k % 1024 == 0) SN_TRY(sn_check_interrupt(error));
        if (is_stuck(spring, state, touch)) continue;
        bool across = touch->force > 0 && touch->gap > tolerance;
        double pushes = across ? touch->force / scale_of(spring, state, touch) : 0;
        *wrong |= pushes > (settling && touch->obstacle < 0 ? LITTLE : 0);
        *wrong |= touch->gap < -tolerance;
        info->adhesion = fmax(info->adhesion, pushes);
        info->contacts += touch->force > 0;
        double slack = touch->count == 3 ? sn_contact_slack(spring, frame, touch->obstacle) : 0;
        info->depth = fmax(info->depth, (slack - touch->gap) / diagonal);
        for (int a = 0; a < touch->count && touch->force > 0; a++)
            info->pose_depth =
                fmax(info->pose_depth,
                     sn_contact_allowed(frame, touch->obstacle, touch->vertex[a]) / diagonal);
    }
    return SINEW_OK;
}

/* Which parts are inside an obstacle as a whole (an eyeball in a larger ball): they have no side to
 * leave it by, and stay where they are. Returns an obstacle in which every part is, or -1. */
static int find_swallowed(const sinew_spring *spring, const sinew_spring_state *state,
                          const sinew_spring_frame *frame) {
    const sn_network *network = spring->network;
    int parts = network->component_count, swallower = -1;
    for (int o = 0; o < frame->obstacle_count; o++) {
        bool *inside = state->contacts->swallowed + (size_t)o * (size_t)parts, all = true;
        for (int c = 0; c < parts; c++) inside[c] = true;
        for (int v = 0; v < network->surface_count; v++) {
            int part = network->component[v];
            if (part < 0 || !inside[part]) continue;
            sn_vec3 out, at = sn_contact_position(spring, state, v);
            double d = sn_obstacle_query(frame->obstacles[o], at, 0, &out);
            inside[part] = d + sn_contact_allowed(frame, o, v) < 0;
        }
        for (int c = 0; c < parts; c++) all &= inside[c];
        if (all && parts > 0 && swallower < 0) swallower = o;
    }
    return swallower;
}

/* Rounds from state->x until all is well, after *past others, to which they are added. apart: the
 * surface is kept from crossing itself. */
static sinew_status settle(const sinew_spring *spring, sinew_spring_state *state,
                           const sinew_spring_frame *frame, const sn_equilibrium_options *options,
                           bool apart, int *past, sn_equilibrium_info *counts,
                           sinew_spring_frame_info *info, sinew_error *error) {
    double depth = spring->options.contact_depth * spring->network->diagonal;
    double margin = NEAR * spring->network->mean_length, left = LOOSE * pow(TIGHTEN, *past);
    int limit = *past + state->settings.max_rounds;
    sn_equilibrium_options loose = *options;
    sinew_status status = SINEW_OK;
    /* exact: the last solve was to full tolerance */
    bool cut = false, exact = false, changes = false;
    for (int round = *past; status == SINEW_OK || status == SINEW_NOT_CONVERGED; round++) {
        *past = round;
        state->contacts->still = round > MOVING_ROUNDS;
        double tolerance = (round > PATIENCE ? ENOUGH : AIM) * depth;
        SN_TRY(sn_contacts_look(spring, state, frame, AIM * depth, margin, false, error));
        if (apart)
            SN_TRY(sn_self_look(spring, state, CLOSE * spring->network->mean_edge,
                                round > TURNING_ROUNDS, error));
        bool wrong;
        SN_TRY(judge(spring, state, frame, tolerance, round > PATIENCE, &wrong, info, error));
        wrong |= changes || cut;
        if (!wrong && exact) break;
        bool late = sn_work_seconds() > options->work_limit;
        if (round >= limit || late) {
            counts->out_of_time |= late;
            if (status == SINEW_OK) status = SINEW_NOT_CONVERGED;
            break;
        }
        SN_TRY(push(spring, state, margin, error));
        SN_TRY(sn_check_interrupt(error));
        loose.tolerance = fmax(left, options->tolerance);
        loose.max_iterations =
            apart && round <= PATIENCE ? EARLY_ITERATIONS : options->max_iterations;
        left *= TIGHTEN;
        exact = !wrong;
        status = sn_equilibrium(state->solver, exact ? options : &loose, state->x, counts, error);
        if (status != SINEW_OK && status != SINEW_NOT_CONVERGED) return status;
        SN_TRY(learn(spring, state, state->settings.friction, tolerance, round > PATIENCE, &changes,
                     error));
        if (apart) SN_TRY(sn_self_cut_back(spring, state, &cut, error));
        info->rounds++;
    }
    return status;
}

/* One step of the way: state->x follows the load, contacts push back. It need not be perfect: the
 * next step goes on from it. What self-contact cuts back is tried again. */
static sinew_status lead(const sinew_spring *spring, sinew_spring_state *state,
                         const sinew_spring_frame *frame, const sn_equilibrium_options *options,
                         bool apart, sn_equilibrium_info *counts, sinew_spring_frame_info *info,
                         sinew_error *error) {
    double depth = AIM * spring->options.contact_depth * spring->network->diagonal;
    double margin = NEAR * spring->network->mean_length;
    sn_equilibrium_options rough = *options;
    rough.tolerance = fmax(ROUGH, options->tolerance);
    rough.max_iterations = STEP_ITERATIONS;
    bool cut = true;
    state->contacts->still = false;
    for (int round = 0; cut && round < STEP_ROUNDS && sn_work_seconds() <= options->work_limit;
         round++) {
        SN_TRY(sn_contacts_look(spring, state, frame, depth, margin, true, error));
        if (apart)
            SN_TRY(sn_self_look(spring, state, CLOSE * spring->network->mean_edge, false, error));
        SN_TRY(push(spring, state, margin, error));
        SN_TRY(sn_check_interrupt(error));
        sinew_status status = sn_equilibrium(state->solver, &rough, state->x, counts, error);
        if (status != SINEW_OK && status != SINEW_NOT_CONVERGED) return status;
        SN_TRY(learn(spring, state, 0, 0, false, NULL, error));
        SN_TRY(sn_check_interrupt(error));
        cut = false;
        if (apart) SN_TRY(sn_self_cut_back(spring, state, &cut, error));
        info->rounds++;
    }
    return SINEW_OK;
}

/* Along the way, where there is one, then to the end. */
static sinew_status go(const sinew_spring *spring, sinew_spring_state *state,
                       const sinew_spring_frame *frame, const sn_way *way,
                       const sn_equilibrium_options *options, int *past,
                       sn_equilibrium_info *counts, sinew_spring_frame_info *info,
                       sinew_error *error) {
    if (!way->straight) {
        SN_TRY(prepare(spring, state, frame->obstacle_count, error));
        if (spring->self) SN_TRY(sn_self_begin(spring, state, error));
        for (int step = way->first; step <= way->steps; step++) {
            bool cut;
            SN_TRY(sn_way_step(spring, state, frame, way, step > way->first ? step - 1 : -1, step,
                               error));
            if (way->crosses && step == way->first) sn_self_start(spring, state);
            if (way->crosses) SN_TRY(sn_self_cut_back(spring, state, &cut, error));
            if (step == way->steps) break;
            SN_TRY(lead(spring, state, frame, options, way->crosses, counts, info, error));
        }
    }
    return settle(spring, state, frame, options, way->crosses, past, counts, info, error);
}

/* The same in the region that self-contact moves (self_region.c), then with the whole network. */
static sinew_status go_in_region(const sinew_spring *spring, sinew_spring_state *state,
                                 const sinew_spring_frame *frame, const sn_way *way,
                                 const sn_equilibrium_options *options, sn_equilibrium_info *counts,
                                 sinew_spring_frame_info *info, sinew_error *error) {
    sn_self_region *region = NULL;
    int past = 0;
    if (way->crosses && frame->obstacle_count == 0)
        SN_TRY(sn_self_region_create(spring, state, frame, &region, error));
    if (!region) return go(spring, state, frame, way, options, &past, counts, info, error);
    sinew_status status =
        go(&region->spring, &region->state, frame, way, options, &past, counts, info, error);
    bool solved = status == SINEW_OK || status == SINEW_NOT_CONVERGED;
    if (solved) sn_self_region_leave(region, spring, state);
    sn_self_region_destroy(region);
    return solved ? settle(spring, state, frame, options, true, &past, counts, info, error)
                  : status;
}

sinew_status sn_contact_solve(const sinew_spring *spring, sinew_spring_state *state,
                              const sinew_spring_frame *frame,
                              const sn_equilibrium_options *options, sn_equilibrium_info *counts,
                              sinew_spring_frame_info *info, sinew_error *error) {
    SN_TRY(prepare(spring, state, frame->obstacle_count, error));
    info->rounds = 0;
    state->solver->load.contact_count = 0;
    sinew_status status = sn_equilibrium(state->solver, options, state->x, counts, error);
    if (status != SINEW_OK && status != SINEW_NOT_CONVERGED) return status;
    double tolerance = AIM * spring->options.contact_depth * spring->network->diagonal;
    info->swallowed = 1 + find_swallowed(spring, state, frame);
    if (info->swallowed) return SINEW_NOT_CONVERGED;
    SN_TRY(sn_contacts_look(spring, state, frame, tolerance, 0, false, error));
    bool inside;
    SN_TRY(judge(spring, state, frame, tolerance, false, &inside, info, error));
    sn_way way;
    if (spring->self) {
        SN_TRY(sn_self_begin(spring, state, error));
        sn_self_keep(spring, state);
    }
    SN_TRY(sn_check_interrupt(error));
    SN_TRY(sn_way_find(spring, state, frame, false, &way, error));
    bool met = inside || !way.straight;
    if (met) status = go_in_region(spring, state, frame, &way, options, counts, info, error);
    if (met && spring->self && !way.crosses &&
        (status == SINEW_OK || status == SINEW_NOT_CONVERGED)) {
        /* free of crossings without the obstacles, but not with them */
        bool crosses;
        SN_TRY(sn_self_shape_crosses(spring, state, &crosses, error));
        if (crosses) {
            SN_TRY(sn_way_find(spring, state, frame, true, &way, error));
            status = go_in_region(spring, state, frame, &way, options, counts, info, error);
        }
    }
    state->solver->load.contact_count = 0;
    bool solved = status == SINEW_OK || status == SINEW_NOT_CONVERGED;
    /* beside an obstacle, the shape without contact is no alternative */
    if (way.crosses && solved && frame->obstacle_count == 0)
        SN_TRY(sn_self_compare(spring, state, error));
    if (state->settings.friction > 0 && solved) remember(spring, state, frame);
    return status;
}

int sn_spring_released(const sinew_spring_state *state) {
    return state->contacts ? state->contacts->released : 0;
}

int sn_spring_list_contacts(const sinew_spring_state *state, int capacity,
                            sinew_contact *contacts) {
    const sn_contacts *known = state->contacts;
    int count = 0;
    for (int k = 0; known && k < known->count && count < capacity; k++) {
        const sn_touch *touch = &known->list[k];
        if (!(touch->force > 0) || is_stuck(state->spring, state, touch)) continue;
        sn_vec3 at = {0, 0, 0}, force = sn_add_scaled(touch->drag, touch->force, touch->normal);
        double most = 0;
        sinew_contact *out = &contacts[count++];
        out->obstacle = touch->obstacle;
        for (int a = 0; a < touch->count; a++) { /* of a pair, the part that the normal is for */
            if (!(touch->weight[a] > 0)) continue;
            at = sn_add_scaled(at, touch->weight[a], sn_at(state->positions, touch->vertex[a]));
            if (touch->weight[a] > most) most = touch->weight[a], out->vertex = touch->vertex[a];
        }
        sn_put(out->position, 0, at), sn_put(out->force, 0, force);
    }
    return count;
}
