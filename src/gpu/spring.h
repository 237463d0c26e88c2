/* Spring frames on the device: blend, rest lengths and equilibrium in one launch.
 *
 * The answer is that of sinew_spring_solve from the rotation-aware blend, to the tolerance asked
 * for. Frames that the device does not do are named by sn_gpu_spring_refuses; the caller solves
 * them on the processor. */
#ifndef SN_GPU_SPRING_H
#define SN_GPU_SPRING_H

#include "gpu/device.h"
#include "sinew/spring.h"

typedef struct sn_gpu_spring sn_gpu_spring;

/* SINEW_UNAVAILABLE: this structure stays on the processor, and why. The structure must outlive
 * it. */
sinew_status sn_gpu_spring_create(sn_gpu *gpu, const sinew_spring *spring, sn_gpu_spring **result,
                                  sinew_error *error);
void sn_gpu_spring_destroy(sn_gpu_spring *spring);
/* For tests: structures that come are set up as large networks are. */
void sn_gpu_spring_treat_as_large(bool all);
size_t sn_gpu_spring_bytes(const sn_gpu_spring *spring);

/* Why the device does not do this frame, or NULL: it does. */
const char *sn_gpu_spring_refuses(const sn_gpu_spring *spring, const sinew_spring_frame *frame);

/* As sinew_spring_solve, with the settings of `state`, whose history it forgets.
 * SINEW_UNAVAILABLE: the device failed, nothing was written. */
sinew_status sn_gpu_spring_solve(sn_gpu_spring *spring, sinew_spring_state *state,
                                 const sinew_spring_frame *frame, double *positions,
                                 sinew_spring_frame_info *info, const sinew_monitor *monitor,
                                 sinew_error *error);

/* Frames that a launch solves side by side; 1: only one by one (springs without directions, or too
 * little memory). */
int sn_gpu_spring_batch_size(const sn_gpu_spring *spring);
/* Many independent frames: positions[frame] and infos[frame] as above. The status is the first one
 * that is not SINEW_OK; SINEW_UNAVAILABLE: there is no memory for batches, or the device failed. */
sinew_status sn_gpu_spring_solve_batch(sn_gpu_spring *spring, const sinew_spring_state *state,
                                       int count, const sinew_spring_frame *frames,
                                       double *const *positions, sinew_spring_frame_info *infos,
                                       const sinew_monitor *monitor, sinew_error *error);

#endif
