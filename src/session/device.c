#include "session/device.h"

#include "base/status.h"
#include "session/scene.h"

enum { ON_CPU, ON_ANY, ON_GPU }; /* in the order of the parameter's choices */

void sn_device_close(sn_device *device, void (*drop)(void *frames)) {
    if (device->frames) drop(device->frames);
    sn_gpu_close(device->gpu);
    *device = (sn_device){0};
}

sinew_status sn_device_update(const sn_model_setup *setup, const void *structure,
                              sn_device_share *share, void (*drop)(void *frames), sn_device *device,
                              sinew_error *error) {
    int choice = sn_scene_choice(setup->scene, "device");
    if (choice == device->choice) return SINEW_OK;
    sn_device opened = {.choice = choice};
    sinew_error why = {0};
    sinew_status status = SINEW_OK;
    if (choice != ON_CPU) status = sn_gpu_open(&opened.gpu, &why);
    if (status == SINEW_UNAVAILABLE && choice == ON_GPU)
        return sn_fail(error, status, "%s", why.message);
    if (status == SINEW_OK && opened.gpu) {
        status = share(opened.gpu, structure, &opened.frames, &why);
        if (status != SINEW_OK) sn_gpu_close(opened.gpu), opened.gpu = NULL;
    }
    if (status != SINEW_OK && status != SINEW_UNAVAILABLE)
        return sn_fail(error, status, "%s", why.message);
    if (status != SINEW_OK)
        sn_log(setup->monitor, SINEW_LOG_LEVEL_WARNING, "%s; frames are solved on the CPU",
               why.message);
    sn_device_close(device, drop);
    *device = opened;
    return SINEW_OK;
}

void sn_device_hand_over(sn_device *device, const char *why, const sinew_monitor *monitor) {
    if (device->told) return;
    device->told = true;
    sn_log(monitor, SINEW_LOG_LEVEL_WARNING,
           "frames are solved on the CPU where the GPU cannot: %s", why);
}
