/* Solving at a solver's revision: the order of frames, locks, and what else is asked of a shape. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/monitor.h"
#include "base/sized.h"
#include "base/status.h"
#include "base/threads.h"
#include "base/vec3.h"
#include "session/head.h"
#include "session/records.h"
#include "session/report.h"
#include "session/session.h"

sinew_status sinew_solver_create(sinew_session *session, const sinew_monitor *monitor,
                                 sinew_solver **solver, sinew_error *error) {
    SN_REQUIRE(session && solver, error);
    *solver = NULL;
    sinew_solver *made = SN_NEW0(sinew_solver, 1);
    if (!made) return sn_no_memory(error);
    made->session = session;
    made->next = -1;
    sinew_status status = sinew_solver_update(made, monitor, error);
    if (status != SINEW_OK)
        sinew_solver_destroy(made);
    else
        *solver = made;
    return status;
}

void sinew_solver_destroy(sinew_solver *s) {
    if (!s) return;
    if (s->model) s->kind->destroy(s->model);
    sinew_manipulator_destroy(s->manipulator);
    sinew_slider_space_destroy(s->space);
    sinew_linear_destroy(s->linear);
    sn_locks_free(&s->locks);
    sn_floor_work_destroy(s->floor_work), sn_shared_drop(s->floor);
    sn_shared_drop(s->derived), sn_shared_drop(s->structure);
    sn_shared_drop(s->clip), sn_shared_drop(s->rig);
    sn_free(s->positions), sn_free(s->weights), sn_free(s->normals);
    sn_pack_free(&s->before);
    sn_free(s);
}

/* ---- questions ------------------------------------------------------------------------------- */

const sn_clip *sn_solver_get_clip(const sinew_solver *solver) {
    return solver->clip ? solver->clip->object : NULL;
}

void *sn_solver_model(sinew_solver *solver) {
    return solver->model;
}

const sinew_rig *sinew_solver_rig(const sinew_solver *solver) {
    return solver && solver->rig ? solver->rig->object : NULL;
}

uint64_t sinew_solver_revision(const sinew_solver *solver) {
    return solver ? solver->revision : 0;
}

sinew_past sinew_solver_past(const sinew_solver *solver, int *run) {
    int own = 0;
    sinew_past past = SINEW_PAST_NONE;
    if (solver->model && solver->kind->past) past = solver->kind->past(solver->model, &own);
    if (run) *run = past == SINEW_PAST_RUN ? own : 0;
    return past;
}

sinew_status sinew_solver_clip(const sinew_solver *solver, sinew_clip_info *info,
                               sinew_error *error) {
    SN_REQUIRE(solver && info && sn_info_ready(info), error);
    const sn_clip *clip = sn_solver_get_clip(solver);
    if (!clip) return sn_fail(error, SINEW_BAD_INPUT, "the session was not prepared yet");
    sinew_clip_info own = {.frame_count = clip->frame_count,
                           .rate = clip->rate,
                           .start = clip->times[0],
                           .end = clip->times[clip->frame_count - 1],
                           .has_weights = clip->weights != NULL};
    sn_info_write(info, &own, sizeof own);
    return SINEW_OK;
}

double sinew_solver_frame_time(const sinew_solver *solver, int frame) {
    const sn_clip *clip = solver ? sn_solver_get_clip(solver) : NULL;
    return clip && frame >= 0 && frame < clip->frame_count ? clip->times[frame] : 0;
}

/* ---- from an input to weights ---------------------------------------------------------------- */

static sinew_status make_scratch(sinew_solver *s, sinew_error *error) {
    const sinew_rig *rig = sinew_solver_rig(s);
    size_t vertices = (size_t)rig->neutral->vertex_count;
    if (!s->positions) s->positions = SN_NEW(double, 3 * vertices);
    if (!s->weights) s->weights = SN_NEW(double, rig->slider_count);
    return s->positions && s->weights ? SINEW_OK : sn_no_memory(error);
}

