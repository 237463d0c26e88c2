/* Areas of a skin's triangles.
 *
 * A triangle that is thin in one pose and not in another has three blended lengths that fit an area
 * many times its blended one. Tets hold on to their volumes; a skin without tets holds on to its
 * areas:
 *
 *   e = 1/2 w (A - A0)^2,  A = |N| / 2,  N = o_1 x o_2,  n = N / |N|,  w = c_v kappa / S
 *   o_i: the side across corner i,  o_0 = x_2 - x_1,  o_1 = x_0 - x_2,  o_2 = x_1 - x_0
 *   dA/dx_i = n x o_i / 2
 *   H = w dA dA^T + w (A - A0) d2A
 *   d2A p at corner i:  (dn x o_i + n x do_i) / 2,  dn = (I - n n^T) (do_1 x o_2 + o_1 x do_2) /
 * |N|
 *
 * The second part is indefinite: the projection drops it. A triangle without area has no normal and
 * exerts no force. */
#include "spring/energy.h"

#include <math.h>

/* |N|^2 below this share of |o_1|^2 |o_2|^2 is none. */
static const double NO_AREA = 1e-24;

static inline sn_d4 vertex_at(const double *x, int v) {
    return *(const sn_d4 *)(x + SN_PAD * (size_t)v);
}

typedef struct triangle_shape {
    sn_d4 side[3];
    sn_d4 normal; /* unit, or zero */
    double area;
    double inverse; /* 1 / |N|, or zero */
} triangle_shape;

static inline triangle_shape shape_of(const int *v, const double *x) {
    triangle_shape s;
    for (int c = 0; c < 3; c++)
        s.side[c] = vertex_at(x, v[(c + 2) % 3]) - vertex_at(x, v[(c + 1) % 3]);
    sn_d4 across = sn_d4_cross(s.side[1], s.side[2]);
    double squared = sn_d4_dot3(across, across);
    double least = NO_AREA * sn_d4_dot3(s.side[1], s.side[1]) * sn_d4_dot3(s.side[2], s.side[2]);
    s.inverse = squared > least ? 1 / sqrt(squared) : 0;
    s.normal = s.inverse * across;
    s.area = 0.5 * sqrt(squared);
    return s;
}

double sn_areas_energy(const sn_system *system, const double *area, int chunk, const double *x,
                       double *window) {
    int low = system->window_low[chunk];
    double energy = 0;
    for (int t = system->chunk_triangle[chunk]; t < system->chunk_triangle[chunk + 1]; t++) {
        const int *v = system->triangle + 3 * (size_t)t;
        triangle_shape s = shape_of(v, x);
        double off = s.area - area[t], w = system->triangle_weight[t];
        energy += 0.5 * w * off * off;
        for (int c = 0; c < 3; c++)
            if (v[c] < system->free_count)
                *(sn_d4 *)(window + SN_PAD * (size_t)(v[c] - low)) +=
                    (0.5 * w * off) * sn_d4_cross(s.normal, s.side[c]);
    }
    return energy;
}

double sn_areas_value(const sn_system *system, const double *area, int chunk, const double *x) {
    double energy = 0;
    for (int t = system->chunk_triangle[chunk]; t < system->chunk_triangle[chunk + 1]; t++) {
        double off = shape_of(system->triangle + 3 * (size_t)t, x).area - area[t];
        energy += 0.5 * system->triangle_weight[t] * off * off;
    }
    return energy;
}

void sn_areas_linearize(const sn_system *system, const double *area, int chunk, const double *x,
                        double negative, float *table) {
    for (int t = system->chunk_triangle[chunk]; t < system->chunk_triangle[chunk + 1]; t++) {
        triangle_shape s = shape_of(system->triangle + 3 * (size_t)t, x);
        double w = system->triangle_weight[t];
        float *entry = table + 12 * (size_t)t;
        for (int c = 0; c < 3; c++) {
            entry[c] = (float)s.side[1][c], entry[4 + c] = (float)s.side[2][c];
            entry[8 + c] = (float)s.normal[c];
        }
        entry[3] = (float)(w / 4); /* both gradients carry a half */
        entry[7] = (float)(negative * w * (s.area - area[t]) / 2);
        entry[11] = (float)s.inverse;
    }
}

/* Held vertices do not move. */
static inline sn_f4 motion_of(const float *p, int v, int free_count) {
    return v < free_count ? *(const sn_f4 *)(p + SN_PAD * (size_t)v) : (sn_f4){0};
}

