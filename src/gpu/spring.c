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
static const cluster_counts SINGLE = {341, 1024}, LARGE = {560, 2048};
enum {
    LARGE_COUNT = 40000,
    VERTICES_PER_RIGID = 24,
    VERTICES_PER_TRANSLATING = 6,
    VERTICES_PER_MIDDLE = 8, /* of the first middle level; clusters of it per one of the second, */
    LEAST_BETWEEN = 2        /* if that has so many times the clusters of the coarse level */
};
/* Batches: most frames of a launch, and vertices that a block should have: with fewer it waits
 * longer at barriers. */
enum { BATCH_FRAMES = 256, BATCH_VERTICES = 96 };
static bool all_are_large; /* for tests */
/* Bytes of results of a launch; share of the device's memory that the work of a batch may take. */
static const size_t BATCH_RESULTS = (size_t)1 << 28;
static const double BATCH_SHARE = 0.25;
/* Frames whose tolerance is at least this start from a blend in single precision: 7 digits. */
static const double SINGLE_PRECISION = 3e-5;

/* How a launch is divided, with the memory of its frames. */
typedef struct layout {
    sn_gpu_store store;
    sn_spring_device device;
    int groups, blocks;
    size_t shared;
    const sn_spring_work *work;      /* on the device: of single frames, */
    const sn_batch_work *batch_work; /* or of the groups of a batch */
    int frames;                      /* that a launch can have */
    sn_gpu_store input_store;
    char *input; /* pinned: asked, then what frames ask for */
    char *device_input;
    size_t input_size;
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
    sn_gpu_rows rows;
    sn_gpu_coarse coarse;
    sn_gpu_coarse middle[SN_MIDDLES]; /* only for single frames of large networks */
    layout single, batch;             /* batch: made when it is first used, */
    bool no_batches;                  /* unless that failed */
};

/* ---- building ---- */

static void free_layout(layout *l) {
    sn_gpu_store_free(&l->store), sn_gpu_store_free(&l->input_store);
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
    if (!d->room.has_table) w->rough = sn_gpu_store_room(store, entries, sizeof(sn_half4));
    w->curvature = sn_gpu_store_room(store, (size_t)d->corner_count, sizeof(float));
    w->diagonal = sn_gpu_store_room(store, 8 * f, sizeof(float));
    w->near_x = sn_gpu_store_room(store, n, sizeof(sn_float4));
    w->p = sn_gpu_store_room(store, n, sizeof(sn_float4));
    w->r = sn_gpu_store_room(store, f, sizeof(sn_float4));
    w->q = sn_gpu_store_room(store, f, sizeof(sn_float4));
    w->step = sn_gpu_store_room(store, f, sizeof(sn_float4));
    w->slot_force = sn_gpu_store_room(store, 2 * slots, sizeof(sn_float4));
    for (int k = 0; k < SN_MIDDLES; k++)
        w->middle_force[k] =
            sn_gpu_store_room(store, (size_t)d->middle[k].slots, sizeof(sn_float4));
    w->slot_sum = sn_gpu_store_room(store, 12 * slots, sizeof(double));
    w->center = sn_gpu_store_room(store, clusters, sizeof(sn_float4));
    w->rotation = sn_gpu_store_room(store, 9 * clusters, sizeof(float));
    w->coarse = sn_gpu_store_room(store, 6 * clusters, sizeof(float));
    w->group = sn_gpu_group_room(store, l->blocks);
    sn_gpu_blender_work(&s->blender, store, &w->blender);
}

static size_t rounded(size_t bytes) {
    return (bytes + 63) / 64 * 64;
}

/* Bytes of what a frame asks for: activations, held vertices, loads and pulls. */
static size_t asked_size(const sn_gpu_spring *s, bool held, bool forces, bool pulls) {
    size_t f = (size_t)s->device.free_count, n = (size_t)s->device.count;
    return rounded((size_t)s->spring->rig->target_count * sizeof(double)) +
           ((held ? n - f : 0) + (forces ? f : 0) + (pulls ? f : 0)) * sizeof(sn_double4);
}

