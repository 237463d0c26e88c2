/* Captured takes: the marker layer, bare and held by contact, and contact of takes of weights.
 * Bound of a frame of the bare layer: the numbers that spread the markers, read once. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "sinew/sinew.h"

typedef struct layer_case {
    sinew_rig *rig;
    sinew_marker_layer *layer;
    sinew_markers *take;
    int *index; /* marker of the take for each of the map */
    const sinew_marker_map *map;
    double *markers, *positions;
    int frame;
} layer_case;

/* The rest shape is drawn to the markers of the talking clip: the layer has all the work. */
static void follow(void *user) {
    layer_case *c = user;
    sinew_error error;
    size_t n = (size_t)c->rig->neutral->vertex_count;
    const double *row = c->take->positions + 3 * (size_t)c->frame * (size_t)c->take->marker_count;
    for (int i = 0; i < c->map->count; i++)
        memcpy(c->markers + 3 * i, row + 3 * c->index[i], 3 * sizeof(double));
    memcpy(c->positions, c->rig->neutral->positions, 3 * n * sizeof(double));
    c->frame = (c->frame + 1) % c->take->time_count;
    bench_need(
        sinew_marker_layer_follow(c->layer, 1.0 / 60, c->markers, NULL, c->positions, &error),
        &error);
}

static void time_layer(bench *b, bool contact) {
    sinew_error error;
    layer_case c = {0};
    sinew_marker_map *map;
    bench_need(sinew_sample_rig("face", NULL, &c.rig, &error), &error);
    bench_need(sinew_sample_markers("face", NULL, NULL, &c.take, &map, &error), &error);
    c.map = map;
    bench_need(sinew_marker_layer_create(c.rig, map, SINEW_MARKER_LAYER_SMOOTHING, contact, NULL,
                                         &c.layer, &error),
               &error);
    size_t n = (size_t)c.rig->neutral->vertex_count, m = (size_t)map->count;
    c.index = malloc(m * sizeof(int)), c.markers = malloc(3 * m * sizeof(double));
    c.positions = malloc(3 * n * sizeof(double));
    sinew_marker_map_bind(map, c.take, c.index);
    double seconds = bench_time(b, follow, &c);
    bench_report(b, contact ? "layer, held by contact" : "layer", seconds,
                 (double)(n * m * sizeof(float)) /
                     bench_read_bandwidth(b, (double)(n * m * sizeof(float))),
                 "numbers that spread the markers");
    free(c.index), free(c.markers), free(c.positions);
    sinew_marker_layer_destroy(c.layer);
    sinew_marker_map_destroy(map);
    sinew_markers_destroy(c.take);
    sinew_rig_destroy(c.rig);
}

static void bare(bench *b) {
    time_layer(b, false);
}

static void held(bench *b) {
    time_layer(b, true);
}

typedef struct weight_case {
    sinew_linear *linear;
    sinew_skin_contact_state *contact;
    double *weights, *positions;
} weight_case;

static void press(void *user) {
    weight_case *c = user;
    sinew_error error;
    sinew_linear_evaluate(c->linear, c->weights, c->positions);
    bench_need(sinew_skin_contact_apply(c->contact, c->positions, NULL, &error), &error);
}

typedef struct shape {
    const char *name, *weights;
} shape;

static void time_shapes(bench *b, sinew_rig *rig, int count, const shape *shapes) {
    sinew_error error;
    weight_case c;
    sinew_skin_contact *contact;
    bench_need(sinew_linear_create(rig, &c.linear, &error), &error);
    bench_need(sinew_skin_contact_create(rig, NULL, NULL, &contact, &error), &error);
    bench_need(sinew_skin_contact_state_create(contact, &c.contact, &error), &error);
    c.weights = malloc((size_t)rig->slider_count * sizeof(double));
    c.positions = malloc(3 * (size_t)rig->neutral->vertex_count * sizeof(double));
    for (int k = 0; k < count; k++) {
        sinew_rig_rest_weights(rig, c.weights);
        bench_need(sinew_rig_parse_weights(rig, shapes[k].weights, c.weights, &error), &error);
        bench_report(b, shapes[k].name, bench_time(b, press, &c), 0, NULL);
    }
    free(c.weights), free(c.positions);
    sinew_skin_contact_state_destroy(c.contact);
    sinew_skin_contact_destroy(contact);
    sinew_linear_destroy(c.linear);
    sinew_rig_destroy(rig);
}

