#include "gpu/spring.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/parallel.h"
#include "base/threads.h"
#include "gpu/coarse.h"
#include "gpu/kernels/spring_block.h"
#include "gpu/network.h"
#include "gpu/rotation.h"

/* Clusters of the coarse level that move rigidly, and that translate. Their matrix is spread over
 * all blocks; large networks have their tables in device memory, which leaves room for more rows.
 */
typedef struct cluster_counts {
    int rigid, translating;
} cluster_counts;
static const cluster_counts SINGLE = {341, 1024}, LARGE = {560, 2048}, BATCH = {128, 512};
enum { LARGE_COUNT = 40000, VERTICES_PER_RIGID = 24, VERTICES_PER_TRANSLATING = 6 };
/* Batches: frames of a launch, and vertices that a block has. A frame has as many blocks as it
 * needs for that: with fewer it takes longer, with more it waits longer at barriers. */
enum { BATCH_FRAMES = 256, BATCH_VERTICES = 800 };
/* Frames whose tolerance is at least this start from a blend in single precision: 7 digits. */
static const double SINGLE_PRECISION = 3e-5;

/* How a launch is divided, with the memory of its frames. */
typedef struct layout {
    sn_gpu_store store;
    sn_spring_device device;
    int groups, blocks;
    size_t shared;
    sn_spring_work *work; /* on the device, per group */
    int frames;           /* that a launch can have */
    char *input;          /* pinned: asked, then what frames ask for */
    char *device_input;
    size_t frame_input;        /* bytes per frame */
    sn_spring_answer *answers; /* pinned, and behind them */
    double *positions;         /* 3 per vertex and frame */
    sn_spring_answer *device_answers;
    double *device_positions;
    volatile int *stop; /* pinned, read by the device */
    int *mapped_stop;
} layout;

struct sn_gpu_spring {
    sn_gpu *gpu;
    const sinew_spring *spring;
    sn_gpu_store store;
    sn_gpu_blender blender;
    sn_spring_device device; /* without the coarse level and the blocks' shares */
    int *source, *place;
    int *row_start;       /* of the device's rows */
    layout single, batch; /* batch: made when it is first used */
};

/* ---- building ---- */

static void free_layout(layout *l) {
    sn_gpu_store_free(&l->store);
    *l = (layout){0};
}

static void work_room(const sn_gpu_spring *s, layout *l, sn_spring_work *w) {
    const sn_spring_device *d = &l->device;
    sn_gpu_store *store = &l->store;
    size_t n = (size_t)d->count, f = (size_t)d->free_count, entries = (size_t)d->entry_count;
    size_t clusters = (size_t)d->coarse.clusters, slots = (size_t)d->coarse.slots;
    w->rest = sn_gpu_store_room(store, (size_t)d->rest.count, sizeof(double));
    w->volume = sn_gpu_store_room(store, (size_t)d->volume.count, sizeof(double));
    w->altitude = sn_gpu_store_room(store, (size_t)d->altitude.count, sizeof(double));
    w->row_rest = sn_gpu_store_room(store, entries, sizeof(double));
    w->heading = sn_gpu_store_room(store, entries, sizeof(sn_double4));
    w->altitudes = sn_gpu_store_room(store, (size_t)d->triangle_count, sizeof(sn_double4));
    w->scale = sn_gpu_store_room(store, f, sizeof(double));
    w->blend = sn_gpu_store_room(store, n, sizeof(sn_double4));
    for (int k = 0; k < 2; k++) {
        w->x[k] = sn_gpu_store_room(store, n, sizeof(sn_double4));
        w->gradient[k] = sn_gpu_store_room(store, f, sizeof(sn_double4));
    }
    w->table = sn_gpu_store_room(store, entries, sizeof(sn_float4));
    w->curvature = sn_gpu_store_room(store, (size_t)d->corner_count, sizeof(float));
    w->diagonal = sn_gpu_store_room(store, 8 * f, sizeof(float));
    w->near_x = sn_gpu_store_room(store, n, sizeof(sn_float4));
    w->p = sn_gpu_store_room(store, n, sizeof(sn_float4));
    w->r = sn_gpu_store_room(store, f, sizeof(sn_float4));
    w->q = sn_gpu_store_room(store, f, sizeof(sn_float4));
    w->step = sn_gpu_store_room(store, f, sizeof(sn_float4));
    w->slot_force = sn_gpu_store_room(store, 2 * slots, sizeof(sn_float4));
    w->slot_sum = sn_gpu_store_room(store, 12 * slots, sizeof(double));
    w->center = sn_gpu_store_room(store, clusters, sizeof(sn_float4));
    w->rotation = sn_gpu_store_room(store, 9 * clusters, sizeof(float));
    w->coarse = sn_gpu_store_room(store, 6 * clusters, sizeof(float));
    w->group = sn_gpu_group_room(store, l->blocks);
    sn_gpu_blender_work(&s->blender, store, &w->blender);
}

