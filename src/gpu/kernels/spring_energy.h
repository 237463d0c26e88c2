/* The energy of one frame and its derivatives, and what they need of the blend. */
#ifndef SN_GPU_KERNELS_SPRING_ENERGY_H
#define SN_GPU_KERNELS_SPRING_ENERGY_H

#include "gpu/kernels/spring_block.h"
#include "gpu/kernels/spring_elements.h"

/* Entries of a row that a thread has under way at a time. */
enum { SN_ENTRIES_AT_ONCE = 2 };

/* Rest lengths, volumes and altitudes. Sums: rest lengths at the floor. */
SN_PHASE_FN void sn_spring_lengths(sn_grid *g, const sn_spring_device *d, const sn_spring_work *w,
                                   const double *activations) {
    double clamped = 0;
    for (int q = sn_first(g); q < d->rest.count; q += sn_stride(g)) {
        w->rest[q] = sn_rest_length(d, q, activations, 1, &clamped);
    }
    for (int t = sn_first(g); t < d->volume.count; t += sn_stride(g)) {
        double v = sn_blended(&d->volume, t, activations, 1);
        w->volume[t] = v * v * v;
    }
    for (int t = sn_first(g); t < d->altitude.count; t += sn_stride(g)) {
        double h = sn_blended(&d->altitude, t, activations, 1);
        w->altitude[t] = h < 0 ? 0 : h;
    }
    sn_block_sums(g, 1, &clamped, 0);
}

SN_FN sn_double4 sn_held_position(const sn_spring_device *d, const sn_spring_work *w,
                                  const sn_spring_asked *a, int h) {
    if (a->held && a->held[h].w != 0) return a->held[h];
    if (d->held_neutral[h].w != 0) return w->blend[d->free_count + h];
    return sn_held_blend(d, h, a->activations, 1);
}

/* Directions, the scale of forces and the start, from the blend. Sums: scale over vertices. */
SN_PHASE_FN void sn_spring_guides(sn_grid *g, const sn_spring_device *d, const sn_spring_work *w,
                                  const sn_spring_asked *a) {
    int lane = g->thread % SN_SPRING_LANES, rows = g->threads / SN_SPRING_LANES;
    int begin = sn_block_begin(g, d->free_count), end = sn_block_end(g, d->free_count);
    double total = 0;
    for (int base = begin; base < end; base += rows) {
        int v = base + g->thread / SN_SPRING_LANES;
        double scale = 0;
        sn_double4 at = {0, 0, 0, 0};
        if (v < end) {
            at = w->blend[v];
            int last = d->row_start[v + 1];
            for (int e = d->row_start[v] + lane; e < last;
                 e += SN_ENTRIES_AT_ONCE * SN_SPRING_LANES) {
                sn_double4 far[SN_ENTRIES_AT_ONCE];
                double rest[SN_ENTRIES_AT_ONCE], stiffness[SN_ENTRIES_AT_ONCE];
                SN_UNROLL
                for (int k = 0; k < SN_ENTRIES_AT_ONCE; k++) {
                    int n = e + k * SN_SPRING_LANES < last ? e + k * SN_SPRING_LANES : e;
                    far[k] = w->blend[d->row_other[n]];
                    rest[k] = w->rest[d->row_spring[n]], stiffness[k] = d->row_stiffness[n];
                }
                SN_UNROLL
                for (int k = 0; k < SN_ENTRIES_AT_ONCE; k++) {
                    int n = e + k * SN_SPRING_LANES;
                    if (n >= last) continue;
                    sn_double4 b = sn_double4_sub(at, far[k]);
                    double ratio = sn_heading_ratio(d->guide, b, &rest[k]);
                    sn_double4 heading = sn_double4_scale(ratio, b);
                    heading.w = sn_heading_weight(d->guide, ratio);
                    w->heading[n] = heading, w->row_rest[n] = rest[k];
                    scale += stiffness[k] * rest[k];
                }
            }
        }
        scale = sn_lane_sum_d_of(scale, SN_SPRING_LANES);
        if (v < end && lane == 0) {
            w->scale[v] = scale, total += scale;
            w->x[0][v] = sn_is_frozen(a, v) ? a->pull[v] : at;
        }
    }
    for (int h = sn_first(g); h < d->count - d->free_count; h += sn_stride(g)) {
        sn_double4 x = sn_held_position(d, w, a, h);
        w->x[0][d->free_count + h] = w->x[1][d->free_count + h] = x;
        w->p[d->free_count + h] = sn_float4_make(0, 0, 0);
        w->near_x[d->free_count + h] = sn_float4_make(
            (float)(x.x - d->origin.x), (float)(x.y - d->origin.y), (float)(x.z - d->origin.z));
    }
    for (int t = sn_first(g); t < d->triangle_count; t += sn_stride(g)) {
        sn_int4 c = d->triangle[t];
        double h = w->altitude[c.w], f = d->triangle_foot[t];
        sn_double4 m;
        sn_double4 lever = d->triangle_lever[t];
        if (lever.w != 0) {
            m = sn_altitude_vector(w->blend[c.x], w->blend[c.y], w->blend[c.z], f);
        } else {
            int component = d->rotation.vertex_component[d->source[c.x]];
            m = sn_apply9(w->blender.gradient + 9 * (size_t)c.w, lever);
            m = sn_apply9(w->blender.transform + SN_TRANSFORM_SIZE * (size_t)component, m);
        }
        w->altitudes[t] = sn_altitude_wanted(m, h);
    }
    sn_block_sums(g, 1, &total, 0);
}

