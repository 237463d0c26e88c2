/* The tables of docs/capture.md: 80 noisy markers against dense truth.
 *
 * The truth is the rotation-aware blend of the sample face's clip, which no linear rig follows, and
 * smooth bumps that no target holds: eight of 2 mm, 25 to 40 mm wide, that come and go with 0.3 to
 * 1 Hz. Eighty markers spread by farthest points over the skin that targets move have Gaussian
 * noise of 0.2 mm per coordinate; one take in three loses 20% of its positions at random. Every
 * take goes through sinew_capture with its defaults, then through a fit or blendforces and the
 * layer with theirs.
 *
 * Usage: noisy_markers [SAMPLE ...] (default face face2). */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sinew/sinew.h"

enum { MARKERS = 80, FRAMES = 240, BUMPS = 8, RATE = 60 };
#define NOISE    2e-4 /* m */
#define BUMP     2e-3
#define DROPOUTS 0.2

static sinew_error error;

static void need(sinew_status status) {
    if (status == SINEW_OK) return;
    fprintf(stderr, "%s: %s\n", sinew_status_name(status), error.message);
    exit(1);
}

static unsigned long long seed = 3;
static double uniform(void) {
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    return (double)(seed >> 11) / 9007199254740992.0;
}
static double gaussian(void) {
    return sqrt(-2 * log(1 - uniform())) * cos(2 * acos(-1.0) * uniform());
}

typedef struct face {
    sinew_rig *rig;
    sinew_marker_map *map;
    bool *counts; /* per vertex: outer skin that targets move */
    int counted;
    float *truth; /* FRAMES x 3 per vertex */
} face;

/* ---- the face and its truth ------------------------------------------------------------------ */

static void choose_skin(face *f) {
    int n = f->rig->neutral->vertex_count;
    sinew_anatomy *anatomy;
    need(sinew_anatomy_create(f->rig, NULL, &anatomy, &error));
    const bool *skin = sinew_anatomy_skin(anatomy);
    f->counts = calloc((size_t)n, sizeof *f->counts);
    for (int k = 0; k < f->rig->target_count; k++) {
        const sinew_target *t = &f->rig->targets[k];
        for (int i = 0; i < t->count; i++) {
            const double *d = t->deltas + 3 * i;
            if (skin[t->vertices[i]] && hypot(hypot(d[0], d[1]), d[2]) > 5e-4)
                f->counts[t->vertices[i]] = true;
        }
    }
    for (int v = 0; v < n; v++) f->counted += f->counts[v];
    sinew_anatomy_destroy(anatomy);
}

/* Each next marker is the vertex farthest from those before. */
static void spread_markers(face *f) {
    int n = f->rig->neutral->vertex_count, last = -1;
    const double *x = f->rig->neutral->positions;
    double *far = malloc((size_t)n * sizeof *far);
    for (int v = 0; v < n; v++) {
        far[v] = f->counts[v] ? INFINITY : -1;
        if (f->counts[v] && (last < 0 || x[3 * v + 2] > x[3 * last + 2])) last = v;
    }
    need(sinew_marker_map_create(MARKERS, &f->map, &error));
    for (int i = 0; i < MARKERS; i++) {
        char name[16];
        snprintf(name, sizeof name, "M%02d", i);
        need(sinew_marker_map_set_name(f->map, i, name, &error));
        f->map->vertices[i] = last;
        int next = last;
        for (int v = 0; v < n; v++) {
            if (far[v] < 0) continue;
            double d = hypot(hypot(x[3 * v] - x[3 * last], x[3 * v + 1] - x[3 * last + 1]),
                             x[3 * v + 2] - x[3 * last + 2]);
            far[v] = fmin(far[v], d);
            if (far[v] > far[next]) next = v;
        }
        last = next;
    }
    free(far);
}

