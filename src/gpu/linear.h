/* Linear frames on the device, many at once. */
#ifndef SN_GPU_LINEAR_H
#define SN_GPU_LINEAR_H

#include "gpu/device.h"
#include "sinew/rig.h"

typedef struct sn_gpu_linear sn_gpu_linear;

sinew_status sn_gpu_linear_create(sn_gpu *gpu, const sinew_rig *rig, int most_frames,
                                  sn_gpu_linear **result, sinew_error *error);
void sn_gpu_linear_destroy(sn_gpu_linear *linear);
/* Bytes that one frame must read at least, when no target is at rest. */
size_t sn_gpu_linear_bytes(const sn_gpu_linear *linear);
/* positions: 3 floats per vertex and frame; NULL: they stay on the device. weights: slider_count
 * per frame. */
sinew_status sn_gpu_linear_evaluate(sn_gpu_linear *linear, int count, const double *weights,
                                    float *positions, sinew_error *error);

/* One frame of many characters with one wait at the end: weights[k] and positions[k] (or NULL) of
 * character k. */
sinew_status sn_gpu_linear_characters(int count, sn_gpu_linear *const *characters,
                                      const double *const *weights, float *const *positions,
                                      sinew_error *error);

#endif
