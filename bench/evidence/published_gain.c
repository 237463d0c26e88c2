/* What of the published gain of blendforces is real: the paper's comparison on the sample faces,
 * method by method, with the parts of the method switched on one after another.
 *
 * An actor moves the whole rig and adds motion that no target holds. The solves see markers only,
 * through the whole rig or through one without every third target. Prints a Markdown table: error
 * at the markers and mean distance of the front of the face to the truth, in mm and over SBS, and
 * the latter with the marker layer.
 *
 * Targets that the markers do not observe are held by every solve.
 *
 *   SBS, RSBS       weights of 0 or more, without an upper bound; as published
 *   ULS             unconstrained least squares with next to no ridge: the free command without
 *                   physics
 *   published       blendforces as published: free command, no ridge
 *   + ridge         the same with the ridge of 0.02
 *   BF              with the bounds of the command, too: our default */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sinew/sinew.h"

enum { FRAMES = 60, VERTICES = 4000 };
typedef enum method { SBS, RSBS, ULS, PUBLISHED, RIDGE, BOUNDED, METHODS } method;
static const char *const names[METHODS] = {"SBS",       "RSBS",    "ULS",
                                           "published", "+ ridge", "+ bounds (BF)"};
static sinew_error error;

static void need(sinew_status status) {
    if (status == SINEW_OK) return;
    fprintf(stderr, "%s: %s\n", sinew_status_name(status), error.message);
    exit(1);
}

/* The rig without every third target (left_out: 0 to 2), or whole (-1). */
static sinew_rig *rig_without(const sinew_rig *whole, int left_out) {
    sinew_mesh *mesh;
    sinew_rig *rig;
    need(sinew_mesh_copy(whole->neutral, &mesh, &error));
    need(sinew_rig_create(mesh, &rig, &error));
    for (int k = 0; k < whole->target_count; k++) {
        const sinew_target *t = &whole->targets[k];
        if (k % 3 != left_out)
            need(sinew_rig_add_target(rig, t->name, t->count, t->vertices, t->deltas, &error));
    }
    return rig;
}

/* Every second marker, or all. */
static sinew_marker_map *map_of(const sinew_marker_map *all, int stride) {
    sinew_marker_map *map;
    int count = (all->count + stride - 1) / stride;
    need(sinew_marker_map_create(count, &map, &error));
    for (int i = 0; i < count; i++) {
        need(sinew_marker_map_set_name(map, i, all->names[i * stride], &error));
        map->vertices[i] = all->vertices[i * stride],
        map->triangles[i] = all->triangles[i * stride];
        memcpy(map->barycentric + 3 * i, all->barycentric + 3 * i * stride, 3 * sizeof(double));
    }
    return map;
}

static void act(const sinew_rig *whole, const sinew_linear *linear, int frame, double *x) {
    double *weights = calloc((size_t)whole->slider_count, sizeof *weights);
    for (int k = 0; k < whole->slider_count; k++)
        weights[k] = fmax(0, 0.5 * sin(0.1 * frame + 2.3 * k) - 0.15) * (k % 2 ? 1 : 0.6);
    sinew_linear_evaluate(linear, weights, x);
    for (int v = 0; v < whole->neutral->vertex_count; v++) {
        const double *p = whole->neutral->positions + 3 * (size_t)v;
        double size = 0.002 * sin(0.12 * frame);
        x[3 * v] += size * sin(40 * p[1] + 1), x[3 * v + 1] += size * cos(50 * p[0]);
    }
    free(weights);
}

typedef struct figures {
    double markers, dense, layer; /* mm */
} figures;

typedef struct solver {
    sinew_fit *fit;
    sinew_linear *linear;
    sinew_force *force;
    sinew_force_state *state;
    double *weights;
} solver;

static solver make_solver(const sinew_rig *rig, const sinew_marker_map *map, method m) {
    solver s = {.weights = calloc((size_t)rig->slider_count, sizeof(double))};
    need(sinew_linear_create(rig, &s.linear, &error));
    if (m >= PUBLISHED) {
        sinew_force_options options;
        sinew_force_options_init(&options);
        options.bounded = m == BOUNDED;
        if (m == PUBLISHED) options.ridge = 0;
        need(sinew_force_create(rig, map, &options, NULL, &s.force, &error));
        need(sinew_force_state_create(s.force, &s.state, &error));
        return s;
    }
    sinew_fit_options options;
    sinew_fit_options_init(&options);
    sinew_fit_options_set_method(&options, m == SBS    ? SINEW_FIT_METHOD_SBS
                                           : m == RSBS ? SINEW_FIT_METHOD_RSBS
                                                       : SINEW_FIT_METHOD_ULS);
    options.bounded_above = false;
    if (m == ULS) options.bounded_below = false, options.l2 = 1e-6;
    need(sinew_fit_create(rig, map, &options, &s.fit, &error));
    return s;
}

