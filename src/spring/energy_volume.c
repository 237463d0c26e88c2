/* Signed volumes: edge lengths do not know left from right, volumes do.
 *
 *   e = 1/2 w (v - v0)^2,  v = (e1 x e2) . e3 / 6,  e_a = x_a - x_0,  w = c_v kappa / l^2 / V_T
 *   dv/dx_1 = e2 x e3 / 6,  dv/dx_2 = e3 x e1 / 6,  dv/dx_3 = e1 x e2 / 6,  dv/dx_0 = -(sum)
 *   H = w dv dv^T + w (v - v0) d2v
 *   d2v p, with u_a = p_a - p_0:  (u2 x e3 + e2 x u3) / 6 at 1, and so on around
 *
 * The second part is indefinite (d2v has no diagonal): the projection drops it.
 * A mirrored tet has v of the wrong sign, far from v0: the term is what turns it back. */
#include "spring/energy.h"

static inline sn_d4 vertex_at(const double *x, int v) {
    return *(const sn_d4 *)(x + SN_PAD * (size_t)v);
}

typedef struct tet_shape {
    sn_d4 edge[3];
    sn_d4 gradient[3]; /* dv/dx_1 .. dv/dx_3 */
    double volume;
} tet_shape;

static inline tet_shape shape_of(const int *tet, const double *x) {
    tet_shape s;
    sn_d4 x0 = vertex_at(x, tet[0]);
    for (int a = 0; a < 3; a++) s.edge[a] = vertex_at(x, tet[a + 1]) - x0;
    const double sixth = 1.0 / 6;
    s.gradient[0] = sixth * sn_d4_cross(s.edge[1], s.edge[2]);
    s.gradient[1] = sixth * sn_d4_cross(s.edge[2], s.edge[0]);
    s.gradient[2] = sixth * sn_d4_cross(s.edge[0], s.edge[1]);
    s.volume = sn_d4_dot3(s.gradient[2], s.edge[2]);
    return s;
}

double sn_volumes_energy(const sn_system *system, const double *volume, int chunk, const double *x,
                         double *window) {
    int low = system->window_low[chunk];
    double energy = 0;
    for (int t = system->chunk_tet[chunk]; t < system->chunk_tet[chunk + 1]; t++) {
        const int *tet = system->tet + 4 * (size_t)t;
        tet_shape s = shape_of(tet, x);
        double off = s.volume - volume[t], w = system->tet_weight[t];
        energy += 0.5 * w * off * off;
        sn_d4 sum = {0};
        for (int a = 0; a < 3; a++) {
            sn_d4 g = (w * off) * s.gradient[a];
            sum += g;
            if (tet[a + 1] < system->free_count)
                *(sn_d4 *)(window + SN_PAD * (size_t)(tet[a + 1] - low)) += g;
        }
        if (tet[0] < system->free_count)
            *(sn_d4 *)(window + SN_PAD * (size_t)(tet[0] - low)) -= sum;
    }
    return energy;
}

double sn_volumes_value(const sn_system *system, const double *volume, int chunk, const double *x) {
    double energy = 0;
    for (int t = system->chunk_tet[chunk]; t < system->chunk_tet[chunk + 1]; t++) {
        double off = shape_of(system->tet + 4 * (size_t)t, x).volume - volume[t];
        energy += 0.5 * system->tet_weight[t] * off * off;
    }
    return energy;
}

void sn_volumes_linearize(const sn_system *system, const double *volume, int chunk, const double *x,
                          double negative, float *table) {
    for (int t = system->chunk_tet[chunk]; t < system->chunk_tet[chunk + 1]; t++) {
        tet_shape s = shape_of(system->tet + 4 * (size_t)t, x);
        double w = system->tet_weight[t];
        float *entry = table + 12 * (size_t)t;
        for (int a = 0; a < 3; a++)
            for (int c = 0; c < 3; c++) entry[4 * a + c] = (float)s.edge[a][c];
        entry[3] = (float)(w / 36); /* both gradients carry a sixth */
        entry[7] = (float)(negative * w * (s.volume - volume[t]) / 6);
        entry[11] = 0;
    }
}

/* Held vertices do not move. */
static inline sn_f4 motion_of(const float *p, int v, int free_count) {
    return v < free_count ? *(const sn_f4 *)(p + SN_PAD * (size_t)v) : (sn_f4){0};
}

