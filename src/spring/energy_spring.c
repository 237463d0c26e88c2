/* Springs with blended rest lengths.
 *
 *   e = 1/2 k (|d| - r)^2,  d = x_i - x_j,  n = d / |d|
 *   de/dx_i = k (|d| - r) n = k (1 - r/|d|) d
 *   H = c I + (k - c) n n^T,  c = k (1 - r/|d|)     at (i,i), (j,j); -H at (i,j), (j,i)
 *
 * c is negative for compressed springs: they would rather buckle sideways. The projection clamps it
 * at zero. Limits: |d| -> r gives H = k n n^T; |d| -> infinity gives H = k I. A spring of no length
 * has no direction: it exerts no force, and |d| is floored in its Hessian.
 *
 * Based on: the published J, which is H without projection. We differ in: the projection. */
#include "spring/energy.h"

#include <math.h>

/* Squared lengths below this fraction of r^2 have no direction. */
static const double NO_DIRECTION = 1e-20;

typedef struct spring_derivatives {
    double stretch;    /* |d| - r */
    double force;      /* k (1 - r/|d|), the factor of d */
    double transverse; /* c */
    double inverse;    /* 1/|d| */
} spring_derivatives;

static inline spring_derivatives derive(double k, double r, double guide, double squared) {
    double least = NO_DIRECTION * r * r;
    double length = sqrt(squared > least ? squared : least);
    spring_derivatives s;
    s.inverse = length > 0 ? 1 / length : 0;
    s.stretch = length - r;
    s.force = k * s.stretch * s.inverse;
    s.transverse = s.force + guide * k;
    return s;
}

/* The spring's vector m and, in lane 3, its beta. */
static inline sn_d4 heading_of(const sn_load *load, int s) {
    return *(const sn_d4 *)(load->heading + SN_PAD * (size_t)s);
}

static inline sn_d4 without_lane_3(sn_d4 a) {
    return __builtin_shufflevector(a, (sn_d4){0}, 0, 1, 2, 4);
}

double sn_springs_energy(const sn_system *system, const sn_load *load, int chunk, const double *x,
                         double *window) {
    int low = system->window_low[chunk];
    const double *rest = load->rest;
    double energy = 0;
    for (int i = system->chunk_row[chunk]; i < system->chunk_row[chunk + 1]; i++) {
        sn_d4 xi = *(const sn_d4 *)(x + SN_PAD * (size_t)i), gi = {0};
        int split = system->row_split[i];
        for (int s = system->row_start[i]; s < system->row_start[i + 1]; s++) {
            int j = system->other[s];
            sn_d4 d = xi - *(const sn_d4 *)(x + SN_PAD * (size_t)j);
            double k = system->stiffness[s];
            sn_d4 heading = heading_of(load, s), off = d - without_lane_3(heading);
            spring_derivatives e = derive(k, rest[s], heading[3], sn_d4_dot3(d, d));
            energy += 0.5 * k * (e.stretch * e.stretch + heading[3] * sn_d4_dot3(off, off));
            sn_d4 f = e.force * d + (heading[3] * k) * off;
            gi += f;
            if (s < split) *(sn_d4 *)(window + SN_PAD * (size_t)(j - low)) -= f;
        }
        *(sn_d4 *)(window + SN_PAD * (size_t)(i - low)) += gi;
    }
    return energy;
}

double sn_springs_value(const sn_system *system, const sn_load *load, int chunk, const double *x) {
    double energy = 0;
    for (int i = system->chunk_row[chunk]; i < system->chunk_row[chunk + 1]; i++) {
        sn_d4 xi = *(const sn_d4 *)(x + SN_PAD * (size_t)i);
        for (int s = system->row_start[i]; s < system->row_start[i + 1]; s++) {
            int j = system->other[s];
            sn_d4 d = xi - *(const sn_d4 *)(x + SN_PAD * (size_t)j);
            sn_d4 heading = heading_of(load, s), off = d - heading;
            double stretch = sqrt(sn_d4_dot3(d, d)) - load->rest[s];
            energy += 0.5 * system->stiffness[s] *
                      (stretch * stretch + heading[3] * sn_d4_dot3(off, off));
        }
    }
    return energy;
}

