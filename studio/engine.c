#include "engine.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"

/* While a hand moves: shapes of bar, hand, blob and face are at most 5e-5 of the diagonal off, for
 * about two thirds of the time. */
#define ROUGH_TOLERANCE 1e-3

struct engine {
    shared_session *shared;
    sinew_solver *solver;
    sinew_session *preview; /* the linear blend of the same scene, while there is no solver */
    const sinew_rig *rig;   /* the one that the arrays fit */
    double *live;           /* weights of the pose, before locks */
    sinew_linear *linear;
    sinew_figures *figures; /* of frames that follow a take: the weights that it comes to */
    double *blend;          /* 3 per vertex */
    engine_shape shape;
};

static sinew_status no_memory(sinew_error *error) {
    error->status = SINEW_NO_MEMORY;
    snprintf(error->message, sizeof error->message, "out of memory");
    return SINEW_NO_MEMORY;
}

sinew_status engine_create(engine **out, sinew_error *error) {
    *out = calloc(1, sizeof **out);
    return *out ? SINEW_OK : no_memory(error);
}

static void free_arrays(engine *e) {
    free(e->shape.positions);
    free(e->shape.linear);
    free(e->shape.weights);
    free(e->shape.contacts);
    free(e->live);
    free(e->blend);
    sinew_linear_destroy(e->linear);
    e->blend = NULL;
    e->linear = NULL;
    e->shape = (engine_shape){0};
    e->live = NULL;
    e->rig = NULL;
}

static void let_go(engine *e) {
    sinew_solver_destroy(e->solver);
    sinew_session_destroy(e->preview);
    shared_session_release(e->shared);
    e->solver = NULL;
    e->preview = NULL;
    e->shared = NULL;
}

void engine_destroy(engine *e) {
    if (!e) return;
    let_go(e);
    free_arrays(e);
    sinew_figures_destroy(e->figures);
    free(e);
}

static sinew_solver *active(const engine *e) {
    return e->solver ? e->solver : e->preview ? sinew_session_solver(e->preview) : NULL;
}

const sinew_rig *engine_rig(const engine *e) {
    return active(e) ? sinew_solver_rig(active(e)) : NULL;
}

/* Linear blends belong to the rig that is in use. */
static sinew_status use_linear(engine *e, sinew_error *error) {
    sinew_linear_destroy(e->linear);
    e->linear = NULL;
    return sinew_linear_create(engine_rig(e), &e->linear, error);
}

static sinew_status make_arrays(engine *e, sinew_error *error) {
    free_arrays(e);
    const sinew_rig *rig = engine_rig(e);
    size_t n = 3 * (size_t)rig->neutral->vertex_count, k = (size_t)rig->slider_count + 1;
    e->shape.positions = calloc(n, sizeof(float));
    e->shape.linear = calloc(n, sizeof(float));
    e->shape.weights = calloc(k, sizeof(double));
    e->shape.contacts = calloc(ENGINE_CONTACTS, sizeof *e->shape.contacts);
    e->live = calloc(k, sizeof(double));
    e->blend = calloc(n, sizeof(double));
    if (!e->shape.positions || !e->shape.linear || !e->shape.weights || !e->shape.contacts ||
        !e->live || !e->blend)
        return no_memory(error);
    e->rig = rig;
    return use_linear(e, error);
}

bool engine_is_preview(const engine *e) {
    return !e->solver;
}

bool engine_is_new(const engine *e, const shared_session *shared) {
    return e->shared != shared;
}

