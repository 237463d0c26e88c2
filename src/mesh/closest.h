/* Nearest points of triangles and segments, in double precision. */
#ifndef SN_MESH_CLOSEST_H
#define SN_MESH_CLOSEST_H

#include "base/vec3.h"

/* Weights (>= 0, sum 1) of the corners a, b, c of the point nearest to p; collapsed triangles too.
 * Returns that point. */
sn_vec3 sn_closest_on_triangle(sn_vec3 p, sn_vec3 a, sn_vec3 b, sn_vec3 c, double weights[3]);

/* Parameter t in [0, 1] of the nearest point a + t (b - a). */
double sn_closest_on_segment(sn_vec3 p, sn_vec3 a, sn_vec3 b);

#endif
