#include "analysis.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORST = 20, TRACED_FRAMES = 2000, SHAPES = 12 };
#define AMOUNT 0.12 /* of a mode in its picture, as a fraction of the diagonal */

static json_t *slider_of(const sinew_rig *rig, const sinew_target *target) {
    int slider = target->slider >= 0    ? target->slider
                 : target->driver_count ? target->drivers[0]
                                        : -1;
    return slider >= 0 ? json_string(rig->sliders[slider].name) : json_null();
}

static void send_matrix(solver *s, int client, const sinew_rig *rig,
                        const sinew_slider_space *space, const sinew_interference *found) {
    size_t n = (size_t)found->target_count;
    float *disturbance = malloc(n * n * sizeof *disturbance + 4);
    json_t *names = json_array(), *sliders = json_array(), *pairs = json_array();
    sinew_interference_pair worst[WORST];
    int count = sinew_interference_worst(space, found, WORST, worst);
    for (size_t i = 0; i < n; i++) {
        json_array_append_new(names, json_string(rig->targets[i].name));
        json_array_append_new(sliders, slider_of(rig, &rig->targets[i]));
    }
    for (int i = 0; i < count; i++)
        json_array_append_new(pairs, json_pack("{s:i,s:i,s:f,s:f}", "disturbed", worst[i].disturbed,
                                               "disturber", worst[i].disturber, "disturbance",
                                               worst[i].disturbance, "cosine", worst[i].cosine));
    json_t *header = json_pack("{s:s,s:o,s:o,s:o,s:[[s,s,I]]}", "type", "interference", "targets",
                               names, "sliders", sliders, "worst", pairs, "arrays", "disturbance",
                               "f32", (json_int_t)(n * n));
    char *text = header ? json_dumps(header, JSON_COMPACT) : NULL;
    if (disturbance && text) {
        for (size_t i = 0; i < n * n; i++) disturbance[i] = (float)found->disturbance[i];
        const void *arrays[] = {disturbance};
        size_t sizes[] = {n * n * sizeof *disturbance};
        solver_give(s, SOLVER_ANSWER, client, net_message_binary(text, 1, arrays, sizes));
    }
    free(text);
    free(disturbance);
    json_decref(header);
}

static void run_interference(solver_task *task, solver *s, engine *e,
                             const sinew_monitor *monitor) {
    (void)monitor;
    const sinew_rig *rig = engine_rig(e);
    sinew_slider_space *space = NULL;
    sinew_interference *found = NULL;
    sinew_error error = {0};
    sinew_status status = sinew_slider_space_create(rig, &space, &error);
    if (status == SINEW_OK) status = sinew_interference_create(space, 0, NULL, &found, &error);
    if (status == SINEW_OK)
        send_matrix(s, task->client, rig, space, found);
    else
        solver_refuse(s, task->client, error.message);
    sinew_interference_destroy(found);
    sinew_slider_space_destroy(space);
}

static void send_curves(solver *s, int client, const engine *e, size_t frames, size_t step,
                        float *values) {
    const sinew_rig *rig = engine_rig(e);
    size_t n = (size_t)rig->slider_count, kept = 0;
    json_t *names = json_array();
    for (size_t i = 0; i < n; i++) {
        const float *row = values + i * frames;
        bool moves = false;
        for (size_t k = 1; k < frames && !moves; k++) moves = row[k] != row[0];
        if (!moves) continue;
        json_array_append_new(names, json_string(rig->sliders[i].name));
        memmove(values + kept++ * frames, row, frames * sizeof *row);
    }
    json_t *header = json_pack("{s:s,s:i,s:i,s:o,s:[[s,s,I]]}", "type", "curves", "frames",
                               (int)frames, "step", (int)step, "names", names, "arrays", "values",
                               "f32", (json_int_t)(kept * frames));
    char *text = header ? json_dumps(header, JSON_COMPACT) : NULL;
    const void *arrays[] = {values};
    size_t sizes[] = {kept * frames * sizeof *values};
    if (text) solver_give(s, SOLVER_ANSWER, client, net_message_binary(text, 1, arrays, sizes));
    free(text);
    json_decref(header);
}

static void run_curves(solver_task *task, solver *s, engine *e, const sinew_monitor *monitor) {
    engine_clip clip;
    engine_get_clip(e, &clip);
    size_t step = (size_t)(1 + (clip.frame_count - 1) / TRACED_FRAMES);
    size_t frames = ((size_t)clip.frame_count + step - 1) / step;
    size_t n = (size_t)engine_rig(e)->slider_count;
    float *values = malloc((n * frames + 1) * sizeof *values);
    double *weights = malloc((n + 1) * sizeof *weights);
    sinew_error error = {0};
    sinew_status status = values && weights ? SINEW_OK : SINEW_NO_MEMORY;
    for (size_t k = 0; k < frames && status == SINEW_OK; k++) {
        if (monitor->cancelled && monitor->cancelled(monitor->user)) status = SINEW_CANCELLED;
        if (status == SINEW_OK) status = engine_weights(e, (int)(k * step), weights, &error);
        for (size_t i = 0; i < n; i++) values[i * frames + k] = (float)weights[i];
    }
    if (status == SINEW_OK)
        send_curves(s, task->client, e, frames, step, values);
    else if (status != SINEW_CANCELLED)
        solver_refuse(s, task->client, values && weights ? error.message : "out of memory");
    free(values);
    free(weights);
}