sinew_status engine_preview(engine *e, shared_session *shared, const sinew_monitor *monitor,
                            sinew_error *error) {
    let_go(e);
    sinew_scene *scene = NULL;
    sinew_session_options options;
    sinew_session_options_init(&options);
    options.loader = sinew_file_loader();
    sinew_status status = sinew_session_scene(shared->session, &scene, error);
    if (status != SINEW_OK) return status;
    /* What linear blends have no use for would only be built or warned of. */
    static const char *const other[] = {"/parameters", "/obstacles", "/pins",    "/pulls",
                                        "/keys",       "/markers",   "/outputs", "/orientations"};
    sinew_error ignored;
    for (size_t i = 0; i < sizeof other / sizeof *other; i++)
        (void)sinew_scene_set(scene, other[i], NULL, NULL, &ignored);
    status = sinew_scene_set(scene, "/model", "\"linear\"", NULL, error);
    char *weights = NULL;
    if (status == SINEW_OK) status = sinew_scene_get(scene, "/weights", &weights, error);
    if (status == SINEW_OK && !weights)
        status = sinew_scene_set(scene, "/weights", "{}", NULL, error);
    sinew_free(weights);
    if (status == SINEW_OK) status = sinew_session_create(scene, &options, &e->preview, error);
    if (status == SINEW_OK) status = sinew_session_prepare(e->preview, monitor, error);
    if (status == SINEW_OK) status = make_arrays(e, error);
    if (status != SINEW_OK) {
        sinew_session_destroy(e->preview);
        e->preview = NULL;
    }
    sinew_scene_destroy(scene);
    return status;
}

sinew_status engine_update(engine *e, shared_session *shared, const sinew_monitor *monitor,
                           bool *rig_changed, sinew_error *error) {
    sinew_status status;
    if (e->solver && e->shared == shared) {
        status = sinew_solver_update(e->solver, monitor, error);
    } else {
        sinew_solver *solver = NULL;
        status = sinew_solver_create(shared->session, monitor, &solver, error);
        if (status != SINEW_OK) return status;
        sinew_session *preview = e->preview;
        e->preview = NULL;
        let_go(e);
        atomic_fetch_add(&shared->references, 1);
        e->shared = shared;
        e->solver = solver;
        /* The preview has the same rig: pages know it already. */
        const sinew_rig *old = preview ? sinew_session_rig(preview) : NULL, *rig = engine_rig(e);
        bool same = old && old->slider_count == rig->slider_count &&
                    old->neutral->vertex_count == rig->neutral->vertex_count;
        sinew_session_destroy(preview);
        if (same) e->rig = rig;
        if (same) (void)use_linear(e, error);
    }
    if (status != SINEW_OK) return status;
    *rig_changed = e->rig != engine_rig(e);
    return *rig_changed ? make_arrays(e, error) : SINEW_OK;
}

sinew_status engine_scene(const engine *e, sinew_scene **scene, sinew_error *error) {
    if (!e->shared) return sinew_fail(error, SINEW_MISUSE, "the scene is not built yet");
    return sinew_session_scene(e->shared->session, scene, error);
}

void engine_get_clip(const engine *e, engine_clip *clip) {
    *clip = (engine_clip){0};
    sinew_clip_info info;
    sinew_error ignored;
    sinew_clip_info_init(&info);
    if (!e->solver || sinew_solver_clip(e->solver, &info, &ignored) != SINEW_OK) return;
    if (info.frame_count < 2) return;
    clip->frame_count = info.frame_count;
    clip->rate = info.rate;
    clip->start = info.start;
}

bool engine_has_past(const engine *e) {
    return e->solver && sinew_solver_past(e->solver, NULL) == SINEW_PAST_ALL;
}

double engine_frame_time(const engine *e, int frame) {
    return sinew_solver_frame_time(active(e), frame);
}

const sinew_capture *engine_capture(const engine *e) {
    return active(e) ? sinew_solver_capture(active(e)) : NULL;
}

const sinew_modal *engine_modal(const engine *e) {
    return active(e) ? sinew_solver_modal(active(e)) : NULL;
}

const sinew_modal_motion *engine_motion(const engine *e) {
    return active(e) ? sinew_solver_modal_motion(active(e)) : NULL;
}

/* The pose: "weights" of the document, rest where it says nothing. */
static void read_live_weights(engine *e, const sinew_session *session) {
    sinew_rig_rest_weights(e->rig, e->live);
    char *text = NULL;
    sinew_error ignored;
    if (!session) return;
    if (sinew_session_get(session, "/weights", &text, &ignored) != SINEW_OK || !text) return;
    json_t *weights = cli_json_loads(text, 0, NULL), *value;
    sinew_free(text);
    const char *name;
    json_object_foreach(weights, name, value) {
        int sliders[2], count = sinew_rig_match(e->rig, name, sliders);
        for (int i = 0; i < count; i++) e->live[sliders[i]] = json_number_value(value);
    }
    json_decref(weights);
}