/* What is not a frame of the clip as the scene has it. */
static bool is_live(const sinew_input *input) {
    return input->weights || input->command || input->pins || input->pull_count > 0 ||
           input->obstacle_count > 0;
}

static sinew_status check_input(const sinew_solver *s, const sinew_input *input,
                                sinew_error *error) {
    const sinew_rig *rig = sinew_solver_rig(s);
    const sn_clip *clip = sn_solver_get_clip(s);
    if (!is_live(input) && input->frame >= clip->frame_count)
        return sn_fail(error, SINEW_BAD_INPUT, "frame %d: the clip has frames 0-%d", input->frame,
                       clip->frame_count - 1);
    if (input->frame < 0 && isinf(input->time))
        return sn_fail(error, SINEW_BAD_INPUT, "the time is not finite");
    for (int i = 0; input->pins && i < 3 * input->pin_count; i++)
        if (!isfinite(input->pins[i]))
            return sn_fail(error, SINEW_BAD_INPUT, "the position of pinned vertex %d is not finite",
                           i / 3);
    for (int i = 0; i < input->obstacle_count; i++)
        if (!input->obstacles[i])
            return sn_fail(error, SINEW_BAD_INPUT, "obstacle %d of the input is missing", i);
    for (int i = 0; input->head && i < 12; i++)
        if (!isfinite(input->head[i]))
            return sn_fail(error, SINEW_BAD_INPUT, "the motion of the head is not finite");
    for (int t = 0; input->command && t < rig->target_count; t++)
        if (!(fabs(input->command[t]) <= SN_SLIDER_LIMIT))
            return sn_fail(error, SINEW_BAD_INPUT,
                           "the command of target '%s' is %g, not a number from -%g to %g",
                           rig->targets[t].name, input->command[t], SN_SLIDER_LIMIT,
                           SN_SLIDER_LIMIT);
    return input->weights ? sn_check_weights(rig, input->weights, error) : SINEW_OK;
}

/* What the input comes to; the weights are in s->weights or in the clip. */
static sinew_status resolve(sinew_solver *s, const sinew_input *input, sn_ask *ask,
                            sinew_error *error) {
    SN_TRY(make_scratch(s, error));
    SN_TRY(check_input(s, input, error));
    const sn_clip *clip = sn_solver_get_clip(s);
    int n = sinew_solver_rig(s)->slider_count;
    bool frame = !is_live(input) && input->frame >= 0;
    int row = input->frame >= 0 && input->frame < clip->frame_count ? input->frame : 0;
    *ask = (sn_ask){.frame = frame ? input->frame : -1,
                    .markers = input->markers,
                    .command = input->command,
                    .pins = input->pins,
                    .pin_count = input->pin_count,
                    .pull_count = input->pull_count,
                    .pulls = input->pulls,
                    .obstacle_count = input->obstacle_count,
                    .obstacles = input->obstacles,
                    .tolerance = input->weights ? input->tolerance : 0};
    ask->time = frame || isnan(input->time) ? clip->times[row] : input->time;
    ask->sample = frame ? input->frame : sn_clip_nearest(clip, ask->time);
    if (input->weights) {
        memcpy(s->weights, input->weights, (size_t)n * sizeof *s->weights);
        SN_TRY(sn_locks_edit(&s->locks, s->weights, error));
        ask->weights = s->weights;
    } else if (frame && clip->weights) {
        ask->weights = clip->weights + (size_t)row * (size_t)n;
    } else if (sn_clip_weights(clip, n, ask->time, s->weights)) {
        ask->weights = s->weights;
    }
    return SINEW_OK;
}

static sinew_status require_prepared(const sinew_solver *s, sinew_error *error) {
    if (s->model) return SINEW_OK;
    return sn_fail(error, SINEW_BAD_INPUT, "the session was not prepared yet");
}

