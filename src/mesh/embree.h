/* Manners with Embree, in one place: a device that starts no threads of its own (the calling
 * threads do the work, and trees come out the same for any thread count), and its errors as
 * statuses. */
#ifndef SN_MESH_EMBREE_H
#define SN_MESH_EMBREE_H

#include <embree3/rtcore.h>

#include "base/status.h"

sinew_status sn_embree_device(RTCDevice *device, sinew_error *error);
/* Memory for what Embree takes without asking; before calls that may start work. */
sinew_status sn_embree_room(sinew_error *error);
/* rtcCommitScene, which ends with an error when the scope of the call (base/scope.h) is cancelled.
 */
void sn_embree_commit(RTCScene scene);
/* The device's pending error, if any. */
sinew_status sn_embree_status(RTCDevice device, sinew_error *error);

#endif
