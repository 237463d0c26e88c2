#include "gpu/device.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/threads.h"

struct sn_gpu {
    void *library;
    const sn_gpu_plugin_table *calls;
    sn_gpu_device *device;
    sn_gpu_properties about;
    pthread_mutex_t lock;
    char lost[256]; /* why, or "" */
};

/* One device for the process, opened by the first who asks. */
static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;
static sn_gpu *shared;
static int users;

/* ---- opening ---- */

static sinew_status load_library(sn_gpu *gpu, sinew_error *error) {
    const char *name = getenv("SINEW_GPU_LIBRARY");
    if (!name || !*name) name = SN_GPU_PLUGIN_LIBRARY;
    gpu->library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!gpu->library)
        return sn_fail(error, SINEW_UNAVAILABLE, "no GPU: the device library %s cannot be loaded",
                       name);
    sn_gpu_plugin_function *function;
    *(void **)&function = dlsym(gpu->library, SN_GPU_PLUGIN_SYMBOL);
    gpu->calls = function ? function() : NULL;
    if (!gpu->calls || gpu->calls->version != SN_GPU_PLUGIN_VERSION)
        return sn_fail(error, SINEW_UNAVAILABLE,
                       "no GPU: the device library %s is of another version", name);
    const char *failure = gpu->calls->open(&gpu->device, &gpu->about);
    return failure ? sn_fail(error, SINEW_UNAVAILABLE, "no GPU: %s", failure) : SINEW_OK;
}

static void discard(sn_gpu *gpu) {
    if (gpu->device) gpu->calls->close(gpu->device);
    if (gpu->library) dlclose(gpu->library);
    pthread_mutex_destroy(&gpu->lock);
    sn_free(gpu);
}

sinew_status sn_gpu_open(sn_gpu **gpu, sinew_error *error) {
    *gpu = NULL;
    pthread_mutex_lock(&opening);
    sinew_status status = SINEW_OK;
    if (!shared) {
        sn_gpu *made = SN_NEW0(sn_gpu, 1);
        status = made ? SINEW_OK : sn_no_memory(error);
        if (made) {
            pthread_mutex_init(&made->lock, NULL);
            status = load_library(made, error);
            if (status == SINEW_OK)
                shared = made;
            else
                discard(made);
        }
    } else if (shared->lost[0]) {
        status = sn_fail(error, SINEW_UNAVAILABLE, "no GPU: %s", shared->lost);
    }
    if (status == SINEW_OK) users++, *gpu = shared;
    pthread_mutex_unlock(&opening);
    return status;
}

void sn_gpu_close(sn_gpu *gpu) {
    if (!gpu) return;
    pthread_mutex_lock(&opening);
    if (--users == 0) {
        discard(shared);
        shared = NULL;
    }
    pthread_mutex_unlock(&opening);
}

const sn_gpu_properties *sn_gpu_about(const sn_gpu *gpu) {
    return &gpu->about;
}

void sn_gpu_lock(sn_gpu *gpu) {
    pthread_mutex_lock(&gpu->lock);
}

void sn_gpu_unlock(sn_gpu *gpu) {
    pthread_mutex_unlock(&gpu->lock);
}

/* ---- calls ---- */

static sinew_status settle(sn_gpu *gpu, const char *failure, sinew_error *error) {
    if (!failure) return SINEW_OK;
    if (!gpu->lost[0]) snprintf(gpu->lost, sizeof gpu->lost, "%s", failure);
    return sn_fail(error, SINEW_UNAVAILABLE, "GPU: %s", gpu->lost);
}

static const char *refused(const sn_gpu *gpu) {
    return gpu->lost[0] ? gpu->lost : NULL;
}

sinew_status sn_gpu_put(sn_gpu *gpu, void *to, const void *from, size_t bytes, sinew_error *error) {
    const char *failure = refused(gpu);
    if (!failure && bytes) failure = gpu->calls->put(gpu->device, to, from, bytes);
    return settle(gpu, failure, error);
}

sinew_status sn_gpu_get(sn_gpu *gpu, void *to, const void *from, size_t bytes, sinew_error *error) {
    const char *failure = refused(gpu);
    if (!failure && bytes) failure = gpu->calls->get(gpu->device, to, from, bytes);
    return settle(gpu, failure, error);
}

