#include "sinew/samples.h"

#include <string.h>

#include "base/memory.h"
#include "base/scope.h"
#include "base/sized.h"
#include "base/status.h"
#include "samples/builders.h"

static const struct {
    const char *name, *summary;
    sinew_status (*build)(int vertices, sinew_rig **rig, sinew_error *error);
    int vertices; /* unless the caller specifies it */
} samples[] = {
    {"bar", "rounded bar, bent up to 270 degrees and twisted up to three turns", sn_sample_bar,
     2000},
    {"arm", "upper arm, forearm and hand: elbow, wrist and forearm twist", sn_sample_arm, 3000},
    {"hand", "closed hand surface: open, relaxed, fist, point, pinch, thumbUp", sn_sample_hand,
     5000},
    {"blob", "soft creature with ears and tail: squash, stretch, lean, ears, tail", sn_sample_blob,
     3000},
    {"face", "head with eyes, teeth, tongue and brows, and the 52 ARKit sliders", sn_sample_face,
     10000},
    {"face2", "another head with the same sliders, for retargeting", sn_sample_face2, 10000},
};
enum { SAMPLE_COUNT = sizeof samples / sizeof *samples };

void sinew_sample_options_init(sinew_sample_options *options) {
    *options = (sinew_sample_options){.size = sizeof *options};
}

int sinew_sample_count(void) {
    return SAMPLE_COUNT;
}
const char *sinew_sample_name(int index) {
    return index >= 0 && index < SAMPLE_COUNT ? samples[index].name : NULL;
}
const char *sinew_sample_summary(int index) {
    return index >= 0 && index < SAMPLE_COUNT ? samples[index].summary : NULL;
}

/* Index of the sample, or -1 with a message that lists the names. */
static int find(const char *name, sinew_error *error) {
    for (int i = 0; i < SAMPLE_COUNT; i++)
        if (strcmp(samples[i].name, name) == 0) return i;
    char names[256] = "";
    for (int i = 0; i < SAMPLE_COUNT; i++) {
        if (i) strncat(names, ", ", sizeof names - strlen(names) - 1);
        strncat(names, samples[i].name, sizeof names - strlen(names) - 1);
    }
    sn_fail(error, SINEW_BAD_INPUT, "no sample is named '%s'; there are %s", name, names);
    return -1;
}

sinew_status sinew_sample_rig(const char *name, const sinew_sample_options *options,
                              sinew_rig **rig, sinew_error *error) {
    SN_REQUIRE(name && rig, error);
    *rig = NULL;
    SN_OPTIONS(sinew_sample_options, wanted, options, error);
    int sample = find(name, error);
    if (sample < 0) return SINEW_BAD_INPUT;
    int vertices = wanted.vertices ? wanted.vertices : samples[sample].vertices;
    if (vertices < SINEW_SAMPLE_MIN_VERTICES || vertices > SINEW_SAMPLE_MAX_VERTICES)
        return sn_fail(error, SINEW_BAD_INPUT, "%d vertices were requested; samples have %d to %d",
                       vertices, SINEW_SAMPLE_MIN_VERTICES, SINEW_SAMPLE_MAX_VERTICES);
    sn_call call;
    sn_call_begin(&call, wanted.monitor);
    sinew_status status = sn_call_end(&call, samples[sample].build(vertices, rig, error), error);
    if (status != SINEW_OK) {
        sinew_rig_destroy(*rig);
        *rig = NULL;
    }
    return status;
}
