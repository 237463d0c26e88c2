#include "rig/rotation_trial.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/monitor.h"
#include "base/status.h"
#include "mesh/rotation_links.h"
#include "mesh/rotation_system.h"
#include "mesh/topology.h"
#include "rig/rotation_blend.h"
#include "sinew/mesh.h"

/* Links that grow by more than this, of the diagonal, are stiffened. */
static const double GROWN = 0.003;
/* In one round, and in all. */
static const double MOST_AT_ONCE = 10, MOST = 300;
/* Rounds of trials, steps to a target, and targets that are tried: those whose links turn most at
 * one end against the other. Links that turn by less than TURNED (radians) stay as long as they
 * are. */
enum { ROUNDS = 5, STEPS = 4, TRIED = 32 };
static const double TURNED = 0.1;

typedef struct trial {
    sinew_rotation *rotation;
    sinew_rotation_state *state;
    double *activations; /* per target */
    double *positions;
    double *grown; /* per link: the most over all trials of a round, of the diagonal */
    double diagonal;
    int count;
    int targets[TRIED];
    double turned[TRIED]; /* decreasing */
} trial;

/* Place of a target's first link, and of the end of its links. */
static int links_begin(const sinew_rotation *r, const sn_blend_target *target) {
    int at = target->count;
    while (at > 0 && target->elements[at - 1] >= r->structure->element_count) at--;
    return at;
}

/* The most that a link of the target turns at one end against the other. */
static double turned_by(const sinew_rotation *r, const sn_blend_target *target) {
    double most = 0;
    for (int i = links_begin(r, target); i + 1 < target->count; i += 2) {
        const double *c = target->coordinates + (size_t)SN_RS_SIZE * (size_t)i;
        most = fmax(most, sn_distance(sn_at(c + SN_RS_W, 0), sn_at(c + SN_RS_SIZE + SN_RS_W, 0)));
    }
    return most;
}

static void choose_targets(trial *t, const sinew_rig *rig) {
    for (int k = 0; k < t->rotation->target_count; k++) {
        /* A combination alone is an increment, not a pose. */
        if (rig->targets[k].kind == SINEW_TARGET_KIND_COMBINATION) continue;
        double turned = turned_by(t->rotation, &t->rotation->targets[k]);
        if (!(turned > TURNED) || (t->count == TRIED && turned <= t->turned[TRIED - 1])) continue;
        int at = t->count < TRIED ? t->count++ : TRIED - 1;
        for (; at > 0 && t->turned[at - 1] < turned; at--)
            t->targets[at] = t->targets[at - 1], t->turned[at] = t->turned[at - 1];
        t->targets[at] = k, t->turned[at] = turned;
    }
}

static double length_of(const sn_link *link, const double *positions) {
    double offset[3];
    sn_link_offset(link, positions, offset);
    return sn_length(sn_at(offset, 0));
}

static void try_target(trial *t, int k, double weight) {
    const sinew_rotation *r = t->rotation;
    const sn_rotation_strain *rs = r->structure;
    const sn_blend_target *target = &r->targets[k];
    memset(t->activations, 0, (size_t)r->target_count * sizeof *t->activations);
    t->activations[k] = weight;
    sn_rotation_evaluate_targets(r, t->state, t->activations, t->positions);
    for (int i = links_begin(r, target); i + 1 < target->count; i += 2) {
        int l = (target->elements[i] - rs->element_count) / 2;
        const double *c = target->coordinates + (size_t)SN_RS_SIZE * (size_t)i;
        double posed = sn_length(sn_rotation_link_blended(rs, l, c, c + SN_RS_SIZE, 1));
        double longest = fmax(length_of(&rs->links[l], r->rest), posed);
        double grown = (length_of(&rs->links[l], t->positions) - longest) / t->diagonal;
        t->grown[l] = fmax(t->grown[l], grown);
    }
}

/* *any: a link has become stiffer. */
static void stiffen(trial *t, bool *any) {
    sn_rotation_strain *rs = t->rotation->structure;
    for (int l = 0; l < rs->link_count; l++) {
        if (!(t->grown[l] > GROWN)) continue;
        double most = MOST * sn_rotation_link_softest(rs, l);
        if (rs->link_stiffness[l] >= most) continue;
        double factor = fmin(pow(2 * t->grown[l] / GROWN, 2), MOST_AT_ONCE);
        rs->link_stiffness[l] = fmin(most, factor * rs->link_stiffness[l]);
        *any = true;
    }
}

