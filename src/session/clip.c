#include "session/clip.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/monitor.h"
#include "base/sort.h"
#include "base/status.h"
#include "base/unit.h"
#include "rig/names.h"
#include "session/head.h"
#include "session/load.h"
#include "sinew/job.h"

/* Samples a second up to which a take has a frame per sample. */
#define SN_MOST_TAKE_RATE 1000.0
/* Frames closer than this fraction of a frame to the end are the end: 2.0000001 s at 30 fps has 61.
 */
static const double FRAME_SLACK = 1e-6;

static sinew_status unknown_slider(const sinew_scene *scene, const sinew_rig *rig,
                                   const char *location, const char *name, sinew_error *error) {
    char hint[SN_NAME_HINT_SIZE];
    SN_TRY(sn_slider_hint(rig, name, hint, error));
    return sn_scene_fail(scene, error, location, "the rig has no slider '%s'; %s", name, hint);
}

sinew_status sn_scene_weights(const sinew_scene *scene, const sinew_rig *rig, const json_t *map,
                              const char *location, double *weights, sinew_error *error) {
    sinew_rig_rest_weights(rig, weights);
    bool *named = SN_NEW0(bool, rig->slider_count);
    sinew_status status = named ? SINEW_OK : sn_no_memory(error);
    for (void *at = json_object_iter((json_t *)map); at && status == SINEW_OK;
         at = json_object_iter_next((json_t *)map, at)) {
        const char *name = json_object_iter_key(at);
        int sliders[2], count = sinew_rig_match(rig, name, sliders);
        if (count == 0) status = unknown_slider(scene, rig, location, name, error);
        for (int i = 0; i < count && status == SINEW_OK; i++) {
            if (named[sliders[i]])
                status = sn_scene_fail(scene, error, location, "slider %s is given twice",
                                       rig->sliders[sliders[i]].name);
            named[sliders[i]] = true;
            weights[sliders[i]] = json_number_value(json_object_iter_value(at));
        }
    }
    sn_free(named);
    return status;
}

/* ---- the grid of frames ---------------------------------------------------------------------- */

static sinew_status allocate(sn_clip *clip, int frame_count, int slider_count, sinew_error *error) {
    clip->frame_count = frame_count;
    clip->times = SN_NEW(double, frame_count);
    clip->weights = SN_NEW0(double, (size_t)frame_count *(size_t)slider_count);
    return clip->times && clip->weights ? SINEW_OK : sn_no_memory(error);
}

static sinew_status make_grid(const sinew_scene *scene, double from, double to, int slider_count,
                              sn_clip *clip, sinew_error *error) {
    const json_t *time = sn_scene_at(scene, "time");
    const json_t *given_from = json_object_get(time, "from"),
                 *given_to = json_object_get(time, "to");
    if (given_from) from = json_number_value(given_from);
    if (given_to) to = json_number_value(given_to);
    if (!(to >= from))
        return sn_scene_fail(scene, error, "/time", "ends at %g s, before it starts at %g s", to,
                             from);
    double intervals = ceil((to - from) * clip->rate - FRAME_SLACK);
    if (!(intervals < SINEW_JOB_MAX_FRAMES))
        return sn_scene_fail(scene, error, "/time",
                             "%g s at %g frames per second are too many frames", to - from,
                             clip->rate);
    SN_TRY(allocate(clip, (int)intervals + 1, slider_count, error));
    for (int k = 0; k < clip->frame_count; k++) clip->times[k] = fmin(from + k / clip->rate, to);
    return SINEW_OK;
}

/* ---- curves ---------------------------------------------------------------------------------- */

