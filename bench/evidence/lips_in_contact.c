/* The table of lips in docs/force.md: a clip that closes the mouth too far, as markers. The static
 * fit and the skin without contact cross themselves; with contact no pair of triangles may.
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

static void weigh(const sinew_rig *rig, int frame, double *weights) {
    double q = 0.5 - 0.5 * cos(2 * acos(-1.0) * frame / (FRAMES - 1));
    memset(weights, 0, (size_t)rig->slider_count * sizeof *weights);
    for (int k = 0; k < CLOSING; k++) weights[slider_of(rig, k)] = 1.5 * q;
}

static bool show(const char *title, const sinew_rig *rig) {
    size_t n = (size_t)rig->neutral->vertex_count;
    bool *marked = calloc((size_t)rig->neutral->triangle_count, sizeof *marked), held = true;
    double *x = malloc(3 * n * sizeof *x), *points = malloc(3 * MARKERS * sizeof *points);
    double *weights = calloc((size_t)rig->slider_count, sizeof *weights);
    double *fitted = calloc((size_t)rig->slider_count, sizeof *fitted);
    crossings rest = count(rig, rig->neutral->positions, marked, true);
    sinew_marker_map *map = spread(rig);
    sinew_linear *linear;
    sinew_fit *fit;
    sinew_fit_options static_fit = sinew_fit_options_default(SINEW_FIT_SBS);
    need(sinew_linear_create(rig, &linear, &error));
    need(sinew_fit_create(rig, map, &static_fit, &fit, &error));
    printf("\n%s: %zu vertices, %d pairs cross in the neutral\n\n", title, n, rest.others);
    printf("| method | frames that cross | most pairs | that touch or cross in the neutral | "
           "most contacts | least way left | ms a frame |\n|---|---|---|---|---|---|---|\n");
    for (int m = SBS; m < METHODS; m++) {
        sinew_force *force = NULL;
        sinew_force_state *state = NULL;
        if (m != SBS) {
            sinew_force_options options;
            sinew_force_options_default(&options);
            options.contact = m == CONTACT;
            need(sinew_force_create(rig, map, &options, NULL, &force, &error));
            need(sinew_force_state_create(force, &state, &error));
        }
        int frames = 0, most = 0, others = 0, contacts = 0;
        double seconds = 0, cut = 1;
        for (int f = 0; f < FRAMES; f++) {
            sinew_force_info info = {.cut = 1};
            weigh(rig, f, weights);
            sinew_linear_evaluate(linear, weights, x);
            sinew_marker_map_points(map, rig->neutral, x, points);
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
        printf("| %s | %d of %d | %d | %d | %d | %.2f | ", names[m], frames, FRAMES, most, others,
               contacts, cut);
        if (m == SBS)
            printf("- |\n");
        else
            printf("%.0f |\n", 1e3 * seconds / FRAMES);
        sinew_force_state_destroy(state);
        sinew_force_destroy(force);
    }
    sinew_fit_destroy(fit);
    sinew_linear_destroy(linear);
    sinew_marker_map_destroy(map);
    free(marked), free(x), free(points), free(weights), free(fitted);
    return held;
}

int main(int argc, char **argv) {
    sinew_rig *rig;
    sinew_sample_options options = sinew_sample_default_options();
    need(sinew_sample_rig("face", &options, &rig, &error));
    bool held = show("sample face", rig);
    sinew_rig_destroy(rig);
    if (argc > 1) {
        char neutral[512], targets[512];
        snprintf(neutral, sizeof neutral, "%s/free/ict-facekit/generic_neutral_mesh.obj", argv[1]);
        snprintf(targets, sizeof targets, "%s/free/ict-facekit/targets", argv[1]);
        const char *paths[] = {neutral, targets};
        need(sinew_rig_read(2, paths, &rig, &error));
        held = show("ICT", rig) && held;
        sinew_rig_destroy(rig);
    }
    return held ? 0 : 1;
}
