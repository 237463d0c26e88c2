#include "analysis.h"

#include <jansson.h>
#include <stdlib.h>

enum { WORST = 20 };

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

static void run(solver_task *task, solver *s, engine *e, const sinew_monitor *monitor) {
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

static void release(solver_task *task) {
    free(task);
}

void analysis_interference(solver *s, int client) {
    solver_task *task = calloc(1, sizeof *task);
    if (!task) return;
    *task = (solver_task){.run = run, .release = release, .client = client};
    solver_add(s, task);
}
