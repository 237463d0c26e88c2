/* One frame: the blend, then Newton's method with preconditioned conjugate gradients
 * (spring/equilibrium.c) in a single launch.
 *
 * The preconditioner is the sum of the inverse diagonal blocks and of one that sees far. Where
 * springs have directions that is the Laplacian of spring/precondition.h, solved by the sweeps of
 * dissection.h. Without directions it is a coarse level: the rigid motions of clusters, with the
 * dense inverse of their matrix at the neutral, turned with the clusters. A step of conjugate
 * gradients is
 *
 *   product    q = H p, and its forces and torques on the clusters
 *   correct    r -= alpha q; diagonal blocks; the block's rows of the coarse inverse
 *   (sweeps    z = L^-1 r)
 *   direct     p = z + motions of the clusters + beta p
 *
 * The coarse right-hand side follows r without another pass over the vertices: W^T r changes by
 * -alpha W^T q. Every block keeps a copy of it in shared memory.
 *
 * Based on: Steihaug's truncated Newton-CG; additive two-level Schwarz methods with rigid-body
 * coarse spaces. */
#ifndef SN_GPU_KERNELS_SPRING_NEWTON_H
#define SN_GPU_KERNELS_SPRING_NEWTON_H

#include "gpu/kernels/spring_energy.h"

enum {
    SN_CG_LIMIT = 400,
    SN_BACKTRACKS = 30,
    SN_LENGTHENINGS = 6,
    SN_HOLD_AFTER_FAILURE = 2,
    SN_HOLD_MOST = 4,
    SN_PROJECTED = 3,
    SN_PLACE_STEPS = 80 /* of the search for a cluster's rotation */
};

/* ---- shared memory of a block ---- */

typedef struct sn_block_coarse {
    float *right;      /* modes: W^T r in the clusters' frames */
    sn_float4 *center; /* per slot */
    float *rotation;   /* 9 per slot */
    float *motion;     /* 8 per slot: translation, 0, rotation, 0 */
} sn_block_coarse;

SN_FN sn_block_coarse sn_block_coarse_at(const sn_grid *g, const sn_coarse_device *c) {
    sn_block_coarse b;
    char *at = g->shared + SN_GRID_SHARED;
    b.right = (float *)at, at += 16 * (((size_t)c->modes + 3) / 4);
    b.center = (sn_float4 *)at, at += 16 * (size_t)c->most_slots;
    b.motion = (float *)at, at += 32 * (size_t)c->most_slots;
    b.rotation = (float *)at;
    return b;
}

/* ---- clusters ---- */

/* Sums over slots that give the clusters' centers and rotations at x[0]. */
SN_PHASE_FN void sn_coarse_sum(sn_grid *g, const sn_spring_device *d, const sn_spring_work *w) {
    const sn_coarse_device *c = &d->coarse;
    int lane = g->thread % SN_WARP, warp = g->thread / SN_WARP, warps = g->threads / SN_WARP;
    for (int s = c->slot_start[g->block] + warp; s < c->slot_start[g->block + 1]; s += warps) {
        double sum[12] = {0};
        sn_double4 center = c->center[c->slot_cluster[s]];
        for (int i = c->item_start[s] + lane; i < c->item_start[s + 1]; i += SN_WARP) {
            int v = c->item_vertex[i];
            double weight = (double)c->item_weight[i];
            sn_double4 x = sn_double4_scale(weight, sn_double4_sub(w->x[0][v], d->origin));
            sn_double4 y = sn_double4_sub(d->neutral[v], center);
            sum[0] += x.x, sum[1] += x.y, sum[2] += x.z;
            sum[3] += x.x * y.x, sum[4] += x.x * y.y, sum[5] += x.x * y.z;
            sum[6] += x.y * y.x, sum[7] += x.y * y.y, sum[8] += x.y * y.z;
            sum[9] += x.z * y.x, sum[10] += x.z * y.y, sum[11] += x.z * y.z;
        }
        for (int i = 0; i < 12; i++) {
            sum[i] = sn_warp_sum_d(sum[i]);
            if (lane == 0) w->slot_sum[12 * (size_t)s + (size_t)i] = sum[i];
        }
    }
}

