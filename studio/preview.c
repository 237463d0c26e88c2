#include "preview.h"

#include <ftw.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "examples.h"
#include "rig_message.h"

enum {
    VERTICES = 2500, /* of a rig in a tile */
    SWEPT = 9,       /* frames from a slider's rest to its end; pages play them back and forth */
    PLAYED = 30      /* frames of a clip, at most */
};

typedef struct preview_task {
    solver_task task;
    char example[64];
} preview_task;

static int remove_entry(const char *path, const struct stat *about, int kind, struct FTW *at) {
    (void)about, (void)kind, (void)at;
    (void)remove(path);
    return 0;
}

/* A session of the example with nothing of the project in it. */
static sinew_status start_session(const char *example, const char *folder, shared_session **out,
                                  json_t **document, sinew_error *error) {
    sinew_scene *scene = NULL;
    sinew_status status = examples_document(example, VERTICES, folder, ".", document, error);
    if (status != SINEW_OK) return status;
    char *text = json_dumps(*document, JSON_COMPACT);
    status = sinew_scene_parse(text ? text : "", example, folder, &scene, error);
    free(text);
    if (status == SINEW_OK) status = shared_session_create(scene, out, error);
    sinew_scene_destroy(scene);
    return status;
}

/* One frame of the preview: the slider on its way, or a frame of the clip. */
static sinew_status solve_frame(engine *e, shared_session *shared, const char *slider, int k,
                                int count, int step, const sinew_monitor *monitor,
                                sinew_error *error) {
    if (!slider) return engine_solve(e, k * step, false, monitor, error);
    char weights[128];
    bool changed;
    snprintf(weights, sizeof weights, "{\"%s\":%.4f}", slider, (double)k / (count - 1));
    sinew_status status =
        sinew_session_set(shared->session, "/weights", weights, NULL, NULL, error);
    if (status == SINEW_OK) status = engine_update(e, shared, monitor, &changed, error);
    return status == SINEW_OK ? engine_solve(e, -1, false, monitor, error) : status;
}

static net_message *frames_message(const char *example, const json_t *document, bool is_swept,
                                   int count, double seconds, size_t values, const float *linear,
                                   const float *physical) {
    json_t *obstacles = json_object_get(document, "obstacles");
    json_t *camera = json_object_get(json_object_get(document, "studio"), "camera");
    size_t total = (size_t)count * values;
    json_t *header =
        json_pack("{s:s,s:s,s:i,s:f,s:b,s:O?,s:O?,s:[[s,s,I],[s,s,I]]}", "type", "preview",
                  "example", example, "frames", count, "seconds", seconds, "back", is_swept,
                  "obstacles", obstacles, "camera", camera, "arrays", "linear", "f32",
                  (json_int_t)total, "physical", "f32", (json_int_t)total);
    char *text = header ? json_dumps(header, JSON_COMPACT) : NULL;
    const void *arrays[] = {linear, physical};
    size_t sizes[] = {total * sizeof(float), total * sizeof(float)};
    net_message *message = text ? net_message_binary(text, 2, arrays, sizes) : NULL;
    free(text);
    json_decref(header);
    return message;
}

static sinew_status solve_preview(const preview_task *p, solver *s, engine *e,
                                  shared_session *shared, const json_t *document,
                                  const sinew_monitor *monitor, sinew_error *error) {
    bool changed;
    sinew_status status = engine_update(e, shared, monitor, &changed, error);
    if (status != SINEW_OK) return status;
    const char *slider = examples_slider(p->example);
    engine_clip clip;
    engine_get_clip(e, &clip);
    int step = 1 + (clip.frame_count - 1) / PLAYED;
    int count = slider ? SWEPT : clip.frame_count / step;
    double seconds = slider ? 1.2 : clip.rate > 0 ? clip.frame_count / clip.rate : 1;
    size_t values = 3 * (size_t)engine_rig(e)->neutral->vertex_count;
    float *linear = malloc((size_t)count * values * sizeof *linear + 4);
    float *physical = malloc((size_t)count * values * sizeof *physical + 4);
    if (!linear || !physical) {
        *error = (sinew_error){SINEW_NO_MEMORY, "out of memory"};
        status = SINEW_NO_MEMORY;
    }
    for (int k = 0; status == SINEW_OK && k < count; k++) {
        status = solve_frame(e, shared, slider, k, count, step, monitor, error);
        const engine_shape *shape = engine_get_shape(e);
        if (status != SINEW_OK) break;
        memcpy(linear + (size_t)k * values, shape->linear, values * sizeof *linear);
        memcpy(physical + (size_t)k * values, shape->positions, values * sizeof *physical);
    }
    if (status == SINEW_OK) {
        int client = p->task.client;
        solver_give(s, SOLVER_ANSWER, client,
                    rig_message(engine_rig(e), "preview_rig", p->example));
        solver_give(s, SOLVER_ANSWER, client,
                    frames_message(p->example, document, slider != NULL, count, seconds, values,
                                   linear, physical));
    }
    free(linear);
    free(physical);
    return status;
}

static void run_preview(solver_task *task, solver *s, engine *shown, const sinew_monitor *monitor) {
    (void)shown;
    preview_task *p = (preview_task *)task;
    sinew_monitor quiet = *monitor; /* nobody waits for it */
    quiet.progress = NULL;
    quiet.log = NULL;
    char folder[] = "/tmp/sinew-preview-XXXXXX";
    engine *e = NULL;
    shared_session *shared = NULL;
    json_t *document = NULL;
    sinew_error error = {0};
    if (!mkdtemp(folder)) {
        solver_refuse(s, task->client, "cannot create a temporary folder");
        return;
    }
    sinew_status status = engine_create(&e, &error);
    if (status == SINEW_OK) status = start_session(p->example, folder, &shared, &document, &error);
    if (status == SINEW_OK) status = solve_preview(p, s, e, shared, document, &quiet, &error);
    task->unfinished = status == SINEW_CANCELLED;
    if (status != SINEW_OK && status != SINEW_CANCELLED)
        solver_refuse(s, task->client, error.message);
    engine_destroy(e);
    shared_session_release(shared);
    json_decref(document);
    nftw(folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

static void release_preview(solver_task *task) {
    free(task);
}

void preview_example(solver *s, const char *example, int client) {
    preview_task *p = calloc(1, sizeof *p);
    if (!p) return;
    p->task = (solver_task){
        .run = run_preview, .release = release_preview, .client = client, .idle = true};
    snprintf(p->example, sizeof p->example, "%s", example);
    solver_add(s, &p->task);
}