/* Energy and gradient at x[at]. Sums: energy, largest squared force over its scale, largest force,
 * a request to stop. `least`: smallest scale. */
SN_PHASE_FN void sn_spring_gradient(sn_grid *g, const sn_spring_device *d, const sn_spring_work *w,
                                    const sn_spring_asked *a, int at, double least) {
    int lane = g->thread % SN_SPRING_LANES, rows = g->threads / SN_SPRING_LANES;
    int begin = sn_block_begin(g, d->free_count), end = sn_block_end(g, d->free_count);
    const sn_double4 *x = w->x[at];
    double sums[4] = {0, 0, 0, 0};
    for (int base = begin; base < end; base += rows) {
        int v = base + g->thread / SN_SPRING_LANES;
        sn_double4 f = {0, 0, 0, 0}, here = {0, 0, 0, 0};
        double energy = 0;
        if (v < end) {
            here = x[v];
            int last = d->row_start[v + 1];
            for (int e = d->row_start[v] + lane; e < last;
                 e += SN_ENTRIES_AT_ONCE * SN_SPRING_LANES) {
                sn_double4 far[SN_ENTRIES_AT_ONCE], heading[SN_ENTRIES_AT_ONCE];
                double rest[SN_ENTRIES_AT_ONCE], stiffness[SN_ENTRIES_AT_ONCE];
                int other[SN_ENTRIES_AT_ONCE];
                SN_UNROLL
                for (int k = 0; k < SN_ENTRIES_AT_ONCE; k++) {
                    int n = e + k * SN_SPRING_LANES < last ? e + k * SN_SPRING_LANES : e;
                    other[k] = d->row_other[n], far[k] = x[other[k]], heading[k] = w->heading[n];
                    rest[k] = w->row_rest[n], stiffness[k] = d->row_stiffness[n];
                }
                SN_UNROLL
                for (int k = 0; k < SN_ENTRIES_AT_ONCE; k++) {
                    if (e + k * SN_SPRING_LANES >= last) continue;
                    sn_double4 s = sn_double4_sub(here, far[k]);
                    /* seen from both ends, unless the other one is held */
                    energy += (other[k] < d->free_count ? 0.25 : 0.5) *
                              sn_spring_force(s, sn_spring_measure(s, rest[k]), heading[k],
                                              stiffness[k], rest[k], &f);
                }
            }
            for (int e = d->corner_start[v] + lane; e < d->corner_start[v + 1];
                 e += SN_SPRING_LANES) {
                sn_int4 c = d->corner[e];
                sn_double4 n =
                    sn_tet_normal(sn_double4_sub(x[c.x], here), sn_double4_sub(x[c.y], here),
                                  sn_double4_sub(x[c.z], here));
                double weight = d->corner_weight[e], off = n.w - w->volume[c.w];
                energy += sn_tet_share(d, c) * weight * off * off;
                sn_tet_force(n, weight, off, &f);
            }
            for (int e = d->fan_start[v] + lane; e < d->fan_start[v + 1]; e += SN_SPRING_LANES) {
                sn_int4 c = d->fan[e];
                int t = c.w >> 2;
                sn_double4 off = sn_altitude_vector(x[c.x], x[c.y], x[c.z], d->triangle_foot[t]);
                energy += sn_altitude_force(d, c, sn_double4_sub(off, w->altitudes[t]), &f);
            }
        }
        f.x = sn_lane_sum_d_of(f.x, SN_SPRING_LANES), f.y = sn_lane_sum_d_of(f.y, SN_SPRING_LANES),
        f.z = sn_lane_sum_d_of(f.z, SN_SPRING_LANES);
        sums[0] += energy;
        if (v >= end || lane != 0) continue;
        sums[0] += sn_add_pulls(d, a, v, here, w->blend[v], &f);
        w->gradient[at][v] = f;
        double scale = w->scale[v] > least ? w->scale[v] : least;
        double relative = sn_double4_dot(f, f) / (scale * scale);
        if (!(relative <= sums[1])) sums[1] = relative;
        double largest = sn_largest_part(f);
        if (largest > sums[2]) sums[2] = largest;
    }
    if (g->block == 0 && g->thread == 0) sums[3] = *(const volatile int *)a->stop;
    sn_block_sums(g, 4, sums, 6);
}