/* The rotation nearest to M, by Mueller et al., "A robust method to extract the rotational part of
 * deformations" (2016). */
SN_FN void sn_nearest_rotation(const float *m, float *r) {
    float w = 1, x = 0, y = 0, z = 0;
    for (int k = 0; k <= SN_PLACE_STEPS; k++) {
        r[0] = 1 - 2 * (y * y + z * z), r[1] = 2 * (x * y - w * z), r[2] = 2 * (x * z + w * y);
        r[3] = 2 * (x * y + w * z), r[4] = 1 - 2 * (x * x + z * z), r[5] = 2 * (y * z - w * x);
        r[6] = 2 * (x * z - w * y), r[7] = 2 * (y * z + w * x), r[8] = 1 - 2 * (x * x + y * y);
        float o[3] = {0, 0, 0}, size = 0;
        for (int c = 0; c < 3; c++) {
            o[0] += r[3 + c] * m[6 + c] - r[6 + c] * m[3 + c];
            o[1] += r[6 + c] * m[c] - r[c] * m[6 + c];
            o[2] += r[c] * m[3 + c] - r[3 + c] * m[c];
            size += r[c] * m[c] + r[3 + c] * m[3 + c] + r[6 + c] * m[6 + c];
        }
        size = fabsf(size);
        if (!(size > 0)) return;
        o[0] /= size, o[1] /= size, o[2] /= size;
        float angle = sqrtf(o[0] * o[0] + o[1] * o[1] + o[2] * o[2]);
        if (!(angle > 1e-6f)) return;
        float s = sinf(0.5f * angle) / angle, c = cosf(0.5f * angle);
        float dx = s * o[0], dy = s * o[1], dz = s * o[2];
        float nw = c * w - dx * x - dy * y - dz * z, nx = c * x + dx * w + dy * z - dz * y;
        float ny = c * y + dy * w + dz * x - dx * z, nz = c * z + dz * w + dx * y - dy * x;
        float norm = 1 / sqrtf(nw * nw + nx * nx + ny * ny + nz * nz);
        w = nw * norm, x = nx * norm, y = ny * norm, z = nz * norm;
    }
}

/* A warp adds up a cluster's slots, its first thread finds the rotation. */
SN_PHASE_FN void sn_coarse_place(sn_grid *g, const sn_spring_device *d, const sn_spring_work *w) {
    const sn_coarse_device *c = &d->coarse;
    int lane = g->thread % SN_WARP, warps = sn_stride(g) / SN_WARP;
    for (int k = sn_first(g) / SN_WARP; k < c->clusters; k += warps) {
        double sum[12] = {0};
        for (int s = c->cluster_start[k] + lane; s < c->cluster_start[k + 1]; s += SN_WARP)
            for (int i = 0; i < 12; i++)
                sum[i] += w->slot_sum[12 * (size_t)c->cluster_slot[s] + (size_t)i];
        for (int i = 0; i < 12; i++) sum[i] = sn_warp_sum_d(sum[i]);
        if (lane != 0) continue;
        float m[9];
        double mass = c->center[k].w;
        for (int i = 0; i < 9; i++) m[i] = (float)sum[3 + i];
        w->center[k] =
            sn_float4_make((float)(sum[0] / mass), (float)(sum[1] / mass), (float)(sum[2] / mass));
        sn_nearest_rotation(m, w->rotation + 9 * (size_t)k);
    }
}

SN_FN void sn_coarse_load(sn_grid *g, const sn_spring_device *d, const sn_spring_work *w) {
    const sn_coarse_device *c = &d->coarse;
    sn_block_coarse b = sn_block_coarse_at(g, c);
    int first = c->slot_start[g->block], count = c->slot_start[g->block + 1] - first;
    for (int s = g->thread; s < count; s += g->threads) {
        int k = c->slot_cluster[first + s];
        b.center[s] = w->center[k];
        for (int i = 0; i < 9; i++) b.rotation[9 * s + i] = w->rotation[9 * (size_t)k + (size_t)i];
    }
    sn_sync_block();
}

