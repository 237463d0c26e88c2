/* Other faces: smooth warps of space, applied to the neutral and to every expression of it. What
 * touches keeps touching and nothing crosses, because a warp is one to one. About the eyes a warp
 * is a similarity, so that eyeballs stay round. Centimetres. */
#include "samples/face.h"

#include <math.h>

#include "samples/builders.h"

static double bump(double d) {
    return d < 1 ? (1 - d * d) * (1 - d * d) * (1 - d * d) : 0;
}

/* Broad jaw, long chin, large nose, low forehead, larger eyes further apart. */
sn_vec3 sn_face_warp_second(sn_vec3 p) {
    double side = p.x < 0 ? -1 : 1;
    p.x = fabs(p.x);
    double eye = 1 - sn_smooth((sn_distance(p, SN_EYE) - 2.7) / 3.0);
    double jaw = sn_smooth((-4 - p.y) / 6) * sn_smooth((p.y + 14.5) / 2.5);
    double chin = sn_smooth((-7 - p.y) / 4) * sn_smooth((p.y + 14.5) / 3);
    double nose = bump(sn_distance(p, sn_v3(0, -2.8, 11.2)) / 4.2);
    sn_vec3 head = sn_v3(0.05 * p.x + 0.14 * jaw * p.x + 0.22 * nose * p.x,
                         -0.7 * chin - 0.25 * nose - 0.14 * fmax(0, p.y - 5),
                         0.9 * nose + 0.45 * chin * sn_smooth(p.z / 6));
    sn_vec3 about_eye = sn_add(sn_scale(0.09, sn_sub(p, SN_EYE)), sn_v3(0.3, 0.12, 0.1));
    p = sn_add(p, sn_lerp(head, about_eye, eye));
    p.x *= side;
    return p;
}
