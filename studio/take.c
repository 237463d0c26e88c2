#include "take.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "json.h"

enum {
    MOST_VALUES = 20000000,  /* coordinates sent for a take */
    MOST_SHAPES = 100000000, /* coordinates sent for the shapes of a solve */
};

/* Vertices whose blend by the barycentric weights is the marker's point. */
static void corners_of(const sinew_marker_map *map, const sinew_mesh *mesh, int marker,
                       unsigned corner[3]) {
    int t = map->triangles[marker];
    for (int k = 0; k < 3; k++)
        corner[k] = (unsigned)(t >= 0 ? mesh->triangles[3 * t + k] : map->vertices[marker]);
}

/* Markers of the take in each frame, where the shown face has its head. */
static void sample_frames(const engine *e, const sinew_capture *capture, int count, int frames,
                          double *row, float *out) {
    for (int k = 0; k < frames; k++) {
        double time = engine_frame_time(e, k);
        sinew_rigid head;
        sinew_capture_sample(capture, time, row);
        sinew_capture_head(capture, time, &head);
        sinew_rigid_apply(&head, count, row);
        for (int i = 0; i < 3 * count; i++) *out++ = (float)row[i];
    }
}

static void run_markers(solver_task *task, solver *s, engine *e, const sinew_monitor *monitor) {
    (void)monitor;
    const sinew_capture *capture = engine_capture(e);
    if (!capture) {
        solver_refuse(s, task->client,
                      "there is no take: drop one on the page and choose Fit or Force");
        return;
    }
    const sinew_marker_map *map = sinew_capture_map(capture);
    engine_clip clip;
    engine_get_clip(e, &clip);
    size_t n = (size_t)map->count, frames = (size_t)clip.frame_count;
    if (3 * n * frames > MOST_VALUES) frames = 0;
    unsigned *corner = malloc((3 * n + 1) * sizeof *corner);
    float *weight = malloc((3 * n + 1) * sizeof *weight);
    float *markers = malloc((3 * n * frames + 1) * sizeof *markers);
    double *row = malloc((3 * n + 1) * sizeof *row);
    json_t *names = json_array(), *doubts = json_array();
    for (int i = 0; i < map->count; i++) {
        const char *doubt = sinew_capture_doubt(capture, i);
        json_array_append_new(names, json_string(map->names[i]));
        json_array_append_new(doubts, doubt ? json_string(doubt) : json_null());
    }
    json_t *header =
        json_pack("{s:s,s:o,s:o,s:i,s:[[s,s,I],[s,s,I],[s,s,I],[s,s,I]]}", "type", "take", "names",
                  names, "doubts", doubts, "frames", (int)frames, "arrays", "triangle", "i32",
                  (json_int_t)n, "corner", "u32", (json_int_t)(3 * n), "barycentric", "f32",
                  (json_int_t)(3 * n), "markers", "f32", (json_int_t)(3 * n * frames));
    char *text = header ? json_dumps(header, JSON_COMPACT) : NULL;
    if (corner && weight && markers && row && text) {
        for (size_t i = 0; i < n; i++)
            corners_of(map, engine_rig(e)->neutral, (int)i, corner + 3 * i);
        for (size_t i = 0; i < 3 * n; i++) weight[i] = (float)map->barycentric[i];
        sample_frames(e, capture, map->count, (int)frames, row, markers);
        const void *arrays[] = {map->triangles, corner, weight, markers};
        size_t sizes[] = {n * sizeof *map->triangles, 3 * n * sizeof *corner,
                          3 * n * sizeof *weight, 3 * n * frames * sizeof *markers};
        solver_give(s, SOLVER_ANSWER, task->client, net_message_binary(text, 4, arrays, sizes));
    }
    free(text), free(corner), free(weight), free(markers), free(row);
    json_decref(header);
}

void take_markers(solver *s, int client) {
    solver_ask(s, client, true, run_markers);
}

/* The figure `name` of a frame, NaN where there is none. */
static sinew_status figure_of(engine *e, int frame, const char *name, const sinew_monitor *monitor,
                              float *positions, float *value, sinew_error *error) {
    char *text = NULL;
    sinew_status status = engine_figures(e, frame, monitor, positions, &text, error);
    if (status != SINEW_OK) return status;
    json_t *figures = cli_json_loads(text, 0, NULL);
    const json_t *found = json_object_get(figures, name);
    *value = json_is_number(found) ? (float)json_number_value(found) : NAN;
    json_decref(figures);
    sinew_free(text);
    return SINEW_OK;
}

/* The solve that a page asks for: of the scene as it is, or by another model beside it. */
typedef struct solve_task {
    solver_task task;
    char name[80], model[32];
    char *parameters; /* JSON text, or NULL */
} solve_task;