void sn_springs_linearize(const sn_system *system, const sn_load *load, int chunk, const double *x,
                          double negative, float *table) {
    for (int i = system->chunk_row[chunk]; i < system->chunk_row[chunk + 1]; i++) {
        sn_d4 xi = *(const sn_d4 *)(x + SN_PAD * (size_t)i);
        for (int s = system->row_start[i]; s < system->row_start[i + 1]; s++) {
            sn_d4 d = xi - *(const sn_d4 *)(x + SN_PAD * (size_t)system->other[s]);
            double k = system->stiffness[s];
            double beta = load->heading[SN_PAD * (size_t)s + 3];
            spring_derivatives e = derive(k, load->rest[s], beta, sn_d4_dot3(d, d));
            double c = e.transverse < 0 ? negative * e.transverse : e.transverse;
            sn_d4 q = sqrt((1 + beta) * k - c) * e.inverse * d;
            float *entry = table + 4 * (size_t)s;
            entry[0] = (float)q[0], entry[1] = (float)q[1], entry[2] = (float)q[2];
            entry[3] = (float)c;
        }
    }
}

void sn_springs_multiply(const sn_system *system, const float *table, int chunk, const float *p,
                         float *window) {
    int low = system->window_low[chunk];
    const int *restrict other = system->other;
    for (int i = system->chunk_row[chunk]; i < system->chunk_row[chunk + 1]; i++) {
        sn_f4 pi = *(const sn_f4 *)(p + SN_PAD * (size_t)i), yi = {0};
        int split = system->row_split[i], end = system->row_start[i + 1];
        for (int s = system->row_start[i]; s < split; s++) {
            int j = other[s];
            sn_f4 q = *(const sn_f4 *)(table + 4 * (size_t)s);
            sn_f4 d = pi - *(const sn_f4 *)(p + SN_PAD * (size_t)j);
            sn_f4 u = sn_f4_dot3(q, d) * q + sn_f4_splat3(q) * d;
            yi += u;
            *(sn_f4 *)(window + SN_PAD * (size_t)(j - low)) -= u;
        }
        for (int s = split; s < end; s++) {
            sn_f4 q = *(const sn_f4 *)(table + 4 * (size_t)s);
            yi += sn_f4_dot3(q, pi) * q + sn_f4_splat3(q) * pi;
        }
        *(sn_f4 *)(window + SN_PAD * (size_t)(i - low)) += yi;
    }
}

static inline void add_diagonal(float *block, const float *q) {
    block[0] += q[3] + q[0] * q[0], block[1] += q[0] * q[1], block[2] += q[0] * q[2];
    block[3] += q[3] + q[1] * q[1], block[4] += q[1] * q[2], block[5] += q[3] + q[2] * q[2];
}

void sn_springs_diagonal(const sn_system *system, const float *table, int chunk, float *window) {
    int low = system->window_low[chunk];
    for (int i = system->chunk_row[chunk]; i < system->chunk_row[chunk + 1]; i++)
        for (int s = system->row_start[i]; s < system->row_start[i + 1]; s++) {
            const float *q = table + 4 * (size_t)s;
            add_diagonal(window + SN_BLOCK_PAD * (size_t)(i - low), q);
            if (s < system->row_split[i])
                add_diagonal(window + SN_BLOCK_PAD * (size_t)(system->other[s] - low), q);
        }
}

void sn_springs_assemble(const sn_system *system, const sn_load *load, const double *x,
                         double negative, sn_sparse *matrix) {
    for (int i = 0; i < system->free_count; i++) {
        sn_d4 xi = *(const sn_d4 *)(x + SN_PAD * (size_t)i);
        for (int s = system->row_start[i]; s < system->row_start[i + 1]; s++) {
            int j = system->other[s];
            sn_d4 d = xi - *(const sn_d4 *)(x + SN_PAD * (size_t)j);
            double k = system->stiffness[s];
            double beta = load->heading[SN_PAD * (size_t)s + 3];
            spring_derivatives e = derive(k, load->rest[s], beta, sn_d4_dot3(d, d));
            double c = e.transverse < 0 ? negative * e.transverse : e.transverse;
            sn_d4 n = e.inverse * d;
            for (int row = 0; row < 3; row++)
                for (int column = 0; column < 3; column++) {
                    double h = (row == column ? c : 0) + ((1 + beta) * k - c) * n[row] * n[column];
                    if (s < system->row_split[i])
                        *sn_hessian_entry(system, matrix, i, s - system->row_start[i], row,
                                          column) -= h;
                    if (row < column) continue;
                    *sn_hessian_entry(system, matrix, i, -1, row, column) += h;
                    if (s < system->row_split[i])
                        *sn_hessian_entry(system, matrix, j, -1, row, column) += h;
                }
        }
    }
}