/* The Hessian at x[at] in single precision, with `negative` of its negative curvature: tables for
 * products, inverse diagonal blocks; and the right-hand side -gradient / largest. */
SN_PHASE_FN void sn_spring_linearize(sn_grid *g, const sn_spring_device *d, const sn_spring_work *w,
                                     const sn_spring_asked *a, int at, double negative,
                                     double largest) {
    int lane = g->thread % SN_SPRING_LANES, rows = g->threads / SN_SPRING_LANES;
    sn_block_part block = sn_block_part_at(g);
    int begin = block.first, end = begin + block.count;
    float fine = d->table_scale;
    const sn_double4 *x = w->x[at];
    for (int base = begin; base < end; base += rows) {
        int v = base + g->thread / SN_SPRING_LANES;
        float b[6] = {0, 0, 0, 0, 0, 0};
        sn_double4 here = {0, 0, 0, 0};
        if (v < end) {
            here = x[v];
            int last = d->row_start[v + 1];
            for (int e = d->row_start[v] + lane; e < last;
                 e += SN_ENTRIES_AT_ONCE * SN_SPRING_LANES) {
                sn_double4 far[SN_ENTRIES_AT_ONCE];
                double rest[SN_ENTRIES_AT_ONCE], stiffness[SN_ENTRIES_AT_ONCE];
                double weight[SN_ENTRIES_AT_ONCE];
                float altitude[SN_ENTRIES_AT_ONCE];
                SN_UNROLL
                for (int k = 0; k < SN_ENTRIES_AT_ONCE; k++) {
                    int n = e + k * SN_SPRING_LANES < last ? e + k * SN_SPRING_LANES : e;
                    far[k] = x[d->row_other[n]], weight[k] = w->heading[n].w;
                    rest[k] = w->row_rest[n], stiffness[k] = d->row_stiffness[n];
                    altitude[k] = d->row_altitude[n];
                }
                SN_UNROLL
                for (int k = 0; k < SN_ENTRIES_AT_ONCE; k++) {
                    int n = e + k * SN_SPRING_LANES;
                    if (n >= last) continue;
                    sn_double4 s = sn_double4_sub(here, far[k]);
                    sn_float4 t = sn_spring_hessian(s, sn_spring_measure(s, rest[k]), weight[k],
                                                    stiffness[k], rest[k], negative, altitude[k]);
                    sn_float4 small = {fine * t.x, fine * t.y, fine * t.z, fine * fine * t.w};
                    if (block.table)
                        block.table[n - block.row_base] = t;
                    else
                        block.rough[n - block.row_base] = sn_half4_of(small);
                    sn_add_spring_block(t, b);
                }
            }
            for (int e = d->corner_start[v] + lane; e < d->corner_start[v + 1];
                 e += SN_SPRING_LANES) {
                sn_int4 c = d->corner[e];
                sn_double4 n =
                    sn_tet_normal(sn_double4_sub(x[c.x], here), sn_double4_sub(x[c.y], here),
                                  sn_double4_sub(x[c.z], here));
                double weight = d->corner_weight[e], off = n.w - w->volume[c.w];
                w->curvature[e] = (float)(negative * weight * off / 6);
                sn_add_tet_block(n, weight, b);
            }
        }
        for (int i = 0; i < 6; i++) b[i] = sn_lane_sum_of(b[i], SN_SPRING_LANES);
        if (v >= end || lane != 0) continue;
        float pull = (float)(d->pull + sn_soft_stiffness(a, v));
        b[0] += pull, b[3] += pull, b[5] += pull;
        int own = v - begin;
        sn_invert_block(b, block.diagonal + 8 * (size_t)own);
        sn_float4 near_x =
            sn_float4_make((float)(here.x - d->origin.x), (float)(here.y - d->origin.y),
                           (float)(here.z - d->origin.z));
        block.x[own] = near_x, w->near_x[v] = near_x;
        sn_double4 f = w->gradient[at][v];
        block.r[own] = sn_float4_make((float)(-f.x / largest), (float)(-f.y / largest),
                                      (float)(-f.z / largest));
        block.step[own] = sn_float4_make(0, 0, 0);
    }
}