/* Room for the input of a launch; what was there is lost. */
static sinew_status input_room(const sn_gpu_spring *s, layout *l, size_t bytes,
                               sinew_error *error) {
    sn_gpu_store *store = &l->input_store;
    void *unused;
    bytes += rounded((size_t)l->frames * sizeof(sn_spring_asked));
    if (bytes <= l->input_size) return SINEW_OK;
    sn_gpu_store_free(store);
    store->gpu = s->gpu, l->input_size = 0;
    l->input = sn_gpu_store_pinned(store, bytes, &unused);
    l->device_input = sn_gpu_store_room(store, bytes, 1);
    SN_TRY(sn_gpu_store_status(store, error));
    l->input_size = bytes;
    return SINEW_OK;
}

static void result_room(const sn_gpu_spring *s, layout *l) {
    sn_gpu_store *store = &l->store;
    size_t n = 3 * (size_t)s->device.count, frames = (size_t)l->frames;
    void *unused, *mapped;
    /* answers first, then positions: one copy brings both */
    size_t answers = rounded(frames * sizeof *l->answers);
    char *back = sn_gpu_store_pinned(store, answers + frames * n * sizeof(double), &unused);
    char *device_back = sn_gpu_store_room(store, answers + frames * n * sizeof(double), 1);
    l->answers = (sn_spring_answer *)(void *)back;
    l->device_answers = (sn_spring_answer *)(void *)device_back;
    l->positions = back ? (double *)(void *)(back + answers) : NULL;
    l->device_positions = device_back ? (double *)(void *)(device_back + answers) : NULL;
    l->stop = sn_gpu_store_pinned(store, 64, &mapped);
    l->mapped_stop = mapped;
}

/* Turns on what fits, in this order. */
static void fit(sn_spring_device *d, int *const *parts, size_t count, size_t limit) {
    for (size_t k = 0; k < count; k++) {
        *parts[k] = (parts[k] != &d->room.has_lists || d->coarse.slots <= UINT16_MAX) &&
                    (parts[k] != &d->room.has_halo || (d->room.has_tile && d->room.most_halo >= 0));
        if (sn_room_size(d) > limit) *parts[k] = 0;
    }
}

/* What a block keeps in shared memory: all of it, or what saves most. */
static void choose_room(const sn_gpu_spring *s, size_t limit, int most_items, int most_halo,
                        layout *l) {
    const sn_coarse_device *c = &l->device.coarse;
    sn_block_room *room = &l->device.room;
    int n = s->device.free_count;
    *room = (sn_block_room){.rows = (c->modes + l->blocks - 1) / l->blocks,
                            .most_items = most_items,
                            .most_halo = most_halo,
                            .has_places = c->rigid || s->device.corner_count > 0};
    for (int b = 0; b < l->blocks; b++) {
        int begin = (int)((int64_t)n * b / l->blocks),
            end = (int)((int64_t)n * (b + 1) / l->blocks);
        int entries = s->rows.start[end] - s->rows.start[begin];
        if (end - begin > room->most_vertices) room->most_vertices = end - begin;
        if (entries > room->most_entries) room->most_entries = entries;
    }
    int *small[] = {&room->has_lists, &room->has_rows, &room->has_vectors, &room->has_table};
    int *large[] = {&room->has_tile, &room->has_halo, &room->has_vectors, &room->has_lists,
                    &room->has_rows};
    fit(&l->device, small, sizeof small / sizeof *small, limit);
    if (!room->has_table || all_are_large) {
        room->has_lists = room->has_rows = room->has_vectors = room->has_table = 0;
        fit(&l->device, large, sizeof large / sizeof *large, limit);
    }
    size_t size = sn_room_size(&l->device);
    if (size > l->shared) l->shared = size;
}

