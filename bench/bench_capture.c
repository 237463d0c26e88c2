/* Captured takes: the marker layer, bare and held by contact. Bound of a frame of the bare layer:
 * the numbers that spread the markers, read once. */
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

const bench_case bench_capture[] = {
    {"layer", "the sample face, 11.9k vertices, 60 markers", bare},
    {"layer-contact", "the same, held back by what lies below and by new crossings", held},
    BENCH_END,
};
