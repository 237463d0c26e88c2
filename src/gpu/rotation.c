#include "gpu/rotation.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "rig/rotation_structure.h"

/* ---- the constant part ---- */

/* Sparse rows gathered from the targets' lists: counts, then offsets, then entries. */
typedef struct gathered {
    int *start; /* rows + 1 */
    int *target;
    double *value; /* `width` per entry */
} gathered;

static void free_gathered(gathered *g) {
    sn_free(g->start), sn_free(g->target), sn_free(g->value);
}

static bool gather_items(const sinew_rotation *r, gathered *g) {
    int items = r->structure->item_count;
    size_t total = 0;
    g->start = SN_NEW0(int, items + 2);
    if (!g->start) return false;
    for (int t = 0; t < r->target_count; t++)
        for (int i = 0; i < r->targets[t].count; i++) g->start[r->targets[t].elements[i] + 2]++;
    for (int e = 0; e < items; e++) g->start[e + 2] += g->start[e + 1];
    total = (size_t)g->start[items + 1];
    g->target = SN_NEW(int, total);
    g->value = SN_NEW(double, SN_RS_SIZE *total);
    if (!g->target || !g->value) return false;
    for (int t = 0; t < r->target_count; t++)
        for (int i = 0; i < r->targets[t].count; i++) {
            int at = g->start[r->targets[t].elements[i] + 1]++;
            g->target[at] = t;
            memcpy(g->value + SN_RS_SIZE * (size_t)at,
                   r->targets[t].coordinates + SN_RS_SIZE * (size_t)i, SN_RS_SIZE * sizeof(double));
        }
    return true;
}

static bool gather_loose(const sinew_rotation *r, gathered *g) {
    int moving = 0;
    for (int t = 0; t < r->target_count; t++) moving += r->targets[t].loose != NULL;
    size_t total = (size_t)moving * (size_t)r->loose_count;
    g->start = SN_NEW(int, r->loose_count + 1);
    g->target = SN_NEW(int, total);
    g->value = SN_NEW(double, 3 * total);
    if (!g->start || !g->target || !g->value) return false;
    int at = 0;
    for (int i = 0; i < r->loose_count; i++) {
        g->start[i] = at;
        for (int t = 0; t < r->target_count; t++) {
            if (!r->targets[t].loose) continue;
            g->target[at] = t;
            memcpy(g->value + 3 * (size_t)at++, r->targets[t].loose + 3 * (size_t)i,
                   3 * sizeof(double));
        }
    }
    g->start[r->loose_count] = at;
    return true;
}

static sinew_status put_items(const sinew_rotation *r, sn_gpu_store *store,
                              sn_rotation_device *device, sinew_error *error) {
    gathered items = {0}, loose = {0};
    bool ok = gather_items(r, &items) && gather_loose(r, &loose);
    if (ok) {
        size_t n = (size_t)r->structure->item_count, entries = (size_t)items.start[n];
        device->item_start = sn_gpu_store_put(store, items.start, n + 1, sizeof(int));
        device->item_target = sn_gpu_store_put(store, items.target, entries, sizeof(int));
        device->item_value =
            sn_gpu_store_put(store, items.value, SN_RS_SIZE * entries, sizeof(double));
        n = (size_t)r->loose_count, entries = (size_t)loose.start[n];
        device->loose_count = r->loose_count;
        device->loose_vertex = sn_gpu_store_put(store, r->loose_vertices, n, sizeof(int));
        device->loose_start = sn_gpu_store_put(store, loose.start, n + 1, sizeof(int));
        device->loose_target = sn_gpu_store_put(store, loose.target, entries, sizeof(int));
        device->loose_value = sn_gpu_store_put(store, loose.value, 3 * entries, sizeof(double));
    }
    free_gathered(&items), free_gathered(&loose);
    return ok ? sn_gpu_store_status(store, error) : sn_no_memory(error);
}

/* What targets do with components as a whole. */
static sinew_status put_motions(const sinew_rotation *r, sn_gpu_store *store,
                                sn_rotation_device *device, sinew_error *error) {
    size_t parts = (size_t)r->structure->component_count, targets = (size_t)r->target_count;
    double *motion = SN_NEW(double, SN_MOTION_SIZE *parts *targets);
    if (!motion) return sn_no_memory(error);
    for (size_t t = 0; t < targets; t++)
        for (size_t c = 0; c < parts; c++) {
            double *to = motion + SN_MOTION_SIZE * (t * parts + c);
            memcpy(to, r->targets[t].centers + 3 * c, 3 * sizeof *to);
            memcpy(to + 3, r->targets[t].turns + 3 * c, 3 * sizeof *to);
        }
    device->target_count = r->target_count;
    device->target_motion =
        sn_gpu_store_put(store, motion, SN_MOTION_SIZE * parts * targets, sizeof *motion);
    sn_free(motion);
    return sn_gpu_store_status(store, error);
}

