#include "rig/rigid.h"

#include <string.h>

#include "base/rotation.h"

sinew_rigid sn_rigid_between(const sinew_rigid *a, const sinew_rigid *b, double t, sn_vec3 center) {
    sn_mat3 from, to;
    memcpy(&from, a->rotation, sizeof from), memcpy(&to, b->rotation, sizeof to);
    sn_mat3 turn =
        sn_quat_to_mat3(sn_quat_slerp(sn_quat_from_mat3(from), sn_quat_from_mat3(to), t));
    sn_vec3 p = sn_add(sn_mat3_apply(from, center), sn_at(a->translation, 0));
    sn_vec3 q = sn_add(sn_mat3_apply(to, center), sn_at(b->translation, 0));
    sn_vec3 here = sn_add(sn_scale(1 - t, p), sn_scale(t, q));
    sinew_rigid motion;
    memcpy(motion.rotation, &turn, sizeof motion.rotation);
    sn_put(motion.translation, 0, sn_sub(here, sn_mat3_apply(turn, center)));
    return motion;
}
