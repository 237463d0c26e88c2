/* Rigid motions between two known ones. */
#ifndef SN_RIG_RIGID_H
#define SN_RIG_RIGID_H

#include "base/vec3.h"
#include "sinew/marker_map.h"

/* t in [0, 1]: rotations by the shortest arc, the center on a straight line. */
sinew_rigid sn_rigid_between(const sinew_rigid *a, const sinew_rigid *b, double t, sn_vec3 center);

#endif
