/* The elements of the energy, each seen from one vertex: springs, tets and altitudes of triangles
 * (spring/energy_*.c has the derivations). Frames by themselves and batches share them. */
#ifndef SN_GPU_KERNELS_SPRING_ELEMENTS_H
#define SN_GPU_KERNELS_SPRING_ELEMENTS_H

#include "gpu/kernels/spring_device.h"

/* As in spring/guide.c and spring/energy_spring.c. */
#define SN_NO_DIRECTION 1e-6
#define SN_MOST_RATIO   1.15
#define SN_NO_LENGTH    1e-20

SN_FN double sn_blended(const sn_blended_device *b, int i, const double *activations, int stride) {
    double v = b->base[i];
    for (int k = b->start[i]; k < b->start[i + 1]; k++)
        v += activations[(size_t)b->target[k] * (size_t)stride] * b->value[k];
    return v;
}

/* Rest lengths stop at the floor, which is counted. */
SN_FN double sn_rest_length(const sn_spring_device *d, int spring, const double *activations,
                            int stride, double *clamped) {
    double r = sn_blended(&d->rest, spring, activations, stride);
    if (r >= d->rest_floor) return r;
    ++*clamped;
    return d->rest_floor;
}

/* ---- springs ---- */

/* 1 / sqrt(v) for v > 0: cheaper on a device than a root and a division. */
SN_FN double sn_inverse_root(double v) {
#ifdef __CUDACC__
    return rsqrt(v);
#else
    return 1 / sqrt(v);
#endif
}

/* How much the vector of a spring in the blend is stretched to have the rest length, which is
 * kept within the limit. Doing so twice changes nothing: both ends of a spring may. */
SN_FN double sn_heading_ratio(double guide, sn_double4 blend, double *rest) {
    double squared = sn_double4_dot(blend, blend), least = SN_NO_DIRECTION * *rest;
    if (!(squared > least * least)) return 1;
    double inverse = sn_inverse_root(squared), ratio = *rest * inverse;
    if (!(guide > 0 && (ratio > SN_MOST_RATIO || ratio < 1 / SN_MOST_RATIO))) return ratio;
    ratio = ratio > 1 ? SN_MOST_RATIO : 1 / SN_MOST_RATIO;
    *rest = ratio * (squared * inverse);
    return ratio;
}

/* The stiffness of a direction, of that of the length. */
SN_FN double sn_heading_weight(double guide, double ratio) {
    return guide > 0 ? guide + (ratio > 1 ? ratio - 1 : 0) : 0;
}

/* Length of a spring, and its inverse; 0 where there is none. */
typedef struct sn_spring_size {
    double length, inverse;
} sn_spring_size;
SN_FN sn_spring_size sn_spring_measure(sn_double4 s, double rest) {
    double squared = sn_double4_dot(s, s), smallest = SN_NO_LENGTH * rest * rest;
    if (!(squared > smallest)) squared = smallest;
    double inverse = squared > 0 ? sn_inverse_root(squared) : 0;
    sn_spring_size size = {squared * inverse, inverse};
    return size;
}

/* Adds the force of a spring with the vector s; returns twice its energy. heading.w: weight. */
SN_FN double sn_spring_force(sn_double4 s, sn_spring_size size, sn_double4 heading, double k,
                             double rest, sn_double4 *force) {
    double stretch = size.length - rest, factor = k * stretch * size.inverse;
    sn_double4 off = sn_double4_sub(s, heading);
    double guide = heading.w * k;
    force->x += factor * s.x + guide * off.x, force->y += factor * s.y + guide * off.y;
    force->z += factor * s.z + guide * off.z;
    return k * stretch * stretch + guide * sn_double4_dot(off, off);
}

/* Its Hessian t t^T + w I, with `negative` of what is negative in w. */
SN_FN sn_float4 sn_spring_hessian(sn_double4 s, sn_spring_size size, double weight, double k,
                                  double rest, double negative, float altitude) {
    double c = k * (size.length - rest) * size.inverse + weight * k;
    if (c < 0) c *= negative;
    float f = sqrtf((float)((1 + weight) * k - c)) * (float)size.inverse;
    sn_float4 t = {(float)s.x * f, (float)s.y * f, (float)s.z * f, (float)c + altitude};
    return t;
}

SN_FN void sn_add_spring_block(sn_float4 t, float *b) {
    b[0] += t.w + t.x * t.x, b[1] += t.x * t.y, b[2] += t.x * t.z;
    b[3] += t.w + t.y * t.y, b[4] += t.y * t.z, b[5] += t.w + t.z * t.z;
}

/* ---- tets ---- */

/* Six times the gradient of the volume at the vertex that the edges start from, with the sign
 * changed; w: the volume. */
