/* One frame: predict, then project, solve and steer a few times.
 *
 * With z = x - rest the step is written for the change of z, so that nothing is lost by solving in
 * single precision: at the iterate z with command u,
 *
 *   N dz = inertia M (z~ - z) + f(z) + B u,      z~ = z_last + a h v_last
 *   z   <- z + dz + Phi (u_new - u),
 *
 * where f are the elastic forces. It is the same fixed point as N z = inertia M z~ + B u + sum k
 * F^T (p - F rest), whose right-hand side uses the projections p at the iterate; the errors of the
 * solve are relative to dz and vanish as it does.
 *
 * A step that looks for its command leaves B u out and adds Phi u_new instead of Phi (u_new - u),
 * which is the same as Phi = N^-1 B: one product less, and errors relative to Phi u, a millionth of
 * the way of one frame and far below what the next iteration would still change. */
#include <math.h>
#include <string.h>

#include "algebra/dense.h"
#include "base/memory.h"
#include "base/monitor.h"
#include "base/parallel.h"
#include "base/sized.h"
#include "base/status.h"
#include "base/vec3.h"
#include "cache/pack.h"
#include "force/command.h"
#include "force/contact.h"
#include "force/press.h"
#include "force/sheet.h"

/* The static solve stops when no vertex moves by more than this fraction of the diagonal. */
#define STATIC_TOLERANCE 1e-7
/* Its iterations shrink the change by a constant factor that can be close to 1 where bounds and
 * outliers take turns. A shape whose vertices move by less than this is settled all the same: it is
 * a thousandth of what a marker's noise moves it by. */
#define STATIC_SETTLED 1e-5
/* What counts is how far the shape still is from rest, change / (1 - ratio of the last changes):
 * below this fraction of the diagonal, 0.05 mm on a head, nobody sees it. */
#define STATIC_UNSEEN 1e-4
/* The layer does not believe markers that have lost more of their weight. */
#define LEAST_TRUST 0.25

struct sinew_force_state {
    const sinew_force *force;
    sinew_force_options settings; /* of frames: sinew_force_state_set */
    sn_pack kept;                 /* the past before a frame that may fail */
    bool started;                 /* there is a frame before the next */
    bool layered;                 /* the last frame has the layer's contact */
    double *z, *last, *velocity, *predicted, *right;
    double *x, *bend; /* 4 per vertex: where the last forces were found, and their bending */
    double *shown;    /* displacement of the written frame */
    float *solve;     /* 3n, single precision */
    float *change;    /* of the command */
    double *u, *u_last, *ramp, *split;
    sn_cholesky_work *step_work, *still_work;
    sn_command *step_command, *still_command;
    sn_layer_work *layer_work; /* NULL without a layer */
    sn_force_contact *contact; /* NULL without contact */
    sn_flesh_state *lag;       /* NULL without flesh */
    sn_press *press;           /* NULL without obstacles */
    int obstacle_count;
    const sinew_obstacle *const *obstacles;
    sinew_rigid head; /* of the next frame */
    double *written;  /* 3 per vertex: the frame before, free of crossings */
    /* per marker: where it should go (displacement from its rest), its given and robust weight */
    double *seen_last, *seen_now, *goal, *given, *trust, *places, *residual;
};