void sn_volumes_multiply(const sn_system *system, const float *table, int chunk, const float *p,
                         float *window) {
    int low = system->window_low[chunk];
    for (int t = system->chunk_tet[chunk]; t < system->chunk_tet[chunk + 1]; t++) {
        const int *tet = system->tet + 4 * (size_t)t;
        const sn_f4 *entry = (const sn_f4 *)(table + 12 * (size_t)t);
        sn_f4 e1 = entry[0], e2 = entry[1], e3 = entry[2];
        sn_f4 w = sn_f4_splat3(e1), c = sn_f4_splat3(e2);
        sn_f4 p0 = motion_of(p, tet[0], system->free_count);
        sn_f4 u1 = motion_of(p, tet[1], system->free_count) - p0;
        sn_f4 u2 = motion_of(p, tet[2], system->free_count) - p0;
        sn_f4 u3 = motion_of(p, tet[3], system->free_count) - p0;
        sn_f4 g1 = sn_f4_cross(e2, e3), g2 = sn_f4_cross(e3, e1), g3 = sn_f4_cross(e1, e2);
        sn_f4 rate = w * (sn_f4_dot3(g1, u1) + sn_f4_dot3(g2, u2) + sn_f4_dot3(g3, u3));
        sn_f4 y1 = rate * g1 + c * (sn_f4_cross(u2, e3) + sn_f4_cross(e2, u3));
        sn_f4 y2 = rate * g2 + c * (sn_f4_cross(u3, e1) + sn_f4_cross(e3, u1));
        sn_f4 y3 = rate * g3 + c * (sn_f4_cross(u1, e2) + sn_f4_cross(e1, u2));
        sn_f4 y[4] = {-(y1 + y2 + y3), y1, y2, y3};
        for (int a = 0; a < 4; a++)
            if (tet[a] < system->free_count)
                *(sn_f4 *)(window + SN_PAD * (size_t)(tet[a] - low)) += y[a];
    }
}

void sn_volumes_diagonal(const sn_system *system, const float *table, int chunk, float *window) {
    int low = system->window_low[chunk];
    for (int t = system->chunk_tet[chunk]; t < system->chunk_tet[chunk + 1]; t++) {
        const sn_f4 *entry = (const sn_f4 *)(table + 12 * (size_t)t);
        sn_f4 g[4] = {{0},
                      sn_f4_cross(entry[1], entry[2]),
                      sn_f4_cross(entry[2], entry[0]),
                      sn_f4_cross(entry[0], entry[1])};
        g[0] = -(g[1] + g[2] + g[3]);
        float w = entry[0][3];
        for (int a = 0; a < 4; a++) {
            int v = system->tet[4 * (size_t)t + a];
            if (v >= system->free_count) continue;
            float *block = window + SN_BLOCK_PAD * (size_t)(v - low);
            block[0] += w * g[a][0] * g[a][0], block[1] += w * g[a][0] * g[a][1];
            block[2] += w * g[a][0] * g[a][2], block[3] += w * g[a][1] * g[a][1];
            block[4] += w * g[a][1] * g[a][2], block[5] += w * g[a][2] * g[a][2];
        }
    }
}

void sn_volumes_assemble(const sn_system *system, const double *volume, const double *x,
                         double negative, sn_sparse *matrix) {
    for (int t = 0; t < system->tet_count; t++) {
        const int *tet = system->tet + 4 * (size_t)t;
        tet_shape s = shape_of(tet, x);
        double w = system->tet_weight[t], curve = negative * w * (s.volume - volume[t]) / 6;
        sn_d4 g[4] = {-(s.gradient[0] + s.gradient[1] + s.gradient[2]), s.gradient[0],
                      s.gradient[1], s.gradient[2]};
        /* d2v between corners a and b of (1,2,3) is [e_c]x up to sign; corner 0 by summing. Column
         * by column: the derivative of all gradients along each coordinate. */
        for (int b = 0; b < 4; b++) {
            if (tet[b] >= system->free_count) continue;
            for (int column = 0; column < 3; column++) {
                sn_d4 unit = {0};
                unit[column] = 1;
                sn_d4 u[3] = {{0}, {0}, {0}};
                if (b)
                    u[b - 1] = unit;
                else
                    u[0] = u[1] = u[2] = -unit;
                const sn_d4 *e = s.edge;
                sn_d4 y[4];
                y[1] = sn_d4_cross(u[1], e[2]) + sn_d4_cross(e[1], u[2]);
                y[2] = sn_d4_cross(u[2], e[0]) + sn_d4_cross(e[2], u[0]);
                y[3] = sn_d4_cross(u[0], e[1]) + sn_d4_cross(e[0], u[1]);
                y[0] = -(y[1] + y[2] + y[3]);
                for (int a = 0; a < 4; a++) {
                    /* lower triangle: row vertex tet[a] at or after column vertex tet[b] */
                    if (tet[a] >= system->free_count || tet[a] < tet[b]) continue;
                    int slot = tet[a] == tet[b] ? -1 : sn_hessian_slot(system, tet[b], tet[a]);
                    for (int row = slot < 0 ? column : 0; row < 3; row++)
                        *sn_hessian_entry(system, matrix, tet[b], slot, row, column) +=
                            w * g[a][row] * g[b][column] + curve * y[a][row];
                }
            }
        }
    }
}