static void drop_solver(solver *s) {
    sinew_fit_destroy(s->fit);
    sinew_linear_destroy(s->linear);
    sinew_force_state_destroy(s->state), sinew_force_destroy(s->force);
    free(s->weights);
}

static double distance(const double *a, const double *b) {
    return 1000 * sqrt(pow(a[0] - b[0], 2) + pow(a[1] - b[1], 2) + pow(a[2] - b[2], 2));
}

/* Mean distance over the front of the face. */
static double dense_error(const sinew_mesh *mesh, const double *x, const double *truth) {
    double sum = 0, count = 0;
    for (int v = 0; v < mesh->vertex_count; v++) {
        const double *p = mesh->positions + 3 * (size_t)v;
        if (p[2] < 0.05 || p[1] > 0.06) continue;
        sum += distance(x + 3 * (size_t)v, truth + 3 * (size_t)v), count++;
    }
    return sum / count;
}

static figures measure(const sinew_rig *whole, const sinew_rig *rig, const sinew_marker_map *map,
                       method m) {
    size_t n = 3 * (size_t)whole->neutral->vertex_count, k = 3 * (size_t)map->count;
    double *truth = malloc(n * sizeof *truth), *x = malloc(n * sizeof *x);
    double *markers = malloc(k * sizeof *markers), *met = malloc(k * sizeof *met);
    sinew_linear *actor;
    sinew_marker_layer *layer;
    need(sinew_linear_create(whole, &actor, &error));
    need(sinew_marker_layer_create(rig, map, SINEW_MARKER_LAYER_SMOOTHING, false, NULL, &layer,
                                   &error));
    solver s = make_solver(rig, map, m);
    figures f = {0};
    for (int frame = 0; frame < FRAMES; frame++) {
        act(whole, actor, frame, truth);
        sinew_marker_map_points(map, whole->neutral, truth, markers);
        if (s.fit) {
            need(sinew_fit_frame(s.fit, markers, NULL, s.weights, NULL, &error));
            sinew_linear_evaluate(s.linear, s.weights, x);
        } else {
            need(sinew_force_frame(s.force, s.state, markers, NULL, x, NULL, NULL, &error));
        }
        sinew_marker_map_points(map, whole->neutral, x, met);
        for (size_t i = 0; i < k; i += 3)
            f.markers += distance(met + i, markers + i) * 3 / (double)k / FRAMES;
        f.dense += dense_error(whole->neutral, x, truth) / FRAMES;
        need(sinew_marker_layer_apply(layer, markers, NULL, x, &error));
        f.layer += dense_error(whole->neutral, x, truth) / FRAMES;
    }
    drop_solver(&s);
    sinew_marker_layer_destroy(layer);
    sinew_linear_destroy(actor);
    free(truth), free(x), free(markers), free(met);
    return f;
}

int main(void) {
    printf("| face | rig | markers | solve | at markers | dense | over SBS | + layer | over SBS |\n"
           "|---|---|---|---|---|---|---|---|---|\n");
    for (int face = 0; face < 2; face++) {
        const char *sample = face ? "face2" : "face";
        sinew_sample_options size;
        sinew_sample_options_init(&size);
        size.vertices = VERTICES;
        sinew_rig *whole;
        sinew_markers *take;
        sinew_marker_map *all;
        need(sinew_sample_rig(sample, &size, &whole, &error));
        need(sinew_sample_markers(sample, &size, NULL, &take, &all, &error));
        for (int left_out = -1; left_out < 1; left_out++)
            for (int stride = 1; stride < 3; stride++) {
                sinew_rig *rig = rig_without(whole, left_out);
                sinew_marker_map *map = map_of(all, stride);
                figures sbs = {0};
                for (int m = 0; m < METHODS; m++) {
                    figures f = measure(whole, rig, map, (method)m);
                    if (m == SBS) sbs = f;
                    printf("| %s | %s | %d | %s | %.2f | %.2f | %.2f | %.2f | %.2f |\n", sample,
                           left_out < 0 ? "complete" : "without a third", map->count, names[m],
                           f.markers, f.dense, f.dense / sbs.dense, f.layer, f.layer / sbs.dense);
                    fflush(stdout);
                }
                sinew_marker_map_destroy(map);
                sinew_rig_destroy(rig);
            }
        sinew_marker_map_destroy(all);
        sinew_markers_destroy(take);
        sinew_rig_destroy(whole);
    }
    return 0;
}
