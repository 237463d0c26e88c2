/* Captured takes: the marker layer, bare and held by contact, and contact of takes of weights.
 * Bound of a frame of the bare layer: the numbers that spread the markers, read once. */
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

/* Two shapes: in the first nothing comes near anything, in the second lids and lips press. */
static void weights(bench *b) {
    static const char *const shapes[] = {"browInnerUp=1,noseSneerLeft=1",
                                         "eyeBlinkLeft=1.2,eyeBlinkRight=1.2,eyeSquintLeft=1,"
                                         "mouthPressLeft=1,mouthPressRight=1,mouthRollLower=1"};
    sinew_error error;
    weight_case c;
    sinew_rig *rig;
    sinew_skin_contact *contact;
    bench_need(sinew_sample_rig("face", NULL, &rig, &error), &error);
    bench_need(sinew_linear_create(rig, &c.linear, &error), &error);
    bench_need(sinew_skin_contact_create(rig, NULL, NULL, &contact, &error), &error);
    bench_need(sinew_skin_contact_state_create(contact, &c.contact, &error), &error);
    c.weights = malloc((size_t)rig->slider_count * sizeof(double));
    c.positions = malloc(3 * (size_t)rig->neutral->vertex_count * sizeof(double));
    for (int k = 0; k < 2; k++) {
        sinew_rig_rest_weights(rig, c.weights);
        bench_need(sinew_rig_parse_weights(rig, shapes[k], c.weights, &error), &error);
        bench_report(b, k ? "blend, lids and lips press" : "blend, nothing presses",
                     bench_time(b, press, &c), 0, NULL);
    }
    free(c.weights), free(c.positions);
    sinew_skin_contact_state_destroy(c.contact);
    sinew_skin_contact_destroy(contact);
    sinew_linear_destroy(c.linear);
    sinew_rig_destroy(rig);
}

const bench_case bench_capture[] = {
    {"layer", "the sample face, 11.9k vertices, 60 markers", bare},
    {"layer-contact", "the same, held back by what lies below and by new crossings", held},
    {"skin-contact", "contact of a blend, the sample face", weights},
    BENCH_END,
};
