/* What a frame asks for, the energy and its derivatives; src/spring has the derivations. */
#ifndef SN_GPU_KERNELS_SPRING_ENERGY_H
#define SN_GPU_KERNELS_SPRING_ENERGY_H

#include "gpu/kernels/spring_block.h"

/* As in spring/guide.c and spring/energy_spring.c. */
#define SN_NO_DIRECTION 1e-6
#define SN_MOST_RAISED  4.0
#define SN_NO_LENGTH    1e-20

SN_FN double sn_blended(const sn_blended_device *b, int i, const double *activations) {
    double v = b->base[i];
    for (int k = b->start[i]; k < b->start[i + 1]; k++)
        v += activations[b->target[k]] * b->value[k];
    return v;
}

/* Hard pulls keep their vertex where it is put. */
SN_FN bool sn_is_frozen(const sn_spring_asked *a, int v) {
    return a->pull && isinf(a->pull[v].w);
}
SN_FN double sn_soft_stiffness(const sn_spring_asked *a, int v) {
    return a->pull && !isinf(a->pull[v].w) ? a->pull[v].w : 0;
}

/* Rest lengths, volumes and altitudes. Sums: rest lengths at the floor. */
SN_PHASE_FN void sn_spring_lengths(sn_grid *g, const sn_spring_device *d, const sn_spring_work *w,
                                   const double *activations) {
    double clamped = 0;
    for (int q = sn_first(g); q < d->rest.count; q += sn_stride(g)) {
        double r = sn_blended(&d->rest, q, activations);
        if (!(r >= d->rest_floor)) r = d->rest_floor, clamped++;
        w->rest[q] = r;
    }
    for (int t = sn_first(g); t < d->volume.count; t += sn_stride(g)) {
        double v = sn_blended(&d->volume, t, activations);
        w->volume[t] = v * v * v;
    }
    for (int t = sn_first(g); t < d->altitude.count; t += sn_stride(g)) {
        double h = sn_blended(&d->altitude, t, activations);
        w->altitude[t] = h < 0 ? 0 : h;
    }
    sn_block_sums(g, 1, &clamped, 0);
}

SN_FN sn_double4 sn_held_position(const sn_spring_device *d, const sn_spring_work *w,
                                  const sn_spring_asked *a, int h) {
    if (a->held && a->held[h].w != 0) return a->held[h];
    sn_double4 x = d->held_neutral[h];
    if (x.w != 0) return w->blend[d->free_count + h];
    for (int k = d->held_start[h]; k < d->held_start[h + 1]; k++) {
        double t = a->activations[d->held_target[k]];
        const double *value = d->held_value + 3 * (size_t)k;
        x.x += t * value[0], x.y += t * value[1], x.z += t * value[2];
    }
    return x;
}

/* Directions, the scale of forces and the start, from the blend. Sums: scale over vertices. */
SN_PHASE_FN void sn_spring_guides(sn_grid *g, const sn_spring_device *d, const sn_spring_work *w,
                                  const sn_spring_asked *a) {
    int lane = g->thread % SN_LANES, rows = g->threads / SN_LANES;
    int begin = sn_block_begin(g, d->free_count), end = sn_block_end(g, d->free_count);
    double total = 0;
    for (int base = begin; base < end; base += rows) {
        int v = base + g->thread / SN_LANES;
        double scale = 0;
        sn_double4 at = {0, 0, 0, 0};
        if (v < end) {
            at = w->blend[v];
            for (int e = d->row_start[v] + lane; e < d->row_start[v + 1]; e += SN_LANES) {
                sn_double4 b = sn_double4_sub(at, w->blend[d->row_other[e]]);
                double r = w->rest[d->row_spring[e]], length = sqrt(sn_double4_dot(b, b));
                double ratio = length > SN_NO_DIRECTION * r ? r / length : 1;
                sn_double4 heading = sn_double4_scale(ratio, b);
                double raised = (ratio < SN_MOST_RAISED ? ratio : SN_MOST_RAISED) - 1;
                heading.w = d->guide > 0 ? d->guide + (raised > 0 ? raised : 0) : 0;
                w->heading[e] = heading, w->row_rest[e] = r;
                scale += d->row_stiffness[e] * r;
            }
        }
        scale = sn_lane_sum_d(scale);
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
            m = sn_double4_sub(w->blend[c.x], sn_double4_add(sn_double4_scale(1 - f, w->blend[c.y]),
                                                             sn_double4_scale(f, w->blend[c.z])));
        } else {
            int component = d->rotation.vertex_component[d->source[c.x]];
            m = sn_apply9(w->blender.gradient + 9 * (size_t)c.w, lever);
            m = sn_apply9(w->blender.transform + SN_TRANSFORM_SIZE * (size_t)component, m);
        }
        double length = sqrt(sn_double4_dot(m, m));
        w->altitudes[t] = sn_double4_scale(length > SN_NO_DIRECTION * h ? h / length : 1, m);
    }
    sn_block_sums(g, 1, &total, 0);
}

