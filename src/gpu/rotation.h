/* The rotation-aware blend on the device. */
#ifndef SN_GPU_ROTATION_H
#define SN_GPU_ROTATION_H

#include "gpu/rebuild.h"
#include "sinew/rotation.h"

/* The constant part on the device, and what is kept of the set-up. */
typedef struct sn_gpu_blender {
    sn_rotation_device device;
    sn_dissection *dissection;
    int target_count;
} sn_gpu_blender;

/* SINEW_UNAVAILABLE: this structure is not supported (held vertices, or too large). The
 * solve's tasks are added by sn_dissection_share. batches: as in sn_gpu_shape. */
sinew_status sn_gpu_blender_create(const sinew_rotation *rotation, bool batches,
                                   sn_gpu_store *store, sn_gpu_blender *blender,
                                   sinew_error *error);
void sn_gpu_blender_free(sn_gpu_blender *blender);
/* Room for one frame. */
void sn_gpu_blender_work(const sn_gpu_blender *blender, sn_gpu_store *store,
                         sn_rotation_work *work);

/* Frames of the rotation model. */
typedef struct sn_gpu_rotation sn_gpu_rotation;
sinew_status sn_gpu_rotation_create(sn_gpu *gpu, const sinew_rotation *rotation,
                                    sn_gpu_rotation **result, sinew_error *error);
void sn_gpu_rotation_destroy(sn_gpu_rotation *rotation);
/* positions: 3 per vertex. */
sinew_status sn_gpu_rotation_evaluate(sn_gpu_rotation *rotation, const double *weights,
                                      double *positions, sinew_error *error);

#endif