static sinew_status run(trial *t, const sinew_monitor *monitor, sinew_error *error) {
    sn_rotation_strain *rs = t->rotation->structure;
    for (int round = 0; round < ROUNDS; round++) {
        for (int l = 0; l < rs->link_count; l++) t->grown[l] = 0;
        SN_TRY(sinew_rotation_state_create(t->rotation, &t->state, error));
        for (int i = 0; i < t->count; i++) {
            if (sn_cancelled(monitor))
                return sn_fail(error, SINEW_CANCELLED, "cancelled while joining parts");
            for (int step = 1; step < STEPS; step++)
                try_target(t, t->targets[i], (double)step / STEPS);
        }
        sinew_rotation_state_destroy(t->state);
        t->state = NULL;
        bool any = false;
        stiffen(t, &any);
        if (!any) break;
        SN_TRY(sn_rotation_system_refactor(rs, error));
    }
    return SINEW_OK;
}

sinew_status sn_rotation_stiffen_links(sinew_rotation *rotation, const sinew_rig *rig,
                                       const sinew_monitor *monitor, sinew_error *error) {
    const sn_rotation_strain *rs = rotation->structure;
    if (rs->link_count == 0) return SINEW_OK;
    trial t = {.rotation = rotation};
    t.diagonal = sinew_diagonal(rotation->vertex_count, rotation->rest);
    choose_targets(&t, rig);
    if (t.count == 0 || !(t.diagonal > 0)) return SINEW_OK;
    t.activations = SN_NEW(double, rotation->target_count);
    t.positions = sn_memdup(rotation->rest, 3 * (size_t)rotation->vertex_count, sizeof(double));
    t.grown = SN_NEW(double, rs->link_count);
    bool room = t.activations && t.positions && t.grown;
    sinew_status status = room ? run(&t, monitor, error) : sn_no_memory(error);
    sinew_rotation_state_destroy(t.state);
    sn_free(t.activations), sn_free(t.positions), sn_free(t.grown);
    return status;
}

/* ---- refinements --------------------------------------------------------------------------- */

/* Mean relative error of edges half-way: beyond POOR the rotations of elements do not fit together.
 * Differences below SAME are none. An attempt that does not gain this factor is not worth its
 * time. */
static const double POOR = 0.025, SAME = 2e-5, GAIN = 0.9;
/* Radians: nothing rotates. */
static const double STRAIGHT = 0.6;

/* What is tried, in this order. Where shapes grow and nothing rotates, linear blending is off by
 * the square of what the growth turns, only where it turns; blended rotations of neighbors, which
 * turn unlike each other, spread their error over the rest. Refinements that start on the line
 * lessen its error instead. */
static const struct attempt {
    int refinements;
    bool line;
} ATTEMPTS[] = {{0, false},  {1, true},  {SN_FEW_REFINEMENTS, true},
                {10, true},  {1, false}, {SN_FEW_REFINEMENTS, false},
                {10, false}, {30, false}};
/* FINE: the last one for the sake of linear blending; more are for poor shapes only. */
enum { ATTEMPT_COUNT = sizeof ATTEMPTS / sizeof *ATTEMPTS, FINE = 5 };

typedef struct refinement {
    sinew_rotation *rotation;
    sinew_rotation_state *state;
    sn_edges edges;
    double *pose, *half, *line; /* 3 per vertex */
} refinement;

static double edge_length(const double *positions, const int *edge) {
    return sn_distance(sn_at(positions, edge[0]), sn_at(positions, edge[1]));
}

/* Mean error of a shape's edges against the mean of rest and pose. */
static double edge_error(const refinement *t, const double *shape) {
    double sum = 0;
    for (int e = 0; e < t->edges.count; e++) {
        const int *edge = t->edges.vertices + 2 * (size_t)e;
        double wanted = 0.5 * (edge_length(t->rotation->rest, edge) + edge_length(t->pose, edge));
        if (wanted > 0) sum += fabs(edge_length(shape, edge) / wanted - 1);
    }
    return t->edges.count > 0 ? sum / t->edges.count : 0;
}

static void evaluate_at(refinement *t, double weight, double *positions) {
    sn_rotation_evaluate_targets(t->rotation, t->state, &weight, positions);
}

/* The most that the only target turns an element against its part. */
static double most_turned(const sinew_rotation *r) {
    double most = 0;
    for (int i = 0; i < r->targets[0].count; i++) {
        const double *c = r->targets[0].coordinates + (size_t)SN_RS_SIZE * (size_t)i;
        most = fmax(most, sn_length(sn_at(c + SN_RS_W, 0)) + sn_length(sn_at(c + SN_RS_Q, 0)));
    }
    return most;
}

/* The line of the pose before its parts are turned as a whole. Where parts are does not matter:
 * refinements look at gradients. */