/* Weights of all modes over the clip: in closed form, so that they follow a curve being dragged. */
static void send_modes(solver *s, int client, const engine *e, const sinew_modal_motion *motion,
                       int modes) {
    engine_clip clip;
    engine_get_clip(e, &clip);
    sinew_modal_motion_info info = {.size = sizeof info};
    if (sinew_modal_motion_get_info(motion, &info) != SINEW_OK) return;
    int step = 1 + (clip.frame_count - 1) / TRACED_FRAMES;
    size_t count = (size_t)modes, frames = (size_t)((clip.frame_count + step - 1) / step);
    float *values = malloc((count * (frames + 2) + 1) * sizeof *values);
    double *weights = malloc(((size_t)info.columns + 1) * sizeof *weights);
    json_t *header =
        json_pack("{s:s,s:i,s:i,s:[[s,s,I],[s,s,I],[s,s,I]]}", "type", "modes", "frames",
                  (int)frames, "step", step, "arrays", "frequency", "f32", (json_int_t)count,
                  "damping", "f32", (json_int_t)count, "z", "f32", (json_int_t)(count * frames));
    char *text = header ? json_dumps(header, JSON_COMPACT) : NULL;
    if (values && weights && text) {
        float *frequency = values, *damping = values + count, *z = damping + count;
        for (size_t i = 0; i < count; i++) {
            frequency[i] = (float)info.frequency[i];
            damping[i] = (float)info.damping[i];
        }
        for (size_t k = 0; k < frames; k++) {
            sinew_modal_motion_weights(motion, engine_frame_time(e, (int)k * step), weights);
            for (size_t i = 0; i < count; i++) z[i * frames + k] = (float)weights[i];
        }
        const void *arrays[] = {frequency, damping, z};
        size_t sizes[] = {count * sizeof *z, count * sizeof *z, count * frames * sizeof *z};
        solver_give(s, SOLVER_ANSWER, client, net_message_binary(text, 3, arrays, sizes));
    }
    free(text);
    free(weights);
    free(values);
    json_decref(header);
}

static void run_modes(solver_task *task, solver *s, engine *e, const sinew_monitor *monitor) {
    (void)monitor;
    const sinew_modal *modal = engine_modal(e);
    const sinew_modal_motion *motion = engine_motion(e);
    sinew_modal_info info = {.size = sizeof info};
    if (modal && motion && sinew_modal_get_info(modal, &info) == SINEW_OK)
        send_modes(s, task->client, e, motion, info.modes);
    else
        solver_say(
            s, SOLVER_ANSWER, task->client,
            "{\"type\":\"error\",\"id\":0,\"about\":\"modes\",\"message\":\"there are no modes: "
            "choose the model Modal and set keys\"}");
}

static void run_mode_shapes(solver_task *task, solver *s, engine *e, const sinew_monitor *monitor) {
    const sinew_modal *modal = engine_modal(e);
    sinew_modal_info info = {.size = sizeof info};
    if (!modal || sinew_modal_get_info(modal, &info) != SINEW_OK) return; /* `modes` complains */
    size_t n = 3 * (size_t)engine_rig(e)->neutral->vertex_count;
    size_t count = info.modes < SHAPES ? (size_t)info.modes : SHAPES;
    double *shape = malloc((n + 1) * sizeof *shape);
    float *shapes = malloc((count * n + 1) * sizeof *shapes);
    sinew_error error = {0};
    sinew_status status = shape && shapes ? SINEW_OK : SINEW_NO_MEMORY;
    for (size_t i = 0; i < count && status == SINEW_OK; i++) {
        if (monitor->cancelled && monitor->cancelled(monitor->user)) status = SINEW_CANCELLED;
        if (status == SINEW_OK) status = sinew_modal_shape(modal, (int)i, AMOUNT, shape, &error);
        for (size_t k = 0; k < n && status == SINEW_OK; k++) shapes[i * n + k] = (float)shape[k];
    }
    if (status == SINEW_OK) {
        char text[128];
        snprintf(text, sizeof text,
                 "{\"type\":\"mode_shapes\",\"count\":%zu,\"arrays\":[[\"shapes\",\"f32\",%zu]]}",
                 count, count * n);
        const void *arrays[] = {shapes};
        size_t sizes[] = {count * n * sizeof *shapes};
        solver_give(s, SOLVER_ANSWER, task->client, net_message_binary(text, 1, arrays, sizes));
    } else if (status != SINEW_CANCELLED) {
        solver_refuse(s, task->client, shape && shapes ? error.message : "out of memory");
    }
    free(shape);
    free(shapes);
}

void analysis_interference(solver *s, int client) {
    solver_ask(s, client, false, run_interference);
}

void analysis_curves(solver *s, int client) {
    solver_ask(s, client, true, run_curves);
}

void analysis_mode_shapes(solver *s, int client) {
    solver_ask(s, client, false, run_mode_shapes);
}

void analysis_modes(solver *s, int client) {
    solver_ask(s, client, true, run_modes);
}