sinew_status sinew_solver_weights(sinew_solver *solver, const sinew_input *input, double *weights,
                                  sinew_error *error) {
    SN_REQUIRE(solver && weights, error);
    SN_OPTIONS(sinew_input, own, input, error);
    sn_ask ask;
    SN_TRY(require_prepared(solver, error));
    SN_TRY(resolve(solver, &own, &ask, error));
    if (!ask.weights)
        return sn_fail(error, SINEW_BAD_INPUT, "the model '%s' has no slider weights here",
                       solver->kind->about.name);
    memcpy(weights, ask.weights, (size_t)sinew_solver_rig(solver)->slider_count * sizeof *weights);
    return SINEW_OK;
}

sinew_status sinew_solver_linear(sinew_solver *s, const sinew_input *input, double *positions,
                                 float *positions_float, sinew_error *error) {
    SN_REQUIRE(s, error);
    SN_OPTIONS(sinew_input, own, input, error);
    sn_ask ask;
    SN_TRY(require_prepared(s, error));
    SN_TRY(resolve(s, &own, &ask, error));
    const sinew_rig *rig = sinew_solver_rig(s);
    if (!s->linear) SN_TRY(sinew_linear_create(rig, &s->linear, error));
    if (!ask.weights) sinew_rig_rest_weights(rig, s->weights), ask.weights = s->weights;
    double *shape = positions ? positions : s->positions;
    sinew_linear_evaluate(s->linear, ask.weights, shape);
    for (int i = 0; positions_float && i < 3 * rig->neutral->vertex_count; i++)
        positions_float[i] = (float)shape[i];
    return SINEW_OK;
}

sinew_status sinew_solver_drag(sinew_solver *s, int drag_count, const sinew_drag *drags,
                               const double *now, double *weights, sinew_manipulate_info *info,
                               sinew_error *error) {
    SN_REQUIRE(s && drags && weights, error);
    SN_TRY(require_prepared(s, error));
    SN_TRY(make_scratch(s, error));
    const sinew_rig *rig = sinew_solver_rig(s);
    const sinew_slider_space *space = s->locks.space;
    if (!space && !s->space) SN_TRY(sinew_slider_space_create(rig, &s->space, error));
    if (!s->manipulator) {
        sinew_manipulate_options options;
        sinew_manipulate_options_init(&options);
        SN_TRY(sinew_manipulator_create(space ? space : s->space, &options, s->locks.locks,
                                        &s->manipulator, error));
    }
    if (!now) sinew_rig_rest_weights(rig, s->weights), now = s->weights;
    return sinew_manipulate(s->manipulator, drag_count, drags, now, weights, info, error);
}

/* ---- one frame ------------------------------------------------------------------------------- */

/* 0 * x is 0 for every number and NaN otherwise. */
static bool all_finite(const double *values, size_t count) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t i = 0; i < count; i++) sum += 0 * values[i];
    return sum == 0;
}

/* What is left to do with the positions of a frame that the model solved. */
static sinew_status check_shape(sinew_solver *s, const sn_ask *ask, double *positions,
                                sinew_status status, json_t *fields, sinew_error *error) {
    if (status != SINEW_OK && status != SINEW_NOT_CONVERGED) return status;
    s->next = ask->frame >= 0 ? ask->frame + 1 : -1;
    if (s->floor) {
        double depth = sn_floor_lift(s->floor->object, s->floor_work, positions);
        sn_figure_put(fields, "lifted", sn_report_number(depth));
    }
    sinew_status corrected = sn_locks_correct(&s->locks, positions, fields, error);
    if (corrected != SINEW_OK) status = corrected;
    /* Inputs are bounded so that this does not happen. If it does, no client may see it, and the
       state, which then holds such numbers, too, is reset. */
    if (all_finite(positions, 3 * (size_t)sinew_solver_rig(s)->neutral->vertex_count))
        return status;
    if (s->kind->reset) s->kind->reset(s->model);
    s->next = -1;
    return sn_fail(error, SINEW_BAD_INPUT, "the model '%s' gives no finite shape here",
                   s->kind->about.name);
}

static sinew_status solve_one(sinew_solver *s, const sn_ask *ask, double *positions,
                              sinew_result *result, json_t *fields, const sinew_monitor *monitor,
                              sinew_error *error) {
    sn_ask own = *ask;
    own.head_moves = ask->frame >= 0 && sn_clip_head(sn_solver_get_clip(s), ask->time, &own.head);
    sinew_status status = s->kind->solve(s->model, &own, positions, result, fields, monitor, error);
    return check_shape(s, ask, positions, status, fields, error);
}

