#include "io/keyed_clip.h"

#include <limits.h>
#include <math.h>

#include "base/memory.h"
#include "base/status.h"

void sn_keyed_clip_free(sn_keyed_clip *clip) {
    sn_free(clip->times);
    sn_free(clip->weights);
    sn_free(clip->activations);
    *clip = (sn_keyed_clip){0};
}

static bool follows_sliders(const sinew_rig *rig) {
    for (int t = 0; t < rig->target_count; t++)
        if (rig->targets[t].kind != SINEW_TARGET_KIND_PLAIN) return false;
    return true;
}

/* Steps between key k and the next; the last key has none. */
static double steps_after(const sinew_curves *curves, int k, bool linear) {
    if (k + 1 == curves->time_count) return 1;
    double gap = curves->times[k + 1] - curves->times[k];
    return linear ? 1 : fmax(1, ceil(gap / SN_KEYED_CLIP_LARGEST_GAP - 1e-9));
}

static sinew_status choose_times(const sinew_rig *rig, const sinew_curves *curves,
                                 sn_keyed_clip *clip, sinew_error *error) {
    bool linear = follows_sliders(rig);
    double total = 0;
    for (int k = 0; k < curves->time_count; k++) total += steps_after(curves, k, linear);
    double width = fmax(fmax(rig->target_count, rig->slider_count), 1);
    if (total * width > INT_MAX)
        return sn_fail(error, SINEW_BAD_INPUT, "the clip has too many keys for one file");
    clip->times = SN_NEW(double, (size_t)total + 1);
    if (!clip->times) return sn_no_memory(error);
    for (int k = 0; k < curves->time_count; k++) {
        int steps = (int)steps_after(curves, k, linear);
        for (int s = 0; s < steps; s++) {
            double time = curves->times[k];
            if (s > 0) time += s * (curves->times[k + 1] - time) / steps;
            if (clip->time_count > 0 && !((float)time > (float)clip->times[clip->time_count - 1]))
                continue; /* files have float times */
            clip->times[clip->time_count++] = time;
        }
    }
    return SINEW_OK;
}

static sinew_status fill(const sinew_rig *rig, const sinew_curves *bound, sn_keyed_clip *clip,
                         sinew_error *error) {
    SN_TRY(choose_times(rig, bound, clip, error));
    size_t sliders = (size_t)rig->slider_count, targets = (size_t)rig->target_count;
    clip->weights = sn_alloc((size_t)clip->time_count * sliders + 1, sizeof(double));
    clip->activations = sn_alloc((size_t)clip->time_count * targets + 1, sizeof(double));
    if (!clip->weights || !clip->activations) return sn_no_memory(error);
    for (size_t k = 0; k < (size_t)clip->time_count; k++) {
        sinew_curves_sample(bound, clip->times[k], clip->weights + k * sliders);
        sinew_rig_activations(rig, clip->weights + k * sliders, clip->activations + k * targets);
    }
    return SINEW_OK;
}

sinew_status sn_keyed_clip_create(const sinew_rig *rig, const sinew_curves *curves,
                                  sn_keyed_clip *clip, sinew_error *error) {
    *clip = (sn_keyed_clip){0};
    SN_TRY(sinew_curves_check(curves, error));
    sinew_curves *bound;
    int unmatched;
    SN_TRY(sinew_rig_bind_curves(rig, curves, &bound, &unmatched, error));
    sinew_status status = SINEW_OK;
    if (curves->time_count == 0)
        status = sn_fail(error, SINEW_BAD_INPUT, "the clip has no keys");
    else if (unmatched == curves->channel_count)
        status = sn_fail(error, SINEW_BAD_INPUT,
                         "the rig has no slider for any of the curves, such as '%s'",
                         curves->channel_count > 0 ? curves->names[0] : "");
    if (status == SINEW_OK) status = fill(rig, bound, clip, error);
    sinew_curves_destroy(bound);
    if (status != SINEW_OK) sn_keyed_clip_free(clip);
    return status;
}
