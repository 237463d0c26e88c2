#include "gpu/linear.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "rig/activations.h"

/* Characters, or groups of frames, of one launch. */
enum { ENTRIES = 256 };

struct sn_gpu_linear {
    sn_gpu *gpu;
    const sinew_rig *rig;
    sn_activation_plan *plan;
    sn_gpu_store store;
    sn_linear_device device;
    sn_linear_entry *entries; /* pinned: of one launch */
    sn_linear_entry *device_entries;
    float *device_positions;
    int most_frames;
    size_t bytes;
    double *activations; /* pinned */
    double *device_activations;
    float *positions; /* pinned */
};

/* Rows of tiles: counted first, then written. next[target]: its first vertex not looked at. */
static sinew_status put_rows(sn_gpu_linear *l, sinew_error *error) {
    const sinew_rig *rig = l->rig;
    sn_linear_device *d = &l->device;
    int *start = SN_NEW(int, d->tile_count + 1), *target = NULL;
    int *next = SN_NEW(int, rig->target_count);
    float *value = NULL;
    bool ok = start && next;
    for (int pass = 0; pass < 2 && ok; pass++) {
        int rows = 0;
        memset(next, 0, (size_t)rig->target_count * sizeof *next);
        for (int tile = 0; tile < d->tile_count; tile++) {
            start[tile] = rows;
            int begin = tile * SN_TILE, end = begin + SN_TILE;
            for (int t = 0; t < rig->target_count; t++) {
                const sinew_target *from = &rig->targets[t];
                bool touched = false;
                /* a vertex whose coordinates lie in two tiles is looked at twice */
                for (; next[t] < from->count && 3 * from->vertices[next[t]] < end; next[t]++) {
                    int first = 3 * from->vertices[next[t]];
                    for (int c = 0; c < 3; c++) {
                        if (first + c < begin || first + c >= end) continue;
                        touched = true;
                        if (pass)
                            value[(size_t)rows * SN_TILE + (size_t)(first + c - begin)] =
                                (float)from->deltas[3 * (size_t)next[t] + (size_t)c];
                    }
                    if (first + 3 > end) break;
                }
                if (touched && pass) target[rows] = t;
                rows += touched;
            }
        }
        start[d->tile_count] = rows;
        if (pass) break;
        target = SN_NEW(int, rows);
        value = SN_NEW0(float, (size_t)rows *SN_TILE);
        ok = target && value;
    }
    if (ok) {
        size_t rows = (size_t)start[d->tile_count];
        d->row_start = sn_gpu_store_put(&l->store, start, (size_t)d->tile_count + 1, sizeof(int));
        d->row_target = sn_gpu_store_put(&l->store, target, rows, sizeof(int));
        d->value = sn_gpu_store_put(&l->store, value, rows * SN_TILE, sizeof(float));
        l->bytes = rows * (SN_TILE * sizeof(float) + sizeof(int)) +
                   (size_t)d->coordinate_count * (sizeof(double) + sizeof(float));
    }
    sn_free(start), sn_free(target), sn_free(next), sn_free(value);
    return ok ? sn_gpu_store_status(&l->store, error) : sn_no_memory(error);
}

static sinew_status build(sn_gpu_linear *l, sinew_error *error) {
    const sinew_rig *rig = l->rig;
    sn_linear_device *d = &l->device;
    size_t frames = (size_t)l->most_frames, targets = (size_t)rig->target_count;
    void *unused;
    SN_TRY(sn_activation_plan_create(rig, &l->plan, error));
    d->coordinate_count = 3 * rig->neutral->vertex_count;
    d->tile_count = (d->coordinate_count + SN_TILE - 1) / SN_TILE;
    d->target_count = rig->target_count;
    size_t n = (size_t)d->coordinate_count;
    d->neutral = sn_gpu_store_put(&l->store, rig->neutral->positions, n, sizeof(double));
    SN_TRY(put_rows(l, error));
    l->activations = sn_gpu_store_pinned(&l->store, frames * targets * sizeof(double), &unused);
    l->positions = sn_gpu_store_pinned(&l->store, frames * n * sizeof(float), &unused);
    l->device_activations = sn_gpu_store_room(&l->store, frames * targets, sizeof(double));
    l->device_positions = sn_gpu_store_room(&l->store, frames * n, sizeof(float));
    l->entries = sn_gpu_store_pinned(&l->store, ENTRIES * sizeof *l->entries, &unused);
    l->device_entries = sn_gpu_store_room(&l->store, ENTRIES, sizeof *l->entries);
    SN_TRY(sn_gpu_store_status(&l->store, error));
    return sn_gpu_wait(l->gpu, NULL, INFINITY, NULL, error);
}

sinew_status sn_gpu_linear_create(sn_gpu *gpu, const sinew_rig *rig, int most_frames,
                                  sn_gpu_linear **result, sinew_error *error) {
    *result = NULL;
    sn_gpu_linear *made = SN_NEW0(sn_gpu_linear, 1);
    if (!made) return sn_no_memory(error);
    made->gpu = gpu, made->rig = rig, made->store.gpu = gpu, made->most_frames = most_frames;
    sn_gpu_lock(gpu);
    sinew_status status = build(made, error);
    sn_gpu_unlock(gpu);
    if (status == SINEW_OK)
        *result = made;
    else
        sn_gpu_linear_destroy(made);
    return status;
}