/* Energy and gradient at x[at]. Sums: energy, largest squared force over its scale, largest force,
 * a request to stop. `least`: smallest scale. */
SN_PHASE_FN void sn_spring_gradient(sn_grid *g, const sn_spring_device *d, const sn_spring_work *w,
                                    const sn_spring_asked *a, int at, double least) {
    int lane = g->thread % SN_LANES, rows = g->threads / SN_LANES;
    int begin = sn_block_begin(g, d->free_count), end = sn_block_end(g, d->free_count);
    const sn_double4 *x = w->x[at];
    double sums[4] = {0, 0, 0, 0};
    for (int base = begin; base < end; base += rows) {
        int v = base + g->thread / SN_LANES;
        sn_double4 f = {0, 0, 0, 0}, here = {0, 0, 0, 0};
        double energy = 0;
        if (v < end) {
            here = x[v];
            for (int e = d->row_start[v] + lane; e < d->row_start[v + 1]; e += SN_LANES) {
                sn_double4 s = sn_double4_sub(here, x[d->row_other[e]]), heading = w->heading[e];
                double k = d->row_stiffness[e], r = w->row_rest[e];
                double squared = sn_double4_dot(s, s), smallest = SN_NO_LENGTH * r * r;
                double length = sqrt(squared > smallest ? squared : smallest);
                double stretch = length - r, factor = length > 0 ? k * stretch / length : 0;
                sn_double4 off = sn_double4_sub(s, heading);
                double guide = heading.w * k;
                /* seen from both ends, unless the other one is held */
                energy += (d->row_other[e] < d->free_count ? 0.25 : 0.5) *
                          (k * stretch * stretch + guide * sn_double4_dot(off, off));
                f.x += factor * s.x + guide * off.x, f.y += factor * s.y + guide * off.y;
                f.z += factor * s.z + guide * off.z;
            }
            for (int e = d->corner_start[v] + lane; e < d->corner_start[v + 1]; e += SN_LANES) {
                sn_int4 c = d->corner[e];
                sn_double4 e1 = sn_double4_sub(x[c.x], here), e2 = sn_double4_sub(x[c.y], here),
                           e3 = sn_double4_sub(x[c.z], here);
                sn_double4 g3 = sn_double4_cross(e1, e2);
                sn_double4 n = sn_double4_add(sn_double4_cross(e2, e3),
                                              sn_double4_add(sn_double4_cross(e3, e1), g3));
                double weight = d->corner_weight[e];
                double off = sn_double4_dot(g3, e3) / 6 - w->volume[c.w],
                       factor = -weight * off / 6;
                int seen =
                    1 + (c.x < d->free_count) + (c.y < d->free_count) + (c.z < d->free_count);
                energy += 0.5 / seen * weight * off * off;
                f.x += factor * n.x, f.y += factor * n.y, f.z += factor * n.z;
            }
            for (int e = d->fan_start[v] + lane; e < d->fan_start[v + 1]; e += SN_LANES) {
                sn_int4 c = d->fan[e];
                int t = c.w >> 2, corner = c.w & 3;
                double foot = d->triangle_foot[t], weight = d->triangle_weight[t];
                sn_double4 off =
                    sn_double4_sub(x[c.x], sn_double4_add(sn_double4_scale(1 - foot, x[c.y]),
                                                          sn_double4_scale(foot, x[c.z])));
                off = sn_double4_sub(off, w->altitudes[t]);
                double factor = weight * (corner == 0 ? 1 : corner == 1 ? foot - 1 : -foot);
                /* the energy counts once, at the first free corner */
                int first = c.x < d->free_count ? 0 : c.y < d->free_count ? 1 : 2;
                if (corner == first) energy += 0.5 * weight * sn_double4_dot(off, off);
                f.x += factor * off.x, f.y += factor * off.y, f.z += factor * off.z;
            }
        }
        f.x = sn_lane_sum_d(f.x), f.y = sn_lane_sum_d(f.y), f.z = sn_lane_sum_d(f.z);
        sums[0] += energy;
        if (v >= end || lane != 0) continue;
        sn_double4 off = sn_double4_sub(here, w->blend[v]);
        sums[0] += 0.5 * d->pull * sn_double4_dot(off, off);
        f = sn_double4_add(f, sn_double4_scale(d->pull, off));
        if (a->load) {
            sums[0] -= sn_double4_dot(a->load[v], off);
            f = sn_double4_sub(f, a->load[v]);
        }
        double soft = sn_soft_stiffness(a, v);
        if (soft > 0) {
            off = sn_double4_sub(here, a->pull[v]);
            sums[0] += 0.5 * soft * sn_double4_dot(off, off);
            f = sn_double4_add(f, sn_double4_scale(soft, off));
        }
        if (sn_is_frozen(a, v)) f = sn_double4_make(0, 0, 0);
        w->gradient[at][v] = f;
        double scale = w->scale[v] > least ? w->scale[v] : least;
        double relative = sn_double4_dot(f, f) / (scale * scale);
        if (!(relative <= sums[1])) sums[1] = relative;
        double largest = fabs(f.x) > fabs(f.y) ? fabs(f.x) : fabs(f.y);
        if (fabs(f.z) > largest) largest = fabs(f.z);
        if (largest > sums[2]) sums[2] = largest;
    }
    if (g->block == 0 && g->thread == 0) sums[3] = *(const volatile int *)a->stop;
    sn_block_sums(g, 4, sums, 6);
}

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

