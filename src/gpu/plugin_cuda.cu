/* The device library: memory, copies and launches by the CUDA runtime, which is linked statically.
 * Built for the architectures that meson.build lists, and as PTX for later ones. */
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

#include "gpu/kernels/batch_newton.h"
#include "gpu/kernels/spring_newton.h"
#include "gpu/plugin.h"

#ifndef SN_THREADS
#define SN_THREADS SN_MOST_THREADS
#endif
#ifndef SN_BATCH_THREADS
#define SN_BATCH_THREADS SN_MOST_THREADS
#endif

struct sn_gpu_device {
    int id;
    cudaStream_t stream, copies;
    cudaEvent_t launched, arrived[SN_GPU_FETCHES];
    char message[256];
};

extern __shared__ __align__(16) char sn_dynamic_shared[];

static __device__ void start_grid(sn_grid *g, int blocks) {
    g->block = (int)blockIdx.x % blocks, g->blocks = blocks;
    g->group = (int)blockIdx.x / blocks;
    g->thread = (int)threadIdx.x, g->threads = (int)blockDim.x;
    g->summed = 0, g->largest = 0;
    g->shared = sn_dynamic_shared, g->scratch = (double *)sn_dynamic_shared;
}

/* Barriers are numbered on from launch to launch: what an earlier one left is not mistaken. */
static __device__ void join_group(sn_grid *g, sn_group_memory memory) {
    g->memory = memory;
    g->epoch = *memory.epoch;
}
static __device__ void leave_group(const sn_grid *g) {
    if (g->block == 0 && g->thread == 0) *g->memory.epoch = g->epoch;
#ifdef SN_CLOCKS
    if (g->block != 0 || g->group != 0 || g->thread != 0) return;
    for (int k = 0; k < 256; k++) {
        if (sn_clock_count[k])
            printf("%9lld + %9lld cycles, %4d times: %.60s\n", sn_clock_work[k], sn_clock_wait[k],
                   sn_clock_count[k], sn_clock_name[k]);
        sn_clock_work[k] = sn_clock_wait[k] = sn_clock_count[k] = 0;
    }
#endif
}

static __global__ void __launch_bounds__(SN_THREADS, 1)
    run_rotation(const __grid_constant__ sn_rotation_launch launch, int blocks) {
    sn_grid g;
    start_grid(&g, blocks);
    join_group(&g, launch.memory);
    sn_rotation_run(&g, &launch.rotation, &launch.work, launch.activations, launch.refinements,
                    NULL, NULL, launch.positions);
    leave_group(&g);
}

static __global__ void __launch_bounds__(SN_THREADS, 1)
    run_modal(const __grid_constant__ sn_modal_launch launch, int blocks) {
    sn_grid g;
    start_grid(&g, blocks);
    join_group(&g, launch.memory);
    sn_modal_run(&g, &launch.modal, &launch.work, &launch.asked, launch.positions);
    leave_group(&g);
}

static __global__ void __launch_bounds__(SN_THREADS, 1)
    run_spring(const __grid_constant__ sn_spring_launch launch, int blocks) {
    __shared__ sn_spring_work work;
    __shared__ sn_spring_asked asked;
    sn_grid g;
    start_grid(&g, blocks);
    if (threadIdx.x == 0) work = *launch.work, asked = *launch.asked;
    __syncthreads();
    join_group(&g, work.group);
    sn_spring_run(&g, &launch.spring, &work, &asked);
    leave_group(&g);
}

static __global__ void __launch_bounds__(SN_BATCH_THREADS, 1)
    run_batch(const __grid_constant__ sn_batch_launch launch, int groups, int blocks) {
    /* phases are functions: parameters would be copied to every thread's local memory */
    __shared__ sn_batch_work work;
    __shared__ sn_spring_device spring;
    __shared__ sn_batch_frame frames[SN_ABREAST];
    sn_grid g;
    start_grid(&g, blocks);
    if (threadIdx.x == 0) work = launch.work[g.group], spring = launch.spring;
    __syncthreads();
    join_group(&g, work.group);
    for (int first = g.group * SN_ABREAST; first < launch.frame_count;
         first += groups * SN_ABREAST) {
        int left = launch.frame_count - first;
        sn_batch_run(&g, &spring, &work, left < SN_ABREAST ? left : SN_ABREAST,
                     launch.asked + first, launch.refinements, frames);
    }
    leave_group(&g);
}

