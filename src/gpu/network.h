/* A spring structure on the device: the constant part. */
#ifndef SN_GPU_NETWORK_H
#define SN_GPU_NETWORK_H

#include "gpu/device.h"
#include "spring/structure.h"

/* source: device -> network vertex, place: back; allocated. Free vertices first. */
sinew_status sn_gpu_network_order(const sinew_spring *spring, int **source, int **place,
                                  sinew_error *error);
/* Everything but the coarse level and the blend. */
sinew_status sn_gpu_network_upload(const sinew_spring *spring, const int *source, const int *place,
                                   sn_gpu_store *store, sn_spring_device *device,
                                   sinew_error *error);

#endif