static void add_bumps(face *f) {
    int n = f->rig->neutral->vertex_count;
    const double *x = f->rig->neutral->positions;
    for (int b = 0; b < BUMPS; b++) {
        int middle = f->map->vertices[(7 * b + 3) % MARKERS];
        double wide = 0.025 + 0.015 * uniform(), rate = 0.3 + 0.7 * uniform(), turn[3], phase;
        double length = 0;
        for (int a = 0; a < 3; a++) turn[a] = gaussian(), length += turn[a] * turn[a];
        phase = 2 * acos(-1.0) * uniform();
        for (int v = 0; v < n; v++) {
            double d = hypot(hypot(x[3 * v] - x[3 * middle], x[3 * v + 1] - x[3 * middle + 1]),
                             x[3 * v + 2] - x[3 * middle + 2]);
            double size = BUMP * exp(-0.5 * d * d / (wide * wide / 4)) / sqrt(length);
            if (!f->counts[v] || size < 1e-7) continue;
            for (int t = 0; t < FRAMES; t++) {
                /* it starts from rest */
                double time = (double)t / RATE;
                double swing = sin(2 * acos(-1.0) * rate * time + phase) * fmin(1, time / 0.5);
                for (int a = 0; a < 3; a++)
                    f->truth[3 * ((size_t)t * (size_t)n + (size_t)v) + (size_t)a] +=
                        (float)(size * swing * turn[a]);
            }
        }
    }
}

static face make_face(const char *sample) {
    face f = {0};
    sinew_curves *clip;
    need(sinew_sample_rig(sample, NULL, &f.rig, &error));
    need(sinew_sample_curves(sample, &clip, &error));
    choose_skin(&f);
    spread_markers(&f);
    int n = f.rig->neutral->vertex_count;
    f.truth = malloc(3 * sizeof(float) * FRAMES * (size_t)n);
    double *x = malloc(3 * sizeof(double) * (size_t)n);
    double *weights = malloc(sizeof(double) * (size_t)f.rig->slider_count);
    double *values = malloc(sizeof(double) * (size_t)clip->channel_count);
    sinew_rotation *rotation;
    sinew_rotation_state *state;
    need(sinew_rotation_create(f.rig, NULL, NULL, &rotation, &error));
    need(sinew_rotation_state_create(rotation, &state, &error));
    for (int t = 0; t < FRAMES; t++) {
        sinew_curves_sample(clip, clip->times[0] + (double)t / RATE, values);
        sinew_rig_rest_weights(f.rig, weights);
        for (int c = 0; c < clip->channel_count; c++) {
            int sliders[2], count = sinew_rig_match(f.rig, clip->names[c], sliders);
            for (int i = 0; i < count; i++) weights[sliders[i]] = values[c];
        }
        for (int s = 0; s < f.rig->slider_count; s++)
            weights[s] = f.rig->sliders[s].rest +
                         (weights[s] - f.rig->sliders[s].rest) * fmin(1, t / (0.25 * RATE));
        sinew_rotation_evaluate(rotation, state, weights, x);
        for (int i = 0; i < 3 * n; i++)
            f.truth[3 * (size_t)t * (size_t)n + (size_t)i] = (float)x[i];
    }
    add_bumps(&f);
    sinew_rotation_state_destroy(state), sinew_rotation_destroy(rotation);
    sinew_curves_destroy(clip);
    free(x), free(weights), free(values);
    return f;
}

/* ---- takes ----------------------------------------------------------------------------------- */

static sinew_markers *record(const face *f, double noise, double dropouts) {
    sinew_markers *take;
    size_t n = (size_t)f->rig->neutral->vertex_count;
    need(sinew_markers_create(MARKERS, FRAMES, &take, &error));
    for (int i = 0; i < MARKERS; i++)
        need(sinew_markers_set_name(take, i, f->map->names[i], &error));
    for (int t = 0; t < FRAMES; t++) {
        take->times[t] = (double)t / RATE;
        for (int i = 0; i < MARKERS; i++) {
            const float *p = f->truth + 3 * ((size_t)t * n + (size_t)f->map->vertices[i]);
            double *q = take->positions + 3 * (t * MARKERS + i);
            bool lost = uniform() < dropouts;
            for (int a = 0; a < 3; a++) {
                double off = noise * gaussian();
                q[a] = lost ? NAN : (double)p[a] + off;
            }
        }
    }
    return take;
}

/* ---- solves ---------------------------------------------------------------------------------- */