static __global__ void __launch_bounds__(SN_LINEAR_LANES *SN_LINEAR_TEAMS)
    run_linear(const __grid_constant__ sn_linear_launch launch) {
    __shared__ double sums[SN_LINEAR_TEAMS * SN_LINEAR_FRAMES * SN_TILE];
    __shared__ sn_linear_entry e;
    if (threadIdx.x == 0) e = launch.entries[blockIdx.y];
    __syncthreads();
    int tile = (int)blockIdx.x, thread = (int)threadIdx.x;
    if (tile >= e.linear.tile_count) return;
    sn_linear_team(&e, tile, thread % SN_LINEAR_LANES, thread / SN_LINEAR_LANES, sums);
    __syncthreads();
    if (thread < SN_TILE) sn_linear_finish(&e, tile, thread, sums);
}

static __global__ void run_copy(const float4 *from, float4 *to, size_t count) {
    size_t stride = (size_t)gridDim.x * blockDim.x;
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count; i += stride)
        to[i] = from[i];
}

static const char *explain(sn_gpu_device *device, const char *what, cudaError_t error) {
    if (error == cudaSuccess) return NULL;
    snprintf(device->message, sizeof device->message, "%s: %s", what, cudaGetErrorString(error));
    return device->message;
}

static const char *allow_shared(sn_gpu_device *device, const void *kernel, size_t bytes) {
    return explain(device, "shared memory",
                   cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                        (int)bytes));
}

static const char *open_device(sn_gpu_device **result, sn_gpu_properties *properties) {
    static char message[256];
    int count = 0;
    cudaError_t error = cudaGetDeviceCount(&count);
    if (error != cudaSuccess || count == 0) {
        snprintf(message, sizeof message, "%s",
                 error == cudaSuccess ? "there is no CUDA device" : cudaGetErrorString(error));
        return message;
    }
    int id = 0, cooperative = 0;
    cudaDeviceProp about;
    error = cudaSetDevice(id);
    if (error == cudaSuccess) error = cudaGetDeviceProperties(&about, id);
    if (error == cudaSuccess)
        error = cudaDeviceGetAttribute(&cooperative, cudaDevAttrCooperativeLaunch, id);
    if (error != cudaSuccess) {
        snprintf(message, sizeof message, "%s", cudaGetErrorString(error));
        return message;
    }
    if (!cooperative) return "the device has no cooperative launches";
    sn_gpu_device *device = (sn_gpu_device *)calloc(1, sizeof *device);
    if (!device) return "out of memory";
    device->id = id;
    const char *failure =
        explain(device, "stream", cudaStreamCreateWithFlags(&device->stream, cudaStreamNonBlocking));
    if (!failure)
        failure = explain(device, "stream",
                          cudaStreamCreateWithFlags(&device->copies, cudaStreamNonBlocking));
    for (int k = -1; k < SN_GPU_FETCHES && !failure; k++)
        failure = explain(device, "event",
                          cudaEventCreateWithFlags(k < 0 ? &device->launched : &device->arrived[k],
                                                   cudaEventDisableTiming));
    /* a little of the shared memory is static */
    size_t shared = about.sharedMemPerBlockOptin - 2048;
    if (!failure) failure = allow_shared(device, (const void *)run_rotation, shared);
    if (!failure) failure = allow_shared(device, (const void *)run_spring, shared);
    if (!failure) failure = allow_shared(device, (const void *)run_modal, shared);
    if (!failure) failure = allow_shared(device, (const void *)run_batch, SN_BATCH_SHARED(SN_BATCH_THREADS));
    if (failure) {
        snprintf(message, sizeof message, "%s", failure);
        free(device);
        return message;
    }
    snprintf(properties->name, sizeof properties->name, "%s", about.name);
    properties->multiprocessors = about.multiProcessorCount;
    properties->memory = about.totalGlobalMem;
    properties->shared_per_block = shared;
    properties->abreast = SN_ABREAST;
    *result = device;
    return NULL;
}

static void close_device(sn_gpu_device *device) {
    cudaStreamDestroy(device->stream), cudaStreamDestroy(device->copies);
    cudaEventDestroy(device->launched);
    for (int k = 0; k < SN_GPU_FETCHES; k++) cudaEventDestroy(device->arrived[k]);
    free(device);
}

static const char *alloc(sn_gpu_device *device, size_t bytes, void **memory) {
    cudaSetDevice(device->id);
    cudaError_t error = cudaMalloc(memory, bytes ? bytes : 16);
    if (error == cudaErrorMemoryAllocation) {
        cudaGetLastError();
        return "out of device memory";
    }
    return explain(device, "memory", error);
}

static void release(sn_gpu_device *device, void *memory) {
    (void)device;
    cudaFree(memory);
}

static const char *alloc_host(sn_gpu_device *device, size_t bytes, void **host, void **mapped) {
    cudaSetDevice(device->id);
    cudaError_t error = cudaHostAlloc(host, bytes ? bytes : 16, cudaHostAllocMapped);
    if (error == cudaSuccess) error = cudaHostGetDevicePointer(mapped, *host, 0);
    return explain(device, "pinned memory", error);
}

