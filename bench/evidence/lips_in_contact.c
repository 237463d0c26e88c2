/* The tables of lips in docs/force.md: clips that close the mouth too far, as markers: one of the
 * face itself, and the sample face's closing lips carried to ICT by the landmarks of both. The
 * static fit and the skin without contact cross themselves; with contact no pair of triangles may.
 *
 * Counted are pairs of triangles of the whole face, teeth and mouth socket included, that cross in
 * a frame. Triangles that cross others in the neutral take no part in contact, and pairs that touch
 * there (the seams between parts)
 * cannot: these are counted apart. The program fails when contact leaves a pair of the others. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sinew/sinew.h"

enum { FRAMES = 17, MARKERS = 100 };
typedef enum method { SBS, FREE, CONTACT, METHODS } method;
static const char *const names[METHODS] = {"SBS", "BF", "BF, contact"};

typedef struct clip {
    sinew_marker_map *map;
    int frames;
    double *points; /* 3 per marker and frame */
    bool layer;     /* blendforces with the marker layer */
} clip;

static sinew_error error;

static void need(sinew_status status) {
    if (status == SINEW_OK) return;
    fprintf(stderr, "%s\n", error.message);
    exit(1);
}

/* Markers as far from each other as can be, on what the clip's targets move. */
static sinew_marker_map *spread(const sinew_rig *rig) {
    int n = rig->neutral->vertex_count, at = 0;
    const double *x = rig->neutral->positions;
    double *most = calloc((size_t)n, sizeof *most), *off = malloc((size_t)n * sizeof *off);
    double largest = 0;
    for (int k = 0; k < rig->target_count; k++) {
        const sinew_target *t = &rig->targets[k];
        for (int i = 0; i < t->count; i++) {
            const double *d = t->deltas + 3 * i;
            most[t->vertices[i]] = fmax(most[t->vertices[i]], hypot(hypot(d[0], d[1]), d[2]));
        }
    }
    for (int v = 0; v < n; v++) largest = fmax(largest, most[v]);
    for (int v = 0; v < n; v++) off[v] = most[v] > 0.05 * largest ? INFINITY : 0;
    for (int v = 0; v < n; v++)
        if (off[v] > 0 && (off[at] == 0 || x[3 * v + 2] > x[3 * at + 2])) at = v;
    sinew_marker_map *map;
    need(sinew_marker_map_create(MARKERS, &map, &error));
    for (int i = 0; i < MARKERS; i++) {
        map->vertices[i] = at;
        char name[16];
        snprintf(name, sizeof name, "m%d", i);
        need(sinew_marker_map_set_name(map, i, name, &error));
        for (int v = 0; v < n; v++) {
            double d = hypot(hypot(x[3 * v] - x[3 * at], x[3 * v + 1] - x[3 * at + 1]),
                             x[3 * v + 2] - x[3 * at + 2]);
            off[v] = fmin(off[v], d);
        }
        for (int v = 0; v < n; v++)
            if (off[v] > off[at]) at = v;
    }
    free(most), free(off);
    return map;
}

static const char *const closing[] = {"mouthShrugLower", "mouthPressLeft", "mouthPressRight"};
enum { CLOSING = 3 };

static int slider_of(const sinew_rig *rig, int k) {
    int slider = sinew_rig_find_slider(rig, closing[k]);
    if (slider >= 0) return slider;
    fprintf(stderr, "the rig has no slider %s\n", closing[k]);
    exit(1);
}

typedef struct crossings {
    int clean, others; /* pairs; `others`: that touch or whose triangles cross in the neutral */
} crossings;

static bool touch(const sinew_mesh *m, int a, int b) {
    for (int i = 0; i < 9; i++) {
        int p = m->triangles[3 * a + i / 3], q = m->triangles[3 * b + i % 3];
        if (p != q && !memcmp(m->positions + 3 * p, m->positions + 3 * q, 3 * sizeof(double)))
            return true;
    }
    return false;
}

/* marked: per triangle, filled for the neutral and read for frames. */
static crossings count(const sinew_rig *rig, const double *x, bool *marked, bool neutral) {
    const sinew_mesh *m = rig->neutral;
    int *pairs, found;
    crossings c = {0};
    need(sinew_self_intersections(m->vertex_count, x, m->triangle_count, m->triangles, NULL, &pairs,
                                  &found, &error));
    for (int i = 0; i < found; i++) {
        if (neutral) marked[pairs[2 * i]] = marked[pairs[2 * i + 1]] = true;
        if (marked[pairs[2 * i]] || marked[pairs[2 * i + 1]] ||
            touch(m, pairs[2 * i], pairs[2 * i + 1]))
            c.others++;
        else
            c.clean++;
    }
    sinew_free(pairs);
    return c;
}