/* Forces and torques of f on the block's slots, in the frames of the clusters at the neutral. */
SN_FN void sn_coarse_restrict(sn_grid *g, const sn_spring_device *d, const sn_spring_work *w,
                              const sn_float4 *f) {
    const sn_coarse_device *c = &d->coarse;
    sn_block_coarse b = sn_block_coarse_at(g, c);
    int lane = g->thread % SN_WARP, warp = g->thread / SN_WARP, warps = g->threads / SN_WARP;
    int first = c->slot_start[g->block], last = c->slot_start[g->block + 1];
    for (int s = first + warp; s < last; s += warps) {
        float a[6] = {0, 0, 0, 0, 0, 0};
        sn_float4 center = b.center[s - first];
        for (int i = c->item_start[s] + lane; i < c->item_start[s + 1]; i += SN_WARP) {
            int v = c->item_vertex[i];
            float weight = c->item_weight[i];
            sn_float4 u = f[v], lever = sn_float4_sub(w->near_x[v], center);
            u = sn_float4_make(weight * u.x, weight * u.y, weight * u.z);
            sn_float4 t = sn_float4_cross(lever, u);
            a[0] += u.x, a[1] += u.y, a[2] += u.z, a[3] += t.x, a[4] += t.y, a[5] += t.z;
        }
        for (int i = 0; i < 6; i++) a[i] = sn_warp_sum(a[i]);
        if (lane != 0) continue;
        const float *r = b.rotation + 9 * (s - first);
        float *to = w->slot_force + 8 * (size_t)s;
        for (int i = 0; i < 3; i++) {
            to[i] = r[i] * a[0] + r[3 + i] * a[1] + r[6 + i] * a[2];
            to[3 + i] = r[i] * a[3] + r[3 + i] * a[4] + r[6 + i] * a[5];
        }
    }
}

/* ---- conjugate gradients ---- */

/* Before the first step: the clusters' frames, and the forces on them. */
SN_PHASE_FN void sn_cg_begin(sn_grid *g, const sn_spring_device *d, const sn_spring_work *w) {
    sn_coarse_load(g, d, w);
    sn_coarse_restrict(g, d, w, w->r);
}

/* Sums: p . q. */
SN_PHASE_FN void sn_cg_product(sn_grid *g, const sn_spring_device *d, const sn_spring_work *w,
                               const sn_spring_asked *a) {
    double product = sn_spring_product(g, d, w, a);
    sn_sync_block();
    sn_coarse_restrict(g, d, w, w->q);
    sn_block_sums(g, 1, &product, 0);
}