void sn_gpu_linear_destroy(sn_gpu_linear *linear) {
    if (!linear) return;
    sn_gpu_store_free(&linear->store);
    sn_activation_plan_destroy(linear->plan);
    sn_free(linear);
}

size_t sn_gpu_linear_bytes(const sn_gpu_linear *linear) {
    return linear->bytes;
}

/* Activations to the device, and `count` frames as entries of a launch. */
static sinew_status prepare(sn_gpu_linear *l, int count, const double *weights,
                            sn_linear_entry *entries, sinew_error *error) {
    size_t targets = (size_t)l->rig->target_count, n = (size_t)l->device.coordinate_count;
    for (int f = 0; f < count; f++)
        sn_activations(l->plan, weights + (size_t)f * (size_t)l->rig->slider_count,
                       l->activations + (size_t)f * targets, NULL);
    for (int f = 0; f < count; f += SN_LINEAR_FRAMES) {
        int left = count - f;
        *entries++ = (sn_linear_entry){.linear = l->device,
                                       .count = left < SN_LINEAR_FRAMES ? left : SN_LINEAR_FRAMES,
                                       .activations = l->device_activations + (size_t)f * targets,
                                       .positions = l->device_positions + (size_t)f * n};
    }
    return sn_gpu_put(l->gpu, l->device_activations, l->activations,
                      (size_t)count * targets * sizeof(double), error);
}

/* Launches the entries of `l`. */
static sinew_status start(sn_gpu_linear *l, int entries, int most_tiles, sinew_error *error) {
    sn_linear_launch launch = {entries, most_tiles, l->device_entries};
    SN_TRY(sn_gpu_put(l->gpu, l->device_entries, l->entries, (size_t)entries * sizeof *l->entries,
                      error));
    return sn_gpu_launch(l->gpu, SN_GPU_KERNEL_LINEAR, &launch, 1, 1, 0, error);
}

static sinew_status fetch(sn_gpu_linear *l, int count, sinew_error *error) {
    return sn_gpu_get(l->gpu, l->positions, l->device_positions,
                      (size_t)count * (size_t)l->device.coordinate_count * sizeof(float), error);
}

static void hand_out(const sn_gpu_linear *l, int count, float *positions) {
    memcpy(positions, l->positions,
           (size_t)count * (size_t)l->device.coordinate_count * sizeof *positions);
}

sinew_status sn_gpu_linear_evaluate(sn_gpu_linear *l, int count, const double *weights,
                                    float *positions, sinew_error *error) {
    SN_REQUIRE(count > 0 && count <= l->most_frames && count <= ENTRIES * SN_LINEAR_FRAMES, error);
    sn_gpu_lock(l->gpu);
    sinew_status status = prepare(l, count, weights, l->entries, error);
    if (status == SINEW_OK)
        status = start(l, (count + SN_LINEAR_FRAMES - 1) / SN_LINEAR_FRAMES, l->device.tile_count,
                       error);
    if (status == SINEW_OK && positions) status = fetch(l, count, error);
    if (status == SINEW_OK) status = sn_gpu_wait(l->gpu, NULL, INFINITY, NULL, error);
    if (status == SINEW_OK && positions) hand_out(l, count, positions);
    sn_gpu_unlock(l->gpu);
    return status;
}

/* Of at most ENTRIES characters. */
static sinew_status evaluate_some(int count, sn_gpu_linear *const *characters,
                                  const double *const *weights, float *const *positions,
                                  sinew_error *error) {
    sn_gpu_linear *first = characters[0];
    int most_tiles = 0;
    for (int k = 0; k < count; k++) {
        SN_TRY(prepare(characters[k], 1, weights[k], &first->entries[k], error));
        if (characters[k]->device.tile_count > most_tiles)
            most_tiles = characters[k]->device.tile_count;
    }
    SN_TRY(start(first, count, most_tiles, error));
    for (int k = 0; k < count && positions; k++) SN_TRY(fetch(characters[k], 1, error));
    SN_TRY(sn_gpu_wait(first->gpu, NULL, INFINITY, NULL, error));
    for (int k = 0; k < count && positions; k++) hand_out(characters[k], 1, positions[k]);
    return SINEW_OK;
}

sinew_status sn_gpu_linear_characters(int count, sn_gpu_linear *const *characters,
                                      const double *const *weights, float *const *positions,
                                      sinew_error *error) {
    if (count < 1) return SINEW_OK;
    sn_gpu *gpu = characters[0]->gpu;
    sinew_status status = SINEW_OK;
    sn_gpu_lock(gpu);
    for (int k = 0; k < count && status == SINEW_OK; k += ENTRIES)
        status = evaluate_some(count - k < ENTRIES ? count - k : ENTRIES, characters + k,
                               weights + k, positions ? positions + k : NULL, error);
    sn_gpu_unlock(gpu);
    return status;
}
