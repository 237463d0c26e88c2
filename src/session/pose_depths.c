#include "session/pose_depths.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "contact/obstacle.h"
#include "rig/pose.h"

/* Of one obstacle: depths of the vertices, then of the triangles. */
typedef struct sn_pose_depth {
    const sinew_obstacle *obstacle; /* whose depths they are */
    bool *own;                      /* vertices of the part itself */
    double *neutral;                /* >= 0; INFINITY for the part itself; NULL: not measured yet */
    double **change;                /* per target: depth minus the neutral's; NULL: not yet */
    double *blend;                  /* of the present frame; NULL: nothing is allowed */
} sn_pose_depth;

static size_t size_of(const sinew_rig *rig) {
    return (size_t)rig->neutral->vertex_count + (size_t)rig->neutral->triangle_count;
}

static void free_depth(const sinew_rig *rig, sn_pose_depth *d) {
    for (int t = 0; d->change && t < rig->target_count; t++) sn_free(d->change[t]);
    sn_free(d->change), sn_free(d->own), sn_free(d->neutral), sn_free(d->blend);
    *d = (sn_pose_depth){0};
}

void sn_pose_depths_free(sn_pose_depths *depths) {
    for (int o = 0; depths->list && o < depths->count; o++)
        free_depth(depths->rig, &depths->list[o]);
    sn_free(depths->list), sn_free(depths->vertices), sn_free(depths->triangles);
    sn_free(depths->carried), sn_free(depths->pose), sn_free(depths->changed);
    *depths = (sn_pose_depths){0};
}

static sinew_status prepare(const sn_pose_depths *depths, const sn_scene_obstacle *o,
                            sn_pose_depth *d, sinew_error *error) {
    const sinew_rig *rig = depths->rig;
    d->obstacle = o->obstacle;
    if (o->part < 0 && depths->rule != SN_DEPTH_ALL) return SINEW_OK;
    d->own = SN_NEW0(bool, rig->neutral->vertex_count);
    d->change = SN_NEW0(double *, rig->target_count);
    d->blend = SN_NEW0(double, size_of(rig));
    if (!d->own || !d->change || !d->blend) return sn_no_memory(error);
    for (int k = 0; o->part >= 0 && k < o->vertex_count; k++) d->own[o->part_vertices[k]] = true;
    return SINEW_OK;
}

sinew_status sn_pose_depths_update(const sinew_rig *rig, const sn_obstacles *obstacles,
                                   sn_depth_rule rule, sn_pose_depths *depths, sinew_error *error) {
    size_t count = (size_t)obstacles->count, n = (size_t)rig->neutral->vertex_count;
    sn_pose_depths made = {.rig = rig, .rule = rule, .count = obstacles->count};
    made.list = SN_NEW0(sn_pose_depth, count);
    made.vertices = SN_NEW0(const double *, count), made.triangles = SN_NEW0(const double *, count);
    made.carried = SN_NEW0(bool, count);
    made.pose = SN_NEW(double, 3 * n), made.changed = SN_NEW(bool, n);
    sinew_status status =
        made.list && made.vertices && made.triangles && made.carried && made.pose && made.changed
            ? SINEW_OK
            : sn_no_memory(error);
    for (size_t o = 0; status == SINEW_OK && o < count; o++) {
        made.carried[o] = obstacles->list[o].part >= 0;
        status = prepare(&made, &obstacles->list[o], &made.list[o], error);
    }
    if (status != SINEW_OK) {
        sn_pose_depths_free(&made);
        return status;
    }
    /* What was measured of the same shape under the same rule goes over. */
    for (size_t o = 0; o < count; o++)
        for (int k = 0; depths->rule == rule && k < depths->count; k++)
            if (!obstacles->list[o].fresh && depths->list[k].neutral &&
                depths->list[k].obstacle == made.list[o].obstacle) {
                sn_pose_depth swap = made.list[o];
                made.list[o] = depths->list[k], depths->list[k] = swap;
            }
    for (size_t o = 0; o < count; o++) {
        made.vertices[o] = made.list[o].blend;
        made.triangles[o] = made.list[o].blend ? made.list[o].blend + n : NULL;
    }
    sn_pose_depths_free(depths);
    *depths = made;
    return SINEW_OK;
}

