/* Vectors of three doubles. Arrays of positions are plain doubles, three per vertex. */
#ifndef SN_BASE_VEC3_H
#define SN_BASE_VEC3_H

#include <math.h>
#include <stddef.h>

typedef struct sn_vec3 {
    double x, y, z;
} sn_vec3;

static inline sn_vec3 sn_v3(double x, double y, double z) {
    return (sn_vec3){x, y, z};
}
/* Element i of an array of positions. */
static inline sn_vec3 sn_at(const double *positions, int i) {
    const double *p = positions + 3 * (size_t)i;
    return (sn_vec3){p[0], p[1], p[2]};
}
static inline void sn_put(double *positions, int i, sn_vec3 v) {
    double *p = positions + 3 * (size_t)i;
    p[0] = v.x, p[1] = v.y, p[2] = v.z;
}
static inline sn_vec3 sn_add(sn_vec3 a, sn_vec3 b) {
    return sn_v3(a.x + b.x, a.y + b.y, a.z + b.z);
}
static inline sn_vec3 sn_sub(sn_vec3 a, sn_vec3 b) {
    return sn_v3(a.x - b.x, a.y - b.y, a.z - b.z);
}
static inline sn_vec3 sn_scale(double s, sn_vec3 a) {
    return sn_v3(s * a.x, s * a.y, s * a.z);
}
/* a + s b */
static inline sn_vec3 sn_add_scaled(sn_vec3 a, double s, sn_vec3 b) {
    return sn_v3(a.x + s * b.x, a.y + s * b.y, a.z + s * b.z);
}
/* (1 - t) a + t b */
static inline sn_vec3 sn_lerp(sn_vec3 a, sn_vec3 b, double t) {
    return sn_add_scaled(sn_scale(1 - t, a), t, b);
}
static inline double sn_dot(sn_vec3 a, sn_vec3 b) {
    return a.x * b.x + a.y * b.y + a.z * b.z;
}
static inline sn_vec3 sn_cross(sn_vec3 a, sn_vec3 b) {
    return sn_v3(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}
static inline double sn_length(sn_vec3 a) {
    return sqrt(sn_dot(a, a));
}
static inline double sn_distance(sn_vec3 a, sn_vec3 b) {
    return sn_length(sn_sub(a, b));
}
/* The zero vector stays zero. */
static inline sn_vec3 sn_normalize(sn_vec3 a) {
    double length = sn_length(a);
    return length > 0 ? sn_scale(1 / length, a) : sn_v3(0, 0, 0);
}

#endif
