/* Based on: Ericson, Real-Time Collision Detection, 5.1.5: the Voronoi regions of a triangle.
 * We differ in: triangles without an area fall back to their sides. */
#include "mesh/closest.h"

double sn_closest_on_segment(sn_vec3 p, sn_vec3 a, sn_vec3 b) {
    sn_vec3 ab = sn_sub(b, a);
    double along = sn_dot(sn_sub(p, a), ab), length2 = sn_dot(ab, ab);
    if (!(along > 0)) return 0;
    return along < length2 ? along / length2 : 1;
}

static sn_vec3 closest_on_sides(sn_vec3 p, const sn_vec3 corner[3], double weights[3]) {
    double best = INFINITY;
    sn_vec3 point = corner[0];
    weights[0] = 1, weights[1] = weights[2] = 0;
    for (int k = 0; k < 3; k++) {
        int next = (k + 1) % 3;
        double t = sn_closest_on_segment(p, corner[k], corner[next]);
        sn_vec3 q = sn_lerp(corner[k], corner[next], t);
        double distance = sn_distance(p, q);
        if (!(distance < best)) continue;
        best = distance;
        point = q;
        weights[k] = 1 - t, weights[next] = t, weights[(k + 2) % 3] = 0;
    }
    return point;
}

sn_vec3 sn_closest_on_triangle(sn_vec3 p, sn_vec3 a, sn_vec3 b, sn_vec3 c, double weights[3]) {
    /* With n the normal, the weight of a corner has the sign of the volume that p spans with the
     * opposite side and n. All positive: p is above the face. */
    sn_vec3 ab = sn_sub(b, a), ac = sn_sub(c, a), bc = sn_sub(c, b);
    sn_vec3 normal = sn_cross(ab, ac);
    double area2 = sn_dot(normal, normal);
    sn_vec3 ap = sn_sub(p, a), bp = sn_sub(p, b);
    double u = sn_dot(sn_cross(bc, bp), normal);
    double w = sn_dot(sn_cross(ab, ap), normal);
    double v = sn_dot(sn_cross(ap, ac), normal);
    double sum = u + v + w;
    if (u > 0 && v > 0 && w > 0 && area2 > 0 && sum > 0) {
        weights[0] = u / sum, weights[1] = v / sum, weights[2] = w / sum;
        return sn_add_scaled(sn_add_scaled(a, weights[1], ab), weights[2], ac);
    }
    return closest_on_sides(p, (sn_vec3[3]){a, b, c}, weights);
}