sinew_status sinew_force_state_create(const sinew_force *force, sinew_force_state **state,
                                      sinew_error *error) {
    SN_REQUIRE(force && state, error);
    *state = NULL;
    sinew_force_state *s = SN_NEW0(sinew_force_state, 1);
    if (!s) return sn_no_memory(error);
    s->force = force;
    s->settings = force->options;
    size_t n = 3 * (size_t)force->skin->vertex_count, m = (size_t)force->rig->target_count;
    size_t markers = (size_t)force->map->count;
    s->z = SN_NEW0(double, n), s->last = SN_NEW0(double, n), s->velocity = SN_NEW0(double, n);
    s->predicted = SN_NEW(double, n), s->right = SN_NEW(double, n);
    size_t padded = 4 * (size_t)force->skin->vertex_count;
    s->x = sn_alloc_aligned(padded, sizeof(double));
    s->bend = sn_alloc_aligned(padded, sizeof(double));
    s->shown = SN_NEW0(double, n);
    s->solve = SN_NEW(float, n), s->change = SN_NEW(float, m);
    s->u = SN_NEW0(double, m), s->u_last = SN_NEW0(double, m), s->split = SN_NEW(double, 2 * m),
    s->ramp = SN_NEW(double, m);
    s->seen_last = SN_NEW(double, 3 * markers), s->seen_now = SN_NEW(double, 3 * markers);
    s->goal = SN_NEW(double, 3 * markers), s->places = SN_NEW(double, 3 * markers);
    s->residual = SN_NEW(double, 3 * markers);
    s->given = SN_NEW(double, markers), s->trust = SN_NEW(double, markers);
    sinew_status status = SINEW_OK;
    if (!s->z || !s->last || !s->velocity || !s->predicted || !s->x || !s->right || !s->bend ||
        !s->shown || !s->solve || !s->change || !s->u || !s->u_last || !s->ramp || !s->split ||
        !s->seen_last || !s->seen_now || !s->goal || !s->places || !s->residual || !s->given ||
        !s->trust)
        status = sn_no_memory(error);
    if (status == SINEW_OK)
        status = sn_cholesky_work_create(force->step.factor, 3, &s->step_work, error);
    if (status == SINEW_OK)
        status = sn_cholesky_work_create(force->still.factor, 3, &s->still_work, error);
    if (status == SINEW_OK)
        status = sn_command_create(force->map->count, (int)m, force->step.rows, force->step.effect,
                                   &force->options, &s->step_command, error);
    if (status == SINEW_OK)
        status = sn_command_create(force->map->count, (int)m, force->still.rows,
                                   force->still.effect, &force->options, &s->still_command, error);
    if (status == SINEW_OK && force->layer)
        status = sn_layer_work_create(force->layer, &s->layer_work, error);
    if (status == SINEW_OK && force->surface) {
        s->written = SN_NEW(double, n);
        status = s->written ? sn_force_contact_create(force->surface, force->skin,
                                                      sn_force_contact_factor(force), force->region,
                                                      &s->contact, error)
                            : sn_no_memory(error);
    }
    if (s->contact)
        sn_force_contact_set_stick(s->contact, force->options.stick * force->skin->diagonal);
    if (status == SINEW_OK && force->lag)
        status = sn_flesh_state_create(force->lag, &s->lag, error);
    if (status == SINEW_OK && force->options.obstacles)
        status =
            sn_press_create(force->skin, force->rig->neutral, sn_force_contact_factor(force),
                            force->options.contact_gap * force->skin->diagonal, &s->press, error);
    if (status != SINEW_OK) {
        sinew_force_state_destroy(s);
        return status;
    }
    sinew_force_set_head(s, NULL);
    sinew_force_reset(s);
    *state = s;
    return SINEW_OK;
}

void sinew_force_state_destroy(sinew_force_state *s) {
    if (!s) return;
    sn_free(s->z), sn_free(s->last), sn_free(s->velocity), sn_free(s->predicted);
    sn_free_aligned(s->x), sn_free_aligned(s->bend);
    sn_free(s->shown), sn_free(s->right), sn_free(s->solve), sn_free(s->change), sn_free(s->u),
        sn_free(s->u_last);
    sn_free(s->ramp), sn_free(s->split), sn_free(s->seen_last), sn_free(s->seen_now),
        sn_free(s->goal);
    sn_free(s->given), sn_free(s->trust), sn_free(s->places), sn_free(s->residual);
    sn_cholesky_work_destroy(s->step_work), sn_cholesky_work_destroy(s->still_work);
    sn_layer_work_destroy(s->layer_work);
    sn_force_contact_destroy(s->contact);
    sn_flesh_state_destroy(s->lag);
    sn_press_destroy(s->press);
    sn_free(s->written);
    sn_command_destroy(s->step_command), sn_command_destroy(s->still_command);
    sn_pack_free(&s->kept);
    sn_free(s);
}

void sinew_force_reset(sinew_force_state *s) {
    if (!s) return;
    size_t n = 3 * (size_t)s->force->skin->vertex_count;
    s->started = false;
    if (s->contact) sn_force_contact_reset(s->contact);
    if (s->written) memcpy(s->written, s->force->skin->rest, n * sizeof(double));
    memset(s->z, 0, n * sizeof(double));
    memset(s->velocity, 0, n * sizeof(double));
    memset(s->u, 0, sizeof(double) * (size_t)s->force->rig->target_count);
    for (int i = 0; i < 3 * s->force->map->count; i++) s->seen_last[i] = NAN;
    sn_command_forget(s->step_command), sn_command_forget(s->still_command);
    if (s->layer_work) sn_layer_forget(s->layer_work);
    if (s->lag) sn_flesh_reset(s->lag);
    if (s->press) sn_press_reset(s->press);
}

void sinew_force_set_head(sinew_force_state *s, const sinew_rigid *head) {
    static const sinew_rigid still = {{1, 0, 0, 0, 1, 0, 0, 0, 1}, {0, 0, 0}};
    if (s) s->head = head ? *head : still;
}

sinew_status sinew_force_set_obstacles(sinew_force_state *s, int count,
                                       const sinew_obstacle *const *obstacles, sinew_error *error) {
    SN_REQUIRE(s && count >= 0 && (obstacles || count == 0) && (s->press || count == 0), error);
    s->obstacle_count = count, s->obstacles = obstacles;
    return SINEW_OK;
}

