/* Clips: slider curves of the samples. */
#include "sinew/samples.h"

#include <math.h>

#include "base/memory.h"
#include "base/status.h"
#include "samples/builders.h"

static const double RATE = 30;          /* values per second */
static const double POSE_SECONDS = 1.0; /* from one pose to the next */

sinew_status sn_named_curves(int channels, const char *const *names, double seconds,
                             sinew_curves **curves, sinew_error *error) {
    SN_TRY(sinew_curves_create(channels, (int)lround(seconds * RATE) + 1, curves, error));
    bool named = true;
    for (int c = 0; c < channels; c++) {
        sn_free((*curves)->names[c]);
        (*curves)->names[c] = sn_strdup(names[c]);
        named = named && (*curves)->names[c];
    }
    if (!named) {
        sinew_curves_destroy(*curves);
        *curves = NULL;
        return sn_no_memory(error);
    }
    for (int t = 0; t < (*curves)->time_count; t++) (*curves)->times[t] = t / RATE;
    return SINEW_OK;
}

/* From the neutral through every pose in order and back: at most two sliders are up at a time, and
 * they sum to one. */
static sinew_status walk_through_poses(const sinew_rig *rig, sinew_curves **curves,
                                       sinew_error *error) {
    int channels = rig->slider_count;
    const char **names = SN_NEW(const char *, channels);
    if (!names) return sn_no_memory(error);
    for (int c = 0; c < channels; c++) names[c] = rig->sliders[c].name;
    sinew_status status =
        sn_named_curves(channels, names, (channels + 1) * POSE_SECONDS, curves, error);
    sn_free(names);
    SN_TRY(status);
    for (int t = 0; t < (*curves)->time_count; t++) {
        double pose = (*curves)->times[t] / POSE_SECONDS - 1; /* pose c is reached at c */
        for (int c = 0; c < channels; c++)
            (*curves)->values[(size_t)t * (size_t)channels + (size_t)c] =
                sn_smooth(1 - fabs(pose - c));
    }
    return SINEW_OK;
}

sinew_status sinew_sample_curves(const char *name, sinew_curves **curves, sinew_error *error) {
    SN_REQUIRE(name && curves, error);
    *curves = NULL;
    if (sn_is_face(name)) return sn_face_clip(curves, error);
    sinew_sample_options coarse;
    sinew_sample_options_init(&coarse);
    coarse.vertices = SINEW_SAMPLE_MIN_VERTICES;
    sinew_rig *rig;
    SN_TRY(sinew_sample_rig(name, &coarse, &rig, error));
    sinew_status status = walk_through_poses(rig, curves, error);
    sinew_rig_destroy(rig);
    return status;
}

sinew_status sinew_sample_lip_curves(sinew_curves **curves, sinew_error *error) {
    SN_REQUIRE(curves, error);
    *curves = NULL;
    return sn_face_lips(curves, error);
}
