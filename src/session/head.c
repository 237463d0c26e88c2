#include "session/head.h"

#include <math.h>
#include <string.h>
#include <strings.h>

#include "base/memory.h"
#include "base/rotation.h"
#include "base/status.h"
#include "base/vec3.h"
#include "rig/rigid.h"

enum { YAW, PITCH, ROLL, X, Y, Z, CHANNELS };
static const char *const names[CHANNELS] = {"headYaw", "headPitch", "headRoll",
                                            "headX",   "headY",     "headZ"};
static const char *const eyes[] = {"leftEyeYaw",  "leftEyePitch",  "leftEyeRoll",
                                   "rightEyeYaw", "rightEyePitch", "rightEyeRoll"};

static int channel_of(const char *name) {
    for (int i = 0; i < CHANNELS; i++)
        if (!strcasecmp(name, names[i])) return i;
    return -1;
}

bool sn_head_channel(const char *name) {
    for (size_t i = 0; i < sizeof eyes / sizeof *eyes; i++)
        if (!strcasecmp(name, eyes[i])) return true;
    return channel_of(name) >= 0;
}

/* Heads turn about the top of the neck: the middle of the bounding box, a third above its bottom.
 * y points up and z to the front, as in files of faces. */
static sn_vec3 find_pivot(const sinew_mesh *mesh) {
    sn_vec3 low = {INFINITY, INFINITY, INFINITY}, high = {-INFINITY, -INFINITY, -INFINITY};
    for (int v = 0; v < mesh->vertex_count; v++) {
        sn_vec3 p = sn_at(mesh->positions, v);
        low = sn_v3(fmin(low.x, p.x), fmin(low.y, p.y), fmin(low.z, p.z));
        high = sn_v3(fmax(high.x, p.x), fmax(high.y, p.y), fmax(high.z, p.z));
    }
    if (mesh->vertex_count == 0) return sn_v3(0, 0, 0);
    return sn_v3(0.5 * (low.x + high.x), low.y + (high.y - low.y) / 3, 0.5 * (low.z + high.z));
}

/* Roll about the front, then pitch about the left, then yaw about the vertical. */
static sn_mat3 turn_of(const double *value) {
    sn_mat3 yaw = sn_rotation_exp(sn_v3(0, value[YAW], 0));
    sn_mat3 pitch = sn_rotation_exp(sn_v3(value[PITCH], 0, 0));
    sn_mat3 roll = sn_rotation_exp(sn_v3(0, 0, value[ROLL]));
    return sn_mat3_multiply(yaw, sn_mat3_multiply(pitch, roll));
}

sinew_status sn_head_of_curves(const sinew_rig *rig, const sinew_curves *curves, sn_clip *clip,
                               sinew_error *error) {
    bool any = false;
    for (int c = 0; c < curves->channel_count; c++) any |= channel_of(curves->names[c]) >= 0;
    if (!any) return SINEW_OK;
    double *values = SN_NEW(double, curves->channel_count);
    clip->head = SN_NEW(sinew_rigid, clip->frame_count);
    if (!values || !clip->head) {
        sn_free(values);
        return sn_no_memory(error);
    }
    clip->pivot = find_pivot(rig->neutral);
    for (int k = 0; k < clip->frame_count; k++) {
        double value[CHANNELS] = {0};
        sinew_curves_sample(curves, clip->times[k], values);
        for (int c = 0; c < curves->channel_count; c++)
            if (channel_of(curves->names[c]) >= 0) value[channel_of(curves->names[c])] = values[c];
        sn_mat3 turn = turn_of(value);
        sn_vec3 shift = sn_sub(clip->pivot, sn_mat3_apply(turn, clip->pivot));
        memcpy(clip->head[k].rotation, &turn, sizeof turn);
        sn_put(clip->head[k].translation, 0, sn_add(shift, sn_v3(value[X], value[Y], value[Z])));
    }
    sn_free(values);
    return SINEW_OK;
}

bool sn_clip_head(const sn_clip *clip, double time, sinew_rigid *motion) {
    if (!clip->head) return false;
    int k = 0;
    while (k + 1 < clip->frame_count && clip->times[k + 1] <= time) k++;
    int next = k + 1 < clip->frame_count ? k + 1 : k;
    double span = clip->times[next] - clip->times[k];
    double t = span > 0 ? fmin(fmax((time - clip->times[k]) / span, 0), 1) : 0;
    *motion = clip->head[k];
    if (t > 0) *motion = sn_rigid_between(&clip->head[k], &clip->head[next], t, clip->pivot);
    return true;
}
