/* What the device library (libsinew-gpu.so) offers to this one: memory, copies and launches.
 *
 * It is opened by name at run time, so that Sinew links no CUDA library and runs where there is
 * none. It exports one function, sn_gpu_plugin. Calls return NULL, or a message that says what
 * failed; after a failed launch or copy the device must be closed. */
#ifndef SN_GPU_PLUGIN_H
#define SN_GPU_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

#include "gpu/kernels/batch.h"
#include "gpu/kernels/linear.h"
#include "gpu/kernels/modal.h"

/* The version changes with the table or any structure of the kernels. */
enum { SN_GPU_PLUGIN_VERSION = 8, SN_GPU_FETCHES = 16 };

typedef struct sn_gpu_device sn_gpu_device;

typedef struct sn_gpu_properties {
    char name[128];
    int multiprocessors;
    size_t memory;           /* bytes */
    size_t shared_per_block; /* bytes */
    int abreast;             /* frames of a batch that lie side by side */
} sn_gpu_properties;

typedef enum sn_gpu_kernel {
    SN_GPU_KERNEL_ROTATION, /* sn_rotation_launch */
    SN_GPU_KERNEL_SPRING,   /* sn_spring_launch */
    SN_GPU_KERNEL_LINEAR,   /* sn_linear_launch */
    SN_GPU_KERNEL_BATCH,    /* sn_batch_launch */
    SN_GPU_KERNEL_MODAL     /* sn_modal_launch */
} sn_gpu_kernel;

/* Arrays are on the device. */
typedef struct sn_rotation_launch {
    sn_rotation_device rotation;
    sn_rotation_work work;
    sn_group_memory memory;
    const double *activations;
    int refinements;
    double *positions; /* 3 per vertex */
} sn_rotation_launch;

typedef struct sn_spring_launch {
    sn_spring_device spring;
    const sn_spring_work *work;
    const sn_spring_asked *asked;
} sn_spring_launch;

/* Groups of blocks take `abreast` frames at a time, in turn. */
typedef struct sn_batch_launch {
    sn_spring_device spring;
    int frame_count, refinements;
    const sn_batch_work *work;    /* per group */
    const sn_spring_asked *asked; /* per frame */
} sn_batch_launch;

typedef struct sn_linear_launch {
    int entry_count, most_tiles;
    const sn_linear_entry *entries; /* on the device */
} sn_linear_launch;

typedef struct sn_modal_launch {
    sn_modal_device modal;
    sn_modal_work work;
    sn_modal_asked asked;
    sn_group_memory memory;
    double *positions; /* 3 per vertex */
} sn_modal_launch;

typedef struct sn_gpu_plugin_table {
    uint32_t version;
    const char *(*open)(sn_gpu_device **device, sn_gpu_properties *properties);
    void (*close)(sn_gpu_device *device);
    const char *(*alloc)(sn_gpu_device *device, size_t bytes, void **memory);
    void (*release)(sn_gpu_device *device, void *memory);
    /* Memory of the host that the device reads and writes, too. */
    const char *(*alloc_host)(sn_gpu_device *device, size_t bytes, void **host, void **mapped);
    void (*release_host)(sn_gpu_device *device, void *host);
    /* In order with launches; `put` and `get` return before they are done. */
    const char *(*put)(sn_gpu_device *device, void *to, const void *from, size_t bytes);
    const char *(*get)(sn_gpu_device *device, void *to, const void *from, size_t bytes);
    const char *(*clear)(sn_gpu_device *device, void *memory, size_t bytes);
    /* groups x blocks blocks that all run at the same time; `shared`: bytes of each block, beyond
     * what a batch needs. */
    const char *(*launch)(sn_gpu_device *device, sn_gpu_kernel kernel, const void *parameters,
                          int groups, int blocks, size_t shared);
    /* Copies once all launches so far are done, beside later ones; `fetched` as `finished`, for the
     * last fetch with that number, which is less than SN_GPU_FETCHES. */
    const char *(*fetch)(sn_gpu_device *device, int number, void *to, const void *from,
                         size_t bytes);
    int (*fetched)(sn_gpu_device *device, int number, const char **message);
    /* 1: all that was asked for is done, 0: not yet, -1: failed, with a message. */
    int (*finished)(sn_gpu_device *device, const char **message);
    /* Bytes per second of a large copy on the device, reads and writes counted. */
    const char *(*bandwidth)(sn_gpu_device *device, double *bytes_per_second);
} sn_gpu_plugin_table;

typedef const sn_gpu_plugin_table *sn_gpu_plugin_function(void);
#define SN_GPU_PLUGIN_SYMBOL  "sn_gpu_plugin"
#define SN_GPU_PLUGIN_LIBRARY "libsinew-gpu.so.0"

#endif