static sinew_status fill_single(const sn_gpu_spring *s, layout *l, sinew_error *error) {
    sn_gpu_store *store = &l->store;
    int most_items = 0, most_halo = 0;
    l->store.gpu = s->gpu, l->device = s->device;
    l->groups = 1, l->frames = 1, l->blocks = sn_gpu_about(s->gpu)->multiprocessors;
    SN_TRY(
        sn_gpu_coarse_upload(&s->coarse, l->blocks, store, &l->device.coarse, &most_items, error));
    SN_TRY(sn_dissection_share(s->blender.dissection, l->blocks, store, &l->device.rotation.solve,
                               &l->shared, error));
    for (int k = 0; k < SN_MIDDLES && s->middle[k].clusters > 0; k++)
        SN_TRY(sn_gpu_middle_upload(&s->middle[k], l->blocks, store, &l->device.middle[k], error));
    size_t limit = sn_gpu_about(s->gpu)->shared_per_block;
    choose_room(s, limit, most_items, -1, l);
    if (!l->device.room.has_table) {
        SN_TRY(sn_gpu_halo_upload(&s->rows, s->device.count, s->device.free_count, l->blocks, store,
                                  &l->device.halo, &most_halo, error));
        choose_room(s, limit, most_items, most_halo, l);
    }
    if (l->shared > limit)
        return sn_fail(error, SINEW_UNAVAILABLE,
                       "the GPU's shared memory is too small for a network of %d vertices",
                       s->device.count);
    sn_spring_work work;
    work_room(s, l, &work);
    l->work = sn_gpu_store_put(store, &work, 1, sizeof work);
    result_room(s, l);
    SN_TRY(sn_gpu_store_status(store, error));
    SN_TRY(input_room(s, l, asked_size(s, true, true, true), error));
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
    SN_TRY(
        sn_gpu_network_upload(spring, s->source, s->place, &s->store, &s->device, &s->rows, error));
    SN_TRY(sn_gpu_blender_create(spring->rotation, true, &s->store, &s->blender, error));
    s->device.rotation = s->blender.device;
    bool large = s->device.free_count > LARGE_COUNT || all_are_large;
    cluster_counts counts = large ? LARGE : SINGLE;
    bool rigid = sn_gpu_coarse_is_rigid(spring);
    int most = rigid ? counts.rigid : counts.translating;
    int wanted = s->device.free_count / (rigid ? VERTICES_PER_RIGID : VERTICES_PER_TRANSLATING);
    SN_TRY(sn_gpu_coarse_create(spring, s->source, s->place, large, wanted < most ? wanted : most,
                                &s->coarse, error));
    for (int k = 0, each = VERTICES_PER_MIDDLE; k < SN_MIDDLES && large && !rigid;
         k++, each *= VERTICES_PER_MIDDLE) {
        int clusters = s->device.free_count / each;
        if (k > 0 && clusters < LEAST_BETWEEN * s->coarse.clusters && !all_are_large) break;
        SN_TRY(sn_gpu_middle_create(spring, s->source, s->place, clusters, &s->middle[k], error));
    }
    return fill_single(s, &s->single, error);
}