/* Two shapes: in the first nothing comes near anything, in the second lids and lips press. */
static void weights(bench *b) {
    static const shape shapes[] = {
        {"blend, nothing presses", "browInnerUp=1,noseSneerLeft=1"},
        {"blend, lids and lips press",
         "eyeBlinkLeft=1.2,eyeBlinkRight=1.2,eyeSquintLeft=1,mouthPressLeft=1,mouthPressRight=1,"
         "mouthRollLower=1"}};
    sinew_error error;
    sinew_rig *rig;
    bench_need(sinew_sample_rig("face", NULL, &rig, &error), &error);
    time_shapes(b, rig, 2, shapes);
}

static void weights_ict(bench *b) {
    static const shape shapes[] = {
        {"blend, lids press", "eyeBlink_L=1,eyeBlink_R=1,eyeSquint_L=1,eyeSquint_R=1"},
        {"blend, lips press", "mouthPress_L=1,mouthPress_R=1,mouthRollLower=0.5,mouthPucker=0.5"}};
    sinew_error error;
    sinew_rig *rig;
    static const char neutral[] = "free/ict-facekit/generic_neutral_mesh.obj";
    char mesh[4096];
    const char *found = bench_data(neutral), *files[2] = {mesh};
    if (found) snprintf(mesh, sizeof mesh, "%s", found);
    files[1] = bench_data("free/ict-facekit/targets"); /* overwrites what was found before */
    if (!found || !files[1]) {
        bench_skip(b, "no ICT-FaceKit in the data");
        return;
    }
    bench_need(sinew_rig_read(2, files, &rig, &error), &error);
    time_shapes(b, rig, 2, shapes);
}

/* ---- the limit of the layer ------------------------------------------------------------------ */

enum { LIMIT_FRAMES = 20 };

typedef struct limit_case {
    sinew_rig *rig;
    sinew_marker_map *map;
    bool limited;
    double *markers, *positions, *trust;
} limit_case;

static void prepare(void *user) {
    limit_case *c = user;
    sinew_error error;
    sinew_marker_layer *layer;
    if (c->limited)
        bench_need(sinew_marker_layer_limit(c->rig, c->map, SINEW_MARKER_LAYER_SMOOTHING, true,
                                            LIMIT_FRAMES, c->markers, NULL, c->positions, NULL,
                                            c->trust, &error),
                   &error);
    bench_need(sinew_marker_layer_create(c->rig, c->map, SINEW_MARKER_LAYER_SMOOTHING, true, NULL,
                                         &layer, &error),
               &error);
    sinew_marker_layer_destroy(layer);
}

/* What a take pays once before its first frame: the layer, and with the limit in 20 samples. */
static void limit(bench *b) {
    sinew_error error;
    limit_case c = {0};
    sinew_markers *take;
    bench_need(sinew_sample_rig("face", NULL, &c.rig, &error), &error);
    bench_need(sinew_sample_markers("face", NULL, NULL, &take, &c.map, &error), &error);
    size_t n = 3 * (size_t)c.rig->neutral->vertex_count, m = 3 * (size_t)c.map->count;
    int *index = malloc((size_t)c.map->count * sizeof(int));
    c.markers = malloc(LIMIT_FRAMES * m * sizeof(double));
    c.positions = malloc(LIMIT_FRAMES * n * sizeof(double));
    c.trust = malloc(m * sizeof(double));
    sinew_marker_map_bind(c.map, take, index);
    for (size_t f = 0; f < LIMIT_FRAMES; f++) {
        size_t sample = f * (size_t)take->time_count / LIMIT_FRAMES;
        const double *row = take->positions + sample * 3 * (size_t)take->marker_count;
        for (size_t i = 0; i < m / 3; i++)
            memcpy(c.markers + f * m + 3 * i, row + 3 * index[i], 3 * sizeof(double));
        memcpy(c.positions + f * n, c.rig->neutral->positions, n * sizeof(double));
    }
    double without = bench_time(b, prepare, &c);
    c.limited = true;
    double with = bench_time(b, prepare, &c);
    char figures[48];
    snprintf(figures, sizeof figures, "\"times\": %.2f", with / without);
    bench_report(b, "layer, made", without, 0, NULL);
    bench_report_more(b, "layer, made and limited", with, 0, NULL, figures);
    free(index), free(c.markers), free(c.positions), free(c.trust);
    sinew_marker_map_destroy(c.map);
    sinew_markers_destroy(take);
    sinew_rig_destroy(c.rig);
}

const bench_case bench_capture[] = {
    {"layer", "the sample face, 11.9k vertices, 60 markers", bare},
    {"layer-contact", "the same, held back by what lies below and by new crossings", held},
    {"skin-contact", "contact of a blend, the sample face", weights},
    {"skin-contact-ict", "the same, ICT-FaceKit, 26.7k vertices", weights_ict},
    {"layer-limit", "what a take pays once for its layer, the sample face, 20 samples", limit},
    BENCH_END,
};