typedef struct score {
    double error, error_jitter, jitter; /* mm: mean distance, RMS second differences */
    double cutoff, noise;
} score;

static score compare(const face *f, const float *x) {
    size_t n = (size_t)f->rig->neutral->vertex_count, row = 3 * n;
    double sum = 0, off = 0, own = 0;
    for (size_t t = 0; t < FRAMES; t++)
        for (size_t v = 0; v < n; v++) {
            if (!f->counts[v]) continue;
            double d[3];
            for (size_t a = 0; a < 3; a++) {
                size_t i = t * row + 3 * v + a;
                d[a] = (double)(x[i] - f->truth[i]);
                if (t < 2) continue;
                double second = (double)x[i] - 2 * (double)x[i - row] + (double)x[i - 2 * row];
                double truth = (double)f->truth[i] - 2 * (double)f->truth[i - row] +
                               (double)f->truth[i - 2 * row];
                own += second * second, off += (second - truth) * (second - truth);
            }
            sum += sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
        }
    double frames = (double)FRAMES * f->counted, seconds = (FRAMES - 2.0) * f->counted;
    return (score){.error = 1e3 * sum / frames,
                   .error_jitter = 1e3 * sqrt(off / seconds),
                   .jitter = 1e3 * sqrt(own / seconds)};
}

/* As sinew fit chooses them, from every twelfth frame. */
static void limit_layer(const sinew_rig *rig, const sinew_capture *capture,
                        const sinew_markers *take, double *factors) {
    enum { STEP = 12, CHOSEN = (FRAMES + STEP - 1) / STEP };
    const sinew_marker_map *map = sinew_capture_map(capture);
    size_t n = 3 * (size_t)rig->neutral->vertex_count, m = (size_t)map->count;
    double *markers = malloc(3 * sizeof(double) * m * CHOSEN);
    double *trust = malloc(sizeof(double) * m * CHOSEN);
    double *x = malloc(sizeof(double) * n * CHOSEN);
    double *weights = malloc(sizeof(double) * (size_t)rig->slider_count);
    sinew_fit *fit;
    sinew_linear *linear;
    need(sinew_fit_create(rig, map, NULL, &fit, &error));
    need(sinew_linear_create(rig, &linear, &error));
    for (size_t k = 0; k < CHOSEN; k++) {
        double time = take->times[k * STEP];
        sinew_rig_rest_weights(rig, weights);
        sinew_capture_sample(capture, time, markers + 3 * m * k);
        sinew_capture_weights(capture, time, trust + m * k);
        need(sinew_fit_frame(fit, markers + 3 * m * k, trust + m * k, weights, NULL, &error));
        memcpy(trust + m * k, sinew_fit_trusted(fit), m * sizeof *trust);
        sinew_linear_evaluate(linear, weights, x + n * k);
    }
    need(sinew_marker_layer_limit(rig, map, SINEW_MARKER_LAYER_SMOOTHING, true, CHOSEN, markers,
                                  trust, x, NULL, factors, &error));
    sinew_fit_destroy(fit), sinew_linear_destroy(linear);
    free(markers), free(trust), free(x), free(weights);
}