/* Loads that a thread has under way at a time. */
enum { SN_AT_ONCE = 8, SN_ROUGH_AT_ONCE = 16 / SN_ROUGH_LANES < 8 ? 16 / SN_ROUGH_LANES : 8 };

/* The springs of a vertex with the direction `here`, entries e, e + lanes ... before `last`. */
SN_FN sn_float4 sn_row_product(const sn_spring_work *w, const sn_block_part *b, sn_float4 here,
                               int e, int last, int lanes) {
    sn_float4 y = {0, 0, 0, 0};
    for (; e < last; e += SN_AT_ONCE * lanes) {
        sn_float4 far[SN_AT_ONCE];
        SN_UNROLL
        for (int i = 0; i < SN_AT_ONCE; i++)
            far[i] = e + i * lanes < last ? w->p[b->other[e + i * lanes]] : here;
        SN_UNROLL
        for (int i = 0; i < SN_AT_ONCE; i++) {
            if (e + i * lanes >= last) continue;
            sn_float4 t = b->table[e + i * lanes], s = sn_float4_sub(here, far[i]);
            float u = sn_float4_dot(t, s);
            y.x += u * t.x + t.w * s.x, y.y += u * t.y + t.w * s.y;
            y.z += u * t.z + t.w * s.z;
        }
    }
    return y;
}

