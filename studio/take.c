#include "take.h"

#include <jansson.h>
#include <math.h>
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
    solver_ask(s, client, run_markers);
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

static void run_errors(solver_task *task, solver *s, engine *e, const sinew_monitor *monitor) {
    engine_clip clip;
    engine_get_clip(e, &clip);
    size_t frames = engine_capture(e) ? (size_t)clip.frame_count : 0;
    /* Clips that are too long come without shapes: their errors can still be compared. */
    size_t n = frames ? 3 * (size_t)engine_rig(e)->neutral->vertex_count : 0;
    size_t shapes = n * frames <= MOST_SHAPES ? n * frames : 0;
    float *errors = malloc((frames + 1) * sizeof *errors);
    float *positions = shapes ? malloc(shapes * sizeof *positions) : NULL;
    if (!positions) shapes = 0;
    sinew_error error = {0};
    sinew_status status = errors && frames ? SINEW_OK : SINEW_MISUSE;
    for (size_t k = 0; k < frames && status == SINEW_OK; k++) {
        if (monitor->progress)
            monitor->progress((double)k / (double)frames, "marker errors", monitor->user);
        status = figure_of(e, (int)k, "marker_error", monitor, shapes ? positions + k * n : NULL,
                           &errors[k], &error);
    }
    if (monitor->progress) monitor->progress(1, "marker errors", monitor->user);
    if (status == SINEW_OK) {
        char text[160];
        snprintf(text, sizeof text,
                 "{\"type\":\"errors\",\"arrays\":[[\"error\",\"f32\",%zu],"
                 "[\"positions\",\"f32\",%zu]]}",
                 frames, shapes);
        const void *arrays[] = {errors, positions};
        size_t sizes[] = {frames * sizeof *errors, shapes * sizeof *positions};
        solver_give(s, SOLVER_ANSWER, task->client, net_message_binary(text, 2, arrays, sizes));
    } else if (status != SINEW_CANCELLED) {
        solver_refuse(s, task->client, frames ? error.message : "there is no take to solve");
    }
    free(errors);
    free(positions);
}

void take_errors(solver *s, int client) {
    solver_ask(s, client, run_errors);
}