void sn_areas_multiply(const sn_system *system, const float *table, int chunk, const float *p,
                       float *window) {
    int low = system->window_low[chunk];
    for (int t = system->chunk_triangle[chunk]; t < system->chunk_triangle[chunk + 1]; t++) {
        const int *v = system->triangle + 3 * (size_t)t;
        const sn_f4 *entry = (const sn_f4 *)(table + 12 * (size_t)t);
        sn_f4 o1 = entry[0], o2 = entry[1], n = entry[2];
        sn_f4 w = sn_f4_splat3(o1), c = sn_f4_splat3(o2), inverse = sn_f4_splat3(n);
        sn_f4 p0 = motion_of(p, v[0], system->free_count);
        sn_f4 do1 = p0 - motion_of(p, v[2], system->free_count);
        sn_f4 do2 = motion_of(p, v[1], system->free_count) - p0;
        sn_f4 m1 = sn_f4_cross(n, o1), m2 = sn_f4_cross(n, o2);
        sn_f4 rate = w * (sn_f4_dot3(m1, do2) - sn_f4_dot3(m2, do1));
        sn_f4 across = sn_f4_cross(do1, o2) + sn_f4_cross(o1, do2);
        sn_f4 dn = inverse * (across - sn_f4_dot3(n, across) * n);
        sn_f4 y1 = rate * m1 + c * (sn_f4_cross(dn, o1) + sn_f4_cross(n, do1));
        sn_f4 y2 = rate * m2 + c * (sn_f4_cross(dn, o2) + sn_f4_cross(n, do2));
        sn_f4 y[3] = {-(y1 + y2), y1, y2};
        for (int a = 0; a < 3; a++)
            if (v[a] < system->free_count)
                *(sn_f4 *)(window + SN_PAD * (size_t)(v[a] - low)) += y[a];
    }
}

/* With the side across it fixed, a corner's d2A is |o|^2 / (2 |N|) n n^T. */
void sn_areas_diagonal(const sn_system *system, const float *table, int chunk, float *window) {
    int low = system->window_low[chunk];
    for (int t = system->chunk_triangle[chunk]; t < system->chunk_triangle[chunk + 1]; t++) {
        const sn_f4 *entry = (const sn_f4 *)(table + 12 * (size_t)t);
        sn_f4 side[3] = {-(entry[0] + entry[1]), entry[0], entry[1]}, n = entry[2];
        float w = entry[0][3], curve = entry[1][3] * n[3];
        for (int a = 0; a < 3; a++) {
            int v = system->triangle[3 * (size_t)t + (size_t)a];
            if (v >= system->free_count) continue;
            sn_f4 m = sn_f4_cross(n, side[a]), o = side[a];
            float c = curve * (o[0] * o[0] + o[1] * o[1] + o[2] * o[2]);
            float *block = window + SN_BLOCK_PAD * (size_t)(v - low);
            block[0] += w * m[0] * m[0] + c * n[0] * n[0];
            block[1] += w * m[0] * m[1] + c * n[0] * n[1];
            block[2] += w * m[0] * m[2] + c * n[0] * n[2];
            block[3] += w * m[1] * m[1] + c * n[1] * n[1];
            block[4] += w * m[1] * m[2] + c * n[1] * n[2];
            block[5] += w * m[2] * m[2] + c * n[2] * n[2];
        }
    }
}

void sn_areas_assemble(const sn_system *system, const double *area, const double *x,
                       double negative, sn_sparse *matrix) {
    for (int t = 0; t < system->triangle_count; t++) {
        const int *v = system->triangle + 3 * (size_t)t;
        triangle_shape s = shape_of(v, x);
        double w = system->triangle_weight[t], curve = negative * w * (s.area - area[t]) / 2;
        const sn_d4 *o = s.side, n = s.normal;
        /* column by column: the derivative of all gradients along each coordinate of corner b */
        for (int b = 0; b < 3; b++) {
            if (v[b] >= system->free_count) continue;
            sn_d4 mb = sn_d4_cross(n, o[b]);
            for (int column = 0; column < 3; column++) {
                sn_d4 unit = {0}, turn[3] = {{0}, {0}, {0}};
                unit[column] = 1;
                turn[(b + 1) % 3] = unit, turn[(b + 2) % 3] = -unit; /* do_i */
                sn_d4 across = sn_d4_cross(turn[1], o[2]) + sn_d4_cross(o[1], turn[2]);
                sn_d4 dn = s.inverse * (across - sn_d4_dot3(n, across) * n);
                for (int a = 0; a < 3; a++) {
                    /* lower triangle: row vertex v[a] at or after column vertex v[b] */
                    if (v[a] >= system->free_count || v[a] < v[b]) continue;
                    int slot = v[a] == v[b] ? -1 : sn_hessian_slot(system, v[b], v[a]);
                    sn_d4 y = sn_d4_cross(dn, o[a]) + sn_d4_cross(n, turn[a]);
                    sn_d4 ma = sn_d4_cross(n, o[a]);
                    for (int row = slot < 0 ? column : 0; row < 3; row++)
                        *sn_hessian_entry(system, matrix, v[b], slot, row, column) +=
                            w / 4 * ma[row] * mb[column] + curve * y[row];
                }
            }
        }
    }
}