/* Sums: r . z, r . r. `first`: nothing to subtract yet. */
SN_PHASE_FN void sn_cg_correct(sn_grid *g, const sn_spring_device *d, const sn_spring_work *w,
                               float alpha, bool first) {
    const sn_coarse_device *c = &d->coarse;
    sn_block_coarse b = sn_block_coarse_at(g, c);
    double sums[2] = {0, 0};
    for (int i = g->thread; i < c->modes; i += g->threads) {
        int k = i / 6, m = i - 6 * k;
        float t = 0;
        for (int s = c->cluster_start[k]; s < c->cluster_start[k + 1]; s++)
            t += w->slot_force[8 * (size_t)c->cluster_slot[s] + (size_t)m];
        b.right[i] = first ? t : b.right[i] - alpha * t;
    }
    int begin = sn_block_begin(g, d->free_count), end = sn_block_end(g, d->free_count);
    for (int v = begin + g->thread; v < end; v += g->threads) {
        sn_float4 r = w->r[v];
        if (!first) {
            sn_float4 q = w->q[v], p = w->p[v], s = w->step[v];
            r.x -= alpha * q.x, r.y -= alpha * q.y, r.z -= alpha * q.z;
            s.x += alpha * p.x, s.y += alpha * p.y, s.z += alpha * p.z;
            w->r[v] = r, w->step[v] = s;
        }
        const float *i = w->diagonal + 8 * (size_t)v;
        sn_float4 z = sn_float4_make(i[0] * r.x + i[1] * r.y + i[2] * r.z,
                                     i[1] * r.x + i[3] * r.y + i[4] * r.z,
                                     i[2] * r.x + i[4] * r.y + i[5] * r.z);
        w->q[v] = z;
        sums[0] += (double)sn_float4_dot(r, z), sums[1] += (double)sn_float4_dot(r, r);
    }
    sn_sync_block();
    int lane = g->thread % SN_WARP, warp = g->thread / SN_WARP, warps = g->threads / SN_WARP;
    for (int row = sn_block_begin(g, c->modes) + warp; row < sn_block_end(g, c->modes);
         row += warps) {
        const float *m = c->inverse + (size_t)row * (size_t)c->modes;
        float s = 0;
#ifdef __CUDACC__
#pragma unroll 4
#endif
        for (int j = lane; j < c->modes; j += SN_WARP) s += m[j] * b.right[j];
        s = sn_warp_sum(s);
        if (lane == 0) w->coarse[row] = s, sums[0] += (double)s * (double)b.right[row];
    }
    sn_block_sums(g, 2, sums, 0);
}

SN_PHASE_FN void sn_cg_direct(sn_grid *g, const sn_spring_device *d, const sn_spring_work *w,
                              const sn_spring_asked *a, float beta) {
    const sn_coarse_device *c = &d->coarse;
    sn_block_coarse b = sn_block_coarse_at(g, c);
    int first = c->slot_start[g->block], count = c->slot_start[g->block + 1] - first;
    for (int i = g->thread; i < 2 * count; i += g->threads) {
        int s = i / 2, half = i % 2;
        const float *r = b.rotation + 9 * s;
        const float *e = w->coarse + 6 * (size_t)c->slot_cluster[first + s] + 3 * (size_t)half;
        float e0 = e[0], e1 = e[1], e2 = e[2];
        for (int j = 0; j < 3; j++)
            b.motion[8 * s + 4 * half + j] = r[3 * j] * e0 + r[3 * j + 1] * e1 + r[3 * j + 2] * e2;
    }
    sn_sync_block();
    int begin = sn_block_begin(g, d->free_count), end = sn_block_end(g, d->free_count);
    for (int v = begin + g->thread; v < end; v += g->threads) {
        sn_float4 z = w->q[v];
        if (d->laplacian.levels > 0) {
            sn_float4 far = w->z[v];
            z.x += far.x, z.y += far.y, z.z += far.z;
        }
        if (c->clusters > 0) {
            sn_float4 x = w->near_x[v], weights = c->weight[v];
            const float *weight = &weights.x;
            for (int k = 0; k < 4; k++) {
                int s = c->slot[4 * (size_t)v + (size_t)k];
                const float *m = b.motion + 8 * s;
                sn_float4 l = sn_float4_sub(x, b.center[s]);
                float wk = weight[k];
                z.x += wk * (m[0] + m[5] * l.z - m[6] * l.y);
                z.y += wk * (m[1] + m[6] * l.x - m[4] * l.z);
                z.z += wk * (m[2] + m[4] * l.y - m[5] * l.x);
            }
        }
        if (beta != 0) {
            sn_float4 p = w->p[v];
            z.x += beta * p.x, z.y += beta * p.y, z.z += beta * p.z;
        }
        if (sn_is_frozen(a, v)) z = sn_float4_make(0, 0, 0);
        w->p[v] = z;
    }
}

/* step = p: the first direction already had negative curvature. */
SN_PHASE_FN void sn_cg_take_direction(sn_grid *g, const sn_spring_device *d,
                                      const sn_spring_work *w) {
    int end = sn_block_end(g, d->free_count);
    for (int v = sn_block_begin(g, d->free_count) + g->thread; v < end; v += g->threads)
        w->step[v] = w->p[v];
}

