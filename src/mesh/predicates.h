/* Signs of determinants, exact for any doubles whose products neither overflow nor underflow
 * (coordinates between about 1e-90 and 1e90, and 0). Decisions built on them never contradict each
 * other. */
#ifndef SN_MESH_PREDICATES_H
#define SN_MESH_PREDICATES_H

#include "base/vec3.h"

/* Sign of (b - a) x (c - a) . (d - a): +1 when d is on the side the normal of abc points to. */
int sn_orient3d(sn_vec3 a, sn_vec3 b, sn_vec3 c, sn_vec3 d);

/* Sign of twice the area of abc in the plane: +1 when it turns to the left. */
int sn_orient2d(const double a[2], const double b[2], const double c[2]);

#endif
