#include "mesh/embree.h"

sinew_status sn_embree_device(RTCDevice *device, sinew_error *error) {
    *device = rtcNewDevice("threads=1,set_affinity=0");
    if (*device) return SINEW_OK;
    return sn_fail(error, SINEW_UNAVAILABLE, "Embree cannot start (error %d)",
                   (int)rtcGetDeviceError(NULL));
}

sinew_status sn_embree_status(RTCDevice device, sinew_error *error) {
    enum RTCError code = rtcGetDeviceError(device);
    if (code == RTC_ERROR_NONE) return SINEW_OK;
    if (code == RTC_ERROR_OUT_OF_MEMORY) return sn_no_memory(error);
    return sn_fail(error, SINEW_UNAVAILABLE, "Embree failed (error %d)", (int)code);
}