sinew_status sinew_force_start(sinew_force_state *s, const double *positions,
                               const double *velocities, sinew_error *error) {
    SN_REQUIRE(s, error);
    const sn_skin *skin = s->force->skin;
    size_t n = 3 * (size_t)skin->vertex_count;
    for (size_t i = 0; i < n; i++)
        if ((positions && !isfinite(positions[i])) || (velocities && !isfinite(velocities[i])))
            return sn_fail(error, SINEW_BAD_INPUT, "force: start of vertex %zu is not finite",
                           i / 3);
    sinew_force_reset(s);
    for (size_t i = 0; i < n; i++) {
        if (skin->fixed[i / 3]) continue;
        if (positions) s->z[i] = positions[i] - skin->rest[i];
        if (velocities) s->velocity[i] = velocities[i];
    }
    for (size_t i = 0; s->written && i < n; i++) s->written[i] = skin->rest[i] + s->z[i];
    s->started = true;
    return SINEW_OK;
}

const double *sinew_force_last_command(const sinew_force_state *state) {
    return state ? state->u : NULL;
}

const double *sinew_force_velocities(const sinew_force_state *state) {
    return state ? state->velocity : NULL;
}

/* ---- settings and the past ------------------------------------------------------------------- */

sinew_status sinew_force_state_set(sinew_force_state *s, const sinew_force_options *options,
                                   sinew_error *error) {
    SN_REQUIRE(s && options, error);
    const sinew_force *force = s->force;
    sinew_force_options wanted = force->options;
    wanted.ridge = options->ridge, wanted.smooth = options->smooth;
    wanted.bounded = options->bounded;
    wanted.lower = options->lower, wanted.upper = options->upper;
    wanted.outlier = options->outlier;
    wanted.velocity_kept = options->velocity_kept;
    wanted.relinearisations = options->relinearisations;
    wanted.friction = options->friction;
    wanted.layer_feeds = options->layer_feeds;
    SN_TRY(sn_force_check_options(&wanted, error));
    const sinew_force_options *now = &s->settings;
    if (wanted.ridge == now->ridge && wanted.smooth == now->smooth &&
        wanted.bounded == now->bounded && wanted.lower == now->lower &&
        wanted.upper == now->upper) {
        s->settings = wanted; /* the others are read by each frame */
        return SINEW_OK;
    }
    sn_command *step = NULL, *still = NULL;
    sinew_status status =
        sn_command_create(force->map->count, force->rig->target_count, force->step.rows,
                          force->step.effect, &wanted, &step, error);
    if (status == SINEW_OK)
        status = sn_command_create(force->map->count, force->rig->target_count, force->still.rows,
                                   force->still.effect, &wanted, &still, error);
    if (status != SINEW_OK) {
        sn_command_destroy(step);
        return status;
    }
    sn_command_destroy(s->step_command), sn_command_destroy(s->still_command);
    s->step_command = step, s->still_command = still;
    s->settings = wanted;
    return SINEW_OK;
}

/* What a frame needs of those before it, but for the block of contact. */
static void pack_past(const sinew_force_state *s, sn_pack *pack) {
    size_t n = 3 * (size_t)s->force->skin->vertex_count;
    sn_pack_int(pack, s->started);
    sn_pack_array(pack, s->z, n, sizeof(double));
    sn_pack_array(pack, s->velocity, n, sizeof(double));
    sn_pack_array(pack, s->u, (size_t)s->force->rig->target_count, sizeof(double));
    sn_pack_array(pack, s->seen_last, 3 * (size_t)s->force->map->count, sizeof(double));
    if (s->layer_work) sn_layer_pack(s->force->layer, s->layer_work, pack);
    if (s->lag) sn_flesh_pack(s->force->lag, s->lag, pack);
    if (s->press) sn_press_pack(s->press, pack);
    if (!s->contact) return;
    sn_pack_array(pack, s->written, n, sizeof(double));
    sn_force_contact_pack(s->contact, pack);
}

static sinew_status unpack_past(sinew_force_state *s, sn_unpack *unpack, sinew_error *error) {
    size_t n = 3 * (size_t)s->force->skin->vertex_count;
    s->started = sn_unpack_int(unpack) != 0;
    sn_unpack_into(unpack, s->z, n, sizeof(double));
    sn_unpack_into(unpack, s->velocity, n, sizeof(double));
    sn_unpack_into(unpack, s->u, (size_t)s->force->rig->target_count, sizeof(double));
    sn_unpack_into(unpack, s->seen_last, 3 * (size_t)s->force->map->count, sizeof(double));
    if (s->layer_work) SN_TRY(sn_layer_unpack(s->force->layer, s->layer_work, unpack, error));
    if (s->lag) sn_flesh_unpack(s->force->lag, s->lag, unpack);
    if (s->press) sn_press_unpack(s->press, unpack);
    if (!s->contact) return SINEW_OK;
    sn_unpack_into(unpack, s->written, n, sizeof(double));
    return sn_force_contact_unpack(s->contact, unpack, error);
}

