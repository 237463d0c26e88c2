/* 3x3 matrices, row-major: m[row][column]. */
#ifndef SN_BASE_MAT3_H
#define SN_BASE_MAT3_H

#include <stdbool.h>

#include "base/vec3.h"

typedef struct sn_mat3 {
    double m[3][3];
} sn_mat3;

static inline sn_mat3 sn_mat3_identity(void) {
    return (sn_mat3){{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
}
static inline sn_mat3 sn_mat3_columns(sn_vec3 a, sn_vec3 b, sn_vec3 c) {
    return (sn_mat3){{{a.x, b.x, c.x}, {a.y, b.y, c.y}, {a.z, b.z, c.z}}};
}
static inline sn_vec3 sn_mat3_column(sn_mat3 a, int j) {
    return sn_v3(a.m[0][j], a.m[1][j], a.m[2][j]);
}
static inline sn_mat3 sn_mat3_transpose(sn_mat3 a) {
    sn_mat3 r;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) r.m[i][j] = a.m[j][i];
    return r;
}
static inline sn_mat3 sn_mat3_add(sn_mat3 a, sn_mat3 b) {
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) a.m[i][j] += b.m[i][j];
    return a;
}
static inline sn_mat3 sn_mat3_scale(double s, sn_mat3 a) {
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) a.m[i][j] *= s;
    return a;
}
static inline sn_mat3 sn_mat3_multiply(sn_mat3 a, sn_mat3 b) {
    sn_mat3 r;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            r.m[i][j] = a.m[i][0] * b.m[0][j] + a.m[i][1] * b.m[1][j] + a.m[i][2] * b.m[2][j];
    return r;
}
static inline sn_vec3 sn_mat3_apply(sn_mat3 a, sn_vec3 v) {
    return sn_v3(a.m[0][0] * v.x + a.m[0][1] * v.y + a.m[0][2] * v.z,
                 a.m[1][0] * v.x + a.m[1][1] * v.y + a.m[1][2] * v.z,
                 a.m[2][0] * v.x + a.m[2][1] * v.y + a.m[2][2] * v.z);
}
/* a^T v */
static inline sn_vec3 sn_mat3_apply_transposed(sn_mat3 a, sn_vec3 v) {
    return sn_v3(a.m[0][0] * v.x + a.m[1][0] * v.y + a.m[2][0] * v.z,
                 a.m[0][1] * v.x + a.m[1][1] * v.y + a.m[2][1] * v.z,
                 a.m[0][2] * v.x + a.m[1][2] * v.y + a.m[2][2] * v.z);
}
static inline double sn_mat3_determinant(sn_mat3 a) {
    return sn_dot(sn_mat3_column(a, 0), sn_cross(sn_mat3_column(a, 1), sn_mat3_column(a, 2)));
}
/* [v]x, so that [v]x w = v x w */
static inline sn_mat3 sn_mat3_cross(sn_vec3 v) {
    return (sn_mat3){{{0, -v.z, v.y}, {v.z, 0, -v.x}, {-v.y, v.x, 0}}};
}
/* Returns false and leaves *inverse untouched if the matrix is singular to working precision. */
bool sn_mat3_inverse(sn_mat3 a, sn_mat3 *inverse);

#endif