/* The Hessian at x[at] in single precision, with `negative` of its negative curvature: tables for
 * products, inverse diagonal blocks; and the right-hand side -gradient / largest. */
SN_PHASE_FN void sn_spring_linearize(sn_grid *g, const sn_spring_device *d, const sn_spring_work *w,
                                     const sn_spring_asked *a, int at, double negative,
                                     double largest) {
    int lane = g->thread % SN_LANES, rows = g->threads / SN_LANES;
    sn_block_part block = sn_block_part_at(g, d, w);
    int begin = block.first, end = begin + block.count;
    const sn_double4 *x = w->x[at];
    for (int base = begin; base < end; base += rows) {
        int v = base + g->thread / SN_LANES;
        float b[6] = {0, 0, 0, 0, 0, 0};
        sn_double4 here = {0, 0, 0, 0};
        if (v < end) {
            here = x[v];
            for (int e = d->row_start[v] + lane; e < d->row_start[v + 1]; e += SN_LANES) {
                sn_double4 s = sn_double4_sub(here, x[d->row_other[e]]);
                double k = d->row_stiffness[e], r = w->row_rest[e];
                double beta = w->heading[e].w;
                double squared = sn_double4_dot(s, s), smallest = SN_NO_LENGTH * r * r;
                double length = sqrt(squared > smallest ? squared : smallest);
                double inverse = length > 0 ? 1 / length : 0;
                double c = k * (length - r) * inverse + beta * k;
                if (c < 0) c *= negative;
                float f = sqrtf((float)((1 + beta) * k - c)) * (float)inverse;
                sn_float4 t = {(float)s.x * f, (float)s.y * f, (float)s.z * f,
                               (float)c + d->row_altitude[e]};
                block.table[e - block.row_base] = t;
                b[0] += t.w + t.x * t.x, b[1] += t.x * t.y, b[2] += t.x * t.z;
                b[3] += t.w + t.y * t.y, b[4] += t.y * t.z, b[5] += t.w + t.z * t.z;
            }
            for (int e = d->corner_start[v] + lane; e < d->corner_start[v + 1]; e += SN_LANES) {
                sn_int4 c = d->corner[e];
                sn_double4 e1 = sn_double4_sub(x[c.x], here), e2 = sn_double4_sub(x[c.y], here),
                           e3 = sn_double4_sub(x[c.z], here);
                sn_double4 g3 = sn_double4_cross(e1, e2);
                sn_double4 n = sn_double4_add(sn_double4_cross(e2, e3),
                                              sn_double4_add(sn_double4_cross(e3, e1), g3));
                double weight = d->corner_weight[e];
                double off = sn_double4_dot(g3, e3) / 6 - w->volume[c.w];
                w->curvature[e] = (float)(negative * weight * off / 6);
                float nx = (float)n.x, ny = (float)n.y, nz = (float)n.z, f = (float)(weight / 36);
                b[0] += f * nx * nx, b[1] += f * nx * ny, b[2] += f * nx * nz;
                b[3] += f * ny * ny, b[4] += f * ny * nz, b[5] += f * nz * nz;
            }
        }
        for (int i = 0; i < 6; i++) b[i] = sn_lane_sum(b[i]);
        if (v >= end || lane != 0) continue;
        float pull = (float)(d->pull + sn_soft_stiffness(a, v));
        b[0] += pull, b[3] += pull, b[5] += pull;
        int own = v - begin;
        sn_invert_block(b, block.diagonal + 8 * (size_t)own);
        block.diagonal[8 * (size_t)own + 6] = pull;
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

/* Loads that a thread has under way at a time. */
enum { SN_AT_ONCE = 8 };

/* q = H p on the block's vertices; returns the thread's share of p . q. `lanes` threads have a
 * vertex. */
SN_FN double sn_spring_product(sn_grid *g, const sn_spring_device *d, const sn_spring_work *w,
                               const sn_spring_asked *a, const sn_block_part *b, int lanes) {
    int lane = g->thread % lanes, rows = g->threads / lanes;
    double product = 0;
    for (int base = 0; base < b->count; base += rows) {
        int own = base + g->thread / lanes, v = b->first + own;
        sn_float4 here = {0, 0, 0, 0}, y = {0, 0, 0, 0};
        if (own < b->count) {
            here = b->p[own];
            int last = b->row[own + 1] - b->row_base;
            for (int e = b->row[own] - b->row_base + lane; e < last; e += SN_AT_ONCE * lanes) {
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
            sn_float4 x = b->x[own];
            last = d->corner_count ? d->corner_start[v + 1] : 0;
#ifdef __CUDACC__
#pragma unroll 2
#endif
            for (int e = d->corner_count ? d->corner_start[v] + lane : 0; e < last; e += lanes) {
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
        float pull = b->diagonal[8 * (size_t)own + 6];
        y.x += pull * here.x, y.y += pull * here.y, y.z += pull * here.z;
        if (sn_is_frozen(a, v)) y = sn_float4_make(0, 0, 0);
        b->q[own] = y;
        product += (double)sn_float4_dot(y, here);
    }
    return product;
}

#endif
