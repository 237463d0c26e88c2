/* Modal frames on the device. */
#ifndef SN_GPU_MODAL_H
#define SN_GPU_MODAL_H

#include "gpu/device.h"
#include "modal/frame.h"

/* The body and its modes. */
typedef struct sn_gpu_modal sn_gpu_modal;
sinew_status sn_gpu_modal_create(sn_gpu *gpu, const sinew_modal *modal, sn_gpu_modal **result,
                                 sinew_error *error);
void sn_gpu_modal_destroy(sn_gpu_modal *modal);
/* Of device memory. */
size_t sn_gpu_modal_bytes(const sn_gpu_modal *modal);

/* The poses of a motion, which must outlive it. It is made anew after the motion was updated. */
typedef struct sn_gpu_motion sn_gpu_motion;
sinew_status sn_gpu_motion_create(sn_gpu_modal *modal, const sinew_modal_motion *motion,
                                  sn_gpu_motion **result, sinew_error *error);
void sn_gpu_motion_destroy(sn_gpu_motion *motion);

/* From here on, frames of this state are rebuilt on the device where it can; NULL: on the processor
 * again. After a frame state->rebuilt says where it was, and sn_gpu_motion_why why it was not on
 * the device. */
void sn_gpu_motion_attach(sn_gpu_motion *motion, sinew_modal_state *state);
const char *sn_gpu_motion_why(const sn_gpu_motion *motion);

#endif
