/* A spring structure on the device: the constant part. */
#ifndef SN_GPU_NETWORK_H
#define SN_GPU_NETWORK_H

#include "gpu/device.h"
#include "spring/structure.h"

/* source: device -> network vertex, place: back; allocated. Free vertices first; the parts of
 * `blocks` blocks are compact. */
sinew_status sn_gpu_network_order(const sinew_spring *spring, int blocks, int **source, int **place,
                                  sinew_error *error);
/* Copies of the device's row_start and row_other. */
typedef struct sn_gpu_rows {
    int *start, *other;
} sn_gpu_rows;
/* Everything but the coarse levels and the blend. */
sinew_status sn_gpu_network_upload(const sinew_spring *spring, const int *source, const int *place,
                                   sn_gpu_store *store, sn_spring_device *device, sn_gpu_rows *rows,
                                   sinew_error *error);
/* What the rows of each of `blocks` blocks refer to. most: vertices of other blocks, at most; -1:
 * too many to number. */
sinew_status sn_gpu_halo_upload(const sn_gpu_rows *rows, int count, int free_count, int blocks,
                                sn_gpu_store *store, sn_halo_device *halo, int *most,
                                sinew_error *error);

#endif