static sinew_status inline_curves(const sinew_scene *scene, const json_t *given,
                                  sinew_curves **curves, sinew_error *error) {
    const json_t *times = json_object_get(given, "times");
    json_t *values = json_object_get(given, "values");
    if (!times || !values || json_array_size(times) == 0)
        return sn_scene_fail(scene, error, "/curves", "needs a file, or times and values");
    int time_count = (int)json_array_size(times), channel = 0;
    SN_TRY(sinew_curves_create((int)json_object_size(values), time_count, curves, error));
    sinew_curves *c = *curves;
    for (int k = 0; k < time_count; k++) {
        c->times[k] = json_number_value(json_array_get(times, (size_t)k));
        if (k > 0 && !(c->times[k] > c->times[k - 1]))
            return sn_scene_fail(scene, error, "/curves/times", "element %d does not increase", k);
    }
    const char *name;
    json_t *list;
    json_object_foreach(values, name, list) {
        char *copy = sn_strdup(name);
        if (!copy) return sn_no_memory(error);
        sn_free(c->names[channel]);
        c->names[channel] = copy;
        if (json_array_size(list) != (size_t)time_count)
            return sn_scene_fail(scene, error, "/curves/values", "'%s' has %zu values for %d times",
                                 name, json_array_size(list), time_count);
        for (int k = 0; k < time_count; k++)
            c->values[(size_t)k * (size_t)c->channel_count + (size_t)channel] =
                json_number_value(json_array_get(list, (size_t)k));
        channel++;
    }
    return SINEW_OK;
}

/* Curves without a slider that get a warning each; the others are counted. */
enum { NAMED_CURVES = 100 };

static void warn_about_curves(const sinew_curves *curves, const bool *used,
                              const sinew_monitor *monitor) {
    int idle = 0;
    for (int c = 0; c < curves->channel_count; c++)
        if (!used[c] && idle++ < NAMED_CURVES)
            sn_log(monitor, SINEW_LOG_LEVEL_WARNING, "curve '%s' drives no slider of the rig",
                   curves->names[c]);
    if (idle > NAMED_CURVES)
        sn_log(monitor, SINEW_LOG_LEVEL_WARNING, "%d other curves drive no slider of the rig",
               idle - NAMED_CURVES);
}

/* A curve without a slider is named in a warning; curves that all lack one are an error. */
static sinew_status match_channels(const sinew_scene *scene, const sinew_rig *rig,
                                   const sinew_curves *curves, const sinew_monitor *monitor,
                                   int *channel_of, sinew_error *error) {
    bool *used = SN_NEW(bool, curves->channel_count), matched = curves->channel_count == 0;
    if (!used) return sn_no_memory(error);
    sinew_error what = {SINEW_OK, ""};
    sinew_status status = sn_match_channels(rig, curves, channel_of, used, &what);
    if (status != SINEW_OK) sn_scene_fail(scene, error, "/curves", "%s", what.message);
    for (int c = 0; status == SINEW_OK && c < curves->channel_count; c++) {
        used[c] = used[c] || sn_head_channel(curves->names[c]);
        matched = matched || used[c];
    }
    char hint[SN_NAME_HINT_SIZE];
    if (status == SINEW_OK && !matched) {
        status = sn_slider_hint(rig, curves->names[0], hint, error);
        if (status == SINEW_OK)
            status = sn_scene_fail(scene, error, "/curves",
                                   "the rig has no slider for any of the curves, such as '%s'; %s",
                                   curves->names[0], hint);
    }
    if (status == SINEW_OK) warn_about_curves(curves, used, monitor);
    sn_free(used);
    return status;
}

