/* Weight animations and clips of FBX as curves, poses and frames.
 *
 * Curves are linear between their times: cubic segments are sampled, constant ones held to just
 * before the next key. Channels of equal name are one slider, as in the rig. */
#include <float.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/sort.h"
#include "io/fbx_animation.h"
#include "io/fbx_read.h"
#include "io/names.h"

enum { CUBIC_SAMPLES = 8 };
static const double step_gap = 1e-6; /* of the time to the next key */

typedef struct weight_curves {
    sn_names names;
    const sn_fbx_curve **curves; /* per name: the one on the lowest layer, and … */
    double *stored;              /* … the per cent without animation */
    size_t capacity, stored_capacity;
    double *times;
    size_t time_count, time_capacity;
} weight_curves;

static sinew_status add_time(weight_curves *w, double time, sinew_error *error) {
    if (!SN_RESERVE(w->times, w->time_capacity, w->time_count + 1)) return sn_no_memory(error);
    w->times[w->time_count++] = time;
    return SINEW_OK;
}

static sinew_status add_times(weight_curves *w, const sn_fbx_clip *clip, const sn_fbx_curve *curve,
                              sinew_error *error) {
    const sn_fbx_key *keys = clip->keys + curve->first_key;
    for (int k = 0; k < curve->key_count; k++) {
        SN_TRY(add_time(w, keys[k].time, error));
        if (k + 1 == curve->key_count) break;
        double length = keys[k + 1].time - keys[k].time;
        if (keys[k].interpolation == SN_FBX_CUBIC)
            for (int i = 1; i < CUBIC_SAMPLES; i++)
                SN_TRY(add_time(w, keys[k].time + length * i / CUBIC_SAMPLES, error));
        else if (keys[k].interpolation == SN_FBX_CONSTANT)
            SN_TRY(add_time(w, keys[k + 1].time - step_gap * length, error));
        else if (keys[k].interpolation == SN_FBX_CONSTANT_NEXT)
            SN_TRY(add_time(w, keys[k].time + step_gap * length, error));
    }
    return SINEW_OK;
}

static sinew_status gather(const sn_fbx_scene *s, const sn_fbx_clip *clip, weight_curves *w,
                           sinew_error *error) {
    for (int i = 0; i < s->channel_count; i++) {
        const sn_fbx_channel *channel = &s->channels[i];
        const sn_fbx_curve *curve =
            sn_fbx_clip_find(clip, channel->object, channel->property, channel->property_size, 0);
        if (!curve || channel->name_size == 0 ||
            sn_names_find(&w->names, channel->name, (size_t)channel->name_size) >= 0)
            continue;
        if (!SN_RESERVE(w->curves, w->capacity, w->names.count + 1) ||
            !SN_RESERVE(w->stored, w->stored_capacity, w->names.count + 1) ||
            sn_names_add(&w->names, channel->name, (size_t)channel->name_size) < 0)
            return sn_no_memory(error);
        w->curves[w->names.count - 1] = curve;
        w->stored[w->names.count - 1] = channel->percent;
        for (; curve; curve = sn_fbx_next_layer(clip, curve))
            SN_TRY(add_times(w, clip, curve, error));
    }
    return SINEW_OK;
}

/* Sorted and different by more than rounding. */
static int distinct_times(weight_curves *w) {
    sn_sort_doubles(w->time_count, w->times);
    size_t kept = 0;
    for (size_t i = 0; i < w->time_count; i++)
        if (kept == 0 ||
            w->times[i] > w->times[kept - 1] + 4 * DBL_EPSILON * (1 + fabs(w->times[i])))
            w->times[kept++] = w->times[i];
    return (int)kept;
}

static sinew_status build_curves(const sn_fbx_clip *clip, weight_curves *w, sinew_curves **curves,
                                 sinew_error *error) {
    int count = distinct_times(w), channels = w->names.count;
    SN_TRY(sinew_curves_create(channels, count, curves, error));
    sinew_status status = SINEW_OK;
    for (int c = 0; status == SINEW_OK && c < channels; c++)
        status = sinew_curves_set_name(*curves, c, w->names.names[c], error);
    for (int k = 0; status == SINEW_OK && k < count; k++) {
        (*curves)->times[k] = w->times[k];
        for (int c = 0; c < channels; c++)
            (*curves)->values[(size_t)k * (size_t)channels + (size_t)c] =
                sn_fbx_layers_at(clip, w->curves[c], w->stored[c], w->times[k]) / 100;
    }
    if (status != SINEW_OK) {
        sinew_curves_destroy(*curves);
        *curves = NULL;
    }
    return status;
}

sinew_status sn_fbx_read_curves(const sn_source *source, sinew_curves **curves,
                                sinew_error *error) {
    sn_fbx_scene scene;
    sn_fbx_clip clip = {0};
    weight_curves w = {0};
    sinew_status status = sn_fbx_open(&scene, source, error);
    if (status == SINEW_OK) status = sn_fbx_clip_read(&scene, NULL, &clip);
    if (status == SINEW_OK) status = gather(&scene, &clip, &w, error);
    if (status == SINEW_OK && w.names.count == 0)
        status = sn_source_fail(source, error, "holds no animation of blend shapes");
    if (status == SINEW_OK && w.time_count > INT_MAX)
        status = sn_source_fail(source, error, "has too many keys");
    if (status == SINEW_OK) status = build_curves(&clip, &w, curves, error);
    sn_names_release(&w.names);
    sn_free(w.curves), sn_free(w.stored), sn_free(w.times);
    sn_fbx_clip_free(&clip);
    sn_fbx_close(&scene);
    return status;
}