/* Shrugs and presses the lips, half as far again as their sliders go. */
static clip closing_clip(const sinew_rig *rig) {
    clip made = {.map = spread(rig), .frames = FRAMES};
    double *x = malloc(3 * sizeof *x * (size_t)rig->neutral->vertex_count);
    double *weights = calloc((size_t)rig->slider_count, sizeof *weights);
    made.points = malloc(3 * sizeof(double) * MARKERS * FRAMES);
    sinew_linear *linear;
    need(sinew_linear_create(rig, &linear, &error));
    for (int f = 0; f < FRAMES; f++) {
        double q = 0.5 - 0.5 * cos(2 * acos(-1.0) * f / (FRAMES - 1));
        for (int k = 0; k < CLOSING; k++) weights[slider_of(rig, k)] = 1.5 * q;
        sinew_linear_evaluate(linear, weights, x);
        sinew_marker_map_points(made.map, rig->neutral, x, made.points + 3 * MARKERS * f);
    }
    sinew_linear_destroy(linear);
    free(x), free(weights);
    return made;
}

/* Markers of the sample face and their points in the 68-point scheme. */
static const struct {
    const char *name;
    int point;
} landmarks[] = {{"lipUpper", 51},         {"lipLower", 57},          {"lipCornerLeft", 54},
                 {"lipCornerRight", 48},   {"lipUpperSideLeft", 52},  {"lipUpperSideRight", 50},
                 {"lipLowerSideLeft", 56}, {"lipLowerSideRight", 58}, {"noseTip", 30},
                 {"noseBase", 33},         {"noseBridge", 27},        {"noseWingLeft", 35},
                 {"noseWingRight", 31},    {"eyeInnerLeft", 42},      {"eyeInnerRight", 39},
                 {"eyeOuterLeft", 45},     {"eyeOuterRight", 36},     {"browInnerLeft", 22},
                 {"browInnerRight", 21},   {"browCenterLeft", 24},    {"browCenterRight", 19},
                 {"browOuterLeft", 26},    {"browOuterRight", 17},    {"chinLow", 8}};
enum { LANDMARKS = sizeof landmarks / sizeof *landmarks, SCHEME = 68 };

/* The vertices of the scheme's points, from ICT's list of indices. */
static void read_scheme(const char *path, int vertex[SCHEME]) {
    FILE *file = fopen(path, "r");
    char *text = calloc(1, 1 << 20);
    if (!file || !text || !fread(text, 1, (1 << 20) - 1, file)) {
        fprintf(stderr, "%s: cannot be read\n", path);
        exit(1);
    }
    fclose(file);
    char *at = strstr(text, "\"idx_to_landmark_verts\"");
    at = at ? strchr(at, '[') : NULL;
    for (int i = 0; i < SCHEME; i++) {
        if (!at) {
            fprintf(stderr, "%s: point %d of idx_to_landmark_verts is missing\n", path, i);
            exit(1);
        }
        vertex[i] = (int)strtol(at + 1, &at, 10);
        at = strchr(at, i + 1 < SCHEME ? ',' : ']');
    }
    free(text);
}

/* The closing lips of the sample face; displacements are carried by the warp's Jacobian. */
static clip carried_clip(const sinew_rig *rig, const char *scheme) {
    clip made = {.layer = true};
    sinew_rig *source;
    sinew_markers *take;
    sinew_marker_map *on_source;
    sinew_sample_options size;
    sinew_sample_options_init(&size);
    sinew_sample_marker_options lips;
    sinew_sample_marker_options_init(&lips);
    lips.lips = true;
    need(sinew_sample_rig("face", &size, &source, &error));
    need(sinew_sample_markers("face", &size, &lips, &take, &on_source, &error));
    need(sinew_marker_map_create(LANDMARKS, &made.map, &error));
    int vertex[SCHEME], marker[LANDMARKS];
    double from[3 * LANDMARKS], to[3 * LANDMARKS];
    read_scheme(scheme, vertex);
    for (int i = 0; i < LANDMARKS; i++) {
        for (marker[i] = 0; strcmp(on_source->names[marker[i]], landmarks[i].name) != 0;)
            if (++marker[i] == on_source->count) {
                fprintf(stderr, "the sample face has no marker %s\n", landmarks[i].name);
                exit(1);
            }
        need(sinew_marker_map_set_name(made.map, i, landmarks[i].name, &error));
        made.map->vertices[i] = vertex[landmarks[i].point];
        memcpy(from + 3 * i,
               source->neutral->positions + 3 * (size_t)on_source->vertices[marker[i]],
               3 * sizeof *from);
        memcpy(to + 3 * i, rig->neutral->positions + 3 * (size_t)made.map->vertices[i],
               3 * sizeof *to);
    }
    sinew_warp *warp;
    need(sinew_warp_create(LANDMARKS, from, to, SINEW_WARP_SMOOTHING, &warp, &error));
    made.frames = (take->time_count + 1) / 2; /* of 60 a second */
    made.points = malloc(3 * sizeof(double) * LANDMARKS * (size_t)made.frames);
    for (int i = 0; i < LANDMARKS; i++) {
        double turn[9];
        sinew_warp_jacobian(warp, from + 3 * i, turn);
        for (int f = 0; f < made.frames; f++) {
            const double *seen = take->positions + 3 * (2 * (size_t)f * (size_t)take->marker_count +
                                                        (size_t)marker[i]);
            for (int a = 0; a < 3; a++) {
                double moved = 0;
                for (int b = 0; b < 3; b++) moved += turn[3 * a + b] * (seen[b] - from[3 * i + b]);
                made.points[3 * (f * LANDMARKS + i) + a] = to[3 * i + a] + moved;
            }
        }
    }
    sinew_warp_destroy(warp);
    sinew_marker_map_destroy(on_source);
    sinew_markers_destroy(take);
    sinew_rig_destroy(source);
    return made;
}