static sinew_status sample_curves(const sinew_scene *scene, const sinew_rig *rig,
                                  const sinew_curves *curves, const sinew_monitor *monitor,
                                  sn_clip *clip, sinew_error *error) {
    if (curves->time_count < 1) return sn_scene_fail(scene, error, "/curves", "hold no times");
    SN_TRY(make_grid(scene, curves->times[0], curves->times[curves->time_count - 1],
                     rig->slider_count, clip, error));
    int *channel_of = SN_NEW(int, rig->slider_count);
    double *values = SN_NEW(double, curves->channel_count);
    sinew_status status = channel_of && values ? SINEW_OK : sn_no_memory(error);
    if (status == SINEW_OK) status = match_channels(scene, rig, curves, monitor, channel_of, error);
    const json_t *head = json_object_get(sn_scene_at(scene, "curves"), "head");
    if (status == SINEW_OK && !json_is_false(head))
        status = sn_head_of_curves(rig, curves, clip, error);
    for (int k = 0; status == SINEW_OK && k < clip->frame_count; k++) {
        double *weights = clip->weights + (size_t)k * (size_t)rig->slider_count;
        sinew_rig_rest_weights(rig, weights);
        sinew_curves_sample(curves, clip->times[k], values);
        for (int s = 0; s < rig->slider_count; s++)
            if (channel_of[s] >= 0) weights[s] = values[channel_of[s]];
    }
    sn_free(channel_of);
    sn_free(values);
    return status;
}

static sinew_status clip_of_curves(const sinew_scene *scene, const sinew_rig *rig,
                                   const sinew_loader *loader, const json_t *given,
                                   const sinew_monitor *monitor, sn_clip *clip,
                                   sinew_error *error) {
    sinew_curves *curves = NULL;
    const char *file = json_string_value(json_object_get(given, "file"));
    sinew_status status;
    status = file ? sn_load_curves(scene, loader, file, &curves, error)
                  : inline_curves(scene, given, &curves, error);
    if (status == SINEW_OK) status = sample_curves(scene, rig, curves, monitor, clip, error);
    sinew_curves_destroy(curves);
    return status;
}

/* ---- one shape, steps, keys, markers --------------------------------------------------------- */

/* alpha = k / N from the rest to `weights`, or to the first target: "from the first pose to the
 * second". */
static sinew_status clip_of_steps(const sinew_scene *scene, const sinew_rig *rig, int steps,
                                  sn_clip *clip, sinew_error *error) {
    if (rig->slider_count < 1)
        return sn_scene_fail(scene, error, "/steps", "the rig has no second pose to go to");
    int n = rig->slider_count;
    SN_TRY(allocate(clip, steps + 1, n, error));
    const json_t *map = sn_scene_at(scene, "weights");
    double *goal = clip->weights + (size_t)steps * (size_t)n;
    if (map) {
        SN_TRY(sn_scene_weights(scene, rig, map, "/weights", goal, error));
    } else {
        sinew_rig_rest_weights(rig, goal);
        goal[0] = 1;
    }
    for (int k = 0; k <= steps; k++) {
        double alpha = (double)k / steps;
        double *row = clip->weights + (size_t)k * (size_t)n;
        clip->times[k] = k / clip->rate;
        for (int i = 0; k < steps && i < n; i++)
            row[i] = (1 - alpha) * rig->sliders[i].rest + alpha * goal[i];
    }
    return SINEW_OK;
}

static sinew_status clip_of_weights(const sinew_scene *scene, const sinew_rig *rig,
                                    const json_t *map, sn_clip *clip, sinew_error *error) {
    if (sn_scene_at(scene, "time"))
        SN_TRY(make_grid(scene, 0, 0, rig->slider_count, clip, error));
    else {
        SN_TRY(allocate(clip, 1, rig->slider_count, error));
        clip->times[0] = 0;
    }
    for (int k = 0; k < clip->frame_count; k++)
        SN_TRY(sn_scene_weights(scene, rig, map, "/weights",
                                clip->weights + (size_t)k * (size_t)rig->slider_count, error));
    return SINEW_OK;
}