static sinew_status solve_clip(const solve_task *t, solver *s, engine *e,
                               const sinew_monitor *monitor, sinew_error *error) {
    engine_clip clip;
    engine_get_clip(e, &clip);
    size_t frames = engine_capture(e) ? (size_t)clip.frame_count : 0;
    if (!frames) return sinew_fail(error, SINEW_MISUSE, "there is no take to solve");
    /* Clips that are too long come without shapes: their errors can still be compared. */
    size_t n = 3 * (size_t)engine_rig(e)->neutral->vertex_count;
    size_t shapes = n * frames <= MOST_SHAPES ? n * frames : 0;
    float *errors = malloc((frames + 1) * sizeof *errors);
    float *positions = shapes ? malloc(shapes * sizeof *positions) : NULL;
    if (!positions) shapes = 0;
    sinew_status status = errors ? SINEW_OK : sinew_fail(error, SINEW_NO_MEMORY, "out of memory");
    char stage[100];
    snprintf(stage, sizeof stage, "solving %s", t->name[0] ? t->name : "the take");
    for (size_t k = 0; k < frames && status == SINEW_OK; k++) {
        if (monitor->progress) monitor->progress((double)k / (double)frames, stage, monitor->user);
        status = figure_of(e, (int)k, "marker_error", monitor, shapes ? positions + k * n : NULL,
                           &errors[k], error);
    }
    if (monitor->progress) monitor->progress(1, stage, monitor->user);
    json_t *header =
        json_pack("{s:s,s:s,s:[[s,s,I],[s,s,I]]}", "type", "errors", "name", t->name, "arrays",
                  "error", "f32", (json_int_t)frames, "positions", "f32", (json_int_t)shapes);
    char *text = header ? json_dumps(header, JSON_COMPACT) : NULL;
    if (status == SINEW_OK && text) {
        const void *arrays[] = {errors, positions};
        size_t sizes[] = {frames * sizeof *errors, shapes * sizeof *positions};
        solver_give(s, SOLVER_ANSWER, t->task.client, net_message_binary(text, 2, arrays, sizes));
    }
    free(text);
    json_decref(header);
    free(errors);
    free(positions);
    return status;
}

/* The scene with another model, in a session of its own. */
static sinew_status start_beside(const solve_task *t, const engine *shown,
                                 const sinew_monitor *monitor, engine **e, shared_session **shared,
                                 sinew_error *error) {
    sinew_scene *scene = NULL;
    char model[40];
    bool changed;
    snprintf(model, sizeof model, "\"%s\"", t->model);
    sinew_status status = engine_scene(shown, &scene, error);
    if (status == SINEW_OK) status = sinew_scene_set(scene, "/parameters", NULL, NULL, error);
    if (status == SINEW_OK) status = sinew_scene_set(scene, "/model", model, NULL, error);
    if (status == SINEW_OK && t->parameters)
        status = sinew_scene_set(scene, "/parameters", t->parameters, NULL, error);
    if (status == SINEW_OK) status = shared_session_create(scene, shared, error);
    if (status == SINEW_OK) status = engine_create(e, error);
    if (status == SINEW_OK) status = engine_update(*e, *shared, monitor, &changed, error);
    sinew_scene_destroy(scene);
    return status;
}

static void run_solve(solver_task *task, solver *s, engine *shown, const sinew_monitor *monitor) {
    const solve_task *t = (const solve_task *)task;
    engine *beside = NULL;
    shared_session *shared = NULL;
    sinew_error error = {0};
    sinew_status status = SINEW_OK;
    if (t->model[0]) status = start_beside(t, shown, monitor, &beside, &shared, &error);
    if (status == SINEW_OK)
        status = solve_clip(t, s, t->model[0] ? beside : shown, monitor, &error);
    engine_destroy(beside);
    shared_session_release(shared);
    /* The page waits for an answer to each of its questions. */
    if (status == SINEW_CANCELLED)
        solver_refuse(s, task->client, "the solve was cancelled");
    else if (status != SINEW_OK)
        solver_refuse(s, task->client, error.message);
}

static void release_solve(solver_task *task) {
    free(((solve_task *)task)->parameters);
    free(task);
}

void take_errors(solver *s, const char *name, const char *model, const json_t *parameters,
                 int client) {
    solve_task *t = calloc(1, sizeof *t);
    if (!t) return;
    t->task = (solver_task){
        .run = run_solve, .release = release_solve, .client = client, .group = client};
    snprintf(t->name, sizeof t->name, "%s", name ? name : "");
    snprintf(t->model, sizeof t->model, "%s", model ? model : "");
    if (parameters) t->parameters = json_dumps(parameters, JSON_COMPACT);
    solver_add(s, &t->task);
}