/* ---- measuring ------------------------------------------------------------------------------- */

static sinew_status measure_neutral(sn_pose_depths *depths, sn_obstacles *obstacles,
                                    sn_pose_depth *d, sinew_error *error) {
    const sinew_mesh *mesh = depths->rig->neutral;
    int n = mesh->vertex_count;
    double *neutral = SN_NEW0(double, size_of(depths->rig));
    if (!neutral) return sn_no_memory(error);
    sinew_status status = sn_obstacles_move(obstacles, 0, mesh->positions, error);
    for (int v = 0; v < n; v++)
        if (d->own[v]) neutral[v] = INFINITY;
    for (int t = 0; t < mesh->triangle_count; t++)
        if (d->own[mesh->triangles[3 * (size_t)t]]) neutral[n + t] = INFINITY;
    if (status == SINEW_OK && depths->rule != SN_DEPTH_NONE &&
        !sn_obstacle_depths(d->obstacle, mesh, mesh->positions, d->own, NULL, neutral, neutral + n))
        status = sn_fail(error, SINEW_CANCELLED, "cancelled");
    if (status != SINEW_OK)
        sn_free(neutral);
    else
        d->neutral = neutral;
    return status;
}

/* What a target does not move keeps the neutral's depth unless the obstacle itself moved. */
static sinew_status measure_pose(sn_pose_depths *depths, sn_obstacles *obstacles, int target,
                                 sn_pose_depth *d, sinew_error *error) {
    const sinew_rig *rig = depths->rig;
    const sinew_mesh *mesh = rig->neutral;
    size_t all = size_of(rig);
    double *change = sn_memdup(d->neutral, all, sizeof *change);
    if (!change) return sn_no_memory(error);
    bool moved = false;
    memset(depths->changed, 0, (size_t)mesh->vertex_count * sizeof *depths->changed);
    for (int k = 0; k < rig->targets[target].count; k++) {
        moved |= d->own[rig->targets[target].vertices[k]];
        depths->changed[rig->targets[target].vertices[k]] = true;
    }
    sn_rig_pose(rig, target, depths->pose);
    sinew_status status = sn_obstacles_move(obstacles, 0, depths->pose, error);
    if (status == SINEW_OK &&
        !sn_obstacle_depths(d->obstacle, mesh, depths->pose, d->own, moved ? NULL : depths->changed,
                            change, change + mesh->vertex_count))
        status = sn_fail(error, SINEW_CANCELLED, "cancelled");
    if (status != SINEW_OK) {
        sn_free(change);
        return status;
    }
    for (size_t k = 0; k < all; k++) change[k] = isinf(change[k]) ? 0 : change[k] - d->neutral[k];
    d->change[target] = change;
    return SINEW_OK;
}

sinew_status sn_pose_depths_blend(sn_pose_depths *depths, sn_obstacles *obstacles,
                                  const double *activations, sinew_error *error) {
    const sinew_rig *rig = depths->rig;
    size_t all = size_of(rig);
    for (int o = 0; o < depths->count; o++) {
        sn_pose_depth *d = &depths->list[o];
        if (!d->blend) continue;
        if (!d->neutral) SN_TRY(measure_neutral(depths, obstacles, d, error));
        memcpy(d->blend, d->neutral, all * sizeof *d->blend);
        for (int t = 0; depths->rule != SN_DEPTH_NONE && t < rig->target_count; t++) {
            double a = activations[t];
            if (a == 0) continue;
            if (!d->change[t]) SN_TRY(measure_pose(depths, obstacles, t, d, error));
            for (size_t i = 0; i < all; i++) d->blend[i] += a * d->change[t][i];
        }
    }
    return SINEW_OK;
}
