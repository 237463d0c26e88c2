#include "job/locks.h"

#include "base/status.h"

sinew_status sn_locks_apply(const sinew_scene *scene, const sinew_rig *rig, sn_clip *clip,
                            const sinew_monitor *monitor, sinew_error *error) {
    (void)rig, (void)clip, (void)monitor;
    size_t index;
    json_t *lock;
    json_array_foreach((json_t *)sn_scene_at(scene, "locks"), index, lock) {
        if (json_is_false(json_object_get(lock, "enabled"))) continue;
        return sn_fail(error, SINEW_UNAVAILABLE, "%s: locks[%zu]: locks are not in this build",
                       scene->name, index);
    }
    return SINEW_OK;
}
