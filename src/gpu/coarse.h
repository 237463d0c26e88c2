/* The coarse level of the device's preconditioner: see kernels/spring_newton.h. */
#ifndef SN_GPU_COARSE_H
#define SN_GPU_COARSE_H

#include "gpu/device.h"
#include "spring/structure.h"

/* Clusters in the order of the device's vertices, and the inverse of their matrix. */
typedef struct sn_gpu_coarse {
    int clusters, free_count;
    int *cluster; /* 4 per free vertex; unused ones have weight 0 */
    float *weight;
    sn_double4 *center; /* in the neutral; w: mass */
    float *inverse;     /* 6 clusters, squared */
} sn_gpu_coarse;

/* place: the device's number of a network vertex. */
sinew_status sn_gpu_coarse_create(const sinew_spring *spring, const int *place, int wanted,
                                  sn_gpu_coarse *coarse, sinew_error *error);
void sn_gpu_coarse_free(sn_gpu_coarse *coarse);
/* For groups of `blocks` blocks. slot_count: for the work's room. */
sinew_status sn_gpu_coarse_upload(const sn_gpu_coarse *coarse, int blocks, sn_gpu_store *store,
                                  sn_coarse_device *device, int *slot_count, sinew_error *error);

#endif