sinew_status sn_gpu_launch(sn_gpu *gpu, sn_gpu_kernel kernel, const void *parameters, int groups,
                           int blocks, size_t bytes, sinew_error *error) {
    const char *failure = refused(gpu);
    if (!failure)
        failure = gpu->calls->launch(gpu->device, kernel, parameters, groups, blocks, bytes);
    return settle(gpu, failure, error);
}

sinew_status sn_gpu_fetch(sn_gpu *gpu, int number, void *to, const void *from, size_t bytes,
                          sinew_error *error) {
    const char *failure = refused(gpu);
    if (!failure && bytes) failure = gpu->calls->fetch(gpu->device, number, to, from, bytes);
    return settle(gpu, failure, error);
}

/* Until all is done, or with a number the fetch of that number. */
static sinew_status await(sn_gpu *gpu, int number, const sinew_monitor *monitor, double limit,
                          volatile int *stop, sinew_error *error) {
    enum { LOOK = 64 }; /* at the clock and the monitor, every so many queries */
    const char *failure = refused(gpu);
    for (int k = 1; !failure; k++) {
        int done = number < 0 ? gpu->calls->finished(gpu->device, &failure)
                              : gpu->calls->fetched(gpu->device, number, &failure);
        if (done != 0) break;
        if (k % LOOK || !stop || *stop) continue;
        if (sn_cancelled(monitor))
            *stop = 1;
        else if (sn_now() > limit)
            *stop = 2;
    }
    return settle(gpu, failure, error);
}

sinew_status sn_gpu_wait(sn_gpu *gpu, const sinew_monitor *monitor, double seconds,
                         volatile int *stop, sinew_error *error) {
    return await(gpu, -1, monitor, sn_now() + seconds, stop, error);
}

sinew_status sn_gpu_wait_for(sn_gpu *gpu, int number, const sinew_monitor *monitor, double limit,
                             volatile int *stop, sinew_error *error) {
    return await(gpu, number, monitor, limit, stop, error);
}

/* ---- results in pieces ---- */

/* Numbers of a piece, at least; pieces at most; threads that copy them. A copy by the device takes
 * about as long as it takes to wake the threads. */
enum { PIECE = 1 << 17, PIECES = 8, RECEIVERS = 8 };

/* Pieces of `count` numbers are equal, but for the last. */
static size_t piece_size(size_t count) {
    size_t pieces = count / PIECE < PIECES ? count / PIECE + 1 : PIECES;
    return (count + pieces - 1) / pieces;
}

bool sn_gpu_in_pieces(size_t count) {
    return piece_size(count) < count;
}

sinew_status sn_gpu_send_back(sn_gpu *gpu, double *to, const double *from, size_t count,
                              sinew_error *error) {
    if (!sn_gpu_in_pieces(count)) return sn_gpu_get(gpu, to, from, count * sizeof *to, error);
    size_t size = piece_size(count);
    int number = 0;
    for (size_t at = 0; at < count; at += size, number++) {
        size_t some = count - at < size ? count - at : size;
        SN_TRY(sn_gpu_fetch(gpu, number, to + at, from + at, some * sizeof *to, error));
    }
    return SINEW_OK;
}

typedef struct receiving {
    sn_gpu *gpu;
    pthread_mutex_t asking;
    atomic_int arrived; /* pieces */
    const char *failure;
    size_t size;
    sn_parallel_body *body;
    void *context;
} receiving;

/* Any thread that needs a piece asks for it: the others may be busy. */
static void receive_some(void *context, sn_span span) {
    receiving *r = context;
    for (size_t at = span.begin; at < span.end;) {
        int piece = (int)(at / r->size);
        size_t end = ((size_t)piece + 1) * r->size;
        while (atomic_load_explicit(&r->arrived, memory_order_acquire) <= piece) {
            if (pthread_mutex_trylock(&r->asking) != 0) continue;
            int next = atomic_load_explicit(&r->arrived, memory_order_relaxed);
            const char *failure = NULL;
            int done = r->failure ? -1 : r->gpu->calls->fetched(r->gpu->device, next, &failure);
            if (failure) r->failure = failure;
            if (done != 0)
                atomic_store_explicit(&r->arrived, done > 0 ? next + 1 : PIECES,
                                      memory_order_release);
            pthread_mutex_unlock(&r->asking);
        }
        if (end > span.end) end = span.end;
        r->body(r->context, (sn_span){at, end, span.seat});
        at = end;
    }
}

