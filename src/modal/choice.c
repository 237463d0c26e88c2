/* The body by measured consequence.
 *
 * Along the straight path between two poses every body blends rotations and strains and puts them
 * together again, so in-betweens can be made and judged before there are modes. A shell has the
 * artist's own vertices and triangles: nothing that a pose does is beyond it, and what it does to
 * edges in between is the measure for the others. Solid bodies move better (a limb is not a tube),
 * so the first of them that is about as good is taken. */
#include "modal/choice.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/monitor.h"
#include "base/number.h"
#include "cache/pack.h"
#include "mesh/topology.h"

/* A finer cage of more tets than this is not tried. */
enum { MOST_TETS = 150000 };
/* Beyond so many vertices the shell itself and tetrahedra take minutes and gigabytes: only cages,
 * whose cost hardly depends on the mesh, are built, and judged by themselves. */
enum { MOST_VERTICES = 200000 };
/* Then a cage is fine enough whose mean edge error and torn edges stay below these. */
static const double MEAN_ALONE = 0.03, TORN_ALONE = 0.01;
/* Poses that are judged: those that move farthest. */
enum { MOST_POSES = 4 };
/* A body passes when mean and 99th percentile of its edge errors are within these factors and
 * allowances of the shell's, and no more edges are torn. */
static const double MEAN_FACTOR = 1.25, MEAN_EXTRA = 0.003;
static const double TAIL_FACTOR = 1.5, TAIL_EXTRA = 0.02;
static const double TORN_FACTOR = 1.5, TORN_EXTRA = 0.001;
/* An edge is torn that is off by more than this fraction of the length it should have. */
static const double TORN = 0.5;

int sn_body_cage_cells(const sinew_mesh *mesh, int wanted) {
    if (wanted != SINEW_MODAL_CELLS_DEFAULT || mesh->triangle_count < 1) return wanted;
    double sum = 0, diagonal = sinew_diagonal(mesh->vertex_count, mesh->positions);
    for (int i = 0; i < 3 * mesh->triangle_count; i++) {
        int next = i % 3 == 2 ? i - 2 : i + 1;
        sum += sn_distance(sn_at(mesh->positions, mesh->triangles[i]),
                           sn_at(mesh->positions, mesh->triangles[next]));
    }
    double finest = 4 * diagonal / (sum / (3.0 * mesh->triangle_count));
    const int fewest = 8;
    return finest < fewest ? fewest : finest < wanted ? (int)finest : wanted;
}

/* ---- in-betweens -------------------------------------------------------------------------- */

typedef struct verdict {
    double mean, tail; /* of the edges' relative errors: mean and 99th percentile */
    double torn;       /* fraction of the edges */
} verdict;

/* A pose as a body reads it. */
typedef struct reading {
    const double *artist;
    double *coordinates, *turns, *centers;
    double *leftover; /* of a cage, or NULL */
} reading;

typedef struct judge {
    const sinew_mesh *mesh;
    sn_edges edges;
    double *errors; /* per edge */
    double *shape;  /* 3 per artist's vertex */

    /* Of the body at hand. */
    const sn_body *body;
    sn_rotation_strain_work *work;
    reading readings[3]; /* rest, the pose before, this pose */
    reading blend;
    double *positions; /* 3 per body vertex */
} judge;

static void free_reading(reading *r) {
    sn_free(r->coordinates), sn_free(r->turns), sn_free(r->centers);
    sn_free(r->leftover);
    memset(r, 0, sizeof *r);
}

static void leave_body(judge *j) {
    for (int k = 0; k < 3; k++) free_reading(&j->readings[k]);
    free_reading(&j->blend);
    sn_rotation_strain_work_destroy(j->work);
    sn_free(j->positions);
    j->work = NULL, j->positions = NULL;
}

static bool make_reading(const sn_body *body, reading *r) {
    size_t parts = 3 * (size_t)body->rs->component_count;
    r->coordinates = SN_NEW(double, (size_t)SN_RS_SIZE *(size_t)body->rs->item_count);
    r->turns = SN_NEW(double, parts), r->centers = SN_NEW(double, parts);
    return r->coordinates && r->turns && r->centers;
}

