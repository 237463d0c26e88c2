/* A curve that bends in its plane and twists about itself, and the sweep of points along it.
 *
 * The curve starts at the origin along +x. At arc length s its direction has turned by bend(s)
 * towards +y, and the cross-section by twist(s) about the direction. Arc length is kept, so a
 * straight body swept along the curve keeps the lengths on its axis. */
#ifndef SN_SAMPLES_SPINE_H
#define SN_SAMPLES_SPINE_H

#include "base/status.h"
#include "base/vec3.h"
#include "sinew/rig.h"

enum { SN_SPINE_STEPS = 2048 };

typedef struct sn_spine {
    double length;
    /* radians at s = i * length / SN_SPINE_STEPS, and the curve itself */
    double bend[SN_SPINE_STEPS + 1], twist[SN_SPINE_STEPS + 1];
    double x[SN_SPINE_STEPS + 1], y[SN_SPINE_STEPS + 1];
} sn_spine;

/* One joint of a spine: the angle is spread smoothly over [start, end] of the arc length. */
typedef struct sn_joint {
    double start, end;  /* meters */
    double bend, twist; /* radians */
    int even;           /* 1: constant rate between start and end instead of a smooth one */
} sn_joint;

void sn_spine_set(sn_spine *spine, double length, int joint_count, const sn_joint *joints);

/* The point that lies at (s, offset y, offset z) of the straight body. Beyond the ends the curve
 * goes on straight. */
sn_vec3 sn_spine_place(const sn_spine *spine, sn_vec3 p);

/* Adds the straight neutral of the rig, swept along the curve, as a pose. */
sinew_status sn_spine_pose(sinew_rig *rig, const char *name, double length, int joint_count,
                           const sn_joint *joints, sinew_error *error);

#endif