/* Corrects r and answers it; sums: r . z and r . r. True: it is small enough, or has no answer. */
SN_FN bool sn_cg_answer(sn_grid *g, const sn_spring_device *d, const sn_spring_work *w, float alpha,
                        bool first, double goal, double sums[2]) {
    SN_PHASE(g, sn_cg_correct(g, d, w, alpha, first));
    sn_totals(g, 2, sums, 0);
    if (!(sums[1] > goal)) return true;
    if (d->laplacian.levels > 0) {
        double far;
        sn_dissection_solve(g, &d->laplacian, &w->sweep, w->r, w->z, true);
        sn_totals(g, 1, &far, 0);
        sums[0] += far;
    }
    return !(sums[0] > 0);
}

/* step = about -H^-1 gradient / largest. False: negative curvature was met on the way. */
SN_FN bool sn_spring_direction(sn_grid *g, const sn_spring_device *d, const sn_spring_work *w,
                               const sn_spring_asked *a, int at, double negative, double largest,
                               double goal, int *inner) {
    double sums[2], product;
    SN_PHASE(g, sn_spring_linearize(g, d, w, a, at, negative, largest));
    SN_PHASE(g, sn_cg_begin(g, d, w));
    if (sn_cg_answer(g, d, w, 0, true, 0, sums)) return true;
    double rz = sums[0], end = goal * goal * sums[1];
    SN_PHASE(g, sn_cg_direct(g, d, w, a, 0));
    for (int k = 0; k < SN_CG_LIMIT; k++) {
        SN_PHASE(g, sn_cg_product(g, d, w, a));
        sn_totals(g, 1, &product, 0);
        if (!(product > 0)) {
            if (k == 0) SN_PHASE(g, sn_cg_take_direction(g, d, w));
            return !(product <= 0);
        }
        ++*inner;
        if (sn_cg_answer(g, d, w, (float)(rz / product), false, end, sums)) return true;
        float beta = (float)(sums[0] / rz);
        rz = sums[0];
        SN_PHASE(g, sn_cg_direct(g, d, w, a, beta));
    }
    return true;
}

/* ---- Newton ---- */

/* x[1 - at] = x[at] + length step. Sums: gradient[of] . step. */
SN_PHASE_FN void sn_spring_step(sn_grid *g, const sn_spring_device *d, const sn_spring_work *w,
                                int at, int of, double length) {
    int end = sn_block_end(g, d->free_count);
    double slope = 0;
    for (int v = sn_block_begin(g, d->free_count) + g->thread; v < end; v += g->threads) {
        sn_double4 x = w->x[at][v], f = w->gradient[of][v];
        sn_float4 s = w->step[v];
        w->x[1 - at][v] = sn_double4_make(x.x + length * (double)s.x, x.y + length * (double)s.y,
                                          x.z + length * (double)s.z);
        slope += f.x * (double)s.x + f.y * (double)s.y + f.z * (double)s.z;
    }
    sn_block_sums(g, 1, &slope, 0);
}

