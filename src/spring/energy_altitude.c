/* Altitudes of the surface's triangles.
 *
 * Three lengths hardly hold a thin triangle: a small change of one of them turns it over, or makes
 * it many times as wide. So each triangle has an altitude, from the foot on its base to its apex,
 * that is guided by the rotation-aware blend as springs are (guide.c):
 *
 *   e = 1/2 w |a - m|^2,  a = x_0 - (1 - f) x_1 - f x_2,  w = c_a kappa / |a|
 *
 * m points along the altitude in the blend and has its blended length. The altitudes on either side
 * of an edge make the angle between its triangles, so this is also what resists bending. The base
 * and the foot f belong to the pose in which the triangle is thinnest. The energy is quadratic: its
 * Hessian is w s s^T for each coordinate, s = (1, f - 1, -f). */
#include "spring/energy.h"

static inline sn_d4 wide_at(const double *x, int v) {
    return *(const sn_d4 *)(x + SN_PAD * (size_t)v);
}

static inline sn_f4 motion_of(const float *p, int v, int free_count) {
    return v < free_count ? *(const sn_f4 *)(p + SN_PAD * (size_t)v) : (sn_f4){0};
}

static inline sn_d4 off_altitude(const sn_system *system, const double *altitude, int t,
                                 const double *x) {
    const int *v = system->triangle + 3 * (size_t)t;
    double f = system->triangle_foot[t];
    return wide_at(x, v[0]) - (1 - f) * wide_at(x, v[1]) - f * wide_at(x, v[2]) -
           wide_at(altitude, t);
}

double sn_altitudes_energy(const sn_system *system, const double *altitude, int chunk,
                           const double *x, double *window) {
    int low = system->window_low[chunk];
    double energy = 0;
    for (int t = system->chunk_triangle[chunk]; t < system->chunk_triangle[chunk + 1]; t++) {
        const int *v = system->triangle + 3 * (size_t)t;
        double f = system->triangle_foot[t], w = system->triangle_weight[t];
        const double s[3] = {1, f - 1, -f};
        sn_d4 off = off_altitude(system, altitude, t, x);
        energy += 0.5 * w * sn_d4_dot3(off, off);
        for (int c = 0; c < 3; c++)
            if (v[c] < system->free_count)
                *(sn_d4 *)(window + SN_PAD * (size_t)(v[c] - low)) += (w * s[c]) * off;
    }
    return energy;
}

double sn_altitudes_value(const sn_system *system, const double *altitude, int chunk,
                          const double *x) {
    double energy = 0;
    for (int t = system->chunk_triangle[chunk]; t < system->chunk_triangle[chunk + 1]; t++) {
        sn_d4 off = off_altitude(system, altitude, t, x);
        energy += 0.5 * system->triangle_weight[t] * sn_d4_dot3(off, off);
    }
    return energy;
}

void sn_altitudes_multiply(const sn_system *system, int chunk, const float *p, float *window) {
    int low = system->window_low[chunk], n = system->free_count;
    for (int t = system->chunk_triangle[chunk]; t < system->chunk_triangle[chunk + 1]; t++) {
        const int *v = system->triangle + 3 * (size_t)t;
        float f = (float)system->triangle_foot[t], w = (float)system->triangle_weight[t];
        const float s[3] = {1, f - 1, -f};
        sn_f4 a = w * (motion_of(p, v[0], n) + s[1] * motion_of(p, v[1], n) +
                       s[2] * motion_of(p, v[2], n));
        for (int c = 0; c < 3; c++)
            if (v[c] < n) *(sn_f4 *)(window + SN_PAD * (size_t)(v[c] - low)) += s[c] * a;
    }
}

void sn_altitudes_diagonal(const sn_system *system, int chunk, float *window) {
    int low = system->window_low[chunk];
    for (int t = system->chunk_triangle[chunk]; t < system->chunk_triangle[chunk + 1]; t++) {
        const int *v = system->triangle + 3 * (size_t)t;
        double f = system->triangle_foot[t];
        const double s[3] = {1, f - 1, -f};
        for (int c = 0; c < 3; c++) {
            if (v[c] >= system->free_count) continue;
            float *block = window + SN_BLOCK_PAD * (size_t)(v[c] - low);
            float h = (float)(system->triangle_weight[t] * s[c] * s[c]);
            block[0] += h, block[3] += h, block[5] += h;
        }
    }
}

void sn_altitudes_assemble(const sn_system *system, sn_sparse *matrix) {
    for (int t = 0; t < system->triangle_count; t++) {
        const int *v = system->triangle + 3 * (size_t)t;
        double f = system->triangle_foot[t];
        const double s[3] = {1, f - 1, -f};
        for (int b = 0; b < 3; b++)
            for (int a = 0; a < 3; a++) {
                /* lower triangle: row vertex v[a] at or after column vertex v[b] */
                if (v[a] >= system->free_count || v[b] >= system->free_count || v[a] < v[b])
                    continue;
                int slot = a == b ? -1 : sn_hessian_slot(system, v[b], v[a]);
                for (int c = 0; c < 3; c++)
                    *sn_hessian_entry(system, matrix, v[b], slot, c, c) +=
                        system->triangle_weight[t] * s[a] * s[b];
            }
    }
}