/* Slider weights of a key pose: a named target at full weight, or weights. */
static void key_weights(const engine *e, const json_t *key, double share, double *sum) {
    const char *pose = json_string_value(json_object_get(key, "pose")), *name;
    int slider = pose ? sinew_rig_find_slider(e->rig, pose) : -1;
    if (slider >= 0) sum[slider] += share;
    json_t *value;
    json_object_foreach(json_object_get(key, "weights"), name, value) {
        int sliders[2], count = sinew_rig_match(e->rig, name, sliders);
        for (int i = 0; i < count; i++) sum[sliders[i]] += share * json_number_value(value);
    }
}

/* What a linear blend does with the key poses of modes: straight from one to the next. False
   without them. */
static bool blend_keys(engine *e, double time) {
    char *text = NULL;
    sinew_error ignored;
    if (!engine_modal(e) || !e->shared ||
        sinew_session_get(e->shared->session, "/keys", &text, &ignored) != SINEW_OK || !text)
        return false;
    json_t *keys = cli_json_loads(text, 0, NULL);
    sinew_free(text);
    size_t count = json_array_size(keys), next = 0;
    while (next < count &&
           json_number_value(json_object_get(json_array_get(keys, next), "time")) < time)
        next++;
    const json_t *to = json_array_get(keys, next < count ? next : count - 1);
    const json_t *from = json_array_get(keys, next > 0 ? next - 1 : 0);
    double start = json_number_value(json_object_get(from, "time"));
    double length = json_number_value(json_object_get(to, "time")) - start;
    double share = length > 0 ? fmin(1, fmax(0, (time - start) / length)) : 1;
    for (int i = 0; i < e->rig->slider_count; i++) e->shape.weights[i] = 0;
    if (count) key_weights(e, from, 1 - share, e->shape.weights);
    if (count) key_weights(e, to, share, e->shape.weights);
    json_decref(keys);
    return count > 0;
}

static void show_linear(engine *e) {
    for (size_t i = 0; i < 3 * (size_t)e->rig->neutral->vertex_count; i++)
        e->shape.linear[i] = (float)e->blend[i];
}

static void blend(engine *e, const double *weights) {
    sinew_linear_evaluate(e->linear, weights, e->blend);
    show_linear(e);
}

/* Beside the face of a take, the linear one holds its head the same way: what is left between the
 * two is not the head's motion. */
static void blend_as_head_moves(engine *e, double time) {
    sinew_rigid head;
    sinew_capture_head(engine_capture(e), time, &head);
    sinew_linear_evaluate(e->linear, e->shape.weights, e->blend);
    sinew_rigid_apply(&head, e->rig->neutral->vertex_count, e->blend);
    show_linear(e);
}

bool engine_blend(engine *e, const shared_session *shared) {
    if (!e->linear || !e->rig || e->rig != engine_rig(e)) return false;
    read_live_weights(e, shared->session);
    blend(e, e->live);
    memcpy(e->shape.positions, e->shape.linear,
           3 * (size_t)e->rig->neutral->vertex_count * sizeof *e->shape.positions);
    memcpy(e->shape.weights, e->live, (size_t)e->rig->slider_count * sizeof *e->shape.weights);
    sinew_result_init(&e->shape.result);
    return true;
}

/* Weights that a frame of a take comes to. False: the model found none. */
static bool read_solved_weights(engine *e) {
    char *text = NULL;
    sinew_error ignored;
    if (sinew_figures_text(e->figures, &text, &ignored) != SINEW_OK) return false;
    json_t *figures = cli_json_loads(text, 0, NULL);
    sinew_free(text);
    const json_t *weights = json_object_get(figures, "weights");
    bool found = json_array_size(weights) == (size_t)e->rig->slider_count;
    for (int i = 0; found && i < e->rig->slider_count; i++)
        e->shape.weights[i] = json_number_value(json_array_get(weights, (size_t)i));
    json_decref(figures);
    return found;
}

