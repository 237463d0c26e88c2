/* Newton's direction by preconditioned conjugate gradients.
 *
 * The preconditioner is the sum of the inverse diagonal blocks and of a coarse level: motions of
 * clusters, with the dense inverse of their matrix. Springs with directions resist in all
 * directions of space, so the clusters translate, and the matrix is that of a Laplacian. Springs
 * without directions leave rotations free, so the clusters move rigidly, with the matrix at the
 * neutral rotated with the clusters. Large networks have a middle level, too: more clusters that
 * translate, of whose matrix only the diagonal counts. A step is
 *
 *   product    q = H p, and its forces and torques on the clusters
 *   correct    r -= alpha q; diagonal blocks; the middle level; the block's rows of the coarse
 * inverse direct     p = z + motions of the clusters + beta p
 *
 * with a barrier after each. The coarse right-hand side follows r without another pass over the
 * vertices: W^T r changes by -alpha W^T q. Every block keeps a copy of it.
 *
 * Based on: Steihaug's truncated Newton-CG; additive two-level Schwarz methods with rigid-body
 * coarse spaces. We differ in: the coarse matrix is built once, at the neutral, and its inverse is
 * stored in half precision, scaled to a unit diagonal: a preconditioner needs few digits. */
#ifndef SN_GPU_KERNELS_SPRING_GRADIENTS_H
#define SN_GPU_KERNELS_SPRING_GRADIENTS_H

#include "gpu/kernels/spring_energy.h"

enum { SN_PLACE_STEPS = 80 /* of the search for a cluster's rotation */ };

/* ---- clusters ---- */