void sn_force_pack(const sinew_force_state *s, sn_pack *pack) {
    pack_past(s, pack);
    if (s->layer_work) sn_layer_pack_block(s->layer_work, pack);
    if (s->contact) sn_force_contact_pack_block(s->contact, pack);
}

sinew_status sn_force_unpack(sinew_force_state *s, sn_unpack *unpack, sinew_error *error) {
    sn_command_forget(s->step_command), sn_command_forget(s->still_command);
    SN_TRY(unpack_past(s, unpack, error));
    if (s->layer_work) SN_TRY(sn_layer_unpack_block(s->layer_work, unpack, error));
    if (s->contact) SN_TRY(sn_force_contact_unpack_block(s->contact, unpack, error));
    return unpack->failed ? sn_unpack_fail(unpack, error) : SINEW_OK;
}

/* Around a frame: what it changes goes back when it fails. The block of contact only grows, so that
 * its size is enough. */
static sinew_status keep_past(sinew_force_state *s, int block[2], sinew_error *error) {
    s->kept.size = 0, s->kept.failed = false;
    sn_command_start_frame(s->step_command), sn_command_start_frame(s->still_command);
    block[0] = s->contact ? sn_force_contact_block(s->contact) : 0;
    block[1] = s->layer_work ? sn_layer_block(s->layer_work) : 0;
    pack_past(s, &s->kept);
    return s->kept.failed ? sn_no_memory(error) : SINEW_OK;
}

static void put_past_back(sinew_force_state *s, const int block[2]) {
    sn_unpack unpack = {.bytes = s->kept.bytes, .size = s->kept.size};
    unpack_past(s, &unpack, NULL);
    if (s->contact) sn_force_contact_shrink(s->contact, block[0]);
    if (s->layer_work) sn_layer_shrink(s->layer_work, block[1]);
}

/* ---- markers --------------------------------------------------------------------------------- */

static bool is_seen(const double *p) {
    return isfinite(p[0]) && isfinite(p[1]) && isfinite(p[2]);
}

/* Where the markers of substep `part` of `parts` should be: on the line from the last frame to this
 * one; a marker that was not there before counts at the end only. Returns how many are seen. */
static int set_goals(sinew_force_state *s, const double *weights, int part, int parts) {
    const sinew_force *force = s->force;
    double t = (double)part / parts;
    int seen = 0;
    for (int i = 0; i < force->map->count; i++) {
        const double *now = s->seen_now + 3 * i, *last = s->seen_last + 3 * i;
        double weight = weights ? weights[i] : 1;
        bool there =
            is_seen(now) && weight > 0 && isfinite(weight) && (part == parts || is_seen(last));
        s->given[i] = there ? weight : 0;
        seen += there;
        for (int a = 0; a < 3; a++) {
            double place = part == parts ? now[a] : last[a] + t * (now[a] - last[a]);
            s->goal[3 * i + a] = there ? place - force->marker_rest[3 * i + a] : 0;
        }
    }
    return seen;
}

/* residual = goal - S z; a marker far off loses weight with the square of its distance. */
static void compare_markers(sinew_force_state *s, const double *z) {
    const sinew_force *force = s->force;
    double reach = s->settings.outlier * force->skin->diagonal;
    sinew_marker_map_points(force->map, force->rig->neutral, z, s->places);
    for (int i = 0; i < force->map->count; i++) {
        bool there = s->given[i] > 0;
        for (int a = 0; a < 3; a++)
            s->residual[3 * i + a] = there ? s->goal[3 * i + a] - s->places[3 * i + a] : 0;
        double off = sn_length(sn_at(s->residual, i));
        s->trust[i] = s->given[i] * (off > reach ? reach / off * (reach / off) : 1);
    }
}

/* ---- one relinearisation --------------------------------------------------------------------- */

typedef struct pass {
    const sn_force_system *system;
    sn_cholesky_work *work;
    sn_command *command;
    const double *given; /* the command, or NULL: it is searched for */
    const double *jaw;   /* the command that carries the jaw: given, or the nearest known */
    bool pushed;         /* B u is on the right-hand side */
} pass;

/* The first relinearisation of a step starts without a command. */
static bool pushes(const sinew_force_state *s) {
    for (int k = 0; k < s->force->rig->target_count; k++)
        if (s->u[k] != 0) return true;
    return false;
}

typedef struct predict_vertices_loop {
    sinew_force_state *s;
    double inertia;
} predict_vertices_loop;