/* Bytes of a frame's input: activations, then held vertices, loads and frozen vertices. */
static size_t input_size(const sn_gpu_spring *s) {
    size_t targets = ((size_t)s->spring->rig->target_count * sizeof(double) + 63) / 64 * 64;
    return targets + sizeof(sn_double4) * ((size_t)s->device.count + (size_t)s->device.free_count);
}

static void staging_room(const sn_gpu_spring *s, layout *l) {
    sn_gpu_store *store = &l->store;
    size_t n = 3 * (size_t)s->device.count, frames = (size_t)l->frames;
    size_t asked = (frames * sizeof(sn_spring_asked) + 63) / 64 * 64;
    void *unused, *mapped;
    l->frame_input = input_size(s);
    l->input = sn_gpu_store_pinned(store, asked + frames * l->frame_input, &unused);
    l->device_input = sn_gpu_store_room(store, asked + frames * l->frame_input, 1);
    /* answers first, then positions: one copy brings both */
    size_t answers = (frames * sizeof *l->answers + 63) / 64 * 64;
    char *back = sn_gpu_store_pinned(store, answers + frames * n * sizeof(double), &unused);
    char *device_back = sn_gpu_store_room(store, answers + frames * n * sizeof(double), 1);
    l->answers = (sn_spring_answer *)(void *)back;
    l->device_answers = (sn_spring_answer *)(void *)device_back;
    l->positions = back ? (double *)(void *)(back + answers) : NULL;
    l->device_positions = device_back ? (double *)(void *)(device_back + answers) : NULL;
    l->stop = sn_gpu_store_pinned(store, 64, &mapped);
    l->mapped_stop = mapped;
}

/* What a block keeps in shared memory: the parts that are read most often first. */
static void choose_room(const sn_gpu_spring *s, size_t limit, int most_items, layout *l) {
    const sn_coarse_device *c = &l->device.coarse;
    sn_block_room *room = &l->device.room;
    int n = s->device.free_count;
    *room =
        (sn_block_room){.rows = (c->modes + l->blocks - 1) / l->blocks, .most_items = most_items};
    for (int b = 0; b < l->blocks; b++) {
        int begin = (int)((int64_t)n * b / l->blocks),
            end = (int)((int64_t)n * (b + 1) / l->blocks);
        int entries = s->row_start[end] - s->row_start[begin];
        if (end - begin > room->most_vertices) room->most_vertices = end - begin;
        if (entries > room->most_entries) room->most_entries = entries;
    }
    int *parts[] = {&room->has_lists, &room->has_rows, &room->has_vectors, &room->has_table};
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) {
        *parts[k] = parts[k] != &room->has_lists || c->slots <= UINT16_MAX;
        if (sn_room_size(c, room) > limit) *parts[k] = 0;
    }
    size_t size = sn_room_size(c, room);
    if (size > l->shared) l->shared = size;
}

