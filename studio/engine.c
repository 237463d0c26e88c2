#include "engine.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

struct engine {
    sinew_scene *scene;
    uint64_t revision;
    char *rig_text;
    sinew_job *pose, *clip;
    sinew_linear *linear;
    const sinew_rig *linear_rig;
    double *positions;
    double build_seconds;
};

static double now_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

sinew_status engine_create(engine **out, sinew_error *error) {
    *out = calloc(1, sizeof **out);
    if (*out) return SINEW_OK;
    *error = (sinew_error){SINEW_NO_MEMORY, "out of memory"};
    return SINEW_NO_MEMORY;
}

static void drop_jobs(engine *e) {
    sinew_linear_destroy(e->linear);
    e->linear = NULL;
    sinew_job_destroy(e->pose);
    sinew_job_destroy(e->clip);
    e->pose = e->clip = NULL;
}

void engine_destroy(engine *e) {
    if (!e) return;
    drop_jobs(e);
    sinew_scene_destroy(e->scene);
    free(e->rig_text);
    free(e->positions);
    free(e);
}

static bool has(const sinew_scene *scene, const char *pointer) {
    char *text = NULL;
    sinew_error ignored;
    if (sinew_scene_get(scene, pointer, &text, &ignored) != SINEW_OK || !text) return false;
    sinew_free(text);
    return true;
}

sinew_status engine_update(engine *e, const sinew_scene *scene, uint64_t revision,
                           const sinew_monitor *monitor, bool *rig_changed, sinew_error *error) {
    double start = now_seconds();
    sinew_scene *copy = NULL, *still = NULL;
    sinew_job *pose = NULL, *clip = NULL;
    char *rig_text = NULL;
    sinew_status status = sinew_scene_copy(scene, &copy, error);
    if (status == SINEW_OK) status = sinew_scene_copy(scene, &still, error);
    if (status == SINEW_OK) {
        static const char *const moving[] = {"/curves", "/keys", "/markers", "/steps", "/time"};
        for (int i = 0; i < 5; i++)
            if (has(still, moving[i])) sinew_scene_set(still, moving[i], NULL, NULL, error);
        if (!has(still, "/weights")) sinew_scene_set(still, "/weights", "{}", NULL, error);
        status = sinew_job_create(still, monitor, &pose, error);
    }
    if (status == SINEW_OK && (has(copy, "/curves") || has(copy, "/keys") || has(copy, "/markers")))
        status = sinew_job_create(copy, monitor, &clip, error);
    sinew_scene_destroy(still);
    if (status != SINEW_OK) {
        sinew_scene_destroy(copy);
        sinew_job_destroy(pose);
        return status;
    }
    sinew_scene_get(copy, "/rig", &rig_text, error);
    *rig_changed = !e->rig_text || !rig_text || strcmp(e->rig_text, rig_text) != 0;
    drop_jobs(e);
    free(e->rig_text);
    e->rig_text = rig_text ? strdup(rig_text) : NULL;
    sinew_free(rig_text);
    sinew_scene_destroy(e->scene);
    e->scene = copy;
    e->pose = pose;
    e->clip = clip;
    e->revision = revision;
    status = sinew_linear_create(sinew_job_rig(pose), &e->linear, error);
    free(e->positions);
    e->positions = malloc((size_t)sinew_job_rig(pose)->neutral->vertex_count * 3 * sizeof(double));
    e->build_seconds = now_seconds() - start;
    return status;
}

const sinew_rig *engine_rig(const engine *e) {
    return e->pose ? sinew_job_rig(e->pose) : NULL;
}

void engine_get_clip(const engine *e, engine_clip *clip) {
    *clip = (engine_clip){0};
    if (!e->clip) return;
    clip->frame_count = sinew_job_frame_count(e->clip);
    clip->start = sinew_job_time(e->clip, 0);
    clip->rate = clip->frame_count > 1 ? 1 / (sinew_job_time(e->clip, 1) - clip->start) : 30;
}

sinew_status engine_solve(engine *e, int frame, engine_shape *shape, const sinew_monitor *monitor,
                          sinew_error *error) {
    sinew_job *job = frame >= 0 && e->clip ? e->clip : e->pose;
    if (frame < 0 || job == e->pose) frame = 0;
    const sinew_rig *rig = engine_rig(e);
    int n = 3 * rig->neutral->vertex_count;
    sinew_frame_info info = {.size = sizeof info};
    sinew_status status = sinew_job_frame(job, frame, e->positions, &info, monitor, error);
    if (status != SINEW_OK && status != SINEW_NOT_CONVERGED) return status;
    for (int i = 0; i < n; i++) shape->positions[i] = (float)e->positions[i];
    const double *weights = sinew_job_weights(job, frame);
    if (weights) {
        memcpy(shape->weights, weights, (size_t)rig->slider_count * sizeof *weights);
        sinew_linear_evaluate(e->linear, weights, e->positions);
        for (int i = 0; i < n; i++) shape->linear[i] = (float)e->positions[i];
    } else {
        for (int i = 0; i < n; i++) shape->linear[i] = (float)rig->neutral->positions[i];
    }
    shape->status = status;
    shape->time = info.time;
    shape->residual = info.residual;
    shape->seconds = info.seconds;
    shape->build_seconds = e->build_seconds;
    e->build_seconds = 0;
    shape->iterations = info.iterations;
    shape->contacts = info.contacts;
    shape->inverted = info.inverted;
    shape->revision = e->revision;
    return SINEW_OK;
}

sinew_status engine_drag(engine *e, int vertex, const double target[3], const double *now,
                         double *weights, sinew_error *error) {
    sinew_slider_space *space = NULL;
    sinew_manipulator *manipulator = NULL;
    sinew_status status = sinew_slider_space_create(engine_rig(e), &space, error);
    if (status == SINEW_OK)
        status = sinew_manipulator_create(space, NULL, NULL, &manipulator, error);
    sinew_drag drag = {vertex, SINEW_AXIS_ALL, {target[0], target[1], target[2]}, 1};
    if (status == SINEW_OK)
        status = sinew_manipulate(manipulator, 1, &drag, now, weights, NULL, error);
    sinew_manipulator_destroy(manipulator);
    sinew_slider_space_destroy(space);
    return status;
}