SN_FN sn_double4 sn_tet_normal(sn_double4 e1, sn_double4 e2, sn_double4 e3) {
    sn_double4 g3 = sn_double4_cross(e1, e2);
    sn_double4 n =
        sn_double4_add(sn_double4_cross(e2, e3), sn_double4_add(sn_double4_cross(e3, e1), g3));
    n.w = sn_double4_dot(g3, e3) / 6;
    return n;
}

/* Adds the force of a tet whose volume is off by so much. */
SN_FN void sn_tet_force(sn_double4 normal, double weight, double off, sn_double4 *force) {
    double factor = -weight * off / 6;
    force->x += factor * normal.x, force->y += factor * normal.y, force->z += factor * normal.z;
}

SN_FN void sn_add_tet_block(sn_double4 normal, double weight, float *b) {
    float x = (float)normal.x, y = (float)normal.y, z = (float)normal.z, f = (float)(weight / 36);
    b[0] += f * x * x, b[1] += f * x * y, b[2] += f * x * z;
    b[3] += f * y * y, b[4] += f * y * z, b[5] += f * z * z;
}

/* Every tet is counted from each of its free vertices. */
SN_FN double sn_tet_share(const sn_spring_device *d, sn_int4 c) {
    return 0.5 / (1 + (c.x < d->free_count) + (c.y < d->free_count) + (c.z < d->free_count));
}

/* Sum over a tet of the second derivative of its volume, for the vertex that its edges start from.
 */
SN_FN sn_float4 sn_tet_product(sn_float4 e1, sn_float4 e2, sn_float4 e3, sn_float4 u1, sn_float4 u2,
                               sn_float4 u3, float weight, float curvature) {
    sn_float4 g1 = sn_float4_cross(e2, e3), g2 = sn_float4_cross(e3, e1),
              g3 = sn_float4_cross(e1, e2);
    float rate = weight * (sn_float4_dot(g1, u1) + sn_float4_dot(g2, u2) + sn_float4_dot(g3, u3));
    sn_float4 a = sn_float4_cross(u2, e3), b = sn_float4_cross(e2, u3), c = sn_float4_cross(u3, e1);
    sn_float4 h = sn_float4_cross(e3, u1), i = sn_float4_cross(u1, e2), j = sn_float4_cross(e1, u2);
    return sn_float4_make(
        -rate * (g1.x + g2.x + g3.x) - curvature * (a.x + b.x + c.x + h.x + i.x + j.x),
        -rate * (g1.y + g2.y + g3.y) - curvature * (a.y + b.y + c.y + h.y + i.y + j.y),
        -rate * (g1.z + g2.z + g3.z) - curvature * (a.z + b.z + c.z + h.z + i.z + j.z));
}

/* ---- altitudes ---- */

/* From the foot on the base to the apex. */
SN_FN sn_double4 sn_altitude_vector(sn_double4 apex, sn_double4 a, sn_double4 b, double foot) {
    return sn_double4_sub(apex,
                          sn_double4_add(sn_double4_scale(1 - foot, a), sn_double4_scale(foot, b)));
}

/* The vector m with the length of the altitude. */
SN_FN sn_double4 sn_altitude_wanted(sn_double4 m, double altitude) {
    double length = sqrt(sn_double4_dot(m, m));
    return sn_double4_scale(length > SN_NO_DIRECTION * altitude ? altitude / length : 1, m);
}

/* Adds the force of a triangle on one of its corners; returns the energy, counted once, at the
 * first free corner. fan.w: 4 * triangle + corner. */
SN_FN double sn_altitude_force(const sn_spring_device *d, sn_int4 fan, sn_double4 off,
                               sn_double4 *force) {
    int t = fan.w >> 2, corner = fan.w & 3;
    double foot = d->triangle_foot[t], weight = d->triangle_weight[t];
    double factor = weight * (corner == 0 ? 1 : corner == 1 ? foot - 1 : -foot);
    int first = fan.x < d->free_count ? 0 : fan.y < d->free_count ? 1 : 2;
    force->x += factor * off.x, force->y += factor * off.y, force->z += factor * off.z;
    return corner == first ? 0.5 * weight * sn_double4_dot(off, off) : 0;
}

/* ---- what a frame asks for ---- */

/* Hard pulls keep their vertex where it is put. */
SN_FN bool sn_is_frozen(const sn_spring_asked *a, int v) {
    return a->pull && isinf(a->pull[v].w);
}
SN_FN double sn_soft_stiffness(const sn_spring_asked *a, int v) {
    return a->pull && !isinf(a->pull[v].w) ? a->pull[v].w : 0;
}