static sinew_status fill_layout(sn_gpu_spring *s, int groups, int blocks, int frames,
                                cluster_counts counts, layout *l, sinew_error *error) {
    sn_gpu_store *store = &l->store;
    l->store.gpu = s->gpu;
    l->device = s->device, l->groups = groups, l->blocks = blocks, l->frames = frames;
    bool rigid = sn_gpu_coarse_is_rigid(s->spring);
    int wanted = s->device.free_count / (rigid ? VERTICES_PER_RIGID : VERTICES_PER_TRANSLATING);
    int clusters = rigid ? counts.rigid : counts.translating, most_items = 0;
    sn_gpu_coarse coarse;
    SN_TRY(sn_gpu_coarse_create(s->spring, s->place, wanted < clusters ? wanted : clusters, &coarse,
                                error));
    sinew_status status =
        sn_gpu_coarse_upload(&coarse, blocks, store, &l->device.coarse, &most_items, error);
    sn_gpu_coarse_free(&coarse);
    SN_TRY(status);
    SN_TRY(sn_dissection_share(s->blender.dissection, blocks, store, &l->device.rotation.solve,
                               &l->shared, error));
    size_t limit = sn_gpu_about(s->gpu)->shared_per_block;
    choose_room(s, limit, most_items, l);
    if (l->shared > limit)
        return sn_fail(error, SINEW_UNAVAILABLE,
                       "the GPU's shared memory is too small for a network of %d vertices",
                       s->device.count);
    sn_spring_work *work = SN_NEW0(sn_spring_work, groups);
    if (!work) return sn_no_memory(error);
    for (int g = 0; g < groups && !store->failure && !store->no_memory; g++)
        work_room(s, l, &work[g]);
    l->work = sn_gpu_store_put(store, work, (size_t)groups, sizeof *work);
    staging_room(s, l);
    sn_free(work);
    SN_TRY(sn_gpu_store_status(store, error));
    return sn_gpu_wait(s->gpu, NULL, INFINITY, NULL, error);
}

/* What never runs on the device, or NULL. */
static const char *unsupported(const sinew_spring *spring) {
    if (spring->options.solver != SINEW_SPRING_SOLVER_DEFAULT)
        return "the GPU has the default solver only";
    if (spring->anchor.used) return "the GPU does not do the anchor boundary";
    if (spring->options.self_contact) return "the GPU does not do self-contact";
    if (spring->pull == 0 && spring->info.fixed_count == 0)
        return "the GPU needs the pull to the blend, or held vertices";
    if (spring->system->free_count == 0) return "nothing is free to move";
    return NULL;
}

static sinew_status build(sn_gpu_spring *s, sinew_error *error) {
    const sinew_spring *spring = s->spring;
    int blocks = sn_gpu_about(s->gpu)->multiprocessors;
    SN_TRY(sn_gpu_network_order(spring, blocks, &s->source, &s->place, error));
    SN_TRY(sn_gpu_network_upload(spring, s->source, s->place, &s->store, &s->device, &s->row_start,
                                 error));
    SN_TRY(sn_gpu_blender_create(spring->rotation, &s->store, &s->blender, error));
    s->device.rotation = s->blender.device;
    return fill_layout(s, 1, blocks, 1, s->device.free_count > LARGE_COUNT ? LARGE : SINGLE,
                       &s->single, error);
}

sinew_status sn_gpu_spring_create(sn_gpu *gpu, const sinew_spring *spring, sn_gpu_spring **result,
                                  sinew_error *error) {
    *result = NULL;
    const char *why = unsupported(spring);
    if (why) return sn_fail(error, SINEW_UNAVAILABLE, "%s", why);
    sn_gpu_spring *made = SN_NEW0(sn_gpu_spring, 1);
    if (!made) return sn_no_memory(error);
    made->gpu = gpu, made->spring = spring, made->store.gpu = gpu;
    sn_gpu_lock(gpu);
    sinew_status status = build(made, error);
    sn_gpu_unlock(gpu);
    if (status == SINEW_OK)
        *result = made;
    else
        sn_gpu_spring_destroy(made);
    return status;
}