static void release_host(sn_gpu_device *device, void *host) {
    (void)device;
    cudaFreeHost(host);
}

static const char *put(sn_gpu_device *device, void *to, const void *from, size_t bytes) {
    return explain(device, "copy to the device",
                   cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, device->stream));
}

static const char *get(sn_gpu_device *device, void *to, const void *from, size_t bytes) {
    return explain(device, "copy from the device",
                   cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, device->stream));
}

static const char *clear(sn_gpu_device *device, void *memory, size_t bytes) {
    return explain(device, "memory", cudaMemsetAsync(memory, 0, bytes, device->stream));
}

static const char *launch(sn_gpu_device *device, sn_gpu_kernel kernel, const void *parameters,
                          int groups, int blocks, size_t shared) {
    cudaError_t error;
    if (kernel == SN_GPU_KERNEL_LINEAR) {
        const sn_linear_launch *linear = (const sn_linear_launch *)parameters;
        run_linear<<<dim3(linear->most_tiles, linear->entry_count), SN_LINEAR_LANES * SN_LINEAR_TEAMS, 0,
                     device->stream>>>(*linear);
        return explain(device, "launch", cudaGetLastError());
    }
    void *arguments[] = {(void *)parameters, &blocks}, *batch[] = {(void *)parameters, &groups, &blocks};
    if (kernel == SN_GPU_KERNEL_BATCH)
        error = cudaLaunchCooperativeKernel((const void *)run_batch, dim3(groups * blocks),
                                            dim3(SN_BATCH_THREADS), batch,
                                            SN_BATCH_SHARED(SN_BATCH_THREADS), device->stream);
    else
        error = cudaLaunchCooperativeKernel(kernel == SN_GPU_KERNEL_ROTATION ? (const void *)run_rotation
                                            : kernel == SN_GPU_KERNEL_MODAL  ? (const void *)run_modal
                                                                             : (const void *)run_spring,
                                            dim3(blocks), dim3(SN_THREADS), arguments, shared,
                                            device->stream);
    return explain(device, "launch", error);
}

static const char *fetch(sn_gpu_device *device, int number, void *to, const void *from, size_t bytes) {
    cudaError_t error = cudaEventRecord(device->launched, device->stream);
    if (error == cudaSuccess) error = cudaStreamWaitEvent(device->copies, device->launched, 0);
    if (error == cudaSuccess)
        error = cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, device->copies);
    if (error == cudaSuccess) error = cudaEventRecord(device->arrived[number], device->copies);
    return explain(device, "copy from the device", error);
}

static int fetched(sn_gpu_device *device, int number, const char **message) {
    cudaError_t error = cudaEventQuery(device->arrived[number]);
    if (error == cudaErrorNotReady) return 0;
    *message = explain(device, "the device failed", error);
    return *message ? -1 : 1;
}

static int finished(sn_gpu_device *device, const char **message) {
    cudaError_t error = cudaStreamQuery(device->stream);
    if (error == cudaErrorNotReady) return 0;
    *message = explain(device, "the device failed", error);
    return *message ? -1 : 1;
}

static const char *bandwidth(sn_gpu_device *device, double *bytes_per_second) {
    size_t count = (size_t)1 << 26; /* 1 GiB */
    void *from = NULL, *to = NULL;
    cudaEvent_t begin, end;
    const char *failure = alloc(device, count * sizeof(float4), &from);
    if (!failure) failure = alloc(device, count * sizeof(float4), &to);
    if (!failure) {
        cudaEventCreate(&begin), cudaEventCreate(&end);
        float best = 0;
        for (int k = 0; k < 6; k++) { /* the first one warms up */
            float ms = 0;
            cudaEventRecord(begin, device->stream);
            run_copy<<<2048, 512, 0, device->stream>>>((const float4 *)from, (float4 *)to, count);
            cudaEventRecord(end, device->stream);
            cudaEventSynchronize(end);
            cudaEventElapsedTime(&ms, begin, end);
            if (k > 0 && (best == 0 || ms < best)) best = ms;
        }
        cudaEventDestroy(begin), cudaEventDestroy(end);
        *bytes_per_second = 2.0 * count * sizeof(float4) / (best * 1e-3);
        failure = explain(device, "copy", cudaGetLastError());
    }
    cudaFree(from), cudaFree(to);
    return failure;
}

extern "C" __attribute__((visibility("default"))) const sn_gpu_plugin_table *sn_gpu_plugin(void) {
    static const sn_gpu_plugin_table table = {
        SN_GPU_PLUGIN_VERSION, open_device, close_device, alloc, release, alloc_host, release_host,
        put, get, clear, launch, fetch, fetched, finished, bandwidth};
    return &table;
}