static void fill_line(const sinew_rotation *r, const double *pose, double *centers, double *line) {
    const sn_rotation_strain *rs = r->structure;
    size_t n = 3 * (size_t)r->vertex_count;
    for (int c = 0; c < 3 * rs->component_count; c++)
        centers[c] = r->rest_centers[c] + r->targets[0].centers[c];
    memcpy(line, pose, n * sizeof *line);
    sn_rotation_strain_turn(rs, centers, r->targets[0].turns, -1, line);
    for (size_t i = 0; i < n; i++) line[i] -= r->rest[i];
}

sinew_status sn_rotation_draw_line(sinew_rotation *r, sinew_error *error) {
    size_t n = 3 * (size_t)r->vertex_count;
    sinew_rotation_state *state = NULL;
    double one = 1, *line = SN_NEW(double, n);
    double *pose = sn_memdup(r->rest, n, sizeof *pose);
    double *centers = SN_NEW(double, 3 * (size_t)r->structure->component_count);
    sinew_status status = line && pose && centers ? sinew_rotation_state_create(r, &state, error)
                                                  : sn_no_memory(error);
    if (status == SINEW_OK) {
        int refinements = r->refinements;
        r->refinements = 0; /* the same bits for an entry of the cache */
        sn_rotation_evaluate_targets(r, state, &one, pose);
        r->refinements = refinements;
        fill_line(r, pose, centers, line);
        r->line = line, line = NULL;
    }
    sinew_rotation_state_destroy(state);
    sn_free(line), sn_free(pose), sn_free(centers);
    return status;
}

/* The attempt that the only target needs. `line`: as sn_rotation_draw_line makes it. */
static int choose_attempt(refinement *t, double *line) {
    sinew_rotation *r = t->rotation;
    for (size_t i = 0; i < 3 * (size_t)r->vertex_count; i++)
        t->line[i] = 0.5 * (r->rest[i] + t->pose[i]);
    double linear = edge_error(t, t->line), least = INFINITY;
    bool straight = linear <= POOR && most_turned(r) <= STRAIGHT;
    int best = 0;
    for (int k = 0; k < ATTEMPT_COUNT; k++) {
        if (ATTEMPTS[k].line && !straight) continue;
        r->refinements = ATTEMPTS[k].refinements;
        r->line = ATTEMPTS[k].line ? line : NULL;
        evaluate_at(t, 0.5, t->half);
        double own = edge_error(t, t->half);
        if (own < GAIN * least) best = k, least = own;
        if (own <= POOR && own <= linear + SAME) return k;
        /* one step may gain little where three gain enough */
        if (k >= FINE && (least <= POOR || best < k)) break;
    }
    return best;
}

/* A rig of several targets would change its mind, and pop, when a slider that needs refinements
 * leaves zero; and one such target would slow down all frames. */
sinew_status sn_rotation_choose_refinements(sinew_rotation *rotation, const sinew_rig *rig,
                                            const sinew_monitor *monitor, sinew_error *error) {
    size_t n = 3 * (size_t)rotation->vertex_count;
    refinement t = {.rotation = rotation};
    if (rotation->target_count != 1) return SINEW_OK;
    if (sn_cancelled(monitor))
        return sn_fail(error, SINEW_CANCELLED, "cancelled while trying the pose");
    SN_TRY(sn_edges_of_triangles(rig->neutral->triangle_count, rig->neutral->triangles, &t.edges,
                                 error));
    t.pose = sn_memdup(rotation->rest, n, sizeof(double));
    t.half = sn_memdup(rotation->rest, n, sizeof(double));
    t.line = SN_NEW(double, n);
    sinew_status status = t.pose && t.half && t.line ? SINEW_OK : sn_no_memory(error);
    if (status == SINEW_OK) status = sn_rotation_draw_line(rotation, error);
    double *line = rotation->line;
    rotation->refinements = 1; /* the state has room for them */
    if (status == SINEW_OK) status = sinew_rotation_state_create(rotation, &t.state, error);
    rotation->line = NULL, rotation->refinements = 0;
    if (status == SINEW_OK) {
        evaluate_at(&t, 1, t.pose);
        const struct attempt *chosen = &ATTEMPTS[choose_attempt(&t, line)];
        rotation->refinements = chosen->refinements;
        rotation->line = chosen->line ? line : NULL;
    }
    if (!rotation->line) sn_free(line);
    sinew_rotation_state_destroy(t.state);
    sn_edges_free(&t.edges);
    sn_free(t.pose), sn_free(t.half), sn_free(t.line);
    return status;
}