/* Solves the frames before `frame` that its past needs and that the state has not seen. */
static sinew_status catch_up(sinew_solver *s, int frame, bool *kept, const sinew_monitor *monitor,
                             sinew_error *error) {
    int run;
    sinew_past past = sinew_solver_past(s, &run);
    *kept = false;
    if (past == SINEW_PAST_NONE || s->next == frame) return SINEW_OK;
    int start = past == SINEW_PAST_ALL ? 0 : frame - frame % run;
    sn_solver_pack(s, &s->before);
    if (s->before.failed) return sn_no_memory(error);
    *kept = true;
    if (s->next < start || s->next > frame) {
        s->kind->reset(s->model);
        s->next = start;
    }
    const sn_clip *clip = sn_solver_get_clip(s);
    int n = sinew_solver_rig(s)->slider_count, first = s->next;
    sinew_status status = SINEW_OK;
    for (int k = first; k < frame && (status == SINEW_OK || status == SINEW_NOT_CONVERGED); k++) {
        sinew_result unused;
        sinew_result_init(&unused);
        sn_ask ask = {.frame = k, .sample = k, .time = clip->times[k]};
        if (clip->weights) ask.weights = clip->weights + (size_t)k * (size_t)n;
        sn_progress(monitor, (double)(k - first) / (frame - first), "earlier frames");
        status = sn_cancelled(monitor)
                     ? sn_fail(error, SINEW_CANCELLED, "cancelled")
                     : solve_one(s, &ask, s->positions, &unused, NULL, monitor, error);
    }
    return status == SINEW_NOT_CONVERGED ? SINEW_OK : status;
}

static void move_head(const double *head, int count, double *positions) {
    for (int v = 0; v < count; v++) {
        double *p = positions + 3 * (size_t)v, x = p[0], y = p[1], z = p[2];
        for (int r = 0; r < 3; r++)
            p[r] = head[4 * r] * x + head[4 * r + 1] * y + head[4 * r + 2] * z + head[4 * r + 3];
    }
}

/* Area-weighted sums of the triangles' normals. */
static void find_normals(sinew_solver *s, const double *positions, float *normals) {
    const sinew_mesh *mesh = sinew_solver_rig(s)->neutral;
    size_t n = (size_t)mesh->vertex_count;
    memset(s->normals, 0, 3 * n * sizeof *s->normals);
    for (int t = 0; t < mesh->triangle_count; t++) {
        const int *v = mesh->triangles + 3 * (size_t)t;
        sn_vec3 a = sn_at(positions, v[0]);
        sn_vec3 normal =
            sn_cross(sn_sub(sn_at(positions, v[1]), a), sn_sub(sn_at(positions, v[2]), a));
        for (int c = 0; c < 3; c++)
            sn_put(s->normals, v[c], sn_add(sn_at(s->normals, v[c]), normal));
    }
    for (size_t v = 0; v < n; v++) {
        sn_vec3 normal = sn_at(s->normals, (int)v);
        double length = sn_length(normal), scale = length > 0 ? 1 / length : 0;
        normals[3 * v] = (float)(scale * normal.x);
        normals[3 * v + 1] = (float)(scale * normal.y);
        normals[3 * v + 2] = (float)(scale * normal.z);
    }
}

/* Inputs that a model may ignore; each is reported once. */
enum { MARKERS, WEIGHTS, COMMAND, PINS, PULLS, OBSTACLES };

static void warn_once(sinew_solver *s, int input, const char *what, const sinew_monitor *monitor) {
    if (s->warned & 1u << input) return;
    s->warned |= 1u << input;
    sn_log(monitor, SINEW_LOG_LEVEL_WARNING, "the model '%s' does not use %s", s->kind->about.name,
           what);
}