/* Result in the network's order; counts of what turned over. Sums: inverted, new, flipped. */
SN_PHASE_FN void sn_spring_report(sn_grid *g, const sn_spring_device *d, const sn_spring_work *w,
                                  const sn_spring_asked *a, int at) {
    const sn_double4 *x = w->x[at];
    double sums[3] = {0, 0, 0};
    for (int v = sn_first(g); v < d->count; v += sn_stride(g)) {
        double *to = a->positions + 3 * (size_t)d->source[v];
        sn_double4 p = x[v];
        to[0] = p.x, to[1] = p.y, to[2] = p.z;
    }
    for (int t = sn_first(g); t < d->tet_count; t += sn_stride(g)) {
        sn_int4 c = d->tets[t];
        sn_double4 o = x[c.x], e1 = sn_double4_sub(x[c.y], o), e2 = sn_double4_sub(x[c.z], o);
        if (sn_double4_dot(sn_double4_cross(e1, e2), sn_double4_sub(x[c.w], o)) > 0) continue;
        sums[0]++, sums[1] += !d->pose_inverts[t];
    }
    for (int t = sn_first(g); t < d->surface_count; t += sn_stride(g)) {
        sn_int4 c = d->surface[t];
        int v[3] = {c.x, c.y, c.z};
        sn_double4 p[3], b[3];
        for (int k = 0; k < 3; k++) {
            p[k] = x[v[k]];
            b[k] = v[k] < d->free_count ? w->blend[v[k]] : x[v[k]];
        }
        sn_double4 m = sn_double4_cross(sn_double4_sub(p[1], p[0]), sn_double4_sub(p[2], p[0]));
        sn_double4 n = sn_double4_cross(sn_double4_sub(b[1], b[0]), sn_double4_sub(b[2], b[0]));
        sums[2] += sn_double4_dot(m, n) < 0;
    }
    sn_block_sums(g, 3, sums, 0);
}

/* Of the loop below. */
typedef struct sn_newton {
    int at; /* which of the two positions is the current one */
    double energy, residual, largest, least;
    bool stop;
} sn_newton;

SN_FN void sn_newton_evaluate(sn_grid *g, const sn_spring_device *d, const sn_spring_work *w,
                              const sn_spring_asked *a, int at, double least, sn_newton *out) {
    double sums[4];
    SN_PHASE(g, sn_spring_gradient(g, d, w, a, at, least));
    sn_totals(g, 4, sums, 6);
    out->energy = sums[0], out->residual = sqrt(sums[1]), out->largest = sums[2];
    out->stop = sums[3] != 0;
}

/* The step length, with the trial's position and gradient in 1 - at; 0: none lowers the energy. */
SN_FN double sn_newton_search(sn_grid *g, const sn_spring_device *d, const sn_spring_work *w,
                              const sn_spring_asked *a, const sn_newton *now, bool lengthen,
                              sn_newton *trial) {
    double length = 1, noise = 1e-13 * fabs(now->energy), slope = 0, found = 0;
    for (int k = 0; k < SN_BACKTRACKS && found == 0; k++) {
        SN_PHASE(g, sn_spring_step(g, d, w, now->at, now->at, length * now->largest));
        double sum;
        sn_totals(g, 1, &sum, 0);
        slope = sum * now->largest;
        if (!(slope < 0)) return 0;
        sn_newton_evaluate(g, d, w, a, 1 - now->at, now->least, trial);
        double e = trial->energy;
        if (!isfinite(e)) {
            length *= 0.1;
            continue;
        }
        bool lower = e <= now->energy + 1e-4 * length * slope;
        bool same = fabs(e - now->energy) <= noise || fabs(length * slope) <= noise;
        if (lower || (same && e <= now->energy + noise && trial->residual < now->residual)) {
            found = length;
            break;
        }
        double bend = e - now->energy - length * slope;
        double best = bend > 0 ? -slope * length * length / (2 * bend) : 0.5 * length;
        length = best > 0.5 * length ? 0.5 * length : best < 0.1 * length ? 0.1 * length : best;
    }
    if (found != 1 || !lengthen) return found;
    /* a projected Hessian makes short steps: go on while most of the slope is left */
    for (int k = 0; k < SN_LENGTHENINGS; k++) {
        double sum;
        SN_PHASE(g, sn_spring_step(g, d, w, now->at, 1 - now->at, length * now->largest));
        sn_totals(g, 1, &sum, 0);
        double here = sum * now->largest;
        if (!(here < 0.5 * slope)) break;
        double ahead = here > slope ? slope / (slope - here) : 4;
        double longer = length * (ahead < 4 ? ahead : 4);
        SN_PHASE(g, sn_spring_step(g, d, w, now->at, now->at, longer * now->largest));
        sn_newton further;
        sn_newton_evaluate(g, d, w, a, 1 - now->at, now->least, &further);
        if (!(further.energy < trial->energy)) {
            SN_PHASE(g, sn_spring_step(g, d, w, now->at, now->at, length * now->largest));
            sn_newton_evaluate(g, d, w, a, 1 - now->at, now->least, trial);
            break;
        }
        length = longer, *trial = further;
    }
    return length;
}

