#include "samples/spine.h"

#include <math.h>

#include "base/memory.h"

/* The share of a joint's angle reached at s: 6 t^5 - 15 t^4 + 10 t^3, whose first two derivatives
 * vanish at both ends, so that curvature starts and stops softly. */
static double share(const sn_joint *joint, double s) {
    double t = (s - joint->start) / (joint->end - joint->start);
    t = fmin(1, fmax(0, t));
    return joint->even ? t : t * t * t * (t * (6 * t - 15) + 10);
}

void sn_spine_set(sn_spine *spine, double length, int joint_count, const sn_joint *joints) {
    double step = length / SN_SPINE_STEPS;
    spine->length = length;
    for (int i = 0; i <= SN_SPINE_STEPS; i++) {
        spine->bend[i] = spine->twist[i] = 0;
        for (int j = 0; j < joint_count; j++) {
            spine->bend[i] += joints[j].bend * share(&joints[j], i * step);
            spine->twist[i] += joints[j].twist * share(&joints[j], i * step);
        }
    }
    spine->x[0] = spine->y[0] = 0;
    for (int i = 0; i < SN_SPINE_STEPS; i++) { /* an arc of constant curvature per step */
        double turn = 0.5 * (spine->bend[i + 1] - spine->bend[i]);
        double middle = 0.5 * (spine->bend[i + 1] + spine->bend[i]);
        double chord = step * (fabs(turn) > 1e-6 ? sin(turn) / turn : 1 - turn * turn / 6);
        spine->x[i + 1] = spine->x[i] + chord * cos(middle);
        spine->y[i + 1] = spine->y[i] + chord * sin(middle);
    }
}

sn_vec3 sn_spine_place(const sn_spine *spine, sn_vec3 p) {
    double step = spine->length / SN_SPINE_STEPS;
    double s = fmin(spine->length, fmax(0, p.x)), beyond = p.x - s;
    int i = (int)(s / step);
    if (i >= SN_SPINE_STEPS) i = SN_SPINE_STEPS - 1;
    double t = s / step - i;
    double bend = spine->bend[i] + t * (spine->bend[i + 1] - spine->bend[i]);
    double twist = spine->twist[i] + t * (spine->twist[i + 1] - spine->twist[i]);
    double c = cos(twist), d = sin(twist);
    double y = c * p.y - d * p.z, z = d * p.y + c * p.z;
    double cx = spine->x[i] + t * (spine->x[i + 1] - spine->x[i]);
    double cy = spine->y[i] + t * (spine->y[i + 1] - spine->y[i]);
    return sn_v3(cx + beyond * cos(bend) - y * sin(bend), cy + beyond * sin(bend) + y * cos(bend),
                 z);
}

sinew_status sn_spine_pose(sinew_rig *rig, const char *name, double length, int joint_count,
                           const sn_joint *joints, sinew_error *error) {
    int count = rig->neutral->vertex_count;
    sn_spine *spine = SN_NEW(sn_spine, 1);
    double *posed = SN_NEW(double, 3 * (size_t)count);
    sinew_status status = spine && posed ? SINEW_OK : sn_no_memory(error);
    if (status == SINEW_OK) {
        sn_spine_set(spine, length, joint_count, joints);
        for (int v = 0; v < count; v++)
            sn_put(posed, v, sn_spine_place(spine, sn_at(rig->neutral->positions, v)));
        status = sinew_rig_add_pose(rig, name, posed, error);
    }
    sn_free(spine);
    sn_free(posed);
    return status;
}