static void predict_vertices(void *context, sn_span span) {
    const predict_vertices_loop *loop = context;
    sinew_force_state *s = loop->s;
    double inertia = loop->inertia;
    const sinew_force *force = s->force;
    SN_IN_SPAN(size_t, v, span) {
        /* the rest that the forces are about to read too */
        const double *rest = force->potentials->rings.rest + 4 * v, *z = s->z + 3 * v;
        double *x = s->x + 4 * v, *right = s->right + 3 * v;
        double mass = inertia * force->mass[v];
        for (size_t a = 0; a < 3; a++) {
            x[a] = rest[a] + z[a];
            right[a] = mass * (s->predicted[3 * v + a] - z[a]);
        }
        x[3] = 0;
    }
}

typedef struct scale_right_loop {
    const sn_skin *skin;
    double scale;
    const double *right;
    float *solve;
} scale_right_loop;

static void scale_right(void *context, sn_span span) {
    const scale_right_loop *loop = context;
    const sn_skin *skin = loop->skin;
    double scale = loop->scale;
    const double *right = loop->right;
    float *solve = loop->solve;
    SN_IN_SPAN(int, v, span)
        for (int a = 3 * v; a < 3 * v + 3; a++)
            solve[a] = skin->fixed[v] ? 0 : (float)(scale * right[a]);
}

typedef struct add_solution_loop {
    const float *solve;
    double diagonal;
    double *z;
} add_solution_loop;

static void add_solution(void *context, sn_span span) {
    const add_solution_loop *loop = context;
    const float *solve = loop->solve;
    double diagonal = loop->diagonal;
    double *z = loop->z;
    SN_IN_SPAN(int, i, span) z[i] += diagonal * (double)solve[i];
}

/* z += dz with N dz = inertia M (z~ - z) + f(z) + B u */
static void solve_change(sinew_force_state *s, const pass *p) {
    const sinew_force *force = s->force;
    const sn_skin *skin = force->skin;
    int n = skin->vertex_count;
    sn_parallel_for(n, 256, predict_vertices, &(predict_vertices_loop){s, p->system->inertia});
    if (p->pushed && pushes(s)) sn_vertex_columns_add(force->push, s->u, s->right);
    if (force->jaw)
        sn_jaw_pull(force->jaw, p->jaw, skin->rest, force->potentials->position, s->right);
    sn_potentials_add_forces(force->potentials, s->x, s->bend, s->right);
    /* in units of the diagonal: safe in single precision for any unit of length */
    double scale = 1 / skin->diagonal;
    sn_parallel_for(n, 512, scale_right, &(scale_right_loop){skin, scale, s->right, s->solve});
    sn_cholesky_solve_f32(p->system->factor, p->work, 3, s->solve, s->solve);
    sn_parallel_for(3 * n, 1024, add_solution,
                    &(add_solution_loop){s->solve, skin->diagonal, s->z});
}

/* u := the command that brings the markers home. */
static sinew_status find_command(sinew_force_state *s, const pass *p, sinew_error *error) {
    const sinew_force *force = s->force;
    int height = 3 * force->map->count;
    sinew_marker_map_points(force->map, force->rig->neutral, s->z, s->places);
    for (int i = 0; i < height; i++) s->residual[i] = s->goal[i] - s->places[i];
    if (p->pushed)
        sn_dense_apply(SN_AS_IS, height, force->rig->target_count, 1, p->system->rows, s->u, 1,
                       s->residual);
    for (int i = 0; i < height; i++)
        if (!(s->given[i / 3] > 0)) s->residual[i] = 0;
    return sn_command_solve(p->command, s->residual, s->trust, s->u_last, s->u, error);
}

/* z += Phi (u_new - u), or Phi u_new where z does not hold Phi u yet. */
static sinew_status steer(sinew_force_state *s, const pass *p, sinew_force_frame_info *info,
                          sinew_error *error) {
    size_t m = (size_t)s->force->rig->target_count;
    double *before = s->split;
    for (size_t k = 0; k < m; k++) before[k] = p->pushed ? s->u[k] : 0;
    if (p->given)
        memcpy(s->u, p->given, m * sizeof(double));
    else {
        sinew_status status = find_command(s, p, error);
        if (status == SINEW_NOT_CONVERGED)
            info->status = status;
        else if (status != SINEW_OK)
            return status;
    }
    for (size_t k = 0; k < m; k++) s->change[k] = (float)(s->u[k] - before[k]);
    sn_vertex_columns_add_f32(p->system->response, s->change, s->z);
    return SINEW_OK;
}

typedef struct change_loop {
    const sinew_force_state *s;
    _Atomic double most;
} change_loop;

static void find_change(void *context, sn_span span) {
    change_loop *loop = context;
    const sinew_force_state *s = loop->s;
    const double *rest = s->force->skin->rest;
    double most = 0, known = atomic_load(&loop->most);
    SN_IN_SPAN(size_t, v, span)
        for (size_t a = 0; a < 3; a++) {
            double change = fabs(s->z[3 * v + a] + rest[3 * v + a] - s->x[4 * v + a]);
            most = change > most ? change : most;
        }
    while (most > known && !atomic_compare_exchange_weak(&loop->most, &known, most)) {
    }
}