sinew_status sn_gpu_blender_create(const sinew_rotation *r, bool batches, sn_gpu_store *store,
                                   sn_gpu_blender *blender, sinew_error *error) {
    *blender = (sn_gpu_blender){.target_count = r->target_count};
    if (r->refinements > 0)
        return sn_fail(error, SINEW_UNAVAILABLE,
                       "the GPU does not refine rotations that do not fit together");
    sn_gpu_shape shape = {r->structure, r->rest, r->rest_centers, r->held, r->held_total, batches};
    sinew_status status =
        sn_gpu_rebuild_create(&shape, store, &blender->device, &blender->dissection, error);
    if (status == SINEW_OK) status = put_items(r, store, &blender->device, error);
    if (status == SINEW_OK) status = put_motions(r, store, &blender->device, error);
    if (status != SINEW_OK) sn_gpu_blender_free(blender);
    return status;
}

void sn_gpu_blender_free(sn_gpu_blender *blender) {
    sn_dissection_destroy(blender->dissection);
    blender->dissection = NULL;
}

void sn_gpu_blender_work(const sn_gpu_blender *blender, sn_gpu_store *store,
                         sn_rotation_work *work) {
    sn_gpu_rebuild_work(&blender->device, blender->dissection, store, work);
}

/* ---- frames ---- */

struct sn_gpu_rotation {
    sn_gpu *gpu;
    const sinew_rotation *rotation;
    sn_gpu_store store;
    sn_gpu_blender blender;
    sn_rotation_launch launch;
    int blocks;
    size_t shared;
    double *activations, *positions; /* pinned */
    double *device_activations;
};

sinew_status sn_gpu_rotation_create(sn_gpu *gpu, const sinew_rotation *rotation,
                                    sn_gpu_rotation **result, sinew_error *error) {
    *result = NULL;
    sn_gpu_rotation *made = SN_NEW0(sn_gpu_rotation, 1);
    if (!made) return sn_no_memory(error);
    made->gpu = gpu, made->rotation = rotation, made->store.gpu = gpu;
    made->blocks = sn_gpu_about(gpu)->multiprocessors;
    sn_gpu_store *store = &made->store;
    sn_rotation_launch *launch = &made->launch;
    sn_gpu_lock(gpu);
    sinew_status status = sn_gpu_blender_create(rotation, false, store, &made->blender, error);
    if (status == SINEW_OK) {
        size_t n = (size_t)rotation->vertex_count, targets = (size_t)rotation->target_count;
        void *unused;
        launch->rotation = made->blender.device;
        status = sn_dissection_share(made->blender.dissection, made->blocks, store,
                                     &launch->rotation.solve, &made->shared, error);
        sn_gpu_blender_work(&made->blender, store, &launch->work);
        launch->memory = sn_gpu_group_room(store, made->blocks);
        launch->positions = sn_gpu_store_room(store, 3 * n, sizeof(double));
        launch->refinements = 1;
        made->device_activations = sn_gpu_store_room(store, targets, sizeof(double));
        launch->activations = made->device_activations;
        made->activations = sn_gpu_store_pinned(store, targets * sizeof(double), &unused);
        made->positions = sn_gpu_store_pinned(store, 3 * n * sizeof(double), &unused);
        if (status == SINEW_OK) status = sn_gpu_store_status(store, error);
    }
    if (status == SINEW_OK) status = sn_gpu_wait(gpu, NULL, INFINITY, NULL, error);
    sn_gpu_unlock(gpu);
    if (status == SINEW_OK)
        *result = made;
    else
        sn_gpu_rotation_destroy(made);
    return status;
}

void sn_gpu_rotation_destroy(sn_gpu_rotation *rotation) {
    if (!rotation) return;
    sn_gpu_blender_free(&rotation->blender);
    sn_gpu_store_free(&rotation->store);
    sn_free(rotation);
}

static sinew_status run(sn_gpu_rotation *r, sinew_error *error) {
    size_t n = (size_t)r->rotation->vertex_count, targets = (size_t)r->rotation->target_count;
    SN_TRY(
        sn_gpu_put(r->gpu, r->device_activations, r->activations, targets * sizeof(double), error));
    SN_TRY(
        sn_gpu_launch(r->gpu, SN_GPU_KERNEL_ROTATION, &r->launch, 1, r->blocks, r->shared, error));
    SN_TRY(sn_gpu_send_back(r->gpu, r->positions, r->launch.positions, 3 * n, error));
    return sn_gpu_wait(r->gpu, NULL, INFINITY, NULL, error);
}

sinew_status sn_gpu_rotation_evaluate(sn_gpu_rotation *r, const double *weights, double *positions,
                                      sinew_error *error) {
    sn_gpu_lock(r->gpu);
    sn_activations(r->rotation->plan, weights, r->activations, NULL);
    sinew_status status = run(r, error);
    if (status == SINEW_OK)
        status = sn_gpu_receive(r->gpu, 3 * (size_t)r->rotation->vertex_count, sn_gpu_copy,
                                &(sn_gpu_copying){positions, r->positions}, error);
    if (status == SINEW_OK) sn_seams_copy(r->rotation->seams, r->activations, positions);
    sn_gpu_unlock(r->gpu);
    return status;
}