sinew_status sn_gpu_receive(sn_gpu *gpu, size_t count, sn_parallel_body *body, void *context,
                            sinew_error *error) {
    receiving r = {.gpu = gpu, .size = piece_size(count), .body = body, .context = context};
    r.arrived = sn_gpu_in_pieces(count) ? 0 : PIECES;
    r.failure = refused(gpu);
    if (!r.failure) {
        pthread_mutex_init(&r.asking, NULL);
        SN_PARALLEL_LOOP(count, 8192, 1, RECEIVERS, receive_some, &r);
        pthread_mutex_destroy(&r.asking);
    }
    return settle(gpu, r.failure, error);
}

void sn_gpu_copy(void *copying, sn_span span) {
    const sn_gpu_copying *c = copying;
    memcpy(c->to + span.begin, c->from + span.begin, (span.end - span.begin) * sizeof(double));
}

sinew_status sn_gpu_bandwidth(sn_gpu *gpu, double *bytes_per_second, sinew_error *error) {
    sn_gpu_lock(gpu);
    const char *failure = refused(gpu);
    if (!failure) failure = gpu->calls->bandwidth(gpu->device, bytes_per_second);
    sinew_status status = settle(gpu, failure, error);
    sn_gpu_unlock(gpu);
    return status;
}

/* ---- stores ---- */

static void *take(sn_gpu_store *store, size_t count, size_t size) {
    if (store->failure || store->no_memory) return NULL;
    void *memory = NULL;
    if (!SN_RESERVE(store->blocks, store->capacity, store->count + 1)) {
        store->no_memory = true;
        return NULL;
    }
    store->failure = store->gpu->calls->alloc(store->gpu->device, count * size, &memory);
    if (store->failure) return NULL;
    store->blocks[store->count++] = memory;
    store->bytes += count * size;
    return memory;
}

void *sn_gpu_store_put(sn_gpu_store *store, const void *array, size_t count, size_t size) {
    void *memory = take(store, count, size);
    if (memory && count)
        store->failure = store->gpu->calls->put(store->gpu->device, memory, array, count * size);
    return store->failure ? NULL : memory;
}

void *sn_gpu_store_room(sn_gpu_store *store, size_t count, size_t size) {
    void *memory = take(store, count, size);
    if (memory && count)
        store->failure = store->gpu->calls->clear(store->gpu->device, memory, count * size);
    return store->failure ? NULL : memory;
}

sn_group_memory sn_gpu_group_room(sn_gpu_store *store, int blocks) {
    return (sn_group_memory){
        .exchange = sn_gpu_store_room(store, SN_EXCHANGE * (size_t)blocks, sizeof(uint64_t)),
        .epoch = sn_gpu_store_room(store, 1, sizeof(unsigned))};
}

void *sn_gpu_store_pinned(sn_gpu_store *store, size_t bytes, void **mapped) {
    *mapped = NULL;
    if (store->failure || store->no_memory) return NULL;
    void *host = NULL;
    if (!SN_RESERVE(store->pinned, store->pinned_capacity, store->pinned_count + 1)) {
        store->no_memory = true;
        return NULL;
    }
    store->failure = store->gpu->calls->alloc_host(store->gpu->device, bytes, &host, mapped);
    if (store->failure) return NULL;
    store->pinned[store->pinned_count++] = host;
    memset(host, 0, bytes);
    return host;
}

sinew_status sn_gpu_store_status(const sn_gpu_store *store, sinew_error *error) {
    if (store->no_memory) return sn_no_memory(error);
    if (store->failure) return sn_fail(error, SINEW_UNAVAILABLE, "GPU: %s", store->failure);
    return SINEW_OK;
}

void sn_gpu_store_free(sn_gpu_store *store) {
    for (size_t k = 0; k < store->count; k++)
        store->gpu->calls->release(store->gpu->device, store->blocks[k]);
    for (size_t k = 0; k < store->pinned_count; k++)
        store->gpu->calls->release_host(store->gpu->device, store->pinned[k]);
    sn_free(store->blocks), sn_free(store->pinned);
    *store = (sn_gpu_store){0};
}