static sinew_status enter_body(judge *j, const sn_body *body, sinew_error *error) {
    j->body = body;
    bool room = make_reading(body, &j->blend);
    for (int k = 0; k < 3; k++) room = make_reading(body, &j->readings[k]) && room;
    j->positions = SN_NEW(double, 3 * (size_t)body->vertex_count);
    return room && j->positions ? sn_rotation_strain_work_create(body->rs, &j->work, error)
                                : sn_no_memory(error);
}

static sinew_status read_pose(judge *j, const double *artist, const sinew_monitor *monitor,
                              reading *r, sinew_error *error) {
    const sn_body *body = j->body;
    r->artist = artist;
    sn_free(r->leftover);
    r->leftover = NULL;
    SN_TRY(sn_body_lift(body, artist, monitor, j->positions, &r->leftover, error));
    sn_rotation_strain_centers(body->rs, j->positions, r->centers);
    SN_TRY(sn_rotation_strain_turns(body->rs, body->rest, body->rest_centers, j->positions,
                                    r->centers, r->turns, error));
    sn_rotation_strain_turn(body->rs, r->centers, r->turns, -1, j->positions);
    return sn_rotation_strain_measure(body->rs, j->positions, 0, NULL, r->coordinates, error);
}

static void mix(size_t count, const double *a, const double *b, double share, double *to) {
    for (size_t i = 0; i < count; i++) to[i] = (1 - share) * a[i] + share * b[i];
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double length_of(const double *positions, const int *edge) {
    return sn_distance(sn_at(positions, edge[0]), sn_at(positions, edge[1]));
}

/* Edges of j->shape against the lengths between a and b; the worst of several goes to *worst. */
static void measure(judge *j, const reading *a, const reading *b, double share, verdict *worst) {
    int count = 0, torn = 0;
    double sum = 0;
    for (int e = 0; e < j->edges.count; e++) {
        const int *edge = j->edges.vertices + 2 * (size_t)e;
        double wanted =
            (1 - share) * length_of(a->artist, edge) + share * length_of(b->artist, edge);
        if (!(wanted > 1e-9 * j->body->diagonal)) continue;
        double off = fabs(length_of(j->shape, edge) - wanted) / wanted;
        j->errors[count++] = off;
        sum += off, torn += off > TORN;
    }
    if (count == 0) return;
    qsort(j->errors, (size_t)count, sizeof *j->errors, by_value);
    worst->mean = fmax(worst->mean, sum / count);
    worst->tail = fmax(worst->tail, j->errors[(int)(0.99 * (count - 1))]);
    worst->torn = fmax(worst->torn, (double)torn / count);
}

/* A cage's leftovers turn with their tets. */
static void add_leftovers(judge *j, const reading *a, const reading *b, double share) {
    const sn_rotation_strain *rs = j->body->rs;
    for (int v = 0; v < j->body->artist_count; v++) {
        int e = j->body->cage->embedding->tet[v];
        const double *c = j->blend.coordinates + (size_t)SN_RS_SIZE * (size_t)e;
        int part = rs->vertex_component[rs->elements[4 * (size_t)e]];
        sn_vec3 left = sn_add(sn_scale(1 - share, sn_at(a->leftover, v)),
                              sn_scale(share, sn_at(b->leftover, v)));
        left = sn_mat3_apply(sn_rotation_exp(sn_at(c + SN_RS_Q, 0)), left);
        left = sn_mat3_apply(sn_rotation_exp(sn_at(c + SN_RS_W, 0)), left);
        left = sn_mat3_apply(sn_rotation_exp(sn_at(j->blend.turns, part)), left);
        sn_put(j->shape, v, sn_add(sn_at(j->shape, v), left));
    }
}

/* False: the call was cancelled. */
static bool judge_between(judge *j, const reading *a, const reading *b, verdict *worst) {
    static const double shares[] = {0.25, 0.5, 0.75};
    const sn_body *body = j->body;
    reading *to = &j->blend;
    size_t parts = 3 * (size_t)body->rs->component_count;
    for (int k = 0; k < 3; k++) {
        double share = shares[k];
        mix((size_t)SN_RS_SIZE * (size_t)body->rs->item_count, a->coordinates, b->coordinates,
            share, to->coordinates);
        mix(parts, a->turns, b->turns, share, to->turns);
        mix(parts, a->centers, b->centers, share, to->centers);
        sn_rotation_strain_rebuild(body->rs, j->work, to->coordinates, to->centers, j->positions);
        sn_rotation_strain_turn(body->rs, to->centers, to->turns, 1, j->positions);
        sn_body_drop(body, j->positions, j->shape);
        if (body->cage) add_leftovers(j, a, b, share);
        measure(j, a, b, share, worst);
        if (sn_interrupted()) return false;
    }
    return true;
}

static bool passes(const verdict *own, const verdict *shell) {
    return own->mean <= MEAN_FACTOR * shell->mean + MEAN_EXTRA &&
           own->tail <= TAIL_FACTOR * shell->tail + TAIL_EXTRA &&
           own->torn <= TORN_FACTOR * shell->torn + TORN_EXTRA;
}

/* Judges a body pose by pose: from the rest shape to each, and from each to the next. Without
 * `bound` all verdicts are made; with it, the first pose that is worse ends the trial. *worst: the
 * verdict that decided, or the last. */
static sinew_status try_body(judge *j, const sn_body *body, int count, const double *const *poses,
                             const verdict *bound, const sinew_monitor *monitor, verdict *verdicts,
                             verdict *worst, bool *passed, sinew_error *error) {
    *passed = true;
    sinew_status status = enter_body(j, body, error);
    if (status == SINEW_OK)
        status = read_pose(j, j->mesh->positions, monitor, &j->readings[0], error);
    for (int k = 0; status == SINEW_OK && k < count && *passed; k++) {
        if (sn_cancelled(monitor))
            status = sn_fail(error, SINEW_CANCELLED, "cancelled while choosing the body");
        if (status == SINEW_OK) status = read_pose(j, poses[k], monitor, &j->readings[2], error);
        if (status != SINEW_OK) break;
        verdict own = {0};
        if (!judge_between(j, &j->readings[0], &j->readings[2], &own) ||
            (k > 0 && !judge_between(j, &j->readings[1], &j->readings[2], &own)))
            status = sn_fail(error, SINEW_CANCELLED, "cancelled while choosing the body");
        if (verdicts) verdicts[k] = own;
        *passed = !bound || passes(&own, &bound[k]);
        if (own.mean > worst->mean || !*passed) *worst = own;
        reading swap = j->readings[1];
        j->readings[1] = j->readings[2], j->readings[2] = swap;
    }
    leave_body(j);
    return status;
}

/* ---- choice ------------------------------------------------------------------------------- */

static const char *name_of(const sn_body_plan *plan, char *text, size_t size) {
    if (plan->kind == SINEW_MODAL_BODY_CAGE)
        snprintf(text, size, "a cage of %d cells", plan->cells);
    else
        snprintf(text, size, "%s",
                 plan->kind == SINEW_MODAL_BODY_SHELL ? "a shell"
                 : plan->repaired                     ? "tetrahedra inside, intersections smoothed"
                                                      : "tetrahedra inside");
    return text;
}

/* What was refused, and why, after what is there already. */
static void note(char *notes, size_t size, const sn_body_plan *plan, const char *reason,
                 const verdict *worst) {
    char name[64];
    size_t used = strlen(notes);
    if (used + 1 >= size) return;
    if (reason)
        snprintf(notes + used, size - used, "; %s: %.80s", name_of(plan, name, sizeof name),
                 reason);
    else
        snprintf(notes + used, size - used, "; %s: %.1f%%, %.2f%% torn",
                 name_of(plan, name, sizeof name), 100 * worst->mean, 100 * worst->torn);
}

/* The poses that move farthest, in their order. */
static int pick_poses(const sinew_mesh *mesh, int count, const double *const *poses,
                      const double *picked[MOST_POSES]) {
    double farthest[MOST_POSES];
    int index[MOST_POSES], kept = 0;
    for (int k = 0; k < count; k++) {
        double most = 0;
        for (int i = 0; i < mesh->vertex_count; i++)
            most = fmax(most, sn_distance(sn_at(poses[k], i), sn_at(mesh->positions, i)));
        if (!(most > 0) || !isfinite(most)) continue; /* what is not finite is refused as a key */
        int place = kept;
        if (kept == MOST_POSES)
            for (int i = 0; i < kept; i++)
                if (farthest[i] < most && (place == kept || farthest[i] < farthest[place]))
                    place = i;
        if (place == MOST_POSES) continue;
        farthest[place] = most, index[place] = k;
        if (place == kept) kept++;
    }
    int used = 0;
    for (int k = 0; k < count; k++)
        for (int i = 0; i < kept; i++)
            if (index[i] == k) picked[used++] = poses[k];
    return used;
}

/* Reasons to try the next plan; anything else ends the choice. */
static bool is_refusal(sinew_status status) {
    return status == SINEW_BAD_INPUT || status == SINEW_UNAVAILABLE ||
           status == SINEW_NOT_CONVERGED;
}

/* What was decided; kept in the cache. */
typedef struct decision {
    sn_body_plan plan;
    char choice[sizeof((sn_body *)0)->choice], why[sizeof((sn_body *)0)->why];
} decision;

static void describe(decision *made, const verdict *own, const verdict *shell, const char *notes) {
    char name[64];
    size_t room = sizeof made->choice;
    sn_print(made->choice, room, "%s: edges of in-betweens off by %.1f%% on average (shell %.1f%%)",
             name_of(&made->plan, name, sizeof name), 100 * own->mean, 100 * shell->mean);
    size_t used = strlen(made->choice);
    for (size_t k = 0; notes[k] && used + 1 < room; k++) made->choice[used++] = notes[k];
    made->choice[used] = '\0';
}

/* *body stays NULL when all solid ones fail. */
static sinew_status try_solids(judge *j, const sinew_modal_options *options, int count,
                               const double *const *poses, const verdict *shells,
                               const verdict *reference, const sinew_monitor *monitor,
                               decision *made, sn_body **body, sinew_error *error) {
    int cells = sn_body_cage_cells(j->mesh, options->cells);
    const sn_body_plan plans[] = {{.kind = SINEW_MODAL_BODY_TETS},
                                  {.kind = SINEW_MODAL_BODY_TETS, .repaired = true},
                                  {.kind = SINEW_MODAL_BODY_CAGE, .cells = cells},
                                  {.kind = SINEW_MODAL_BODY_CAGE, .cells = 2 * cells}};
    char notes[512] = "";
    bool closed = false;
    int coarse = 0; /* tets of the first cage */
    for (int k = 0; k < 4; k++) {
        sinew_error reason = {0};
        verdict worst = {0};
        bool passed = false;
        if ((plans[k].repaired && closed) || plans[k].cells > 400) continue;
        if (k == 3 && coarse > MOST_TETS / 8) continue; /* twice as fine is eight times as many */
        sinew_status status = sn_body_build(j->mesh, options, &plans[k], monitor, body, &reason);
        bool built = status == SINEW_OK;
        closed = closed || (built && k == 0);
        if (built && k == 2) coarse = (*body)->rs->element_count;
        if (built)
            status =
                try_body(j, *body, count, poses, shells, monitor, NULL, &worst, &passed, &reason);
        if (status == SINEW_OK && passed) {
            made->plan = plans[k];
            describe(made, &worst, reference, notes);
            return SINEW_OK;
        }
        sn_body_destroy(*body);
        *body = NULL;
        if (status != SINEW_OK && !is_refusal(status)) {
            if (error) *error = reason;
            return status;
        }
        if (built || !plans[k].repaired) /* a repair that fails has the reason of the tets */
            note(notes, sizeof notes, &plans[k], built ? NULL : reason.message, &worst);
        if (k == 0)
            snprintf(made->why, sizeof made->why, "%.180s",
                     built ? "in-betweens are worse than those of a shell" : reason.message);
        if (status != SINEW_OK && status != SINEW_BAD_INPUT && k == 0)
            SN_TRY(sn_fallback(monitor, status, error, "no tetrahedra inside the body: %s",
                               reason.message));
    }
    made->plan = (sn_body_plan){.kind = SINEW_MODAL_BODY_SHELL};
    describe(made, reference, reference, notes);
    return SINEW_OK;
}

static bool is_too_large(const sinew_mesh *mesh) {
    return mesh->vertex_count > MOST_VERTICES;
}

/* The first cage that does by itself, or the finest. */
static sinew_status decide_cage(judge *j, const sinew_modal_options *options, int count,
                                const double *const *poses, const sinew_monitor *monitor,
                                decision *made, sn_body **body, sinew_error *error) {
    int cells = sn_body_cage_cells(j->mesh, options->cells);
    verdict worst = {0};
    bool passed, fine = false;
    char name[64];
    for (int finer = 0; finer < 2 && !fine; finer++) {
        sn_body_plan plan = {.kind = SINEW_MODAL_BODY_CAGE, .cells = cells << finer};
        sn_body *cage = NULL;
        if (*body && (*body)->rs->element_count > MOST_TETS / 8) break;
        SN_TRY(sn_body_build(j->mesh, options, &plan, monitor, &cage, error));
        verdict own = {0};
        sinew_status status =
            try_body(j, cage, count, poses, NULL, monitor, NULL, &own, &passed, error);
        if (status != SINEW_OK) {
            sn_body_destroy(cage);
            return status;
        }
        sn_body_destroy(*body);
        *body = cage, made->plan = plan, worst = own;
        fine = own.mean <= MEAN_ALONE && own.torn <= TORN_ALONE;
    }
    sn_print(made->choice, sizeof made->choice,
             "%s: edges of in-betweens off by %.1f%% on average, %.2f%% torn; %d vertices are too "
             "many to try tetrahedra and a shell",
             name_of(&made->plan, name, sizeof name), 100 * worst.mean, 100 * worst.torn,
             j->mesh->vertex_count);
    snprintf(made->why, sizeof made->why, "%d vertices are too many for tetrahedra",
             j->mesh->vertex_count);
    return SINEW_OK;
}

static sinew_status decide(judge *j, const sinew_modal_options *options, int count,
                           const double *const *poses, const sinew_monitor *monitor, decision *made,
                           sn_body **body, sinew_error *error) {
    const sn_body_plan plan = {.kind = SINEW_MODAL_BODY_SHELL};
    verdict shells[MOST_POSES], reference = {0};
    sn_body *shell = NULL;
    bool passed;
    if (is_too_large(j->mesh)) {
        sinew_status found = decide_cage(j, options, count, poses, monitor, made, body, error);
        if (found != SINEW_OK) sn_body_destroy(*body), *body = NULL;
        return found;
    }
    sinew_status status = sn_body_build(j->mesh, options, &plan, monitor, &shell, error);
    if (status == SINEW_OK)
        status =
            try_body(j, shell, count, poses, NULL, monitor, shells, &reference, &passed, error);
    if (status == SINEW_OK)
        status =
            try_solids(j, options, count, poses, shells, &reference, monitor, made, body, error);
    if (status == SINEW_OK && !*body) *body = shell, shell = NULL;
    sn_body_destroy(shell);
    return status;
}

/* ---- the decision in the cache ------------------------------------------------------------ */

/* Of what is stored: to be counted up when bodies or their judgement change. */
static const char CACHE_VERSION[] = "modal body 5";

static sinew_cache_key key_of(const sinew_mesh *mesh, const sinew_modal_options *options) {
    size_t shape = 3 * (size_t)mesh->vertex_count * sizeof(double);
    sinew_hash hash;
    sinew_hash_start(&hash);
    sinew_hash_add(&hash, mesh->positions, shape);
    sinew_hash_add(&hash, mesh->triangles, 3 * (size_t)mesh->triangle_count * sizeof(int));
    for (int k = 0; k < options->pose_count; k++) sinew_hash_add(&hash, options->poses[k], shape);
    sinew_hash_add_number(&hash, options->cells);
    sinew_hash_add_number(&hash, options->fine_inside);
    return sinew_hash_key(&hash);
}

static bool restore(const sinew_cache_entry *entry, decision *made) {
    sn_unpack unpack = {.bytes = entry->bytes, .size = entry->size};
    int kind = sn_unpack_int(&unpack), cells = sn_unpack_int(&unpack);
    made->plan = (sn_body_plan){
        .kind = (sinew_modal_body)kind, .cells = cells, .repaired = sn_unpack_int(&unpack) != 0};
    sn_unpack_into(&unpack, made->choice, sizeof made->choice, 1);
    sn_unpack_into(&unpack, made->why, sizeof made->why, 1);
    made->choice[sizeof made->choice - 1] = made->why[sizeof made->why - 1] = '\0';
    return sn_unpack_complete(&unpack) && kind > SINEW_MODAL_BODY_AUTO &&
           kind <= SINEW_MODAL_BODY_SHELL && (kind != SINEW_MODAL_BODY_CAGE || cells >= 1);
}

static void keep(const decision *made, sinew_cache_entry *entry) {
    sn_pack pack = {0};
    sn_pack_int(&pack, made->plan.kind);
    sn_pack_int(&pack, made->plan.cells);
    sn_pack_int(&pack, made->plan.repaired);
    sn_pack_array(&pack, made->choice, sizeof made->choice, 1);
    sn_pack_array(&pack, made->why, sizeof made->why, 1);
    if (!pack.failed) (void)sinew_cache_store(entry, pack.bytes, pack.size, NULL);
    sn_pack_free(&pack);
}

static sinew_status choose(judge *j, const sinew_modal_options *options, int count,
                           const double *const *poses, const sinew_monitor *monitor, sn_body **body,
                           sinew_error *error) {
    decision made = {0};
    sinew_cache_entry *entry = NULL;
    if (options->cache)
        SN_TRY(sinew_cache_enter(options->cache, key_of(j->mesh, options), CACHE_VERSION, monitor,
                                 &entry, error));
    sinew_status status = SINEW_OK;
    if (entry && entry->bytes && restore(entry, &made) &&
        sn_body_build(j->mesh, options, &made.plan, monitor, body, NULL) != SINEW_OK)
        *body = NULL; /* the mesher may be gone */
    if (!*body) {
        made = (decision){0};
        status = decide(j, options, count, poses, monitor, &made, body, error);
        if (status == SINEW_OK && entry) keep(&made, entry);
    }
    sinew_cache_leave(entry);
    if (status != SINEW_OK) return status;
    memcpy((*body)->choice, made.choice, sizeof made.choice);
    memcpy((*body)->why, made.why, sizeof made.why);
    sn_log(monitor, SINEW_LOG_LEVEL_INFO, "the body is %s", made.choice);
    return SINEW_OK;
}

/* Without poses there is nothing to judge by. */
static sinew_status choose_blindly(const sinew_mesh *mesh, const sinew_modal_options *options,
                                   const sinew_monitor *monitor, sn_body **body,
                                   sinew_error *error) {
    const sn_body_plan tets = {.kind = SINEW_MODAL_BODY_TETS};
    const sn_body_plan cage = {.kind = SINEW_MODAL_BODY_CAGE,
                               .cells = sn_body_cage_cells(mesh, options->cells)};
    sinew_error reason = {0};
    sinew_status status =
        is_too_large(mesh)
            ? sn_fail(&reason, SINEW_BAD_INPUT, "%d vertices are too many", mesh->vertex_count)
            : sn_body_build(mesh, options, &tets, monitor, body, &reason);
    if (!is_refusal(status)) {
        if (status != SINEW_OK && error) *error = reason;
        return status;
    }
    if (status != SINEW_BAD_INPUT)
        SN_TRY(sn_fallback(monitor, status, error, "modal body is a cage: %s", reason.message));
    sn_log(monitor, SINEW_LOG_LEVEL_INFO, "no tetrahedra inside (%s): a cage instead",
           reason.message);
    SN_TRY(sn_body_build(mesh, options, &cage, monitor, body, error));
    snprintf((*body)->why, sizeof(*body)->why, "%.*s", (int)sizeof(*body)->why - 1, reason.message);
    return SINEW_OK;
}

sinew_status sn_body_choose(const sinew_mesh *mesh, const sinew_modal_options *options,
                            const sinew_monitor *monitor, sn_body **body, sinew_error *error) {
    *body = NULL;
    const double *poses[MOST_POSES];
    int count = pick_poses(mesh, options->pose_count, options->poses, poses);
    if (count == 0) return choose_blindly(mesh, options, monitor, body, error);
    judge j = {.mesh = mesh};
    SN_TRY(sn_edges_of_triangles(mesh->triangle_count, mesh->triangles, &j.edges, error));
    j.errors = SN_NEW(double, j.edges.count);
    j.shape = SN_NEW(double, 3 * (size_t)mesh->vertex_count);
    sinew_status status = j.errors && j.shape
                              ? choose(&j, options, count, poses, monitor, body, error)
                              : sn_no_memory(error);
    sn_edges_free(&j.edges);
    sn_free(j.errors), sn_free(j.shape);
    return status;
}