static void warn_about_input(sinew_solver *s, const sinew_input *input,
                             const sinew_monitor *monitor) {
    const sn_model_kind *kind = s->kind;
    const sinew_model *about = &kind->about;
    bool markers = sinew_model_uses(about, "markers");
    if (input->markers && !(markers && sn_solver_get_clip(s)->markers))
        warn_once(s, MARKERS, markers ? "markers without a take in the scene" : "markers", monitor);
    if (input->weights && kind->ignores_weights) warn_once(s, WEIGHTS, "weights", monitor);
    if (input->command && !kind->uses_command) warn_once(s, COMMAND, "a command", monitor);
    if (input->pins && !kind->uses_given_pins) warn_once(s, PINS, "positions of pins", monitor);
    if (input->pull_count > 0 && !sinew_model_uses(about, "pulls"))
        warn_once(s, PULLS, "pulls", monitor);
    if (input->obstacle_count > 0 && !sinew_model_uses(about, "obstacles"))
        warn_once(s, OBSTACLES, "obstacles", monitor);
}

static void finish(sinew_solver *s, const sinew_input *input, double *positions,
                   sinew_result *result) {
    int n = sinew_solver_rig(s)->neutral->vertex_count;
    sinew_rigid motion;
    if (input->head)
        move_head(input->head, n, positions);
    else if (result->frame >= 0 && sn_clip_head(sn_solver_get_clip(s), result->time, &motion))
        sinew_rigid_apply(&motion, n, positions);
    for (int i = 0; result->positions_float && i < 3 * n; i++)
        result->positions_float[i] = (float)positions[i];
    if (result->normals) find_normals(s, positions, result->normals);
}

static void clear_result(sinew_solver *s, const sn_ask *ask, sinew_result *result) {
    result->iterations = result->inverted = result->contact_count = result->contacts_returned = 0;
    result->residual = result->energy = 0;
    result->time_limited = false;
    result->frame = ask->frame, result->time = ask->time, result->revision = s->revision;
    result->build_seconds = s->build_seconds;
    s->build_seconds = 0;
}

static sinew_status solve(sinew_solver *s, const sinew_input *input, sinew_result *result,
                          const sinew_monitor *monitor, sinew_error *error) {
    sn_watch watch;
    const sinew_monitor *watched =
        sn_watch_start(&watch, s->session, monitor, input->newest_only ? s->revision : 0);
    double began = sn_now();
    sn_ask ask;
    SN_TRY(resolve(s, input, &ask, error));
    ask.contacts = result->contacts, ask.contact_capacity = result->contact_capacity;
    warn_about_input(s, input, watched);
    /* Before the state moves on: nothing after that can fail. */
    size_t coordinates = 3 * (size_t)sinew_solver_rig(s)->neutral->vertex_count;
    if (result->normals && !s->normals && !(s->normals = SN_NEW(double, coordinates)))
        return sn_no_memory(error);
    int next = s->next;
    bool kept = false;
    double *positions = result->positions ? result->positions : s->positions;
    json_t *fields = result->figures ? result->figures->fields : NULL;
    if (fields) json_object_clear(fields);
    clear_result(s, &ask, result);
    sinew_status status = SINEW_OK;
    const sinew_monitor *before = sn_monitor_enter(watched);
    if (sn_cancelled(watched)) status = sn_fail(error, SINEW_CANCELLED, "cancelled");
    if (status == SINEW_OK && ask.frame >= 0)
        status = catch_up(s, ask.frame, &kept, watched, error);
    sn_figures_lost(); /* by others, before */
    if (status == SINEW_OK) status = solve_one(s, &ask, positions, result, fields, watched, error);
    if (fields) result->figures->incomplete = sn_figures_lost();
    sn_monitor_leave(before);
    bool good = status == SINEW_OK || status == SINEW_NOT_CONVERGED;
    if (!good && kept) {
        sn_solver_unpack(s, s->before.bytes, s->before.size, NULL);
        s->next = next;
    }
    if (good) finish(s, input, positions, result);
    result->status = status;
    result->seconds = sn_now() - began;
    return status;
}