static bool has_model(const engine *e, const char *quoted) {
    char *model = NULL;
    sinew_error ignored;
    if (!e->shared || sinew_session_get(e->shared->session, "/model", &model, &ignored) != SINEW_OK)
        return false;
    bool same = model && !strcmp(model, quoted);
    sinew_free(model);
    return same;
}

/* Curves or markers drive it, wherever the sliders are. */
static bool ignores_weights(const engine *e) {
    return engine_capture(e) && has_model(e, "\"fit\"");
}

/* With a past, the next frames would go on from the rough one. */
static bool can_be_rough(const engine *e) {
    return has_model(e, "\"spring\"") && !engine_has_past(e);
}

sinew_status engine_solve(engine *e, int frame, bool moving, const sinew_monitor *monitor,
                          sinew_error *error) {
    sinew_solver *solver = active(e);
    e->shape.rough = false;
    /* Modes move between keys; a pose that is not on the clip is what a key of it would be. */
    if (frame < 0 && engine_modal(e) && e->shared && engine_blend(e, e->shared)) return SINEW_OK;
    sinew_input input;
    sinew_input_init(&input);
    input.frame = frame;
    if (frame < 0) {
        read_live_weights(e, e->shared ? e->shared->session : e->preview);
        input.frame = 0;
        if (!ignores_weights(e)) input.weights = e->live;
        e->shape.rough = moving && can_be_rough(e);
        if (e->shape.rough) input.tolerance = ROUGH_TOLERANCE;
    }
    sinew_result *result = &e->shape.result;
    sinew_result_init(result);
    result->positions_float = e->shape.positions;
    result->contacts = e->shape.contacts;
    result->contact_capacity = ENGINE_CONTACTS;
    bool follows = engine_capture(e) && !input.weights;
    if (follows && !e->figures && sinew_figures_create(&e->figures, error) != SINEW_OK)
        return error->status;
    result->figures = follows ? e->figures : NULL;
    sinew_status status = sinew_solver_solve(solver, &input, result, monitor, error);
    if (status != SINEW_OK && status != SINEW_NOT_CONVERGED) return status;
    result->status = status;
    result->figures = NULL;
    bool solved = follows && read_solved_weights(e);
    if (!solved && sinew_solver_weights(solver, &input, e->shape.weights, error) != SINEW_OK)
        sinew_rig_rest_weights(e->rig, e->shape.weights);
    /* What every other program shows for these sliders: no model, no locks. */
    if (e->linear && frame < 0)
        blend(e, e->live);
    else if (e->linear && solved)
        blend_as_head_moves(e, result->time);
    else if (e->linear && blend_keys(e, result->time))
        blend(e, e->shape.weights);
    else
        return sinew_solver_linear(solver, &input, NULL, e->shape.linear, error);
    return SINEW_OK;
}

sinew_status engine_figures(engine *e, int frame, const sinew_monitor *monitor, float *positions,
                            char **json, sinew_error *error) {
    sinew_input input;
    sinew_input_init(&input);
    input.frame = frame;
    sinew_result result;
    sinew_result_init(&result);
    result.positions_float = positions;
    sinew_status status = sinew_figures_create(&result.figures, error);
    if (status == SINEW_OK) status = sinew_solver_solve(active(e), &input, &result, monitor, error);
    if (status == SINEW_OK || status == SINEW_NOT_CONVERGED)
        status = sinew_figures_text(result.figures, json, error);
    sinew_figures_destroy(result.figures);
    return status;
}

const engine_shape *engine_get_shape(const engine *e) {
    return &e->shape;
}

sinew_status engine_weights(engine *e, int frame, double *weights, sinew_error *error) {
    sinew_input input;
    sinew_input_init(&input);
    input.frame = frame;
    return sinew_solver_weights(active(e), &input, weights, error);
}

sinew_status engine_drag(engine *e, int vertex, const double target[3], double *weights,
                         sinew_error *error) {
    sinew_drag drag = {.vertex = vertex,
                       .axes = SINEW_AXIS_ALL,
                       .target = {target[0], target[1], target[2]},
                       .weight = 1};
    return sinew_solver_drag(active(e), 1, &drag, e->shape.weights, weights, NULL, error);
}