void sn_gpu_spring_destroy(sn_gpu_spring *s) {
    if (!s) return;
    sn_gpu_lock(s->gpu);
    free_layout(&s->single), free_layout(&s->batch);
    sn_gpu_blender_free(&s->blender);
    sn_gpu_store_free(&s->store);
    sn_gpu_unlock(s->gpu);
    sn_free(s->source), sn_free(s->place), sn_free(s->row_start);
    sn_free(s);
}

size_t sn_gpu_spring_bytes(const sn_gpu_spring *s) {
    return s->store.bytes + s->single.store.bytes + s->batch.store.bytes;
}

/* ---- frames ---- */

const char *sn_gpu_spring_refuses(const sn_gpu_spring *spring, const sinew_spring_frame *frame) {
    (void)spring;
    if (frame->orientation_count > 0) return "orientations";
    return frame->obstacle_count > 0 ? "obstacles" : NULL;
}

/* Pins that are put somewhere. */
static bool ask_held(const sn_gpu_spring *s, const sinew_spring_frame *frame, sn_double4 *held) {
    int count = s->device.count - s->device.free_count;
    if (!frame->pin_positions || count == 0) return false;
    memset(held, 0, (size_t)count * sizeof *held);
    for (int k = 0; k < s->spring->pin_count; k++) {
        int h = s->place[s->spring->pins[k]] - s->device.free_count;
        sn_vec3 x = sn_at(frame->pin_positions, k);
        if (h >= 0) held[h] = (sn_double4){x.x, x.y, x.z, 1};
    }
    return true;
}

static void ask_forces(const sn_gpu_spring *s, const sinew_spring_frame *frame, sn_double4 *load) {
    memset(load, 0, (size_t)s->device.free_count * sizeof *load);
    for (int v = 0; v < s->spring->network->surface_count; v++) {
        int at = s->place[v];
        if (at >= s->device.free_count) continue;
        sn_vec3 f = sn_scale(s->spring->system->mean_stiffness, sn_at(frame->forces, v));
        load[at] = (sn_double4){f.x, f.y, f.z, 0};
    }
}

/* Several soft pulls of one vertex add up to one at their mean. */
static void ask_pulls(const sn_gpu_spring *s, const sinew_spring_frame *frame, sn_double4 *pull) {
    memset(pull, 0, (size_t)s->device.free_count * sizeof *pull);
    for (int k = 0; k < frame->pull_count; k++) {
        int at = s->place[frame->pulls[k].vertex];
        if (at >= s->device.free_count) continue; /* a held vertex stays where it is held */
        const double *to = frame->pulls[k].position;
        double added = frame->pulls[k].stiffness * s->spring->system->mean_stiffness;
        sn_double4 *p = &pull[at];
        double share = isinf(added) ? 1 : isinf(p->w) ? 0 : added / (p->w + added);
        p->x += share * (to[0] - p->x), p->y += share * (to[1] - p->y);
        p->z += share * (to[2] - p->z), p->w += added;
    }
}

/* Fills the input of one frame; returns how many bytes of it are used. */
static size_t ask(const sn_gpu_spring *s, const layout *l, const sinew_spring_options *settings,
                  int index, const sinew_spring_frame *frame) {
    size_t asked_size = ((size_t)l->frames * sizeof(sn_spring_asked) + 63) / 64 * 64;
    size_t offset = asked_size + (size_t)index * l->frame_input, at = offset;
    sn_spring_asked *asked = (sn_spring_asked *)(void *)l->input + index;
    *asked = (sn_spring_asked){
        .activations = (const double *)(void *)(l->device_input + at),
        .tolerance = settings->tolerance,
        .max_iterations = settings->max_iterations,
        .refinements = settings->tolerance >= SINGLE_PRECISION ? 0 : 1,
        .stop = l->mapped_stop,
        .positions = l->device_positions + 3 * (size_t)s->device.count * (size_t)index,
        .answer = l->device_answers + index,
    };
    sinew_rig_activations(s->spring->rig, frame->weights, (double *)(void *)(l->input + at));
    at += ((size_t)s->spring->rig->target_count * sizeof(double) + 63) / 64 * 64;
    size_t used = at;
    size_t held_size = (size_t)(s->device.count - s->device.free_count) * sizeof(sn_double4);
    size_t free_size = (size_t)s->device.free_count * sizeof(sn_double4);
    if (ask_held(s, frame, (sn_double4 *)(void *)(l->input + at))) {
        asked->held = (const sn_double4 *)(void *)(l->device_input + at);
        used = at + held_size;
    }
    at += held_size;
    if (frame->forces) {
        ask_forces(s, frame, (sn_double4 *)(void *)(l->input + at));
        asked->load = (const sn_double4 *)(void *)(l->device_input + at);
        used = at + free_size;
    }
    at += free_size;
    if (frame->pull_count > 0) {
        ask_pulls(s, frame, (sn_double4 *)(void *)(l->input + at));
        asked->pull = (const sn_double4 *)(void *)(l->device_input + at);
        used = at + free_size;
    }
    return used;
}