static score solve(const face *f, const sinew_markers *take, bool with_force, bool with_layer) {
    const sinew_rig *rig = f->rig;
    size_t n = (size_t)rig->neutral->vertex_count;
    sinew_capture_options options;
    sinew_capture_options_init(&options);
    options.map = f->map;
    sinew_capture *capture;
    need(sinew_capture_create(rig, take, &options, NULL, &capture, &error));
    sinew_capture_info info = {.size = sizeof info};
    sinew_capture_get_info(capture, &info);
    const sinew_marker_map *map = sinew_capture_map(capture);
    double *markers = malloc(3 * sizeof(double) * MARKERS),
           *trust = malloc(sizeof(double) * MARKERS);
    double *weights = malloc(sizeof(double) * (size_t)rig->slider_count);
    double *x = malloc(3 * sizeof(double) * n);
    float *frames = malloc(3 * sizeof(float) * n * FRAMES);
    sinew_fit *fit = NULL;
    sinew_linear *linear;
    sinew_marker_layer *layer;
    double factors[MARKERS];
    sinew_force *force = NULL;
    sinew_force_state *state = NULL;
    need(sinew_linear_create(rig, &linear, &error));
    need(sinew_marker_layer_create(rig, map, SINEW_MARKER_LAYER_SMOOTHING, true, NULL, &layer,
                                   &error));
    if (with_layer) {
        limit_layer(rig, capture, take, factors);
        need(sinew_marker_layer_set_trust(layer, factors, &error));
    }
    if (with_force) {
        sinew_force_options how;
        sinew_force_options_init(&how);
        how.frame_time = 1.0 / RATE, how.layer = with_layer;
        how.layer_trust = with_layer ? factors : NULL;
        need(sinew_force_create(rig, map, &how, NULL, &force, &error));
        need(sinew_force_state_create(force, &state, &error));
    } else {
        need(sinew_fit_create(rig, map, NULL, &fit, &error));
    }
    sinew_rig_rest_weights(rig, weights);
    for (int t = 0; t < FRAMES; t++) {
        sinew_capture_sample(capture, take->times[t], markers);
        sinew_capture_weights(capture, take->times[t], trust);
        if (force) {
            need(sinew_force_frame(force, state, markers, trust, x, NULL, NULL, &error));
        } else {
            need(sinew_fit_frame(fit, markers, trust, weights, NULL, &error));
            sinew_linear_evaluate(linear, weights, x);
            if (with_layer)
                need(sinew_marker_layer_follow(layer, t ? 1.0 / RATE : INFINITY, markers,
                                               sinew_fit_trusted(fit), x, &error));
        }
        sinew_rigid head;
        sinew_capture_head(capture, take->times[t], &head);
        sinew_rigid_apply(&head, (int)n, x);
        for (size_t i = 0; i < 3 * n; i++) frames[3 * n * (size_t)t + i] = (float)x[i];
    }
    score found = compare(f, frames);
    found.cutoff = info.cutoff, found.noise = 1e3 * info.noise;
    sinew_fit_destroy(fit), sinew_linear_destroy(linear), sinew_marker_layer_destroy(layer);
    sinew_force_state_destroy(state), sinew_force_destroy(force), sinew_capture_destroy(capture);
    free(markers), free(trust), free(weights), free(x), free(frames);
    return found;
}

int main(int count, char **words) {
    const char *both[] = {"face", "face2"};
    const char *const *samples = count > 1 ? (const char *const *)words + 1 : both;
    int sample_count = count > 1 ? count - 1 : 2;
    static const char *const takes[] = {"clean", "0.2 mm noise", "0.2 mm noise, 20% dropouts",
                                        "20% dropouts"};
    static const char *const solves[] = {"RSBS", "RSBS + layer", "BF + layer"};
    for (int s = 0; s < sample_count; s++) {
        face f = make_face(samples[s]);
        printf("\n%s: %d vertices of skin, %d markers, %d frames at %d Hz\n\n", samples[s],
               f.counted, MARKERS, FRAMES, RATE);
        printf(
            "| take | solve | mean error, mm | jitter of the error, mm | jitter, mm | over clean "
            "| noise found, mm | cut-off, Hz |\n|---|---|---|---|---|---|---|---|\n");
        double clean[3] = {0};
        for (int t = 0; t < 4; t++) {
            seed = 11;
            sinew_markers *take = record(&f, t == 1 || t == 2 ? NOISE : 0, t >= 2 ? DROPOUTS : 0);
            for (int m = 0; m < 3; m++) {
                score found = solve(&f, take, m == 2, m > 0);
                if (t == 0) clean[m] = found.jitter;
                printf("| %s | %s | %.3f | %.3f | %.3f | %.2f | %.3f | %.1f |\n", takes[t],
                       solves[m], found.error, found.error_jitter, found.jitter,
                       found.jitter / clean[m], found.noise, found.cutoff);
                fflush(stdout);
            }
            sinew_markers_destroy(take);
        }
        sinew_marker_map_destroy(f.map);
        sinew_rig_destroy(f.rig);
        free(f.counts), free(f.truth);
    }
    return 0;
}