void sn_gpu_spring_treat_as_large(bool all) {
    all_are_large = all;
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
    sn_gpu_coarse_free(&s->coarse);
    for (int k = 0; k < SN_MIDDLES; k++) sn_gpu_coarse_free(&s->middle[k]);
    sn_free(s->source), sn_free(s->place), sn_free(s->rows.start), sn_free(s->rows.other);
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
static void ask_held(const sn_gpu_spring *s, const sinew_spring_frame *frame, sn_double4 *held) {
    memset(held, 0, (size_t)(s->device.count - s->device.free_count) * sizeof *held);
    for (int k = 0; k < s->spring->pin_count; k++) {
        int h = s->place[s->spring->pins[k]] - s->device.free_count;
        sn_vec3 x = sn_at(frame->pin_positions, k);
        if (h >= 0) held[h] = (sn_double4){x.x, x.y, x.z, 1};
    }
}

static void ask_forces(const sn_gpu_spring *s, const sinew_spring_frame *frame, sn_double4 *load) {
    memset(load, 0, (size_t)s->device.free_count * sizeof *load);
    for (int v = 0; v < s->spring->network->surface_count; v++) {
        int at = s->place[sn_seams_root(s->spring->seams, v)];
        if (at >= s->device.free_count) continue;
        sn_vec3 f = sn_scale(s->spring->system->mean_stiffness, sn_at(frame->forces, v));
        load[at].x += f.x, load[at].y += f.y, load[at].z += f.z;
    }
}

/* Several soft pulls of one vertex add up to one at their mean. */
static void ask_pulls(const sn_gpu_spring *s, const sinew_spring_frame *frame, sn_double4 *pull) {
    memset(pull, 0, (size_t)s->device.free_count * sizeof *pull);
    for (int k = 0; k < frame->pull_count; k++) {
        int at = s->place[sn_seams_root(s->spring->seams, frame->pulls[k].vertex)];
        if (at >= s->device.free_count) continue; /* a held vertex stays where it is held */
        const double *to = frame->pulls[k].position;
        double added = frame->pulls[k].stiffness * s->spring->system->mean_stiffness;
        sn_double4 *p = &pull[at];
        double share = isinf(added) ? 1 : isinf(p->w) ? 0 : added / (p->w + added);
        p->x += share * (to[0] - p->x), p->y += share * (to[1] - p->y);
        p->z += share * (to[2] - p->z), p->w += added;
    }
}

/* Adds what a frame asks for to the input; `used`: bytes of it so far. */
static void ask(const sn_gpu_spring *s, const layout *l, const sinew_spring_options *settings,
                int index, const sinew_spring_frame *frame, size_t *used) {
    size_t at = *used, f = (size_t)s->device.free_count * sizeof(sn_double4);
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
    at += asked_size(s, false, false, false);
    if (frame->pin_positions && s->device.count > s->device.free_count) {
        ask_held(s, frame, (sn_double4 *)(void *)(l->input + at));
        asked->held = (const sn_double4 *)(void *)(l->device_input + at);
        at += (size_t)(s->device.count - s->device.free_count) * sizeof(sn_double4);
    }
    if (frame->forces) {
        ask_forces(s, frame, (sn_double4 *)(void *)(l->input + at));
        asked->load = (const sn_double4 *)(void *)(l->device_input + at);
        at += f;
    }
    if (frame->pull_count > 0) {
        ask_pulls(s, frame, (sn_double4 *)(void *)(l->input + at));
        asked->pull = (const sn_double4 *)(void *)(l->device_input + at);
        at += f;
    }
    *used = at;
}

/* The activations of a frame that was asked for, on the host. */
static const double *activations_of(const layout *l, size_t index) {
    const sn_spring_asked *asked = (const sn_spring_asked *)(const void *)l->input + index;
    ptrdiff_t at = (const char *)asked->activations - (const char *)l->device_input;
    return (const double *)(const void *)((const char *)l->input + at);
}

/* The input of all frames of a launch, sent to the device. */
static sinew_status send(const sn_gpu_spring *s, layout *l, const sinew_spring_options *settings,
                         int count, const sinew_spring_frame *frames, sinew_error *error) {
    size_t bytes = 0, used = rounded((size_t)l->frames * sizeof(sn_spring_asked));
    for (int f = 0; f < count; f++)
        bytes += asked_size(s, frames[f].pin_positions, frames[f].forces, frames[f].pull_count > 0);
    SN_TRY(input_room(s, l, bytes, error));
    for (int f = 0; f < count; f++) ask(s, l, settings, f, &frames[f], &used);
    return sn_gpu_put(s->gpu, l->device_input, l->input, used, error);
}

/* Launches a frame whose input was sent, and waits for positions and answer. */
static sinew_status run(const sn_gpu_spring *s, layout *l, double seconds,
                        const sinew_monitor *monitor, sinew_error *error) {
    sn_spring_launch launch = {.spring = l->device,
                               .work = l->work,
                               .asked = (const sn_spring_asked *)(void *)l->device_input};
    *l->stop = 0;
    SN_TRY(sn_gpu_launch(s->gpu, SN_GPU_KERNEL_SPRING, &launch, 1, l->blocks, l->shared, error));
    size_t answers = (size_t)((char *)l->positions - (char *)l->answers);
    size_t numbers = 3 * (size_t)s->device.count;
    if (sn_gpu_in_pieces(numbers)) {
        SN_TRY(sn_gpu_get(s->gpu, l->answers, l->device_answers, answers, error));
        SN_TRY(sn_gpu_send_back(s->gpu, l->positions, l->device_positions, numbers, error));
    } else {
        SN_TRY(sn_gpu_get(s->gpu, l->answers, l->device_answers, answers + numbers * sizeof(double),
                          error));
    }
    return sn_gpu_wait(s->gpu, monitor, seconds, l->stop, error);
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

/* Results, for the caller and for the state. */
typedef struct outcome {
    const double *from;
    double *state, *to;
    size_t surface;
} outcome;
static void copy_outcome(void *context, sn_span span) {
    const outcome *o = context;
    size_t begin = span.begin, end = span.end < o->surface ? span.end : o->surface;
    memcpy(o->state + begin, o->from + begin, (span.end - begin) * sizeof(double));
    if (begin < end) memcpy(o->to + begin, o->from + begin, (end - begin) * sizeof(double));
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
    sinew_status status = send(s, l, settings, 1, frame, error);
    if (status == SINEW_OK) status = run(s, l, settings->time_limit, monitor, error);
    if (status == SINEW_OK) {
        status = conclude(l, 0, settings, info, error);
        if (status != SINEW_BAD_INPUT) {
            outcome o = {l->positions, state->positions, positions,
                         3 * (size_t)s->spring->network->surface_count};
            sinew_status arrived =
                sn_gpu_receive(s->gpu, 3 * (size_t)s->device.count, copy_outcome, &o, error);
            if (arrived != SINEW_OK) status = arrived;
            sn_seams_copy(s->spring->seams, activations_of(l, 0), state->positions);
            sn_seams_copy(s->spring->seams, activations_of(l, 0), positions);
            sinew_spring_state_reset(state);
        }
        info->seconds = sn_now() - began;
    }
    sn_gpu_unlock(s->gpu);
    return status;
}

/* ---- batches ---- */

/* Numbers per item and frame, times the frames abreast. */
static void *abreast(layout *l, size_t count, size_t size) {
    return sn_gpu_store_room(&l->store, count * (size_t)sn_gpu_about(l->store.gpu)->abreast, size);
}

static void batch_blend_room(const sn_gpu_spring *s, layout *l, sn_batch_work *w) {
    const sn_rotation_device *r = &s->blender.device;
    size_t n = (size_t)r->vertex_count, edges = (size_t)s->blender.dissection->boundary_count;
    w->activations = abreast(l, (size_t)r->target_count, sizeof(double));
    w->sums = abreast(l, 2 * SN_BATCH_SUMS * (size_t)l->blocks, sizeof(double));
    w->item = abreast(l, 9 * (size_t)r->item_count, sizeof(double));
    w->right = abreast(l, 3 * n, sizeof(double)), w->shift = abreast(l, 3 * n, sizeof(double));
    w->right32 = abreast(l, 3 * n, sizeof(float)), w->y = abreast(l, 3 * n, sizeof(float));
    w->x32 = abreast(l, 3 * n, sizeof(float)), w->u = abreast(l, 3 * (edges + 1), sizeof(float));
    w->chunk_sum = abreast(l, 6 * (size_t)r->chunk_count, sizeof(double));
    w->transform = abreast(l, SN_TRANSFORM_SIZE * (size_t)r->component_count, sizeof(double));
    w->blend = abreast(l, 3 * (size_t)s->device.count, sizeof(double));
}

static void batch_room(const sn_gpu_spring *s, layout *l, sn_batch_work *w) {
    const sn_spring_device *d = &l->device;
    size_t n = (size_t)d->count, f = (size_t)d->free_count, k = (size_t)d->coarse.columns;
    batch_blend_room(s, l, w);
    w->rest = abreast(l, (size_t)d->rest.count, sizeof(double));
    w->ratio = abreast(l, (size_t)d->rest.count, sizeof(double));
    w->volume = abreast(l, (size_t)d->volume.count, sizeof(double));
    w->altitudes = abreast(l, 3 * (size_t)d->triangle_count, sizeof(double));
    w->scale = abreast(l, f, sizeof(double));
    for (int side = 0; side < 2; side++) {
        w->x[side] = abreast(l, 3 * n, sizeof(double));
        w->gradient[side] = abreast(l, 3 * f, sizeof(double));
    }
    w->table = abreast(l, (size_t)d->rest.count, sizeof(sn_half4));
    w->curvature = abreast(l, (size_t)d->corner_count, sizeof(float));
    w->diagonal = abreast(l, 6 * f, sizeof(float));
    w->near_x = abreast(l, 3 * n, sizeof(float)), w->p = abreast(l, 3 * n, sizeof(float));
    w->r = abreast(l, 3 * f, sizeof(float)), w->q = abreast(l, 3 * f, sizeof(float));
    w->step = abreast(l, 3 * f, sizeof(float)), w->change = abreast(l, 3 * k, sizeof(float));
    w->lag = abreast(l, 3 * k, sizeof(float)), w->coarse = abreast(l, 3 * k, sizeof(float));
    w->group = sn_gpu_group_room(&l->store, l->blocks);
}

/* Bytes of the work of one group, about. */
static double batch_bytes(const sn_gpu_spring *s) {
    const sn_spring_device *d = &s->device;
    double n = d->count, items = s->blender.device.item_count;
    return sn_gpu_about(s->gpu)->abreast *
           (72 * items + 24.0 * d->rest.count + 8.0 * d->volume.count + 24.0 * d->triangle_count +
            4.0 * d->corner_count + 350 * n);
}

int sn_gpu_spring_batch_size(const sn_gpu_spring *s) {
    const sn_gpu_properties *about = sn_gpu_about(s->gpu);
    if (sn_gpu_coarse_is_rigid(s->spring) || s->no_batches ||
        batch_bytes(s) > BATCH_SHARE * (double)about->memory)
        return 1;
    size_t fit = BATCH_RESULTS / (3 * sizeof(double) * (size_t)s->device.count);
    int frames = fit > BATCH_FRAMES ? BATCH_FRAMES : (int)fit;
    return frames < about->abreast ? about->abreast : frames / about->abreast * about->abreast;
}

static sinew_status fill_batch(const sn_gpu_spring *s, layout *l, sinew_error *error) {
    const sn_gpu_properties *about = sn_gpu_about(s->gpu);
    int unused, most = (int)(BATCH_SHARE * (double)about->memory / batch_bytes(s));
    l->store.gpu = s->gpu, l->device = s->device, l->frames = sn_gpu_spring_batch_size(s);
    l->blocks = 1 + s->device.free_count / BATCH_VERTICES;
    if (l->blocks > about->multiprocessors) l->blocks = about->multiprocessors;
    l->groups = about->multiprocessors / l->blocks;
    if (l->groups > most) l->groups = most;
    if (l->groups > l->frames / about->abreast) l->groups = l->frames / about->abreast;
    if (l->groups < 1) l->groups = 1;
    SN_TRY(sn_gpu_coarse_upload(&s->coarse, 1, &l->store, &l->device.coarse, &unused, error));
    SN_TRY(sn_dissection_share(s->blender.dissection, l->blocks, &l->store,
                               &l->device.rotation.solve, &l->shared, error));
    sn_batch_work *work = SN_NEW0(sn_batch_work, l->groups);
    if (!work) return sn_no_memory(error);
    for (int g = 0; g < l->groups; g++) batch_room(s, l, &work[g]);
    l->batch_work = sn_gpu_store_put(&l->store, work, (size_t)l->groups, sizeof *work);
    result_room(s, l);
    sinew_status status = sn_gpu_store_status(&l->store, error);
    if (status == SINEW_OK) status = sn_gpu_wait(s->gpu, NULL, INFINITY, NULL, error);
    sn_free(work);
    return status;
}

/* Frames of a batch on their way. */
typedef struct flight {
    sn_gpu_spring *spring;
    const sinew_spring_options *settings;
    int first, count;
    double *const *positions;
    sinew_spring_frame_info *infos;
} flight;

/* Launches the frames of `f`, and has their results fetched. */
static sinew_status take_off(const flight *f, int number, sinew_error *error) {
    sn_gpu_spring *s = f->spring;
    layout *l = &s->batch;
    int abreast = sn_gpu_about(s->gpu)->abreast, packs = (f->count + abreast - 1) / abreast;
    size_t first = (size_t)f->first, count = (size_t)f->count, n = 3 * (size_t)s->device.count;
    sn_batch_launch launch = {.spring = l->device,
                              .frame_count = f->count,
                              .refinements = f->settings->tolerance >= SINGLE_PRECISION ? 0 : 1,
                              .work = l->batch_work,
                              .asked = (const sn_spring_asked *)(void *)l->device_input + first};
    SN_TRY(sn_gpu_launch(s->gpu, SN_GPU_KERNEL_BATCH, &launch,
                         packs < l->groups ? packs : l->groups, l->blocks, 0, error));
    SN_TRY(sn_gpu_fetch(s->gpu, number, l->answers + first, l->device_answers + first,
                        count * sizeof *l->answers, error));
    return sn_gpu_fetch(s->gpu, number, l->positions + first * n, l->device_positions + first * n,
                        count * n * sizeof(double), error);
}

static void copy_frames(void *context, sn_span span) {
    const flight *f = context;
    const sn_gpu_spring *s = f->spring;
    size_t all = 3 * (size_t)s->device.count;
    size_t surface = 3 * (size_t)s->spring->network->surface_count;
    for (size_t k = (size_t)f->first + span.begin; k < (size_t)f->first + span.end; k++) {
        memcpy(f->positions[k], s->batch.positions + all * k, surface * sizeof(double));
        sn_seams_copy(s->spring->seams, activations_of(&s->batch, k), f->positions[k]);
    }
}

/* Results that have arrived; the first status that is not SINEW_OK. */
static sinew_status land(flight *f, double began, sinew_error *error) {
    sinew_status worst = SINEW_OK;
    for (int k = f->first; k < f->first + f->count; k++) {
        sinew_error later;
        sinew_status status = conclude(&f->spring->batch, k, f->settings, &f->infos[k],
                                       worst == SINEW_OK ? error : &later);
        f->infos[k].seconds = (sn_now() - began) / (f->first + f->count);
        if (worst == SINEW_OK) worst = status;
    }
    sn_parallel_for(f->count, 1, copy_frames, f);
    return worst;
}

/* As many frames as the layout has room for. A launch has one pack for each group; its results are
 * copied while the next one runs. */
static sinew_status solve_some(sn_gpu_spring *s, const sinew_spring_options *settings, int count,
                               const sinew_spring_frame *frames, double *const *positions,
                               sinew_spring_frame_info *infos, const sinew_monitor *monitor,
                               sinew_error *error) {
    layout *l = &s->batch;
    double began = sn_now(), limit = began + settings->time_limit * count;
    flight flights[SN_GPU_FETCHES];
    int per_launch = l->groups * sn_gpu_about(s->gpu)->abreast, launches = 0;
    while (per_launch * SN_GPU_FETCHES < count) per_launch += sn_gpu_about(s->gpu)->abreast;
    *l->stop = 0;
    SN_TRY(send(s, l, settings, count, frames, error));
    sinew_status status = SINEW_OK, worst = SINEW_OK;
    for (int f = 0; f < count && status == SINEW_OK; f += per_launch, launches++) {
        int some = count - f < per_launch ? count - f : per_launch;
        flights[launches] = (flight){s, settings, f, some, positions, infos};
        status = take_off(&flights[launches], launches, error);
    }
    for (int k = 0; k < launches && status == SINEW_OK; k++) {
        sinew_error later;
        status = sn_gpu_wait_for(s->gpu, k, monitor, limit, l->stop, error);
        if (status != SINEW_OK) break;
        sinew_status landed = land(&flights[k], began, worst == SINEW_OK ? error : &later);
        if (worst == SINEW_OK) worst = landed;
    }
    return status != SINEW_OK ? status : worst;
}

sinew_status sn_gpu_spring_solve_batch(sn_gpu_spring *s, const sinew_spring_state *state, int count,
                                       const sinew_spring_frame *frames, double *const *positions,
                                       sinew_spring_frame_info *infos, const sinew_monitor *monitor,
                                       sinew_error *error) {
    for (int f = 0; f < count; f++) SN_TRY(sn_frame_check(s->spring, &frames[f], error));
    sn_gpu_lock(s->gpu);
    sinew_status status = SINEW_OK, worst = SINEW_OK;
    if (!s->batch.groups && sn_gpu_spring_batch_size(s) == 1)
        status = sn_fail(error, SINEW_UNAVAILABLE, "the GPU does not batch frames of this model");
    if (status == SINEW_OK && !s->batch.groups) {
        status = fill_batch(s, &s->batch, error);
        if (status != SINEW_OK) free_layout(&s->batch), s->no_batches = true;
    }
    for (int f = 0; f < count && status == SINEW_OK; f += s->batch.frames) {
        int some = count - f < s->batch.frames ? count - f : s->batch.frames;
        status = solve_some(s, &state->settings, some, frames + f, positions + f, infos + f,
                            monitor, error);
        if (status == SINEW_NOT_CONVERGED) worst = status, status = SINEW_OK;
    }
    sn_gpu_unlock(s->gpu);
    return status != SINEW_OK ? status : worst;
}