/* Largest change of a coordinate between s->x - rest and z, fraction of the diagonal. */
static double change_since(const sinew_force_state *s) {
    const sn_skin *skin = s->force->skin;
    change_loop loop = {s, 0};
    sn_parallel_for(skin->vertex_count, 512, find_change, &loop);
    return atomic_load(&loop.most) / skin->diagonal;
}

static sinew_status relinearise(sinew_force_state *s, const pass *p, sinew_force_frame_info *info,
                                sinew_error *error) {
    if (!p->given) compare_markers(s, s->z);
    solve_change(s, p);
    SN_TRY(sn_check_interrupt(error));
    SN_TRY(steer(s, p, info, error));
    info->iterations++;
    return SINEW_OK;
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* The first frame: where the sheet rests under the command, without inertia. */
static sinew_status settle(sinew_force_state *s, const double *given, sinew_force_frame_info *info,
                           const sinew_monitor *monitor, sinew_error *error) {
    const sinew_force *force = s->force;
    size_t bytes = 3 * sizeof(double) * (size_t)force->skin->vertex_count;
    pass p = {&force->still, s->still_work, s->still_command, given, given ? given : s->u, true};
    double before = 0;
    for (int i = 0; i < SINEW_FORCE_STATIC_ITERATIONS; i++) {
        if (sn_cancelled(monitor)) return sn_fail(error, SINEW_CANCELLED, "cancelled");
        memcpy(s->predicted, s->z, bytes);
        SN_TRY(relinearise(s, &p, info, error));
        before = info->residual;
        info->residual = change_since(s);
        if (info->residual < STATIC_TOLERANCE) break;
    }
    double ratio = before > 0 ? info->residual / before : 0;
    bool unseen = ratio < 1 && info->residual < (1 - ratio) * STATIC_UNSEEN;
    if (!(info->residual < STATIC_SETTLED) && !unseen) info->status = SINEW_NOT_CONVERGED;
    memset(s->velocity, 0, bytes);
    return SINEW_OK;
}

/* The fraction of the velocity that a step of h seconds keeps. Without forces velocity decays
 * exponentially, by velocity_kept in every SINEW_FORCE_DAMPING_TIME, whatever h is: a constant
 * fraction per step would double the damping, and the lag behind a moving command, with each
 * doubling of the frame rate. */
static double velocity_kept(const sinew_force_state *s, double h) {
    return pow(s->settings.velocity_kept, h / SINEW_FORCE_DAMPING_TIME);
}

static sinew_status step(sinew_force_state *s, const double *given, sinew_force_frame_info *info,
                         sinew_error *error) {
    const sinew_force *force = s->force;
    int n = 3 * force->skin->vertex_count;
    double h = force->options.frame_time / force->options.substeps;
    double reach = velocity_kept(s, h) * h;
    memcpy(s->last, s->z, sizeof(double) * (size_t)n);
    for (int i = 0; i < n; i++) s->z[i] = s->predicted[i] = s->last[i] + reach * s->velocity[i];
    /* The prediction holds no command yet. */
    memset(s->u, 0, sizeof(double) * (size_t)force->rig->target_count);
    pass p = {&force->step, s->step_work, s->step_command, given, given ? given : s->u_last, given};
    for (int i = 0; i < s->settings.relinearisations; i++) {
        SN_TRY(relinearise(s, &p, info, error));
        if (!given) p.jaw = s->u;
    }
    info->residual = change_since(s);
    for (int i = 0; i < n; i++) s->velocity[i] = (s->z[i] - s->last[i]) / h;
    return SINEW_OK;
}

/* ---- frames ---------------------------------------------------------------------------------- */

static double marker_error(sinew_force_state *s, const double *z, int seen) {
    double sum = 0;
    compare_markers(s, z);
    for (int i = 0; i < s->force->map->count; i++) {
        sn_vec3 r = sn_at(s->residual, i);
        sum += sn_dot(r, r);
    }
    return seen ? sqrt(sum / seen) : 0;
}

/* The layer's correction, as far as it pushes no skin through what lies below. */
static sinew_status hold_layer(sinew_force_state *s, sinew_force_frame_info *info,
                               sinew_error *error) {
    const sn_skin *skin = s->force->skin;
    int n = 3 * skin->vertex_count;
    double *before = s->layer_work->before, *after = s->right;
    for (int i = 0; i < n; i++) {
        before[i] = skin->rest[i] + s->z[i];
        after[i] = skin->rest[i] + s->shown[i];
    }
    sn_layer_counts counts;
    SN_TRY(sn_layer_hold(s->force->layer, s->layer_work, after, &counts, error));
    info->contacts = counts.pressing, info->released = counts.released;
    for (int i = 0; i < n; i++) s->shown[i] = after[i] - skin->rest[i];
    return SINEW_OK;
}

/* s->shown := z, or z and the layer's correction of what the command left at the markers. */
static sinew_status add_layer(sinew_force_state *s, sinew_force_frame_info *info,
                              sinew_error *error) {
    const sinew_force *force = s->force;
    size_t bytes = 3 * sizeof(double) * (size_t)force->skin->vertex_count;
    memcpy(s->shown, s->z, bytes);
    s->layered = force->layer && force->layer->guard;
    if (!force->layer) return SINEW_OK;
    double *believed = s->places; /* not needed for places here */
    for (int i = 0; i < force->map->count; i++)
        believed[i] = s->trust[i] > LEAST_TRUST * s->given[i] ? s->trust[i] : 0;
    SN_TRY(sn_layer_add(force->layer, s->layer_work, force->options.frame_time, s->residual,
                        believed, s->shown, error));
    if (force->layer->guard) SN_TRY(hold_layer(s, info, error));
    info->marker_error_layer = marker_error(s, s->shown, info->seen);
    if (!s->settings.layer_feeds) return SINEW_OK;
    double h = force->options.frame_time / force->options.substeps;
    for (int i = 0; i < 3 * force->skin->vertex_count; i++)
        s->velocity[i] += (s->shown[i] - s->z[i]) / h;
    memcpy(s->z, s->shown, bytes);
    return SINEW_OK;
}

/* positions := rest + shown, pressed apart where the skin would cross itself on the way from the
 * frame before. The motion feels it: z and its velocity move along. It does not feel what sticks.
 */
static sinew_status keep_apart(sinew_force_state *s, double *positions,
                               sinew_force_frame_info *info, const sinew_monitor *monitor,
                               sinew_error *error) {
    if (!s->contact) return SINEW_OK;
    const sinew_force *force = s->force;
    const sn_skin *skin = force->skin;
    int n = 3 * skin->vertex_count;
    double h = force->options.frame_time / force->options.substeps;
    sn_force_contact_info contact;
    SN_TRY(sn_force_contact_solve(s->contact, s->written, positions, &contact, monitor, error));
    const double *unstuck = sn_force_contact_unstuck(s->contact);
    for (int i = 0; i < n; i++) {
        double moved = unstuck[i] - skin->rest[i] - s->shown[i];
        s->z[i] += moved, s->shown[i] = positions[i] - skin->rest[i];
        if (s->started) s->velocity[i] += moved / h;
    }
    sn_force_contact_rub(s->contact, s->settings.friction, h, s->velocity);
    memcpy(s->written, positions, sizeof(double) * (size_t)n);
    info->contacts += contact.pressing; /* beside what the layer holds */
    info->cut = contact.cut, info->released += contact.released;
    return SINEW_OK;
}

int sn_force_list_contacts(const sinew_force_state *s, int capacity, sinew_contact *contacts) {
    int count = 0;
    if (s->contact) count = sn_force_contact_list(s->contact, s->written, capacity, contacts);
    if (s->layered)
        count += sn_layer_contact_list(s->layer_work->contact, capacity - count, contacts + count);
    return count;
}

/* positions slid over the skull and pressed out of the obstacles; the motion feels it as it feels
 * contact. */
static sinew_status press_out(sinew_force_state *s, double *positions, sinew_force_frame_info *info,
                              sinew_error *error) {
    bool presses = s->press && s->obstacle_count > 0;
    const sn_skull *skull = s->force->skull;
    if (!presses && !skull) return SINEW_OK;
    const sn_skin *skin = s->force->skin;
    double h = s->force->options.frame_time / s->force->options.substeps;
    if (skull) info->slid = sn_skull_hold(skull, positions);
    if (presses)
        SN_TRY(sn_press_solve(s->press, s->obstacle_count, s->obstacles, &s->head,
                              s->settings.friction, positions, &info->pressed, error));
    for (int i = 0; i < 3 * skin->vertex_count; i++) {
        double moved = positions[i] - skin->rest[i] - s->shown[i];
        s->z[i] += moved, s->shown[i] += moved;
        if (s->started) s->velocity[i] += moved / h;
    }
    return SINEW_OK;
}

static sinew_status finish(sinew_force_state *s, double *positions, sinew_force_frame_info *info,
                           const sinew_monitor *monitor, sinew_error *error) {
    const sn_skin *skin = s->force->skin;
    if (s->lag) sn_flesh_step(s->force->lag, s->lag, &s->head, s->shown);
    for (int i = 0; i < 3 * skin->vertex_count; i++) positions[i] = skin->rest[i] + s->shown[i];
    info->cut = 1;
    SN_TRY(press_out(s, positions, info, error));
    SN_TRY(keep_apart(s, positions, info, monitor, error));
    sn_force_split(s->force, s->shown, s->split, &info->in_span, &info->out_of_span);
    s->started = true;
    return SINEW_OK;
}

static sinew_status follow_markers(const sinew_force *force, sinew_force_state *s,
                                   const double *markers, const double *marker_weights,
                                   double *positions, sinew_force_frame_info *info,
                                   const sinew_monitor *monitor, sinew_error *error) {
    SN_REQUIRE(force && s && s->force == force && markers && positions, error);
    SN_REQUIRE(force->map->count > 0, error);
    double begin = sn_now();
    int parts = s->started ? force->options.substeps : 1;
    memcpy(s->seen_now, markers, 3 * sizeof(double) * (size_t)force->map->count);
    sinew_status status = SINEW_OK;
    for (int part = 1; status == SINEW_OK && part <= parts; part++) {
        if (sn_cancelled(monitor)) return sn_fail(error, SINEW_CANCELLED, "cancelled");
        info->seen = set_goals(s, marker_weights, part, parts);
        memcpy(s->u_last, s->u, sizeof(double) * (size_t)force->rig->target_count);
        const double *given = info->seen > 0 ? NULL : s->u_last;
        status = s->started ? step(s, given, info, error) : settle(s, given, info, monitor, error);
    }
    if (status != SINEW_OK) return status;
    memcpy(s->seen_last, s->seen_now, 3 * sizeof(double) * (size_t)force->map->count);
    info->marker_error = info->marker_error_layer = marker_error(s, s->z, info->seen);
    for (int i = 0; i < force->map->count; i++)
        info->outliers += s->given[i] > 0 && s->trust[i] < 0.5 * s->given[i];
    SN_TRY(add_layer(s, info, error));
    SN_TRY(finish(s, positions, info, monitor, error));
    info->seconds = sn_now() - begin;
    return SINEW_OK;
}

sinew_status sinew_force_frame(const sinew_force *force, sinew_force_state *s,
                               const double *markers, const double *marker_weights,
                               double *positions, sinew_force_frame_info *info,
                               const sinew_monitor *monitor, sinew_error *error) {
    SN_REQUIRE(sn_info_ready(info), error);
    SN_REQUIRE(s, error);
    sinew_force_frame_info own = {0};
    int block[2];
    SN_TRY(keep_past(s, block, error));
    sinew_status status =
        follow_markers(force, s, markers, marker_weights, positions, &own, monitor, error);
    if (status != SINEW_OK) put_past_back(s, block);
    sn_info_write(info, &own, sizeof own);
    return status;
}

static sinew_status follow_command(const sinew_force *force, sinew_force_state *s,
                                   const double *command, double *positions,
                                   sinew_force_frame_info *info, const sinew_monitor *monitor,
                                   sinew_error *error) {
    SN_REQUIRE(force && s && s->force == force && command && positions, error);
    double begin = sn_now();
    int m = force->rig->target_count;
    for (int k = 0; k < m; k++)
        if (!isfinite(command[k]))
            return sn_fail(error, SINEW_BAD_INPUT, "force: the command of target %d is not finite",
                           k);
    int parts = s->started ? force->options.substeps : 1;
    memcpy(s->u_last, s->u, sizeof(double) * (size_t)m);
    sinew_status status = SINEW_OK;
    for (int part = 1; status == SINEW_OK && part <= parts; part++) {
        if (sn_cancelled(monitor)) return sn_fail(error, SINEW_CANCELLED, "cancelled");
        double *now = s->ramp, t = (double)part / parts;
        for (int k = 0; k < m; k++) now[k] = s->u_last[k] + t * (command[k] - s->u_last[k]);
        status = s->started ? step(s, now, info, error) : settle(s, now, info, monitor, error);
    }
    if (status != SINEW_OK) return status;
    memcpy(s->shown, s->z, 3 * sizeof(double) * (size_t)force->skin->vertex_count);
    s->layered = false;
    SN_TRY(finish(s, positions, info, monitor, error));
    info->seconds = sn_now() - begin;
    return SINEW_OK;
}

sinew_status sinew_force_command(const sinew_force *force, sinew_force_state *s,
                                 const double *command, double *positions,
                                 sinew_force_frame_info *info, const sinew_monitor *monitor,
                                 sinew_error *error) {
    SN_REQUIRE(sn_info_ready(info), error);
    SN_REQUIRE(s, error);
    sinew_force_frame_info own = {0};
    int block[2];
    SN_TRY(keep_past(s, block, error));
    sinew_status status = follow_command(force, s, command, positions, &own, monitor, error);
    if (status != SINEW_OK) put_past_back(s, block);
    sn_info_write(info, &own, sizeof own);
    return status;
}
