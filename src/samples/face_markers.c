/* Marker clips: a face's clip as an optical system would see it. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/sized.h"
#include "base/status.h"
#include "base/vec3.h"
#include "samples/builders.h"
#include "sinew/samples.h"

/* Places on the face of the sample `face` as seen from the front, meters. Pairs stand for both
 * sides. */
static const struct {
    const char *name;
    double x, y;
} places[] = {
    {"foreheadTop", 0, 0.072},
    {"foreheadMiddle", 0, 0.052},
    {"browMiddle", 0, 0.033},
    {"noseBridge", 0, 0.008},
    {"noseTip", 0, -0.031},
    {"noseBase", 0, -0.046},
    {"lipUpper", 0, -0.059},
    {"lipLower", 0, -0.070},
    {"chin", 0, -0.095},
    {"chinLow", 0, -0.105},
    {"foreheadInner", 0.020, 0.065},
    {"foreheadOuter", 0.050, 0.065},
    {"temple", 0.066, 0.030},
    {"browInner", 0.014, 0.044},
    {"browCenter", 0.031, 0.048},
    {"browOuter", 0.052, 0.043},
    {"lidUpper", 0.034, 0.018},
    {"lidLower", 0.034, -0.013},
    {"eyeInner", 0.015, -0.004},
    {"eyeOuter", 0.056, 0.003},
    {"noseSide", 0.010, -0.012},
    {"noseWing", 0.018, -0.034},
    {"cheekInner", 0.028, -0.034},
    {"cheekCenter", 0.044, -0.033},
    {"cheekOuter", 0.062, -0.030},
    {"cheekLow", 0.043, -0.055},
    {"cheekBone", 0.054, -0.015},
    {"nasolabial", 0.029, -0.050},
    {"lipUpperSide", 0.012, -0.0575},
    {"lipCorner", 0.028, -0.063},
    {"lipLowerSide", 0.012, -0.071},
    {"chinSide", 0.018, -0.092},
    {"jawFront", 0.032, -0.089},
    {"jawCenter", 0.050, -0.076},
    {"jawBack", 0.063, -0.052},
};
enum { PLACES = sizeof places / sizeof *places, MARKERS = 60 };

/* The vertex of the skin that is seen from the front nearest to a place: depth counts a little, so
 * that the outer surface wins over what lies behind it. */
static int seen_vertex(const sinew_mesh *mesh, const bool *skin, double x, double y) {
    int best = 0;
    double lowest = INFINITY;
    for (int v = 0; v < mesh->vertex_count; v++) {
        const double *p = mesh->positions + 3 * (size_t)v;
        if (!skin[v] || p[2] < 0) continue;
        double cost = (p[0] - x) * (p[0] - x) + (p[1] - y) * (p[1] - y) - 5e-4 * p[2];
        if (cost < lowest) lowest = cost, best = v;
    }
    return best;
}

static sinew_status make_map(const sinew_mesh *mesh, sinew_marker_map **map, sinew_error *error) {
    bool *skin = SN_NEW0(bool, mesh->vertex_count);
    if (!skin) return sn_no_memory(error);
    for (int f = 0; f < mesh->face_count; f++)
        for (int k = mesh->face_start[f]; k < mesh->face_start[f + 1]; k++)
            if (mesh->face_part[f] == 0) skin[mesh->face_vertices[k]] = true;
    sinew_status status = sinew_marker_map_create(MARKERS, map, error);
    int marker = 0;
    for (int i = 0; i < PLACES && status == SINEW_OK; i++)
        for (int side = 0; side < (places[i].x > 0 ? 2 : 1) && status == SINEW_OK; side++) {
            char name[64];
            const char *ending = places[i].x == 0 ? "" : side ? "Right" : "Left";
            snprintf(name, sizeof name, "%s%s", places[i].name, ending);
            int vertex = seen_vertex(mesh, skin, side ? -places[i].x : places[i].x, places[i].y);
            skin[vertex] = false; /* one marker each, on coarse faces too */
            (*map)->vertices[marker] = vertex;
            (*map)->triangles[marker] = -1;
            status = sinew_marker_map_set_name(*map, marker++, name, error);
        }
    sn_free(skin);
    return status;
}

/* SplitMix64: the same numbers everywhere. */
static double uniform(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (double)((z ^ (z >> 31)) >> 11) / 9007199254740992.0;
}

static double normal(uint64_t *state) {
    double a = uniform(state), b = uniform(state);
    return sqrt(-2 * log(1 - a)) * cos(2 * SN_PI * b);
}

static void add_noise(sinew_markers *markers, double deviation, uint64_t *state) {
    size_t count = 3 * (size_t)markers->marker_count * (size_t)markers->time_count;
    for (size_t i = 0; i < count; i++) markers->positions[i] += deviation * normal(state);
}