/* Sums over slots that give the clusters' centers and rotations at x[0]. */
SN_PHASE_FN void sn_coarse_sum(sn_grid *g, const sn_spring_device *d, const sn_spring_work *w) {
    const sn_coarse_device *c = &d->coarse;
    int lane = g->thread % SN_WARP, warp = g->thread / SN_WARP, warps = g->threads / SN_WARP;
    int first = sn_block_begin(g, d->free_count);
    for (int s = c->slot_start[g->block] + warp; s < c->slot_start[g->block + 1]; s += warps) {
        double sum[12] = {0};
        sn_double4 center = c->center[c->slot_cluster[s]];
        for (int i = c->item_start[s] + lane; i < c->item_start[s + 1]; i += SN_WARP) {
            int v = first + c->item[i].vertex;
            double weight = (double)c->item[i].weight;
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

/* About the rotation nearest to M (a preconditioner needs no more), by Mueller et al., "A robust
 * method to extract the rotational part of deformations" (2016). */
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
        if (!(angle > 1e-3f)) return;
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

/* Sum of weight f over items `begin`, begin + lanes ... before `end`; `at_once`, at most
 * SN_MOST_AT_ONCE: loads under way at a time. */
enum { SN_MOST_AT_ONCE = 8 };
SN_FN sn_float4 sn_items_sum(const sn_item *item, int begin, int end, int lanes, int at_once,
                             const sn_float4 *f) {
    sn_float4 sum = {0, 0, 0, 0};
    for (int i = begin; i < end; i += at_once * lanes) {
        sn_float4 u[SN_MOST_AT_ONCE];
        float weight[SN_MOST_AT_ONCE];
        SN_UNROLL
        for (int k = 0; k < at_once; k++) {
            sn_item one = item[i + k * lanes < end ? i + k * lanes : i];
            u[k] = f[one.vertex], weight[k] = i + k * lanes < end ? one.weight : 0;
        }
        SN_UNROLL
        for (int k = 0; k < at_once; k++)
            sum.x += weight[k] * u[k].x, sum.y += weight[k] * u[k].y, sum.z += weight[k] * u[k].z;
    }
    return sum;
}

/* Forces of f on the block's slots of clusters that translate. */
SN_FN void sn_coarse_gather(const sn_grid *g, const sn_spring_work *w, const sn_block_part *b,
                            const sn_float4 *f) {
    int lane = g->thread % SN_TEAM, teams = g->threads / SN_TEAM;
    bool many = 4 * b->count > 4 * SN_TEAM * b->slots; /* items of a slot */
    for (int base = 0; base < b->slots; base += teams) {
        int s = base + g->thread / SN_TEAM, begin = 0, end = 0;
        if (s < b->slots)
            begin = b->item_start[s] - b->item_base + lane,
            end = b->item_start[s + 1] - b->item_base;
        sn_float4 a = many ? sn_items_sum(b->item, begin, end, SN_TEAM, SN_MOST_AT_ONCE, f)
                           : sn_items_sum(b->item, begin, end, SN_TEAM, 2, f);
        a.x = sn_team_sum(a.x), a.y = sn_team_sum(a.y), a.z = sn_team_sum(a.z);
        if (s < b->slots && lane == 0) w->slot_force[b->first_slot + s] = a;
    }
}

/* Forces and torques of f on the block's slots of rigid clusters, in their frames at the neutral.
 */
SN_FN void sn_coarse_restrict(const sn_grid *g, const sn_spring_work *w, const sn_block_part *b,
                              const sn_float4 *f) {
    int lane = g->thread % SN_TEAM, teams = g->threads / SN_TEAM;
    for (int base = 0; base < b->slots; base += teams) {
        int s = base + g->thread / SN_TEAM;
        float a[6] = {0, 0, 0, 0, 0, 0};
        if (s < b->slots) {
            sn_float4 center = b->center[s];
            int end = b->item_start[s + 1] - b->item_base;
            for (int i = b->item_start[s] - b->item_base + lane; i < end; i += SN_TEAM) {
                sn_item item = b->item[i];
                sn_float4 u = f[item.vertex];
                u = sn_float4_make(item.weight * u.x, item.weight * u.y, item.weight * u.z);
                a[0] += u.x, a[1] += u.y, a[2] += u.z;
                sn_float4 t = sn_float4_cross(sn_float4_sub(b->x[item.vertex], center), u);
                a[3] += t.x, a[4] += t.y, a[5] += t.z;
            }
        }
        for (int i = 0; i < 6; i++) a[i] = sn_team_sum(a[i]);
        if (s >= b->slots || lane != 0) continue;
        const float *r = b->rotation + 9 * s;
        float force[3], torque[3];
        for (int i = 0; i < 3; i++) {
            force[i] = r[i] * a[0] + r[3 + i] * a[1] + r[6 + i] * a[2];
            torque[i] = r[i] * a[3] + r[3 + i] * a[4] + r[6 + i] * a[5];
        }
        w->slot_force[2 * (size_t)(b->first_slot + s)] =
            sn_float4_make(force[0], force[1], force[2]);
        w->slot_force[2 * (size_t)(b->first_slot + s) + 1] =
            sn_float4_make(torque[0], torque[1], torque[2]);
    }
}

/* Loads that a thread has under way at a time. */
enum { SN_SLOTS_AT_ONCE = 8 };

/* right -= alpha D W^T q, or = D W^T r at first. A thread has a cluster. */
SN_FN void sn_coarse_follow(const sn_grid *g, const sn_coarse_device *c, const sn_spring_work *w,
                            const sn_block_part *b, bool rigid, float alpha, bool first) {
    for (int k = g->thread; k < c->clusters; k += g->threads) {
        int begin = b->cluster_start[k], end = b->cluster_start[k + 1];
        sn_float4 force = {0, 0, 0, 0}, torque = {0, 0, 0, 0};
        for (int j = begin; j < end; j += SN_SLOTS_AT_ONCE) {
            sn_float4 f[SN_SLOTS_AT_ONCE], t[SN_SLOTS_AT_ONCE];
            SN_UNROLL
            for (int i = 0; i < SN_SLOTS_AT_ONCE; i++) {
                f[i] = t[i] = sn_float4_make(0, 0, 0);
                if (j + i >= end) continue;
                size_t s = b->near_slot ? b->near_slot[j + i] : (size_t)b->far_slot[j + i];
                f[i] = w->slot_force[rigid ? 2 * s : s];
                if (rigid) t[i] = w->slot_force[2 * s + 1];
            }
            SN_UNROLL
            for (int i = 0; i < SN_SLOTS_AT_ONCE; i++) {
                force.x += f[i].x, force.y += f[i].y, force.z += f[i].z;
                torque.x += t[i].x, torque.y += t[i].y, torque.z += t[i].z;
            }
        }
        const float sums[6] = {force.x, force.y, force.z, torque.x, torque.y, torque.z};
        SN_UNROLL
        for (int i = 0; i < (rigid ? 6 : 3); i++) {
            int column = rigid ? 6 * k + i : k;
            float *to = b->right + sn_coarse_place_of(c, column) + (rigid ? 0 : i * c->columns);
            float change = b->scale[column] * sums[i];
            *to = first ? change : *to - alpha * change;
        }
    }
}

/* The block's rows of D^-1 E^-1 D^-1, times D W^T r. Returns the thread's share of the product of
 * both sides. */
SN_FN double sn_coarse_rows(const sn_grid *g, const sn_coarse_device *c, const sn_spring_work *w,
                            const sn_block_part *b, int sides) {
    int lane = g->thread % SN_WARP, warp = g->thread / SN_WARP, warps = g->threads / SN_WARP;
    int pieces = c->columns / 8;
    const sn_float4 *right = (const sn_float4 *)b->right;
    double product = 0;
    for (int row = warp; row < b->rows; row += warps) {
        const sn_half8 *m = b->inverse + (size_t)row * (size_t)pieces;
        float sum[3] = {0, 0, 0};
        int mode = b->first_row + row, place = sn_coarse_place_of(c, mode);
#ifdef __CUDACC__
#pragma unroll 4
#endif
        for (int j = lane; j < pieces; j += SN_WARP) {
            sn_half8 h = m[j];
            SN_UNROLL
            for (int side = 0; side < sides; side++) {
                const sn_float4 *from = right + 2 * side * pieces + j;
                sum[side] += sn_half8_dot(h, from[0], from[pieces]);
            }
        }
        SN_UNROLL
        for (int side = 0; side < sides; side++) {
            sum[side] = sn_warp_sum(sum[side]);
            if (lane != 0) continue;
            w->coarse[sides == 1 ? mode : 4 * mode + side] = b->scale[mode] * sum[side];
            product += (double)sum[side] * (double)b->right[side * c->columns + place];
        }
    }
    return product;
}

/* Motions of the slots from those of their clusters. */
SN_FN void sn_coarse_move(const sn_grid *g, const sn_spring_work *w, const sn_block_part *b,
                          bool rigid) {
    for (int s = g->thread; s < b->slots && !rigid; s += g->threads)
        *(sn_float4 *)(b->motion + 8 * s) = ((const sn_float4 *)w->coarse)[b->cluster[s]];
    if (!rigid) return;
    for (int i = g->thread; i < 2 * b->slots; i += g->threads) {
        int s = i / 2, half = i % 2;
        const float *r = b->rotation + 9 * s;
        const float *e = w->coarse + 6 * (size_t)b->cluster[s] + 3 * (size_t)half;
        float e0 = e[0], e1 = e[1], e2 = e[2];
        for (int j = 0; j < 3; j++)
            b->motion[8 * s + 4 * half + j] = r[3 * j] * e0 + r[3 * j + 1] * e1 + r[3 * j + 2] * e2;
    }
}

/* ---- middle levels ---- */

/* Forces of f on the block's slots; as many threads for a slot as leave each with some
 * SN_MOST_AT_ONCE items. */
SN_APART_FN void sn_middle_gather(int thread, int threads, sn_float4 *force,
                                  const sn_middle_part *part, const sn_float4 *f) {
    const sn_middle_part m = *part;
    int items = m.count > 0 ? m.start[m.count] - m.start[0] : 0;
    int lanes = items <= 28 * m.count   ? SN_SPRING_LANES
                : items <= 56 * m.count ? SN_LANES
                                        : SN_TEAM;
    int lane = thread % lanes, teams = threads / lanes;
    for (int base = 0; base < m.count; base += teams) {
        int s = base + thread / lanes, begin = 0, end = 0;
        if (s < m.count) begin = m.start[s] + lane, end = m.start[s + 1];
        sn_float4 a = sn_items_sum(m.item, begin, end, lanes, SN_MOST_AT_ONCE, f);
        a.x = sn_lane_sum_of(a.x, lanes), a.y = sn_lane_sum_of(a.y, lanes);
        a.z = sn_lane_sum_of(a.z, lanes);
        if (s < m.count && lane == 0) force[m.first + s] = a;
    }
}

/* The sums of the block's slots follow r -= alpha q, or become those of r at first. Returns the
 * thread's share of the product of both sides. */
SN_FN double sn_middle_follow(const sn_grid *g, const sn_middle_device *d, const sn_float4 *force,
                              const sn_middle_part *m, float alpha, bool first) {
    double product = 0;
    for (int s = g->thread; s < m->count; s += g->threads) {
        sn_middle_slot about = d->about[m->first + s];
        sn_float4 sum = {0, 0, 0, 0}, right = m->sum[s];
        for (int k = about.first_peer; k < about.last_peer; k++) {
            sn_float4 f = force[d->peer[k]];
            sum.x += f.x, sum.y += f.y, sum.z += f.z;
        }
        if (first)
            right.x = sum.x, right.y = sum.y, right.z = sum.z;
        else
            right.x -= alpha * sum.x, right.y -= alpha * sum.y, right.z -= alpha * sum.z;
        m->sum[s] = right;
        if (about.counts) product += (double)(about.inverse * sn_float4_dot(right, right));
    }
    return product;
}

/* z += the motions of the clusters of vertex v of the block. */
SN_FN sn_float4 sn_middle_move(const sn_middle_part *part, int v, sn_float4 z) {
    sn_float4 weights = part->weight[v];
    const float *weight = &weights.x;
    SN_UNROLL
    for (int k = 0; k < 4; k++) {
        sn_float4 m = part->sum[part->slot[4 * (size_t)v + (size_t)k]];
        float by = weight[k] * m.w;
        z.x += by * m.x, z.y += by * m.y, z.z += by * m.z;
    }
    return z;
}

/* ---- conjugate gradients ---- */

/* Forces of f on all clusters. */
SN_FN void sn_clusters_gather(const sn_grid *g, const sn_spring_device *d, const sn_spring_work *w,
                              const sn_block_part *b, const sn_float4 *f) {
    if (b->tile && !d->room.has_vectors) { /* vertices have several clusters */
        for (int v = g->thread; v < b->count; v += g->threads) b->tile[v] = f[v];
        sn_sync_block();
        f = b->tile;
    }
    if (d->coarse.rigid)
        sn_coarse_restrict(g, w, b, f);
    else
        sn_coarse_gather(g, w, b, f);
    SN_EACH_MIDDLE(d, l)
    sn_middle_gather(g->thread, g->threads, w->middle_force[l], &sn_block_part_kept(g)->middle[l],
                     f);
}

/* Before the first step, in the phase that makes r: the forces on the clusters. */
SN_PHASE_FN void sn_cg_begin(sn_grid *g, const sn_spring_device *d, const sn_spring_work *w) {
    sn_block_part b = sn_block_part_at(g);
    sn_clusters_gather(g, d, w, &b, b.r);
}

/* Sums: p . q. */
SN_PHASE_FN void sn_cg_product(sn_grid *g, const sn_spring_device *d, const sn_spring_work *w,
                               const sn_spring_asked *a) {
    sn_block_part b = sn_block_part_at(g);
    double product;
    if (d->room.has_halo) sn_halo_load(g, d, w, &b);
    /* few lanes: more vertices at a time; many: neighboring threads read neighboring numbers */
    if (d->corner_count > 0)
        product = sn_spring_product(g, d, w, a, &b, SN_LANES);
    else if (d->room.has_table)
        product = sn_spring_product(g, d, w, a, &b, SN_FEW_LANES);
    else
        product = sn_spring_product(g, d, w, a, &b, SN_ROUGH_LANES);
    sn_sync_block();
    sn_clusters_gather(g, d, w, &b, b.q);
    sn_block_sums(g, 1, &product, 0);
}

/* Sums: r . z, r . r. `first`: nothing to subtract yet. */
SN_PHASE_FN void sn_cg_correct(sn_grid *g, const sn_spring_device *d, const sn_spring_work *w,
                               float alpha, bool first) {
    const sn_coarse_device *c = &d->coarse;
    sn_block_part b = sn_block_part_at(g);
    double sums[2] = {0, 0};
    if (c->rigid)
        sn_coarse_follow(g, c, w, &b, true, alpha, first);
    else
        sn_coarse_follow(g, c, w, &b, false, alpha, first);
    SN_EACH_MIDDLE(d, l)
    sums[0] += sn_middle_follow(g, &d->middle[l], w->middle_force[l], &b.middle[l], alpha, first);
    /* the last threads have fewer clusters */
    for (int v = g->threads - 1 - g->thread; v < b.count; v += g->threads) {
        sn_float4 r = b.r[v];
        if (!first) {
            sn_float4 q = b.q[v], p = b.p[v], s = b.step[v];
            r.x -= alpha * q.x, r.y -= alpha * q.y, r.z -= alpha * q.z;
            s.x += alpha * p.x, s.y += alpha * p.y, s.z += alpha * p.z;
            b.r[v] = r, b.step[v] = s;
        }
        const float *i = b.diagonal + 8 * (size_t)v;
        sn_float4 z = sn_float4_make(i[0] * r.x + i[1] * r.y + i[2] * r.z,
                                     i[1] * r.x + i[3] * r.y + i[4] * r.z,
                                     i[2] * r.x + i[4] * r.y + i[5] * r.z);
        b.q[v] = z;
        sums[0] += (double)sn_float4_dot(r, z), sums[1] += (double)sn_float4_dot(r, r);
    }
    sn_sync_block();
    sums[0] += c->rigid ? sn_coarse_rows(g, c, w, &b, 1) : sn_coarse_rows(g, c, w, &b, 3);
    sn_block_sums(g, 2, sums, 0);
}

SN_PHASE_FN void sn_cg_direct(sn_grid *g, const sn_spring_device *d, const sn_spring_work *w,
                              const sn_spring_asked *a, float beta) {
    const sn_coarse_device *c = &d->coarse;
    sn_block_part b = sn_block_part_at(g);
    sn_coarse_move(g, w, &b, c->rigid);
    sn_sync_block();
    for (int v = g->thread; v < b.count; v += g->threads) {
        sn_float4 z = b.q[v];
        if (c->clusters > 0) {
            sn_float4 x = {0, 0, 0, 0}, weights = b.weight[v];
            if (c->rigid) x = b.x[v];
            const float *weight = &weights.x;
            for (int k = 0; k < 4; k++) {
                int s = b.slot[4 * (size_t)v + (size_t)k];
                const float *m = b.motion + 8 * s;
                float wk = weight[k];
                if (!c->rigid) {
                    z.x += wk * m[0], z.y += wk * m[1], z.z += wk * m[2];
                    continue;
                }
                sn_float4 l = sn_float4_sub(x, b.center[s]);
                z.x += wk * (m[0] + m[5] * l.z - m[6] * l.y);
                z.y += wk * (m[1] + m[6] * l.x - m[4] * l.z);
                z.z += wk * (m[2] + m[4] * l.y - m[5] * l.x);
            }
        }
        SN_EACH_MIDDLE(d, l) z = sn_middle_move(&b.middle[l], v, z);
        if (beta != 0) {
            sn_float4 p = b.p[v];
            z.x += beta * p.x, z.y += beta * p.y, z.z += beta * p.z;
        }
        if (sn_is_frozen(a, b.first + v)) z = sn_float4_make(0, 0, 0);
        w->p[b.first + v] = z;
        if (d->room.has_vectors) b.p[v] = z;
        if (b.tile) b.tile[v] = z;
    }
}

/* step = p: the first direction already had negative curvature. */
SN_PHASE_FN void sn_cg_take_direction(sn_grid *g) {
    sn_block_part b = sn_block_part_at(g);
    for (int v = g->thread; v < b.count; v += g->threads) b.step[v] = b.p[v];
}

/* step = about -H^-1 gradient / largest. False: negative curvature was met on the way. */
SN_FN bool sn_spring_direction(sn_grid *g, const sn_spring_device *d, const sn_spring_work *w,
                               const sn_spring_asked *a, int at, double negative, double largest,
                               double goal, int *inner) {
    double sums[2], product, rz = 0, end = 0;
    float alpha = 0, beta = 0;
    SN_PHASE(g, (sn_spring_linearize(g, d, w, a, at, negative, largest), sn_sync_block(),
                 sn_cg_begin(g, d, w)));
    for (int k = -1; k < SN_CG_LIMIT; k++) {
        if (k >= 0) {
            SN_PHASE(g, sn_cg_product(g, d, w, a));
            sn_totals(g, 1, &product, 0);
            if (!(product > 0)) {
                if (k == 0) SN_PHASE(g, sn_cg_take_direction(g));
                return !(product <= 0);
            }
            ++*inner;
            alpha = (float)(rz / product);
        }
        SN_PHASE(g, sn_cg_correct(g, d, w, alpha, k < 0));
        sn_totals(g, 2, sums, 0);
        if (!(sums[1] > end) || !(sums[0] > 0)) return true;
        if (k < 0)
            end = goal * goal * sums[1];
        else
            beta = (float)(sums[0] / rz);
        rz = sums[0];
        SN_PHASE(g, sn_cg_direct(g, d, w, a, beta));
    }
    return true;
}

#endif
