/* The device library's kernels on the host, for tests: one thread, groups and blocks one after the
 * other. Memory is the host's, so that sanitizers see every access. */
#include <stdlib.h>
#include <string.h>

#include "gpu/kernels/batch_newton.h"
#include "gpu/kernels/spring_newton.h"
#include "gpu/plugin.h"

struct sn_gpu_device {
    int calls; /* since it was opened */
};

const sn_gpu_plugin_table *sn_gpu_plugin(void);

enum { BLOCKS = 3 }; /* enough for neighbors on both sides */

/* SINEW_GPU_FAIL makes calls of that name fail, or the call of that number, for tests of what
 * happens then. */
static const char *wanted_failure(sn_gpu_device *device, const char *what) {
    const char *asked = getenv("SINEW_GPU_FAIL");
    int number = device ? ++device->calls : 0;
    bool now = asked && (strcmp(asked, what) == 0 || (device && atoi(asked) == number));
    return now ? "failed as the test asked" : NULL;
}

static const char *open_device(sn_gpu_device **device, sn_gpu_properties *properties) {
    const char *failure = wanted_failure(NULL, "open");
    if (failure) return failure;
    *device = calloc(1, sizeof **device);
    if (!*device) return "out of memory";
    /* less shared memory, for tests of what does not fit */
    const char *shared = getenv("SINEW_GPU_SHARED");
    *properties = (sn_gpu_properties){.name = "host emulation",
                                      .multiprocessors = BLOCKS,
                                      .memory = (size_t)1 << 32,
                                      .shared_per_block = shared ? (size_t)atoi(shared) : 200000,
                                      .abreast = SN_ABREAST};
    return NULL;
}

static void close_device(sn_gpu_device *device) {
    free(device);
}

static const char *alloc(sn_gpu_device *device, size_t bytes, void **memory) {
    const char *failure = wanted_failure(device, "memory");
    if (failure) return "out of device memory";
    size_t size = (bytes + 63) / 64 * 64;
    *memory = aligned_alloc(64, size ? size : 64);
    if (!*memory) return "out of device memory";
    memset(*memory, 0xff, bytes); /* what is not written is not a number */
    return NULL;
}

static void release(sn_gpu_device *device, void *memory) {
    (void)device;
    free(memory);
}

static const char *alloc_host(sn_gpu_device *device, size_t bytes, void **host, void **mapped) {
    const char *failure = alloc(device, bytes, host);
    *mapped = failure ? NULL : *host;
    return failure;
}

static const char *copy(sn_gpu_device *device, void *to, const void *from, size_t bytes) {
    memcpy(to, from, bytes);
    return wanted_failure(device, "copy");
}

static const char *clear(sn_gpu_device *device, void *memory, size_t bytes) {
    memset(memory, 0, bytes);
    return wanted_failure(device, "clear");
}

static void run_rotation(const sn_rotation_launch *launch, sn_grid *g) {
    g->memory = launch->memory;
    sn_rotation_run(g, &launch->rotation, &launch->work, launch->activations, launch->refinements,
                    NULL, NULL, launch->positions);
}

static void run_spring(const sn_spring_launch *launch, sn_grid *g) {
    g->memory = launch->work->group;
    sn_spring_run(g, &launch->spring, launch->work, launch->asked);
}

static void run_batch(const sn_batch_launch *launch, int groups, sn_grid *g) {
    for (int first = 0; first < launch->frame_count; first += SN_ABREAST) {
        sn_batch_frame frames[SN_ABREAST];
        int left = launch->frame_count - first;
        memset(frames, 0xff, sizeof frames);
        g->group = first / SN_ABREAST % groups;
        g->memory = launch->work[g->group].group;
        sn_batch_run(g, &launch->spring, &launch->work[g->group],
                     left < SN_ABREAST ? left : SN_ABREAST, launch->asked + first,
                     launch->refinements, frames);
    }
}

static void run_modal(const sn_modal_launch *launch, sn_grid *g) {
    g->memory = launch->memory;
    sn_modal_run(g, &launch->modal, &launch->work, &launch->asked, launch->positions);
}

static void run_linear(const sn_linear_launch *launch) {
    static double sums[SN_LINEAR_TEAMS * SN_LINEAR_FRAMES * SN_TILE];
    for (int k = 0; k < launch->entry_count; k++) {
        const sn_linear_entry *e = &launch->entries[k];
        for (int tile = 0; tile < e->linear.tile_count; tile++) {
            for (int lane = 0; lane < SN_LINEAR_LANES; lane++)
                for (int team = 0; team < SN_LINEAR_TEAMS; team++)
                    sn_linear_team(e, tile, lane, team, sums);
            for (int thread = 0; thread < SN_TILE; thread++)
                sn_linear_finish(e, tile, thread, sums);
        }
    }
}

static const char *launch(sn_gpu_device *device, sn_gpu_kernel kernel, const void *parameters,
                          int groups, int blocks, size_t shared) {
    const char *failure = wanted_failure(device, "launch");
    if (failure) return failure;
    if (kernel == SN_GPU_KERNEL_BATCH) shared = SN_BATCH_SHARED(1);
    shared = (shared + 63) / 64 * 64;
    sn_grid g = {.blocks = blocks, .threads = 1, .shared_bytes = shared};
    g.shared_base = aligned_alloc(64, shared * (size_t)blocks + 64);
    if (!g.shared_base) return "out of memory";
    memset(g.shared_base, 0xff, shared * (size_t)blocks);
    g.shared = g.shared_base, g.scratch = (double *)g.shared_base;
    if (kernel == SN_GPU_KERNEL_ROTATION)
        run_rotation(parameters, &g);
    else if (kernel == SN_GPU_KERNEL_SPRING)
        run_spring(parameters, &g);
    else if (kernel == SN_GPU_KERNEL_BATCH)
        run_batch(parameters, groups, &g);
    else if (kernel == SN_GPU_KERNEL_MODAL)
        run_modal(parameters, &g);
    else
        run_linear(parameters);
    free(g.shared_base);
    return NULL;
}

static int finished(sn_gpu_device *device, const char **message) {
    *message = wanted_failure(device, "finish");
    return *message ? -1 : 1;
}

static const char *fetch(sn_gpu_device *device, int number, void *to, const void *from,
                         size_t bytes) {
    (void)number;
    return copy(device, to, from, bytes);
}

static int fetched(sn_gpu_device *device, int number, const char **message) {
    (void)number;
    return finished(device, message);
}

static const char *bandwidth(sn_gpu_device *device, double *bytes_per_second) {
    (void)device;
    *bytes_per_second = 0;
    return NULL;
}

const sn_gpu_plugin_table *sn_gpu_plugin(void) {
    static const sn_gpu_plugin_table table = {
        .version = SN_GPU_PLUGIN_VERSION,
        .open = open_device,
        .close = close_device,
        .alloc = alloc,
        .release = release,
        .alloc_host = alloc_host,
        .release_host = release,
        .put = copy,
        .get = copy,
        .clear = clear,
        .launch = launch,
        .fetch = fetch,
        .fetched = fetched,
        .finished = finished,
        .bandwidth = bandwidth,
    };
    return &table;
}