/* Likewise with the table in half precision, from device memory; `by`: 1 / table_scale^2. */
SN_FN sn_float4 sn_rough_row_product(const sn_spring_work *w, const sn_block_part *b,
                                     sn_float4 here, int e, int last, int lanes, float by) {
    sn_float4 y = {0, 0, 0, 0};
    for (; e < last; e += SN_ROUGH_AT_ONCE * lanes) {
        sn_float4 far[SN_ROUGH_AT_ONCE];
        sn_half4 rough[SN_ROUGH_AT_ONCE];
        SN_UNROLL
        for (int i = 0; i < SN_ROUGH_AT_ONCE; i++) {
            int n = e + i * lanes < last ? e + i * lanes : e;
            rough[i] = b->rough[n];
            if (b->near) {
                far[i] = b->tile[b->near[n]];
            } else {
                int other = b->other[n], own = other - b->first;
                bool near = b->tile && own >= 0 && own < b->count;
                far[i] = near ? b->tile[own] : w->p[other];
            }
        }
        SN_UNROLL
        for (int i = 0; i < SN_ROUGH_AT_ONCE; i++) {
            if (e + i * lanes >= last) continue;
            sn_float4 t = sn_half4_value(rough[i]), s = sn_float4_sub(here, far[i]);
            float u = sn_float4_dot(t, s);
            y.x += u * t.x + t.w * s.x, y.y += u * t.y + t.w * s.y;
            y.z += u * t.z + t.w * s.z;
        }
    }
    return sn_float4_make(by * y.x, by * y.y, by * y.z);
}

/* Before a product: directions of other blocks' vertices. */
SN_FN void sn_halo_load(const sn_grid *g, const sn_spring_device *d, const sn_spring_work *w,
                        const sn_block_part *b) {
    for (int k = g->thread; k < b->halo; k += g->threads)
        b->tile[b->count + k] = w->p[d->halo.vertex[b->first_halo + k]];
    sn_sync_block();
}

/* q = H p on the block's vertices; returns the thread's share of p . q. `lanes` threads have a
 * vertex. */
SN_FN double sn_spring_product(sn_grid *g, const sn_spring_device *d, const sn_spring_work *w,
                               const sn_spring_asked *a, const sn_block_part *b, int lanes) {
    int lane = g->thread % lanes, rows = g->threads / lanes;
    float by = 1 / (d->table_scale * d->table_scale);
    double product = 0;
    const sn_float4 *p = b->tile ? b->tile : b->p;
    int next = g->thread / lanes, begin = 0, end = 0; /* the row after this one is on its way */
    if (next < b->count) begin = b->row[next] - b->row_base, end = b->row[next + 1] - b->row_base;
    for (int base = 0; base < b->count; base += rows) {
        int own = base + g->thread / lanes, v = b->first + own;
        sn_float4 here = {0, 0, 0, 0}, y = {0, 0, 0, 0};
        if (own < b->count) {
            here = p[own];
            int e = begin + lane, last = end;
            next = own + rows < b->count ? own + rows : own;
            begin = b->row[next] - b->row_base, end = b->row[next + 1] - b->row_base;
            y = b->table ? sn_row_product(w, b, here, e, last, lanes)
                         : sn_rough_row_product(w, b, here, e, last, lanes, by);
            sn_float4 x = {0, 0, 0, 0};
            if (d->corner_count) x = b->x[own];
            last = d->corner_count ? d->corner_start[v + 1] : 0;
#ifdef __CUDACC__
#pragma unroll 2
#endif
            for (e = d->corner_count ? d->corner_start[v] + lane : 0; e < last; e += lanes) {
                sn_int4 c = d->corner[e];
                sn_float4 t = sn_tet_product(
                    sn_float4_sub(w->near_x[c.x], x), sn_float4_sub(w->near_x[c.y], x),
                    sn_float4_sub(w->near_x[c.z], x), sn_float4_sub(w->p[c.x], here),
                    sn_float4_sub(w->p[c.y], here), sn_float4_sub(w->p[c.z], here),
                    (float)d->corner_weight[e] * (1.0f / 36), w->curvature[e]);
                y.x += t.x, y.y += t.y, y.z += t.z;
            }
        }
        y.x = sn_lane_sum_of(y.x, lanes), y.y = sn_lane_sum_of(y.y, lanes);
        y.z = sn_lane_sum_of(y.z, lanes);
        if (own >= b->count || lane != 0) continue;
        float pull = (float)(d->pull + sn_soft_stiffness(a, v));
        y.x += pull * here.x, y.y += pull * here.y, y.z += pull * here.z;
        if (sn_is_frozen(a, v)) y = sn_float4_make(0, 0, 0);
        b->q[own] = y;
        product += (double)sn_float4_dot(y, here);
    }
    return product;
}

#endif
