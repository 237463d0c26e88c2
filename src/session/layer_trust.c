/* The layer is limited where a take would make it fold the skin. This needs the shapes without the
 * layer: those of a plain fit at its defaults, whatever model follows the markers, in the samples
 * in which the face is farthest from the neutral and from each other (farthest-point sampling by
 * the distances of the markers). */
#include "session/layer_trust.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/monitor.h"
#include "base/status.h"
#include "base/vec3.h"
#include "session/clip.h"
#include "session/follow.h"
#include "session/report.h"
#include "sinew/fit.h"
#include "sinew/marker_layer.h"

/* Samples of the take that are looked at. */
enum { SAMPLES = 20 };

typedef struct chosen {
    int count, markers;
    double *times;
    double *rows, *weights; /* per sample and marker */
    double *positions;
} chosen;

/* Mean square distance of the markers that both samples show; 0 when there are none. */
static double apart(int markers, const double *a, const double *b) {
    double sum = 0;
    int common = 0;
    for (int i = 0; i < markers; i++) {
        double d = sn_distance(sn_at(a, i), sn_at(b, i));
        if (isfinite(d)) sum += d * d, common++;
    }
    return common ? sum / common : 0;
}

/* c->times: the neutral's is not among them. */
static sinew_status choose(const sn_model_setup *setup, const sinew_capture *capture, chosen *c,
                           sinew_error *error) {
    const sinew_markers *take = setup->clip->markers;
    sinew_capture_info info = {.size = sizeof info};
    sinew_capture_get_info(capture, &info);
    size_t row = 3 * (size_t)c->markers, samples = (size_t)take->time_count;
    double *nearest = SN_NEW(double, samples), *last = SN_NEW(double, row);
    double *other = SN_NEW(double, row);
    sinew_status status = nearest && last && other ? SINEW_OK : sn_no_memory(error);
    for (size_t t = 0; status == SINEW_OK && t < samples; t++) nearest[t] = INFINITY;
    if (status == SINEW_OK) sinew_capture_sample(capture, take->times[info.neutral_sample], last);
    while (status == SINEW_OK && c->count < SAMPLES) {
        size_t farthest = 0;
        for (size_t t = 0; t < samples; t++) {
            sinew_capture_sample(capture, take->times[t], other);
            nearest[t] = fmin(nearest[t], apart(c->markers, last, other));
            if (nearest[t] > nearest[farthest]) farthest = t;
        }
        if (!(nearest[farthest] > 0)) break;
        c->times[c->count++] = take->times[farthest];
        sinew_capture_sample(capture, take->times[farthest], last);
        status = sn_check_interrupt(error);
    }
    sn_free(nearest), sn_free(last), sn_free(other);
    return status;
}

/* The markers of the chosen samples, and the shapes of a plain fit. */
static sinew_status solve(const sn_model_setup *setup, const sinew_capture *capture, chosen *c,
                          sinew_error *error) {
    const sinew_marker_map *map = sinew_capture_map(capture);
    const sinew_rig *rig = setup->rig;
    size_t n = 3 * (size_t)rig->neutral->vertex_count, m = (size_t)c->markers;
    sinew_fit_options options;
    sinew_fit_options_init(&options);
    bool *held = SN_NEW(bool, rig->slider_count + 1);
    double *sliders = SN_NEW(double, rig->slider_count + 1);
    sinew_fit *fit = NULL;
    sinew_linear *linear = NULL;
    sn_model_setup quiet = *setup;
    sinew_monitor silent = {0};
    quiet.report = json_object(), quiet.monitor = &silent;
    options.held = held;
    sinew_status status = held && sliders && quiet.report ? SINEW_OK : sn_no_memory(error);
    if (status == SINEW_OK) status = sn_follow_held(&quiet, map, held, error);
    if (status == SINEW_OK) status = sinew_fit_create(rig, map, &options, &fit, error);
    if (status == SINEW_OK) status = sinew_linear_create(rig, &linear, error);
    for (size_t k = 0; status == SINEW_OK && k < (size_t)c->count; k++) {
        double *row = c->rows + 3 * m * k, *weights = c->weights + m * k;
        sinew_rig_rest_weights(rig, sliders);
        sinew_capture_sample(capture, c->times[k], row);
        sinew_capture_weights(capture, c->times[k], weights);
        status = sinew_fit_frame(fit, row, weights, sliders, NULL, error);
        if (status != SINEW_OK) break;
        memcpy(weights, sinew_fit_trusted(fit), m * sizeof *weights);
        sinew_linear_evaluate(linear, sliders, c->positions + n * k);
        status = sn_check_interrupt(error);
    }
    sinew_linear_destroy(linear), sinew_fit_destroy(fit);
    json_decref(quiet.report);
    sn_free(held), sn_free(sliders);
    return status;
}

static void report(const sn_model_setup *setup, const sinew_marker_map *map, const double *trust) {
    int limited = 0;
    double least = 1;
    for (int i = 0; i < map->count; i++) limited += trust[i] < 1, least = fmin(least, trust[i]);
    sn_figure_put(setup->report, "layer",
                  sn_figure_pack("{s:i, s:f}", "limited", limited, "least_trust", least));
    if (limited > 0)
        sn_log(setup->monitor, SINEW_LOG_LEVEL_INFO,
               "the marker layer meets %d of %d markers less closely, because it would fold the "
               "skin",
               limited, map->count);
}

sinew_status sn_layer_trust(const sn_model_setup *setup, const sinew_capture *capture,
                            double **trust, sinew_error *error) {
    *trust = NULL;
    if (!sn_scene_flag(setup->scene, "layer") || sn_scene_has(setup->scene, "layer_smoothing"))
        return SINEW_OK;
    const sinew_marker_map *map = sinew_capture_map(capture);
    size_t m = (size_t)map->count, n = (size_t)setup->rig->neutral->vertex_count;
    chosen c = {.markers = map->count};
    double *made = SN_NEW(double, m);
    c.times = SN_NEW(double, SAMPLES);
    c.rows = SN_NEW(double, 3 * m * SAMPLES), c.weights = SN_NEW(double, m *SAMPLES);
    bool complete = made && c.times && c.rows && c.weights;
    sinew_status status = complete ? choose(setup, capture, &c, error) : sn_no_memory(error);
    if (status == SINEW_OK) {
        c.positions = SN_NEW(double, 3 * n * (size_t)c.count + 1);
        status = c.positions ? solve(setup, capture, &c, error) : sn_no_memory(error);
    }
    if (status == SINEW_OK)
        status = sinew_marker_layer_limit(
            setup->rig, map, sn_scene_number(setup->scene, "layer_smoothing"),
            sn_scene_choice(setup->scene, "layer_contact") == 1, c.count, c.rows, c.weights,
            c.positions, setup->monitor, made, error);
    if (status == SINEW_OK) report(setup, map, made);
    sn_free(c.times), sn_free(c.rows), sn_free(c.weights), sn_free(c.positions);
    if (status != SINEW_OK)
        sn_free(made);
    else
        *trust = made;
    return status;
}
