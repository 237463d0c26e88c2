/* The graphics processor of this process: opened once, shared by all models.
 *
 * One frame runs at a time, because a launch occupies the whole device; whoever runs one holds the
 * lock. When a copy or a launch fails the device counts as lost: every later call fails with the
 * same message, and models go on on the processor. */
#ifndef SN_GPU_DEVICE_H
#define SN_GPU_DEVICE_H

#include "base/monitor.h"
#include "base/parallel.h"
#include "base/status.h"
#include "gpu/plugin.h"

typedef struct sn_gpu sn_gpu;

/* SINEW_UNAVAILABLE says why there is none: no device library, no driver, no device. The library is
 * libsinew-gpu.so.0 where the loader finds it, or the file that SINEW_GPU_LIBRARY names. */
sinew_status sn_gpu_open(sn_gpu **gpu, sinew_error *error);
void sn_gpu_close(sn_gpu *gpu);
const sn_gpu_properties *sn_gpu_about(const sn_gpu *gpu);
sinew_status sn_gpu_bandwidth(sn_gpu *gpu, double *bytes_per_second, sinew_error *error);

void sn_gpu_lock(sn_gpu *gpu);
void sn_gpu_unlock(sn_gpu *gpu);

/* Arrays on the device that live and die together. After a failure the calls below return NULL, and
 * sn_gpu_store_status says what went wrong. */
typedef struct sn_gpu_store {
    sn_gpu *gpu;
    void **blocks, **pinned;
    size_t count, capacity, pinned_count, pinned_capacity;
    size_t bytes; /* of device memory */
    bool no_memory;
    const char *failure;
} sn_gpu_store;

/* A copy of the array; `count` may be 0. */
void *sn_gpu_store_put(sn_gpu_store *store, const void *array, size_t count, size_t size);
/* Zeros. */
void *sn_gpu_store_room(sn_gpu_store *store, size_t count, size_t size);
/* What a group of blocks shares. */
sn_group_memory sn_gpu_group_room(sn_gpu_store *store, int blocks);
/* Memory of the host that copies are fast from and to; `mapped`: its address on the device. */
void *sn_gpu_store_pinned(sn_gpu_store *store, size_t bytes, void **mapped);
sinew_status sn_gpu_store_status(const sn_gpu_store *store, sinew_error *error);
void sn_gpu_store_free(sn_gpu_store *store);

/* In order, with the lock held. */
sinew_status sn_gpu_put(sn_gpu *gpu, void *to, const void *from, size_t bytes, sinew_error *error);
sinew_status sn_gpu_get(sn_gpu *gpu, void *to, const void *from, size_t bytes, sinew_error *error);
sinew_status sn_gpu_launch(sn_gpu *gpu, sn_gpu_kernel kernel, const void *parameters, int groups,
                           int blocks, size_t shared, sinew_error *error);
/* A copy back after all launches so far, beside later ones; number < SN_GPU_FETCHES. */
sinew_status sn_gpu_fetch(sn_gpu *gpu, int number, void *to, const void *from, size_t bytes,
                          sinew_error *error);
/* Numbers on their way back after all launches so far; many of them in pieces, beside which there
 * are no other fetches. */
sinew_status sn_gpu_send_back(sn_gpu *gpu, double *to, const double *from, size_t count,
                              sinew_error *error);
bool sn_gpu_in_pieces(size_t count);
/* After sn_gpu_wait: calls the body, by several threads, for spans of the numbers as they arrive.
 * What the device has just written is read slowly by one thread. */
sinew_status sn_gpu_receive(sn_gpu *gpu, size_t count, sn_parallel_body *body, void *context,
                            sinew_error *error);
/* A body for that. */
typedef struct sn_gpu_copying {
    double *to;
    const double *from;
} sn_gpu_copying;
void sn_gpu_copy(void *copying, sn_span span);
/* Until all of it is done. While it waits it sets *stop (may be NULL) to 1 when the monitor
 * cancels and to 2 after `seconds`. */
sinew_status sn_gpu_wait(sn_gpu *gpu, const sinew_monitor *monitor, double seconds,
                         volatile int *stop, sinew_error *error);
/* Likewise until a fetch has arrived; limit: a time of sn_now. */
sinew_status sn_gpu_wait_for(sn_gpu *gpu, int number, const sinew_monitor *monitor, double limit,
                             volatile int *stop, sinew_error *error);

#endif