static bool show(const char *title, const sinew_rig *rig, clip of) {
    size_t n = (size_t)rig->neutral->vertex_count;
    bool *marked = calloc((size_t)rig->neutral->triangle_count, sizeof *marked), held = true;
    double *x = malloc(3 * n * sizeof *x);
    double *fitted = calloc((size_t)rig->slider_count, sizeof *fitted);
    crossings rest = count(rig, rig->neutral->positions, marked, true);
    sinew_linear *linear;
    sinew_fit *fit;
    sinew_fit_options static_fit;
    sinew_fit_options_init(&static_fit);
    sinew_fit_options_set_method(&static_fit, SINEW_FIT_METHOD_SBS);
    static_fit.bounded_above = false; /* as published */
    need(sinew_linear_create(rig, &linear, &error));
    need(sinew_fit_create(rig, of.map, &static_fit, &fit, &error));
    printf("\n%s: %zu vertices, %d pairs cross in the neutral; %d markers%s\n\n", title, n,
           rest.others, of.map->count, of.layer ? ", BF with the layer" : "");
    printf("| method | frames that cross | most pairs | that touch or cross in the neutral | "
           "most contacts | least way left | ms a frame |\n|---|---|---|---|---|---|---|\n");
    for (int m = SBS; m < METHODS; m++) {
        sinew_force *force = NULL;
        sinew_force_state *state = NULL;
        if (m != SBS) {
            sinew_force_options options;
            sinew_force_options_init(&options);
            options.contact = m == CONTACT;
            options.layer = of.layer;
            need(sinew_force_create(rig, of.map, &options, NULL, &force, &error));
            need(sinew_force_state_create(force, &state, &error));
        }
        int frames = 0, most = 0, others = 0, contacts = 0;
        double seconds = 0, cut = 1;
        for (int f = 0; f < of.frames; f++) {
            sinew_force_frame_info info = {.cut = 1};
            const double *points = of.points + 3 * (size_t)f * (size_t)of.map->count;
            if (m == SBS) {
                need(sinew_fit_frame(fit, points, NULL, fitted, NULL, &error));
                sinew_linear_evaluate(linear, fitted, x);
            } else {
                need(sinew_force_frame(force, state, points, NULL, x, &info, NULL, &error));
            }
            crossings c = count(rig, x, marked, false);
            frames += c.clean > 0;
            most = c.clean > most ? c.clean : most;
            others = c.others > others ? c.others : others;
            contacts = info.contacts > contacts ? info.contacts : contacts;
            seconds += info.seconds, cut = fmin(cut, info.cut);
        }
        if (m == CONTACT) held = most == 0;
        printf("| %s | %d of %d | %d | %d | %d | %.2f | ", names[m], frames, of.frames, most,
               others, contacts, cut);
        if (m == SBS)
            printf("- |\n");
        else
            printf("%.0f |\n", 1e3 * seconds / of.frames);
        sinew_force_state_destroy(state);
        sinew_force_destroy(force);
    }
    sinew_fit_destroy(fit);
    sinew_linear_destroy(linear);
    sinew_marker_map_destroy(of.map);
    free(of.points), free(marked), free(x), free(fitted);
    return held;
}

int main(int argc, char **argv) {
    sinew_rig *rig;
    sinew_sample_options options;
    sinew_sample_options_init(&options);
    need(sinew_sample_rig("face", &options, &rig, &error));
    bool held = show("sample face", rig, closing_clip(rig));
    sinew_rig_destroy(rig);
    if (argc > 1) {
        char neutral[512], targets[512];
        snprintf(neutral, sizeof neutral, "%s/free/ict-facekit/generic_neutral_mesh.obj", argv[1]);
        snprintf(targets, sizeof targets, "%s/free/ict-facekit/targets", argv[1]);
        const char *paths[] = {neutral, targets};
        need(sinew_rig_read(2, paths, &rig, &error));
        char scheme[512];
        snprintf(scheme, sizeof scheme, "%s/free/ict-facekit/vertex_indices.json", argv[1]);
        held = show("ICT", rig, closing_clip(rig)) && held;
        held = show("ICT, lips of the sample face", rig, carried_clip(rig, scheme)) && held;
        sinew_rig_destroy(rig);
    }
    return held ? 0 : 1;
}
