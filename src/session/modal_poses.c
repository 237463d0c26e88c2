#include "session/modal_poses.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "base/vec3.h"

/* Poses that are kept; memory grows with each. */
enum { MOST = 32 };

typedef struct ranked {
    int target;
    double farthest;
} ranked;

static int by_distance(const void *a, const void *b) {
    const ranked *x = a, *y = b;
    if (x->farthest != y->farthest) return x->farthest > y->farthest ? -1 : 1;
    return x->target - y->target;
}

static int by_target(const void *a, const void *b) {
    return ((const ranked *)a)->target - ((const ranked *)b)->target;
}

void sn_modal_pose_weights(const sinew_rig *rig, int target, double *weights) {
    const sinew_target *t = &rig->targets[target];
    for (int s = 0; s < rig->slider_count; s++) weights[s] = rig->sliders[s].rest;
    if (t->kind == SINEW_TARGET_KIND_COMBINATION)
        for (int d = 0; d < t->driver_count; d++) weights[t->drivers[d]] = 1;
    else
        weights[t->slider] = t->at;
}

void sn_modal_poses_free(sn_modal_poses *poses) {
    for (int k = 0; poses->positions && k < poses->count; k++) sn_free(poses->positions[k]);
    sn_free(poses->positions);
    *poses = (sn_modal_poses){0};
}

static sinew_status fill(const sinew_rig *rig, const sinew_linear *linear, int kept,
                         const ranked *list, double *weights, sn_modal_poses *poses,
                         sinew_error *error) {
    poses->positions = SN_NEW0(double *, kept);
    if (!poses->positions) return sn_no_memory(error);
    for (int k = 0; k < kept; k++) {
        double *pose = SN_NEW(double, 3 * (size_t)rig->neutral->vertex_count);
        if (!pose) return sn_no_memory(error);
        poses->positions[poses->count++] = pose;
        sn_modal_pose_weights(rig, list[k].target, weights);
        sinew_linear_evaluate(linear, weights, pose);
    }
    return SINEW_OK;
}

sinew_status sn_modal_poses_create(const sinew_rig *rig, sn_modal_poses *poses,
                                   sinew_error *error) {
    *poses = (sn_modal_poses){0};
    if (rig->target_count == 0) return SINEW_OK;
    ranked *list = SN_NEW(ranked, rig->target_count);
    double *weights = SN_NEW(double, rig->slider_count);
    sinew_linear *linear = NULL;
    sinew_status status =
        list && weights ? sinew_linear_create(rig, &linear, error) : sn_no_memory(error);
    int kept = rig->target_count < MOST ? rig->target_count : MOST;
    if (status == SINEW_OK) {
        for (int t = 0; t < rig->target_count; t++) {
            list[t] = (ranked){t, 0};
            for (int i = 0; i < rig->targets[t].count; i++)
                list[t].farthest =
                    fmax(list[t].farthest, sn_length(sn_at(rig->targets[t].deltas, i)));
        }
        qsort(list, (size_t)rig->target_count, sizeof *list, by_distance);
        qsort(list, (size_t)kept, sizeof *list, by_target);
        status = fill(rig, linear, kept, list, weights, poses, error);
    }
    sinew_linear_destroy(linear);
    sn_free(list), sn_free(weights);
    if (status != SINEW_OK) sn_modal_poses_free(poses);
    return status;
}