/* Launches frames whose input is filled up to `used`, and waits for positions and answers. */
static sinew_status run(sn_gpu_spring *s, layout *l, int count, size_t used, double seconds,
                        const sinew_monitor *monitor, sinew_error *error) {
    sn_gpu *gpu = s->gpu;
    int groups = count < l->groups ? count : l->groups;
    sn_spring_launch launch = {.spring = l->device,
                               .frame_count = count,
                               .work = l->work,
                               .asked = (const sn_spring_asked *)(void *)l->device_input};
    *l->stop = 0;
    SN_TRY(sn_gpu_put(gpu, l->device_input, l->input, used, error));
    SN_TRY(sn_gpu_launch(gpu, SN_GPU_KERNEL_SPRING, &launch, groups, l->blocks, l->shared, error));
    size_t answers = (size_t)((char *)l->positions - (char *)l->answers);
    SN_TRY(sn_gpu_get(gpu, l->answers, l->device_answers,
                      answers + 3 * (size_t)s->device.count * (size_t)count * sizeof(double),
                      error));
    return sn_gpu_wait(gpu, monitor, seconds, l->stop, error);
}

static sinew_status conclude(const layout *l, int index, const sinew_spring_options *settings,
                             sinew_spring_frame_info *info, sinew_error *error) {
    const sn_spring_answer *a = &l->answers[index];
    *info = (sinew_spring_frame_info){.size = info->size,
                                      .iterations = a->iterations,
                                      .inner_iterations = a->inner_iterations,
                                      .residual = a->residual,
                                      .energy = a->energy,
                                      .clamped = a->clamped,
                                      .inverted = a->inverted,
                                      .new_inverted = a->new_inverted,
                                      .flipped = a->flipped};
    info->status = a->outcome == SN_SPRING_CONVERGED ? SINEW_OK : SINEW_NOT_CONVERGED;
    if (a->outcome == SN_SPRING_NOT_FINITE)
        return info->status = sn_fail(error, SINEW_BAD_INPUT,
                                      "spring solve started from a shape without finite energy");
    if (a->outcome == SN_SPRING_STOPPED && *l->stop == 1)
        return info->status = sn_fail(error, SINEW_CANCELLED, "cancelled");
    info->time_limited = a->outcome == SN_SPRING_STOPPED;
    if (info->time_limited)
        sn_fail(error, SINEW_NOT_CONVERGED,
                "spring: stopped by the time limit (%g s): force %.2g of tolerance %.2g after %d "
                "steps",
                settings->time_limit, info->residual, settings->tolerance, info->iterations);
    else if (info->status != SINEW_OK)
        sn_fail(error, SINEW_NOT_CONVERGED, "spring: force %.2g of tolerance %.2g after %d steps",
                info->residual, settings->tolerance, info->iterations);
    return info->status;
}

