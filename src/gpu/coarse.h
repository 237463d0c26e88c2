/* The coarse level of the device's preconditioner: see kernels/spring_newton.h. */
#ifndef SN_GPU_COARSE_H
#define SN_GPU_COARSE_H

#include "gpu/device.h"
#include "spring/structure.h"

/* Clusters in the order of the device's vertices, and the inverse of their matrix. The middle level
 * of large networks has translating clusters, too, and of their matrix the diagonal alone. */
typedef struct sn_gpu_coarse {
    int clusters, free_count, columns;
    bool rigid; /* otherwise translations: springs have directions */
    bool middle;
    int *cluster; /* 4 per free vertex; unused ones have weight 0 */
    float *weight;
    sn_double4 *center; /* in the neutral; w: mass */
    uint16_t *inverse;  /* modes x columns, as sn_coarse_device has it */
    float *scale;       /* columns; middle: inverse of the diagonal, per cluster */
} sn_gpu_coarse;

bool sn_gpu_coarse_is_rigid(const sinew_spring *spring);
/* place: the device's number of a network vertex; source: the other way. large: centers
 * are not chosen one by one, which would take long. */
sinew_status sn_gpu_coarse_create(const sinew_spring *spring, const int *source, const int *place,
                                  bool large, int wanted, sn_gpu_coarse *coarse,
                                  sinew_error *error);
sinew_status sn_gpu_middle_create(const sinew_spring *spring, const int *source, const int *place,
                                  int wanted, sn_gpu_coarse *middle, sinew_error *error);
void sn_gpu_coarse_free(sn_gpu_coarse *coarse);
/* For groups of `blocks` blocks. most_items: vertices of the slots of one block. */
sinew_status sn_gpu_coarse_upload(const sn_gpu_coarse *coarse, int blocks, sn_gpu_store *store,
                                  sn_coarse_device *device, int *most_items, sinew_error *error);

sinew_status sn_gpu_middle_upload(const sn_gpu_coarse *middle, int blocks, sn_gpu_store *store,
                                  sn_middle_device *device, sinew_error *error);

#endif
