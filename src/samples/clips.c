/* Clips: slider curves of the samples. */
#include "sinew/samples.h"

#include <math.h>

#include "base/memory.h"
#include "base/status.h"
#include "samples/builders.h"

static const double RATE = 30;          /* values per second */
static const double POSE_SECONDS = 1.0; /* from one pose to the next */

/* 0 to 1 with soft ends. */
static double ease(double t) {
    t = fmin(1, fmax(0, t));
    return t * t * (3 - 2 * t);
}

/* From the neutral through every pose in order and back: at most two sliders are up at a time, and
 * they sum to one. */
static sinew_status walk_through_poses(const sinew_rig *rig, sinew_curves **curves,
                                       sinew_error *error) {
    int channels = rig->slider_count;
    int times = (int)lround((channels + 1) * POSE_SECONDS * RATE) + 1;
    SN_TRY(sinew_curves_create(channels, times, curves, error));
    for (int c = 0; c < channels; c++) {
        sn_free((*curves)->names[c]);
        (*curves)->names[c] = sn_strdup(rig->sliders[c].name);
        if (!(*curves)->names[c]) {
            sinew_curves_destroy(*curves);
            *curves = NULL;
            return sn_no_memory(error);
        }
    }
    for (int t = 0; t < times; t++) {
        double pose = t / RATE / POSE_SECONDS - 1; /* pose c is reached at c */
        (*curves)->times[t] = t / RATE;
        for (int c = 0; c < channels; c++)
            (*curves)->values[(size_t)t * (size_t)channels + (size_t)c] = ease(1 - fabs(pose - c));
    }
    return SINEW_OK;
}

sinew_status sinew_sample_curves(const char *name, sinew_curves **curves, sinew_error *error) {
    SN_REQUIRE(name && curves, error);
    *curves = NULL;
    if (sn_is_face(name)) return sn_face_clip(curves, error);
    sinew_sample_options coarse = {.vertices = SINEW_SAMPLE_MIN_VERTICES};
    sinew_rig *rig;
    SN_TRY(sinew_sample_rig(name, &coarse, &rig, error));
    sinew_status status = walk_through_poses(rig, curves, error);
    sinew_rig_destroy(rig);
    return status;
}
