/* Embree, in one place: its functions, loaded when the first tree needs them; a device that starts
 * no threads of its own (the calling threads do the work, and trees come out the same for any
 * thread count); and its errors as statuses.
 *
 * A host may be linked to another version of Embree, as Blender is since 4.0. The dynamic linker
 * would bind our calls to that one, whose functions have the same names and other parameters. They
 * are therefore looked up in the library that the build found. */
#ifndef SN_MESH_EMBREE_H
#define SN_MESH_EMBREE_H

#include <embree3/rtcore.h>

#include "base/status.h"

#define SN_EMBREE_FUNCTIONS(X)                                                                     \
    X(rtcNewDevice)                                                                                \
    X(rtcReleaseDevice)                                                                            \
    X(rtcGetDeviceError)                                                                           \
    X(rtcSetDeviceMemoryMonitorFunction)                                                           \
    X(rtcNewScene)                                                                                 \
    X(rtcReleaseScene)                                                                             \
    X(rtcSetSceneFlags)                                                                            \
    X(rtcSetSceneProgressMonitorFunction)                                                          \
    X(rtcCommitScene)                                                                              \
    X(rtcNewGeometry)                                                                              \
    X(rtcReleaseGeometry)                                                                          \
    X(rtcAttachGeometry)                                                                           \
    X(rtcCommitGeometry)                                                                           \
    X(rtcSetGeometryBuildQuality)                                                                  \
    X(rtcSetGeometryUserData)                                                                      \
    X(rtcSetGeometryUserPrimitiveCount)                                                            \
    X(rtcSetGeometryBoundsFunction)                                                                \
    X(rtcSetNewGeometryBuffer)                                                                     \
    X(rtcSetSharedGeometryBuffer)                                                                  \
    X(rtcUpdateGeometryBuffer)                                                                     \
    X(rtcIntersect1)                                                                               \
    X(rtcOccluded1)                                                                                \
    X(rtcPointQuery)                                                                               \
    X(rtcCollide)

typedef struct sn_embree_functions {
#define SN_DECLARE(name) __typeof__(name) *name;
    SN_EMBREE_FUNCTIONS(SN_DECLARE)
#undef SN_DECLARE
} sn_embree_functions;

/* To be used after sn_embree_device has succeeded. */
const sn_embree_functions *sn_embree(void);

sinew_status sn_embree_device(RTCDevice *device, sinew_error *error);
/* Memory for what Embree takes without asking; before calls that may start work. */
sinew_status sn_embree_room(sinew_error *error);
/* rtcCommitScene, which ends with an error when the scope of the call (base/scope.h) is cancelled.
 */
void sn_embree_commit(RTCScene scene);
/* The device's pending error, if any. */
sinew_status sn_embree_status(RTCDevice device, sinew_error *error);

#endif
