/* What solvers of one structure share on the device: made by the first, released by the last. */
#ifndef SN_GPU_SHARED_H
#define SN_GPU_SHARED_H

#include "gpu/modal.h"
#include "gpu/rotation.h"
#include "gpu/spring.h"

/* As sn_gpu_spring_create and the like, but one object per structure. From any
 * thread; the objects' own functions take the device's lock. */
sinew_status sn_gpu_spring_share(sn_gpu *gpu, const sinew_spring *spring, sn_gpu_spring **shared,
                                 sinew_error *error);
void sn_gpu_spring_drop(sn_gpu_spring *shared);
sinew_status sn_gpu_rotation_share(sn_gpu *gpu, const sinew_rotation *rotation,
                                   sn_gpu_rotation **shared, sinew_error *error);
void sn_gpu_rotation_drop(sn_gpu_rotation *shared);
sinew_status sn_gpu_modal_share(sn_gpu *gpu, const sinew_modal *modal, sn_gpu_modal **shared,
                                sinew_error *error);
void sn_gpu_modal_drop(sn_gpu_modal *shared);

#endif