static sinew_status clip_of_keys(const sinew_scene *scene, const json_t *keys, sn_clip *clip,
                                 sinew_error *error) {
    size_t count = json_array_size(keys);
    if (count < 1) return sn_scene_fail(scene, error, "/keys", "holds no key");
    double from = 0, to = 0;
    for (size_t i = 0; i < count; i++) {
        double time = json_number_value(json_object_get(json_array_get(keys, i), "time"));
        if (i == 0) from = time;
        if (i > 0 && !(time > to))
            return sn_scene_fail(scene, error, "/keys", "the time of key %zu does not increase", i);
        to = time;
    }
    SN_TRY(make_grid(scene, from, to, 0, clip, error));
    sn_free(clip->weights);
    clip->weights = NULL;
    return SINEW_OK;
}

/* The rig is in meters unless the scene specifies a unit; a take without one has the rig's. */
static sinew_status bring_to_unit_of_rig(const sinew_scene *scene, const json_t *given,
                                         sinew_markers *take, const sinew_monitor *monitor,
                                         sinew_error *error) {
    const char *rig = json_string_value(json_object_get(sn_scene_at(scene, "rig"), "unit"));
    const char *given_unit = json_string_value(json_object_get(given, "unit"));
    if (given_unit) {
        if (*take->unit && strcmp(take->unit, given_unit) != 0)
            sn_log(monitor, SINEW_LOG_LEVEL_WARNING,
                   "the marker file specifies %s, but %s is used as requested", take->unit,
                   given_unit);
        snprintf(take->unit, sizeof take->unit, "%s", given_unit);
    }
    if (!*take->unit) return SINEW_OK;
    if (sn_unit_metres(take->unit) == 0) {
        sn_log(monitor, SINEW_LOG_LEVEL_WARNING,
               "the markers' unit '%s' is not a unit of length; the unit of the rig is assumed",
               take->unit);
        return SINEW_OK;
    }
    return sinew_markers_convert(take, rig ? rig : SN_RIG_UNIT, 0, error);
}

/* Samples per second, a whole number where it is as good as one; 0: the take has a single sample.
 * The middle one of the steps, as a take may have holes. */
static sinew_status rate_of_take(const sinew_markers *take, double *rate, sinew_error *error) {
    int count = take->time_count - 1;
    *rate = 0;
    if (count < 1) return SINEW_OK;
    double *steps = SN_NEW(double, count);
    if (!steps) return sn_no_memory(error);
    for (int k = 0; k < count; k++) steps[k] = take->times[k + 1] - take->times[k];
    sn_sort_doubles((size_t)count, steps);
    /* the mean of the steps that are not gaps: times may have been rounded to milliseconds */
    double sum = 0, most = 1.5 * steps[count / 2];
    int used = 0;
    for (; used < count && steps[used] < most; used++) sum += steps[used];
    double found = used / sum;
    sn_free(steps);
    *rate = fabs(found - round(found)) < 2e-3 * found ? round(found) : found;
    return SINEW_OK;
}

static sinew_status clip_of_markers(const sinew_scene *scene, const sinew_loader *loader,
                                    const json_t *given, const sinew_monitor *monitor,
                                    sn_clip *clip, sinew_error *error) {
    SN_TRY(sn_load_markers(scene, loader, json_string_value(json_object_get(given, "file")),
                           &clip->markers, error));
    const sinew_markers *markers = clip->markers;
    if (markers->time_count < 1) return sn_scene_fail(scene, error, "/markers", "hold no times");
    SN_TRY(bring_to_unit_of_rig(scene, given, clip->markers, monitor, error));
    double rate;
    SN_TRY(rate_of_take(markers, &rate, error));
    bool given_unit = json_object_get(sn_scene_at(scene, "time"), "fps") != NULL;
    if (!given_unit && rate >= 1 && rate <= SN_MOST_TAKE_RATE) clip->rate = rate;
    SN_TRY(make_grid(scene, markers->times[0], markers->times[markers->time_count - 1], 0, clip,
                     error));
    sn_free(clip->weights);
    clip->weights = NULL;
    return SINEW_OK;
}