sinew_status sinew_solver_solve(sinew_solver *s, const sinew_input *input, sinew_result *result,
                                const sinew_monitor *monitor, sinew_error *error) {
    SN_REQUIRE(s && result && sn_info_ready(result), error);
    SN_OPTIONS(sinew_input, own, input, error);
    SN_REQUIRE(own.pull_count >= 0 && (own.pulls || own.pull_count == 0), error);
    SN_REQUIRE(own.obstacle_count >= 0 && (own.obstacles || own.obstacle_count == 0), error);
    SN_REQUIRE(own.tolerance >= 0 && own.tolerance < 1, error);
    SN_OPTIONS(sinew_result, out, result, error);
    SN_TRY(require_prepared(s, error));
    sinew_status status = solve(s, &own, &out, monitor, error);
    out.status = status;
    sn_info_write(result, &out, sizeof out);
    return status;
}

/* ---- many frames ----------------------------------------------------------------------------- */

/* Shorter clips are not worth the set-up. Of the clip and not of a range of it: parts of a clip
 * have the same bits as the whole. */
enum { LEAST_BATCH = 16 };

int sn_solver_batch_size(const sinew_solver *s) {
    const sn_clip *clip = sn_solver_get_clip(s);
    if (!s->model || !s->kind->batch || !clip || !clip->weights) return 1;
    return clip->frame_count < LEAST_BATCH ? 1 : s->kind->batch(s->model);
}

/* With asks[count] and fields[count]. */
static sinew_status solve_asked(sinew_solver *s, int count, const sn_ask *asks, json_t **fields,
                                sinew_result *results, const sinew_monitor *monitor,
                                sinew_error *error) {
    double began = sn_now();
    sinew_input input;
    sinew_input_init(&input);
    sn_figures_lost(); /* by others, before */
    const sinew_monitor *before = sn_monitor_enter(monitor);
    sinew_status status =
        sn_cancelled(monitor)
            ? sn_fail(error, SINEW_CANCELLED, "cancelled")
            : s->kind->solve_batch(s->model, count, asks, results, fields, monitor, error);
    for (int k = 0; k < count && status == SINEW_OK; k++) {
        sinew_result *r = &results[k];
        r->status = check_shape(s, &asks[k], r->positions, r->status, fields[k], error);
        if (r->status != SINEW_OK && r->status != SINEW_NOT_CONVERGED) break;
        finish(s, &input, r->positions, r);
        r->seconds = (sn_now() - began) / count;
    }
    bool lost = sn_figures_lost(); /* whose does not matter: all are refused */
    for (int k = 0; k < count; k++)
        if (fields[k]) results[k].figures->incomplete = lost;
    sn_monitor_leave(before);
    return status;
}

sinew_status sn_solver_solve_batch(sinew_solver *s, int first, int count, sinew_result *results,
                                   const sinew_monitor *monitor, sinew_error *error) {
    const sn_clip *clip = sn_solver_get_clip(s);
    size_t sliders = (size_t)sinew_solver_rig(s)->slider_count;
    sn_watch watch;
    const sinew_monitor *watched = sn_watch_start(&watch, s->session, monitor, 0);
    sn_ask *asks = SN_NEW0(sn_ask, count);
    json_t **fields = SN_NEW0(json_t *, count);
    sinew_status status = asks && fields ? SINEW_OK : sn_no_memory(error);
    for (int k = 0; k < count && status == SINEW_OK; k++) {
        int f = first + k;
        asks[k] = (sn_ask){.frame = f,
                           .sample = f,
                           .time = clip->times[f],
                           .weights = clip->weights + (size_t)f * sliders};
        asks[k].head_moves = sn_clip_head(clip, asks[k].time, &asks[k].head);
        fields[k] = results[k].figures ? results[k].figures->fields : NULL;
        if (fields[k]) json_object_clear(fields[k]);
        clear_result(s, &asks[k], &results[k]);
    }
    if (status == SINEW_OK) status = solve_asked(s, count, asks, fields, results, watched, error);
    sn_free(asks), sn_free(fields);
    return status;
}
