/* A spring structure on the device: the constant part. */
#ifndef SN_GPU_NETWORK_H
#define SN_GPU_NETWORK_H

#include "gpu/device.h"
#include "spring/structure.h"

/* source: device -> network vertex, place: back; allocated. Free vertices first; the parts of
 * `blocks` blocks are compact. */
sinew_status sn_gpu_network_order(const sinew_spring *spring, int blocks, int **source, int **place,
                                  sinew_error *error);
/* Everything but the coarse level and the blend. row_start: as device->row_start, allocated. */
sinew_status sn_gpu_network_upload(const sinew_spring *spring, const int *source, const int *place,
                                   sn_gpu_store *store, sn_spring_device *device, int **row_start,
                                   sinew_error *error);

#endif