/* Markers vanish for 3 to 15 frames at a time until the wanted share is gone. */
static void add_gaps(sinew_markers *markers, double share, uint64_t *state) {
    long cells = (long)markers->marker_count * markers->time_count, gone = 0;
    for (long attempt = 0; gone < share * cells && attempt < cells; attempt++) {
        int marker = (int)(uniform(state) * markers->marker_count);
        int start = (int)(uniform(state) * markers->time_count);
        int length = 3 + (int)(uniform(state) * 13);
        for (int t = start; t < start + length && t < markers->time_count; t++) {
            double *p = markers->positions +
                        3 * ((size_t)t * (size_t)markers->marker_count + (size_t)marker);
            gone += !isnan(p[0]);
            p[0] = p[1] = p[2] = NAN;
        }
    }
}

void sinew_sample_marker_options_init(sinew_sample_marker_options *options) {
    *options = (sinew_sample_marker_options){.size = sizeof *options, .seed = SINEW_SAMPLE_SEED};
}

static sinew_status record(const sinew_rig *rig, const sinew_curves *curves,
                           const sinew_marker_map *map, sinew_markers *markers,
                           sinew_error *error) {
    sinew_linear *linear = NULL;
    double *weights = SN_NEW0(double, rig->slider_count);
    double *values = SN_NEW(double, curves->channel_count);
    double *positions = SN_NEW(double, 3 * (size_t)rig->neutral->vertex_count);
    sinew_status status = weights && values && positions ? SINEW_OK : sn_no_memory(error);
    if (status == SINEW_OK) status = sinew_linear_create(rig, &linear, error);
    for (int t = 0; t < markers->time_count && status == SINEW_OK; t++) {
        markers->times[t] = t / 60.0;
        sinew_curves_sample(curves, markers->times[t], values);
        for (int c = 0; c < curves->channel_count; c++)
            weights[sinew_rig_find_slider(rig, curves->names[c])] = values[c];
        sinew_linear_evaluate(linear, weights, positions);
        sinew_marker_map_points(map, rig->neutral, positions,
                                markers->positions + 3 * (size_t)t * (size_t)markers->marker_count);
    }
    for (int m = 0; m < map->count && status == SINEW_OK; m++) {
        sn_free(markers->names[m]);
        markers->names[m] = sn_strdup(map->names[m]);
        if (!markers->names[m]) status = sn_no_memory(error);
    }
    sinew_linear_destroy(linear);
    sn_free(weights);
    sn_free(values);
    sn_free(positions);
    return status;
}

/* Places are chosen on the first face; the others have the same vertices. */
static sinew_status map_on_first_face(const sinew_sample_options *options, sinew_marker_map **map,
                                      sinew_error *error) {
    sinew_rig *first = NULL;
    SN_TRY(sinew_sample_rig("face", options, &first, error));
    sinew_status status = make_map(first->neutral, map, error);
    sinew_rig_destroy(first);
    return status;
}

sinew_status sinew_sample_markers(const char *name, const sinew_sample_options *options,
                                  const sinew_sample_marker_options *wanted,
                                  sinew_markers **markers, sinew_marker_map **map,
                                  sinew_error *error) {
    SN_REQUIRE(name && markers && map, error);
    SN_OPTIONS(sinew_sample_marker_options, o, wanted, error);
    SN_REQUIRE(o.noise >= 0 && o.gaps >= 0 && o.gaps <= 0.9, error);
    *markers = NULL, *map = NULL;
    if (!sn_is_face(name))
        return sn_fail(error, SINEW_BAD_INPUT, "sample '%s' has no marker clip; the faces have",
                       name);
    sinew_rig *rig = NULL;
    sinew_curves *curves = NULL;
    sinew_status status = sinew_sample_rig(name, options, &rig, error);
    if (status == SINEW_OK)
        status = o.lips ? sinew_sample_lip_curves(&curves, error)
                        : sinew_sample_curves(name, &curves, error);
    if (status == SINEW_OK) status = map_on_first_face(options, map, error);
    if (status == SINEW_OK) {
        int times = (int)lround(curves->times[curves->time_count - 1] * 60) + 1;
        status = sinew_markers_create(MARKERS, times, markers, error);
    }
    if (status == SINEW_OK) status = record(rig, curves, *map, *markers, error);
    if (status == SINEW_OK) {
        uint64_t state = o.seed;
        strcpy((*markers)->unit, "m");
        if (o.noise > 0) add_noise(*markers, o.noise, &state);
        if (o.gaps > 0) add_gaps(*markers, o.gaps, &state);
    } else {
        sinew_markers_destroy(*markers);
        sinew_marker_map_destroy(*map);
        *markers = NULL, *map = NULL;
    }
    sinew_curves_destroy(curves);
    sinew_rig_destroy(rig);
    return status;
}
