/* Which processor solves a model's frames: the parameter `device`. */
#ifndef SN_SESSION_DEVICE_H
#define SN_SESSION_DEVICE_H

#include "gpu/shared.h"
#include "session/model.h"
#include "session/parameters.h"

#define SN_DEVICE_PARAMETER                                                                        \
    CHOICE(STATE, "device", 0, "cpu|auto|gpu",                                                     \
           "Processor that solves the frames: the CPU, a GPU if there is one, or a GPU and an "    \
           "error if there is none. Frames agree to the tolerance.")

/* What a model holds of the device. */
typedef struct sn_device {
    int choice;
    sn_gpu *gpu;  /* NULL: frames are the CPU's */
    void *frames; /* the model's structure on the device */
    bool told;    /* of the first frame that was handed over */
} sn_device;

/* Reads the choice; when a device is wanted and opened, `share` puts the structure there. A missing
 * device is a warning for auto and SINEW_UNAVAILABLE for gpu; a structure that the device does not
 * do is a warning. */
typedef sinew_status sn_device_share(sn_gpu *gpu, const void *structure, void **frames,
                                     sinew_error *error);
sinew_status sn_device_update(const sn_model_setup *setup, const void *structure,
                              sn_device_share *share, void (*drop)(void *frames), sn_device *device,
                              sinew_error *error);
void sn_device_close(sn_device *device, void (*drop)(void *frames));

/* Called when a frame goes to the CPU: a line for the first one. */
void sn_device_hand_over(sn_device *device, const char *why, const sinew_monitor *monitor);

#endif