/* Adds the pull to the blend, the load and the soft pull of a vertex; returns their energy. */
SN_FN double sn_add_pulls(const sn_spring_device *d, const sn_spring_asked *a, int v,
                          sn_double4 here, sn_double4 blend, sn_double4 *force) {
    sn_double4 off = sn_double4_sub(here, blend);
    double energy = 0.5 * d->pull * sn_double4_dot(off, off);
    *force = sn_double4_add(*force, sn_double4_scale(d->pull, off));
    if (a->load) {
        energy -= sn_double4_dot(a->load[v], off);
        *force = sn_double4_sub(*force, a->load[v]);
    }
    double soft = sn_soft_stiffness(a, v);
    if (soft > 0) {
        off = sn_double4_sub(here, a->pull[v]);
        energy += 0.5 * soft * sn_double4_dot(off, off);
        *force = sn_double4_add(*force, sn_double4_scale(soft, off));
    }
    if (sn_is_frozen(a, v)) *force = sn_double4_make(0, 0, 0);
    return energy;
}

SN_FN double sn_largest_part(sn_double4 f) {
    double largest = fabs(f.x) > fabs(f.y) ? fabs(f.x) : fabs(f.y);
    return fabs(f.z) > largest ? fabs(f.z) : largest;
}

/* Where a held vertex is put by its targets; x: its neutral. */
SN_FN sn_double4 sn_held_blend(const sn_spring_device *d, int h, const double *activations,
                               int stride) {
    sn_double4 x = d->held_neutral[h];
    for (int k = d->held_start[h]; k < d->held_start[h + 1]; k++) {
        double t = activations[(size_t)d->held_target[k] * (size_t)stride];
        const double *value = d->held_value + 3 * (size_t)k;
        x.x += t * value[0], x.y += t * value[1], x.z += t * value[2];
    }
    return x;
}

SN_FN bool sn_tet_is_upright(sn_double4 o, sn_double4 a, sn_double4 b, sn_double4 c) {
    sn_double4 normal = sn_double4_cross(sn_double4_sub(a, o), sn_double4_sub(b, o));
    return sn_double4_dot(normal, sn_double4_sub(c, o)) > 0;
}

/* Against the triangle of the blend. */
SN_FN bool sn_triangle_is_flipped(const sn_double4 *p, const sn_double4 *b) {
    sn_double4 m = sn_double4_cross(sn_double4_sub(p[1], p[0]), sn_double4_sub(p[2], p[0]));
    sn_double4 n = sn_double4_cross(sn_double4_sub(b[1], b[0]), sn_double4_sub(b[2], b[0]));
    return sn_double4_dot(m, n) < 0;
}

/* ---- Newton's method, as in spring/equilibrium.c ---- */

enum {
    SN_BACKTRACKS = 30,
    SN_LENGTHENINGS = 6,
    SN_HOLD_AFTER_FAILURE = 2,
    SN_HOLD_MOST = 4,
    SN_PROJECTED = 3,
    SN_CG_LIMIT = 400
};

/* How much of the negative curvature is kept; SN_PROJECTED: none. */
SN_FN double sn_kept_curvature(int level) {
    return level == 0 ? 1 : level == 1 ? 0.9 : level == 2 ? 0.6 : 0;
}

/* Of the linear system, for a force of so much of its scale, which was `before` before the last
 * step (0: there was none). What a step leaves falls with its square, so a solve that is much more
 * exact is wasted, unless it reaches the tolerance. */
SN_FN double sn_inner_goal(double tolerance, double residual, double before) {
    double goal = 0.7 * tolerance / residual, ratio = before > 0 ? residual / before : 1;
    double least = ratio * ratio;
    least = least > 0.02 ? 0.02 : least < 0.002 ? 0.002 : least;
    return goal > 0.5 ? 0.5 : goal < least ? least : goal;
}

/* The next length to try after a step of `length` changed the energy by `change`. */
SN_FN double sn_shorter_step(double length, double slope, double change) {
    double bend = change - length * slope;
    double best = bend > 0 ? -slope * length * length / (2 * bend) : 0.5 * length;
    return best > 0.5 * length ? 0.5 * length : best < 0.1 * length ? 0.1 * length : best;
}

/* The inverse of the diagonal block of a vertex; of its mean where it is not definite. */
SN_FN void sn_invert_block(const float *b, float *o) {
    float shift = 1e-3f * (b[0] + b[3] + b[5]);
    float xx = b[0] + shift, yy = b[3] + shift, zz = b[5] + shift, xy = b[1], xz = b[2], yz = b[4];
    float cx = yy * zz - yz * yz, cy = xz * yz - xy * zz, cz = xy * yz - yy * xz;
    float minor = xx * yy - xy * xy, det = xx * cx + xy * cy + xz * cz;
    if (xx > 0 && minor > 0 && det > 0) {
        float i = 1 / det;
        o[0] = cx * i, o[1] = cy * i, o[2] = cz * i;
        o[3] = (xx * zz - xz * xz) * i, o[4] = (xy * xz - xx * yz) * i, o[5] = minor * i;
    } else {
        float mean = (fabsf(b[0]) + fabsf(b[3]) + fabsf(b[5])) / 3, i = mean > 0 ? 1 / mean : 0;
        o[0] = o[3] = o[5] = i, o[1] = o[2] = o[4] = 0;
    }
}

#endif