static sinew_status create(const sinew_scene *scene, const sinew_rig *rig,
                           const sinew_loader *loader, bool needs_weights,
                           const sinew_monitor *monitor, sn_clip *clip, sinew_error *error) {
    const json_t *fps = json_object_get(sn_scene_at(scene, "time"), "fps");
    clip->rate = fps ? json_number_value(fps) : SINEW_JOB_FPS;
    const json_t *curves = sn_scene_at(scene, "curves"), *steps = sn_scene_at(scene, "steps");
    const json_t *weights = sn_scene_at(scene, "weights"), *keys = sn_scene_at(scene, "keys");
    const json_t *markers = sn_scene_at(scene, "markers");
    if (markers && !needs_weights && (curves || steps))
        return sn_scene_fail(scene, error, curves ? "/curves" : "/steps",
                             "the scene gives markers too; one of the two drives");
    if (curves) return clip_of_curves(scene, rig, loader, curves, monitor, clip, error);
    if (steps) return clip_of_steps(scene, rig, (int)json_integer_value(steps), clip, error);
    if (markers && !needs_weights)
        return clip_of_markers(scene, loader, markers, monitor, clip, error);
    if (keys && !needs_weights) return clip_of_keys(scene, keys, clip, error);
    /* without any of these, sliders are at rest: a live client moves them later */
    return clip_of_weights(scene, rig, weights, clip, error);
}

sinew_status sn_check_weights(const sinew_rig *rig, const double *weights, sinew_error *error) {
    for (int i = 0; i < rig->slider_count; i++)
        if (!(fabs(weights[i]) <= SN_SLIDER_LIMIT))
            return sn_fail(error, SINEW_BAD_INPUT,
                           "the weight of slider '%s' is %g, not a number from -%g to %g",
                           rig->sliders[i].name, weights[i], SN_SLIDER_LIMIT, SN_SLIDER_LIMIT);
    return SINEW_OK;
}

sinew_status sn_clip_create(const sinew_scene *scene, const sinew_rig *rig,
                            const sinew_loader *loader, bool needs_weights,
                            const sinew_monitor *monitor, sn_clip *clip, sinew_error *error) {
    memset(clip, 0, sizeof *clip);
    sinew_status status = create(scene, rig, loader, needs_weights, monitor, clip, error);
    for (int k = 0; status == SINEW_OK && clip->weights && k < clip->frame_count; k++)
        status =
            sn_check_weights(rig, clip->weights + (size_t)k * (size_t)rig->slider_count, error);
    if (status != SINEW_OK) sn_clip_free(clip);
    return status;
}

void sn_clip_free(sn_clip *clip) {
    sn_free(clip->times);
    sn_free(clip->weights);
    sn_free(clip->asked);
    sn_free(clip->head);
    sinew_markers_destroy(clip->markers);
    memset(clip, 0, sizeof *clip);
}

/* The last frame at or before a time, or 0. */
static int frame_before(const sn_clip *clip, double time) {
    int low = 0, high = clip->frame_count - 1;
    while (low < high) {
        int middle = low + (high - low + 1) / 2;
        if (clip->times[middle] <= time)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

int sn_clip_nearest(const sn_clip *clip, double time) {
    int k = frame_before(clip, time);
    if (k + 1 < clip->frame_count && clip->times[k + 1] - time < time - clip->times[k]) k++;
    return k;
}

bool sn_clip_weights(const sn_clip *clip, int slider_count, double time, double *weights) {
    if (!clip->weights) return false;
    int k = frame_before(clip, time), next = k + 1 < clip->frame_count ? k + 1 : k;
    double span = clip->times[next] - clip->times[k];
    double t = span > 0 ? fmin(fmax((time - clip->times[k]) / span, 0), 1) : 0;
    const double *a = clip->weights + (size_t)k * (size_t)slider_count;
    const double *b = clip->weights + (size_t)next * (size_t)slider_count;
    for (int i = 0; i < slider_count; i++) weights[i] = t == 0 ? a[i] : a[i] + t * (b[i] - a[i]);
    return true;
}