sinew_status sn_gpu_spring_solve(sn_gpu_spring *s, sinew_spring_state *state,
                                 const sinew_spring_frame *frame, double *positions,
                                 sinew_spring_frame_info *info, const sinew_monitor *monitor,
                                 sinew_error *error) {
    double began = sn_now();
    SN_TRY(sn_frame_check(s->spring, frame, error));
    layout *l = &s->single;
    const sinew_spring_options *settings = &state->settings;
    sn_gpu_lock(s->gpu);
    size_t used = ask(s, l, settings, 0, frame);
    sinew_status status = run(s, l, 1, used, settings->time_limit, monitor, error);
    if (status == SINEW_OK) {
        status = conclude(l, 0, settings, info, error);
        if (status != SINEW_BAD_INPUT) {
            size_t surface = 3 * (size_t)s->spring->network->surface_count;
            memcpy(state->positions, l->positions, 3 * (size_t)s->device.count * sizeof(double));
            memcpy(positions, l->positions, surface * sizeof *positions);
            sinew_spring_state_reset(state);
        }
        info->seconds = sn_now() - began;
    }
    sn_gpu_unlock(s->gpu);
    return status;
}

int sn_gpu_spring_batch_size(const sn_gpu_spring *spring) {
    (void)spring;
    return BATCH_FRAMES;
}

typedef struct copy_out {
    const sn_gpu_spring *spring;
    const layout *from;
    double *const *to;
} copy_out;

static void copy_frames(void *context, sn_span span) {
    const copy_out *c = context;
    size_t all = 3 * (size_t)c->spring->device.count;
    size_t surface = 3 * (size_t)c->spring->spring->network->surface_count;
    for (size_t f = span.begin; f < span.end; f++)
        memcpy(c->to[f], c->from->positions + all * f, surface * sizeof(double));
}

static sinew_status solve_some(sn_gpu_spring *s, const sinew_spring_options *settings, int count,
                               const sinew_spring_frame *frames, double *const *positions,
                               sinew_spring_frame_info *infos, const sinew_monitor *monitor,
                               sinew_error *error) {
    layout *l = &s->batch;
    double began = sn_now();
    size_t used = 0;
    for (int f = 0; f < count; f++) used = ask(s, l, settings, f, &frames[f]);
    SN_TRY(run(s, l, count, used, settings->time_limit * count, monitor, error));
    sinew_status worst = SINEW_OK;
    for (int f = 0; f < count; f++) {
        sinew_spring_frame_info unused = {.size = sizeof unused};
        sinew_error later;
        sinew_status status = conclude(l, f, settings, infos ? &infos[f] : &unused,
                                       worst == SINEW_OK ? error : &later);
        if (infos) infos[f].seconds = (sn_now() - began) / count;
        if (worst == SINEW_OK) worst = status;
    }
    copy_out copy = {s, l, positions};
    sn_parallel_for(count, 1, copy_frames, &copy);
    return worst;
}

sinew_status sn_gpu_spring_solve_batch(sn_gpu_spring *s, const sinew_spring_state *state, int count,
                                       const sinew_spring_frame *frames, double *const *positions,
                                       sinew_spring_frame_info *infos, const sinew_monitor *monitor,
                                       sinew_error *error) {
    for (int f = 0; f < count; f++) SN_TRY(sn_frame_check(s->spring, &frames[f], error));
    sn_gpu_lock(s->gpu);
    sinew_status status = SINEW_OK, worst = SINEW_OK;
    if (!s->batch.groups) {
        int all = sn_gpu_about(s->gpu)->multiprocessors;
        int blocks = 1 + s->device.free_count / BATCH_VERTICES;
        if (blocks > all) blocks = all;
        status = fill_layout(s, all / blocks, blocks, BATCH_FRAMES, BATCH, &s->batch, error);
        if (status != SINEW_OK) free_layout(&s->batch);
    }
    for (int f = 0; f < count && status == SINEW_OK; f += BATCH_FRAMES) {
        int some = count - f < BATCH_FRAMES ? count - f : BATCH_FRAMES;
        status = solve_some(s, &state->settings, some, frames + f, positions + f,
                            infos ? infos + f : NULL, monitor, error);
        if (status == SINEW_NOT_CONVERGED) worst = status, status = SINEW_OK;
    }
    sn_gpu_unlock(s->gpu);
    return status != SINEW_OK ? status : worst;
}