SN_FN void sn_spring_run(sn_grid *g, const sn_spring_device *d, const sn_spring_work *w,
                         const sn_spring_asked *a) {
    const double kept[SN_PROJECTED + 1] = {1, 0.9, 0.6, 0};
    double clamped, scale, counts[3];
    sn_newton now, trial;
    SN_PHASE(g, sn_spring_lengths(g, d, w, a->activations));
    sn_totals(g, 1, &clamped, 0);
    sn_rotation_run(g, &d->rotation, &w->blender, a->activations, a->refinements, d->place,
                    w->blend);
    SN_PHASE(g, sn_spring_guides(g, d, w, a));
    sn_totals(g, 1, &scale, 0);
    now.at = 0;
    now.least = 0.5e-3 * scale / (d->free_count > 0 ? d->free_count : 1);
    if (!(now.least > 0)) now.least = 1;
    if (d->coarse.clusters > 0) {
        SN_PHASE(g, sn_coarse_sum(g, d, w));
        SN_PHASE(g, sn_coarse_place(g, d, w));
    }
    sn_newton_evaluate(g, d, w, a, 0, now.least, &now);

    if (d->laplacian.levels > 0) SN_PHASE(g, sn_dissection_load(g, &d->laplacian));
    int outcome = SN_SPRING_NOT_CONVERGED, iterations = 0, inner = 0;
    int level = 0, hold = 0, penalty = SN_HOLD_AFTER_FAILURE;
    bool near_answer = false;
    if (!isfinite(now.energy) || !isfinite(now.residual)) outcome = SN_SPRING_NOT_FINITE;
    for (int step = 0; step < a->max_iterations && outcome == SN_SPRING_NOT_CONVERGED; step++) {
        if (now.residual <= (step ? 1 : 0.01) * a->tolerance) {
            outcome = SN_SPRING_CONVERGED;
            break;
        }
        if (now.stop) {
            outcome = SN_SPRING_STOPPED;
            break;
        }
        double goal = 0.3 * a->tolerance / now.residual;
        goal = goal > 0.3 ? 0.3 : goal < 0.01 ? 0.01 : goal;
        bool failed = false;
        while (!sn_spring_direction(g, d, w, a, now.at, kept[level], now.largest, goal, &inner) &&
               level < SN_PROJECTED)
            level = near_answer ? level + 1 : SN_PROJECTED, failed = true;
        bool short_sighted = level > 0;
        if (failed) {
            hold = near_answer ? penalty : 1;
            if (near_answer && penalty < SN_HOLD_MOST) penalty *= 2;
            near_answer = true;
        } else if (level > 0 && --hold <= 0) {
            level--;
        }
        iterations++;
        double least = now.least;
        double length = sn_newton_search(g, d, w, a, &now, short_sighted, &trial);
        if (length == 0) {
            if (level >= SN_PROJECTED) break;
            level = SN_PROJECTED, hold = penalty;
            continue;
        }
        trial.at = 1 - now.at, trial.least = least;
        now = trial;
    }
    if (outcome == SN_SPRING_NOT_CONVERGED && now.residual <= a->tolerance)
        outcome = SN_SPRING_CONVERGED;
    SN_PHASE(g, sn_spring_report(g, d, w, a, now.at));
    sn_totals(g, 3, counts, 0);
    SN_ONCE(g) {
        sn_spring_answer *to = a->answer;
        to->outcome = outcome, to->iterations = iterations, to->inner_iterations = inner;
        to->residual = now.residual, to->energy = now.energy, to->clamped = (int)clamped;
        to->inverted = (int)counts[0], to->new_inverted = (int)counts[1];
        to->flipped = (int)counts[2];
    }
}

#endif
