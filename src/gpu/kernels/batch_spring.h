/* Energies of a batch of spring frames, and Newton's directions by conjugate gradients with the
 * two-level preconditioner of spring_gradients.h: inverse diagonal blocks, and translations of
 * clusters.
 *
 * The Hessian of a spring is stored in half precision. Both ends round alike, so the stored matrix
 * is that of springs whose stiffness is off by a thousandth: directions are as good as those of
 * conjugate gradients that stop at a hundredth, and the gradient is in double precision. */
#ifndef SN_GPU_KERNELS_BATCH_SPRING_H
#define SN_GPU_KERNELS_BATCH_SPRING_H

#include "gpu/kernels/batch_blend.h"

/* Items whose numbers are on their way at a time: a thread would otherwise wait for each. */
enum {
    SN_ROWS_AHEAD = 8,
    SN_TETS_AHEAD = 2,
    SN_SPRINGS_AHEAD = 4,
    SN_ENDS_AHEAD = 2,
    SN_ITEMS_AHEAD = 16,
    SN_VERTICES_AHEAD = 2
};

/* What the driver knows of a frame. */
typedef struct sn_batch_frame {
    const sn_spring_asked *asked; /* NULL: there is no such frame */
    int at;                       /* which of the two positions is the current one */
    double energy, residual, largest, least;
    double before; /* the residual before the last step, or 0 */
    bool stop;
    struct {
        double energy, residual, largest;
    } trial;
    int outcome, iterations, inner, clamped;
    int level, hold, penalty;
    bool near_answer, failed, short_sighted;
    bool open;     /* no outcome yet */
    bool on;       /* takes part in the phases that come */
    bool in, good; /* conjugate gradients go on; they met no negative curvature */
    bool direct;   /* the first direction is the step */
    float alpha, beta;
    double rz, end, goal;
    double length, slope, found;
    double shorter, least_energy; /* while a step gets longer: the last good one */
    bool better;
} sn_batch_frame;

/* Whether any frame is on, or in. */
SN_FN bool sn_batch_some(const sn_batch_frame *s) {
    bool any = false;
    SN_EACH(i) any = any || s[SN_LANE(i)].on;
    return sn_any(any);
}
SN_FN bool sn_batch_some_in(const sn_batch_frame *s) {
    bool any = false;
    SN_EACH(i) any = any || s[SN_LANE(i)].in;
    return sn_any(any);
}
SN_FN bool sn_batch_some_direct(const sn_batch_frame *s) {
    bool any = false;
    SN_EACH(i) any = any || s[SN_LANE(i)].direct;
    return sn_any(any);
}

/* ---- what the blend determines ---- */

/* Rest lengths with the vectors of the blend, and volumes. Sums: rest lengths at the floor. */
SN_BATCH_FN void sn_batch_lengths(sn_grid *g, const sn_spring_device *device,
                                  const sn_batch_work *work) {
    SN_OWN(sn_spring_device, d, device);
    SN_OWN(sn_batch_work, w, work);
    sn_batch_sums sums = {{{0}}};
    SN_ITEMS(g, q, d->rest.count) SN_EACH(i) {
        int lane = SN_LANE(i);
        w->rest[sn_of((size_t)q, lane)] =
            sn_rest_length(d, q, w->activations + lane, SN_ABREAST, &sums.v[0][i]);
    }
    SN_ITEMS(g, t, d->volume.count) SN_EACH(i) {
        int lane = SN_LANE(i);
        double v = sn_blended(&d->volume, t, w->activations + lane, SN_ABREAST);
        w->volume[sn_of((size_t)t, lane)] = v * v * v;
    }
    sn_batch_hand_over(g, w, 1, &sums, 0);
}

/* Directions, scales and the start. Sums: scale over vertices. */
SN_BATCH_FN void sn_batch_guides(sn_grid *g, const sn_spring_device *device,
                                 const sn_batch_work *work, const sn_batch_frame *frames) {
    SN_OWN(sn_spring_device, d, device);
    SN_OWN(sn_batch_work, w, work);
    SN_OWN_FRAMES(s, frames);
    sn_batch_sums sums = {{{0}}};
    SN_ITEMS(g, v, d->free_count) SN_EACH(i) {
        int lane = SN_LANE(i);
        sn_double4 at = sn_get3(w->blend, v, lane);
        double scale = 0;
        int end = d->row_start[v + 1];
        for (int e = d->row_start[v]; e < end; e += SN_SPRINGS_AHEAD) {
            sn_double4 far[SN_SPRINGS_AHEAD];
            double rests[SN_SPRINGS_AHEAD], stiffness[SN_SPRINGS_AHEAD];
            int other[SN_SPRINGS_AHEAD], spring[SN_SPRINGS_AHEAD];
            SN_UNROLL
            for (int j = 0; j < SN_SPRINGS_AHEAD; j++) {
                int n = e + j < end ? e + j : end - 1;
                other[j] = d->row_other[n], spring[j] = d->row_spring[n];
                stiffness[j] = d->row_stiffness[n];
                far[j] = sn_get3(w->blend, other[j], lane);
                rests[j] = w->rest[sn_of((size_t)spring[j], lane)];
            }
            SN_UNROLL
            for (int j = 0; j < SN_SPRINGS_AHEAD; j++) {
                if (e + j >= end) continue;
                double ratio = sn_heading_ratio(d->guide, sn_double4_sub(at, far[j]), &rests[j]);
                scale += stiffness[j] * rests[j];
                if (other[j] < d->free_count && other[j] < v) continue; /* the other end does it */
                w->ratio[sn_of((size_t)spring[j], lane)] = ratio;
                w->rest[sn_of((size_t)spring[j], lane)] = rests[j];
            }
        }
        w->scale[sn_of((size_t)v, lane)] = scale, sums.v[0][i] += scale;
        bool frozen = s[i].asked && sn_is_frozen(s[i].asked, v);
        sn_set3(w->x[0], v, lane, frozen ? s[i].asked->pull[v] : at);
    }
    SN_ITEMS(g, h, d->count - d->free_count) SN_EACH(i) {
        int lane = SN_LANE(i), v = d->free_count + h;
        const sn_spring_asked *a = s[i].asked;
        sn_double4 x;
        if (a && a->held && a->held[h].w != 0)
            x = a->held[h];
        else if (d->held_neutral[h].w != 0)
            x = sn_get3(w->blend, v, lane);
        else
            x = sn_held_blend(d, h, w->activations + lane, SN_ABREAST);
        sn_set3(w->x[0], v, lane, x), sn_set3(w->x[1], v, lane, x);
        sn_set3f(w->p, v, lane, sn_float4_make(0, 0, 0));
        sn_set3f(w->near_x, v, lane,
                 sn_float4_make((float)(x.x - d->origin.x), (float)(x.y - d->origin.y),
                                (float)(x.z - d->origin.z)));
    }
    SN_ITEMS(g, t, d->triangle_count) SN_EACH(i) {
        int lane = SN_LANE(i);
        sn_int4 c = d->triangle[t];
        double h = sn_blended(&d->altitude, c.w, w->activations + lane, SN_ABREAST);
        sn_double4 lever = d->triangle_lever[t], m;
        if (lever.w != 0) {
            m = sn_altitude_vector(sn_get3(w->blend, c.x, lane), sn_get3(w->blend, c.y, lane),
                                   sn_get3(w->blend, c.z, lane), d->triangle_foot[t]);
        } else {
            double f[9];
            for (int j = 0; j < 9; j++) f[j] = w->item[sn_of(9 * (size_t)c.w + (size_t)j, lane)];
            m = sn_apply9(f, lever);
            sn_batch_rotation(w, d->rotation.vertex_component[d->source[c.x]], lane, f);
            m = sn_apply9(f, m);
        }
        sn_set3(w->altitudes, t, lane, sn_altitude_wanted(m, h < 0 ? 0 : h));
    }
    sn_batch_hand_over(g, w, 1, &sums, 0);
}

/* ---- the energy and its derivatives ---- */

/* One vertex of one frame: forces, entries of the Hessian, the inverse diagonal block. Returns the
 * energy. */
SN_FN double sn_batch_vertex(const sn_spring_device *d, const sn_batch_work *w,
                             const sn_spring_asked *a, int at, double negative, int v, int lane,
                             sn_double4 *force) {
    const double *x = sn_side(w->x, at);
    sn_double4 f = {0, 0, 0, 0}, here = sn_get3(x, v, lane), blend = sn_get3(w->blend, v, lane);
    float b[6] = {0, 0, 0, 0, 0, 0}, scale = d->table_scale;
    double energy = 0;
    for (int e = d->row_start[v], end = d->row_start[v + 1]; e < end; e += SN_ENDS_AHEAD) {
        sn_double4 far[SN_ENDS_AHEAD], blended[SN_ENDS_AHEAD];
        double rest[SN_ENDS_AHEAD], ratio[SN_ENDS_AHEAD];
        int other[SN_ENDS_AHEAD];
        size_t spring[SN_ENDS_AHEAD];
        SN_UNROLL
        for (int j = 0; j < SN_ENDS_AHEAD; j++) {
            int n = e + j < end ? e + j : end - 1;
            other[j] = d->row_other[n], spring[j] = sn_of((size_t)d->row_spring[n], lane);
            far[j] = sn_get3(x, other[j], lane), blended[j] = sn_get3(w->blend, other[j], lane);
            rest[j] = w->rest[spring[j]], ratio[j] = w->ratio[spring[j]];
        }
        SN_UNROLL
        for (int j = 0; j < SN_ENDS_AHEAD; j++) {
            int n = e + j;
            if (n >= end) continue;
            double k = d->row_stiffness[n];
            sn_double4 s = sn_double4_sub(here, far[j]);
            sn_double4 heading = sn_double4_scale(ratio[j], sn_double4_sub(blend, blended[j]));
            heading.w = sn_heading_weight(d->guide, ratio[j]);
            sn_spring_size size = sn_spring_measure(s, rest[j]);
            energy += (other[j] < d->free_count ? 0.25 : 0.5) *
                      sn_spring_force(s, size, heading, k, rest[j], &f);
            sn_float4 t =
                sn_spring_hessian(s, size, heading.w, k, rest[j], negative, d->row_altitude[n]);
            sn_add_spring_block(t, b);
            if (other[j] < v) continue; /* the other end stores it */
            sn_float4 stored = {scale * t.x, scale * t.y, scale * t.z, scale * scale * t.w};
            w->table[spring[j]] = sn_half4_of(stored);
        }
    }
    for (int e = d->corner_start[v]; e < d->corner_start[v + 1]; e++) {
        sn_int4 c = d->corner[e];
        sn_double4 n = sn_tet_normal(sn_double4_sub(sn_get3(x, c.x, lane), here),
                                     sn_double4_sub(sn_get3(x, c.y, lane), here),
                                     sn_double4_sub(sn_get3(x, c.z, lane), here));
        double weight = d->corner_weight[e], off = n.w - w->volume[sn_of((size_t)c.w, lane)];
        energy += sn_tet_share(d, c) * weight * off * off;
        sn_tet_force(n, weight, off, &f);
        sn_add_tet_block(n, weight, b);
        w->curvature[sn_of((size_t)e, lane)] = (float)(negative * weight * off / 6);
    }
    for (int e = d->fan_start[v]; e < d->fan_start[v + 1]; e++) {
        sn_int4 c = d->fan[e];
        sn_double4 off = sn_altitude_vector(sn_get3(x, c.x, lane), sn_get3(x, c.y, lane),
                                            sn_get3(x, c.z, lane), d->triangle_foot[c.w >> 2]);
        off = sn_double4_sub(off, sn_get3(w->altitudes, c.w >> 2, lane));
        energy += sn_altitude_force(d, c, off, &f);
    }
    energy += sn_add_pulls(d, a, v, here, blend, &f);
    sn_set3(sn_side(w->gradient, at), v, lane, f);
    float pull = (float)(d->pull + sn_soft_stiffness(a, v)), inverse[6];
    b[0] += pull, b[3] += pull, b[5] += pull;
    sn_invert_block(b, inverse);
    float *to = w->diagonal + sn_of(6 * (size_t)v, lane);
    for (int i = 0; i < 6; i++) to[i * SN_ABREAST] = inverse[i];
    if (d->corner_count > 0)
        sn_set3f(w->near_x, v, lane,
                 sn_float4_make((float)(here.x - d->origin.x), (float)(here.y - d->origin.y),
                                (float)(here.z - d->origin.z)));
    *force = f;
    return energy;
}

/* Energy, gradient and Hessian at the current positions, or at the trial's. Sums: energy, largest
 * squared force over its scale, largest force, a request to stop. */
SN_BATCH_FN void sn_batch_evaluate(sn_grid *g, const sn_spring_device *device,
                                   const sn_batch_work *work, const sn_batch_frame *frames,
                                   bool trial) {
    SN_OWN(sn_spring_device, d, device);
    SN_OWN(sn_batch_work, w, work);
    SN_OWN_FRAMES(s, frames);
    sn_batch_sums sums = {{{0}}};
    SN_ITEMS(g, v, d->free_count) SN_EACH(i) {
        if (!s[i].on) continue;
        int lane = SN_LANE(i), at = trial ? 1 - s[i].at : s[i].at;
        sn_double4 f;
        sums.v[0][i] +=
            sn_batch_vertex(d, w, s[i].asked, at, sn_kept_curvature(s[i].level), v, lane, &f);
        double own = w->scale[sn_of((size_t)v, lane)], scale = own > s[i].least ? own : s[i].least;
        double relative = sn_double4_dot(f, f) / (scale * scale), largest = sn_largest_part(f);
        if (!(relative <= sums.v[1][i])) sums.v[1][i] = relative;
        if (largest > sums.v[2][i]) sums.v[2][i] = largest;
    }
    if (g->block == 0 && g->thread / SN_WARP == 0)
        SN_EACH(i) if (s[i].on) sums.v[3][i] = *(const volatile int *)s[i].asked->stop;
    sn_batch_hand_over(g, w, 4, &sums, 6);
}

/* ---- conjugate gradients ---- */

/* The inverse diagonal block of a vertex. */
SN_FN void sn_batch_block(const sn_batch_work *w, int v, int lane, float *b) {
    const float *m = w->diagonal + sn_of(6 * (size_t)v, lane);
    SN_UNROLL
    for (int j = 0; j < 6; j++) b[j] = m[j * SN_ABREAST];
}

/* z = D^-1 r in q, of D^-1 the block b; adds to r . z and r . r. */
SN_FN void sn_batch_precondition(const sn_batch_work *w, int v, int lane, const float *b,
                                 sn_float4 r, int i, sn_batch_sums *sums) {
    sn_float4 z =
        sn_float4_make(b[0] * r.x + b[1] * r.y + b[2] * r.z, b[1] * r.x + b[3] * r.y + b[4] * r.z,
                       b[2] * r.x + b[4] * r.y + b[5] * r.z);
    sn_set3f(w->q, v, lane, z);
    sums->v[0][i] += (double)sn_float4_dot(r, z), sums->v[1][i] += (double)sn_float4_dot(r, r);
}

/* r = -gradient / largest. Sums: r . z of the diagonal, r . r. */
SN_BATCH_FN void sn_batch_cg_begin(sn_grid *g, const sn_spring_device *device,
                                   const sn_batch_work *work, const sn_batch_frame *frames) {
    SN_OWN(sn_spring_device, d, device);
    SN_OWN(sn_batch_work, w, work);
    SN_OWN_FRAMES(s, frames);
    sn_batch_sums sums = {{{0}}};
    SN_ITEMS(g, v, d->free_count) SN_EACH(i) {
        if (!s[i].in) continue;
        int lane = SN_LANE(i);
        sn_double4 f = sn_get3(sn_side(w->gradient, s[i].at), v, lane);
        double by = -1 / s[i].largest;
        sn_float4 r = sn_float4_make((float)(by * f.x), (float)(by * f.y), (float)(by * f.z));
        sn_set3f(w->r, v, lane, r);
        sn_set3f(w->step, v, lane, sn_float4_make(0, 0, 0));
        float b[6];
        sn_batch_block(w, v, lane, b);
        sn_batch_precondition(w, v, lane, b, r, i, &sums);
    }
    sn_batch_hand_over(g, w, 2, &sums, 0);
}

/* W^T f of one cluster, items begin .. end - 1. */
SN_FN sn_float4 sn_batch_items_sum(const sn_coarse_device *c, const float *f, int begin, int end,
                                   int lane) {
    sn_float4 sum = {0, 0, 0, 0};
    for (int j = begin; j < end; j += SN_ITEMS_AHEAD) {
        sn_float4 u[SN_ITEMS_AHEAD];
        float weight[SN_ITEMS_AHEAD];
        SN_UNROLL
        for (int n = 0; n < SN_ITEMS_AHEAD; n++) {
            sn_item item = c->item[j + n < end ? j + n : end - 1];
            u[n] = sn_get3f(f, item.vertex, lane), weight[n] = j + n < end ? item.weight : 0;
        }
        SN_UNROLL
        for (int n = 0; n < SN_ITEMS_AHEAD; n++)
            sum.x += weight[n] * u[n].x, sum.y += weight[n] * u[n].y, sum.z += weight[n] * u[n].z;
    }
    return sum;
}

/* change = D W^T f of the clusters; warps that would have none share those of others. */
SN_BATCH_FN void sn_batch_restrict(sn_grid *g, const sn_spring_device *device,
                                   const sn_batch_work *work, const sn_batch_frame *frames,
                                   const float *f) {
    SN_OWN(sn_spring_device, d, device);
    SN_OWN(sn_batch_work, w, work);
    SN_OWN_FRAMES(s, frames);
    const sn_coarse_device *c = &d->coarse;
    int begin = sn_block_begin(g, c->slots), end = sn_block_end(g, c->slots), split = 1;
    int warp = g->thread / SN_WARP, warps = sn_warps(g);
    while (2 * split * (end - begin) <= warps) split *= 2;
    for (int base = begin; base < end; base += warps / split) {
        int slot = base + warp / split, piece = warp % split;
        SN_EACH(i) {
            int lane = SN_LANE(i);
            sn_tile tile;
            tile.row[0] = sn_float4_make(0, 0, 0);
            if (slot < end && s[i].in) {
                int first = c->item_start[slot], count = c->item_start[slot + 1] - first;
                tile.row[0] = sn_batch_items_sum(c, f, first + count * piece / split,
                                                 first + count * (piece + 1) / split, lane);
            }
            sn_tile_join(g, split, 1, &tile);
            if (piece != 0 || slot >= end || !s[i].in) continue;
            int k = c->slot_cluster[slot];
            float scale = c->scale[k];
            sn_float4 sum = tile.row[0];
            sn_set3f(w->change, k, lane,
                     sn_float4_make(scale * sum.x, scale * sum.y, scale * sum.z));
        }
    }
}

/* One row of the coarse level: it follows r -= alpha q. Returns its part of r . z. */
SN_FN double sn_batch_coarse_row(const sn_batch_work *w, int k, int lane, float alpha, bool first,
                                 sn_float4 row) {
    sn_float4 lag = sn_get3f(w->change, k, lane), move = row;
    if (!first) {
        sn_float4 l = sn_get3f(w->lag, k, lane), m = sn_get3f(w->coarse, k, lane);
        lag = sn_float4_make(l.x - alpha * lag.x, l.y - alpha * lag.y, l.z - alpha * lag.z);
        move = sn_float4_make(m.x - alpha * row.x, m.y - alpha * row.y, m.z - alpha * row.z);
    }
    sn_set3f(w->lag, k, lane, lag), sn_set3f(w->coarse, k, lane, move);
    return (double)sn_float4_dot(lag, move);
}

/* The block's rows of the coarse inverse, eight at a time; its warps split the columns. */
SN_FN void sn_batch_coarse(sn_grid *g, const sn_spring_device *d, const sn_batch_work *w,
                           const sn_batch_frame *s, bool first, sn_batch_sums *sums) {
    const sn_coarse_device *c = &d->coarse;
    int tiles = (c->modes + SN_TILE_ROWS - 1) / SN_TILE_ROWS, pieces = c->columns / 8;
    int warp = g->thread / SN_WARP, warps = sn_warps(g);
    for (int t = g->block; t < tiles; t += g->blocks) SN_EACH(i) {
            int lane = SN_LANE(i), row = SN_TILE_ROWS * t;
            sn_tile tile;
            sn_tile_clear(&tile);
            for (int k = warp; k < pieces; k += warps) {
                /* blocks begin at different columns: they would ask for the same lines at once */
                int j = (k + 37 * t) % pieces;
                sn_float4 v[8];
                SN_UNROLL
                for (int n = 0; n < 8; n++) v[n] = sn_get3f(w->change, 8 * j + n, lane);
                SN_UNROLL
                for (int r = 0; r < SN_TILE_ROWS; r++) {
                    int at = row + r < c->modes ? row + r : c->modes - 1;
                    float m[8];
                    sn_half8_values(c->inverse[(size_t)at * (size_t)pieces + (size_t)j], m);
                    SN_UNROLL
                    for (int n = 0; n < 8; n++) sn_tile_add(&tile, r, m[n], v[n]);
                }
            }
            sn_tile_join(g, warps, SN_TILE_ROWS, &tile);
            if (warp != 0 || !s[i].in) continue;
            SN_UNROLL
            for (int r = 0; r < SN_TILE_ROWS; r++)
                if (row + r < c->modes)
                    sums->v[0][i] +=
                        sn_batch_coarse_row(w, row + r, lane, s[i].alpha, first, tile.row[r]);
        }
}

/* Before the first step. Sums: r . z of the coarse level. */
SN_BATCH_FN void sn_batch_cg_coarse(sn_grid *g, const sn_spring_device *device,
                                    const sn_batch_work *work, const sn_batch_frame *frames) {
    SN_OWN(sn_spring_device, d, device);
    SN_OWN(sn_batch_work, w, work);
    SN_OWN_FRAMES(s, frames);
    sn_batch_sums sums = {{{0}}};
    sn_batch_coarse(g, d, w, s, true, &sums);
    sn_batch_hand_over(g, w, 1, &sums, 0);
}

/* z of one vertex, with the motions of its clusters. */
SN_FN sn_float4 sn_batch_moved(const sn_coarse_device *c, const sn_batch_work *w, int v, int lane) {
    sn_float4 z = sn_get3f(w->q, v, lane);
    if (c->clusters == 0) return z;
    sn_float4 weights = c->weight[v];
    const float *weight = &weights.x;
    SN_UNROLL
    for (int j = 0; j < 4; j++) {
        int k = c->slot_cluster[c->slot[4 * (size_t)v + (size_t)j]];
        sn_float4 m = sn_get3f(w->coarse, k, lane);
        float by = weight[j] * c->scale[k];
        z.x += by * m.x, z.y += by * m.y, z.z += by * m.z;
    }
    return z;
}

/* p = z + motions of the clusters + beta p. */
SN_BATCH_FN void sn_batch_direct(sn_grid *g, const sn_spring_device *device,
                                 const sn_batch_work *work, const sn_batch_frame *frames) {
    SN_OWN(sn_spring_device, d, device);
    SN_OWN(sn_batch_work, w, work);
    SN_OWN_FRAMES(s, frames);
    int end = sn_block_end(g, d->free_count), warps = sn_warps(g);
    for (int first = sn_block_begin(g, d->free_count) + g->thread / SN_WARP; first < end;
         first += SN_VERTICES_AHEAD * warps)
        SN_EACH(i) {
            if (!s[i].in) continue;
            int lane = SN_LANE(i);
            float beta = s[i].beta;
            sn_float4 z[SN_VERTICES_AHEAD], p[SN_VERTICES_AHEAD];
            SN_UNROLL
            for (int n = 0; n < SN_VERTICES_AHEAD; n++) {
                int v = first + n * warps < end ? first + n * warps : first;
                z[n] = sn_batch_moved(&d->coarse, w, v, lane);
                p[n] = beta != 0 ? sn_get3f(w->p, v, lane) : sn_float4_make(0, 0, 0);
            }
            SN_UNROLL
            for (int n = 0; n < SN_VERTICES_AHEAD; n++) {
                int v = first + n * warps;
                if (v >= end) continue;
                z[n].x += beta * p[n].x, z[n].y += beta * p[n].y, z[n].z += beta * p[n].z;
                if (sn_is_frozen(s[i].asked, v)) z[n] = sn_float4_make(0, 0, 0);
                sn_set3f(w->p, v, lane, z[n]);
            }
        }
}

SN_FN sn_float4 sn_batch_tets(const sn_spring_device *d, const sn_batch_work *w, int v, int lane,
                              sn_float4 here) {
    sn_float4 x = sn_get3f(w->near_x, v, lane), y = {0, 0, 0, 0};
    int end = d->corner_start[v + 1];
    for (int e = d->corner_start[v]; e < end; e += SN_TETS_AHEAD) {
        sn_float4 p[SN_TETS_AHEAD][3], o[SN_TETS_AHEAD][3];
        float curvature[SN_TETS_AHEAD], weight[SN_TETS_AHEAD];
        SN_UNROLL
        for (int k = 0; k < SN_TETS_AHEAD; k++) {
            int at = e + k < end ? e + k : end - 1;
            sn_int4 c = d->corner[at];
            o[k][0] = sn_get3f(w->near_x, c.x, lane), p[k][0] = sn_get3f(w->p, c.x, lane);
            o[k][1] = sn_get3f(w->near_x, c.y, lane), p[k][1] = sn_get3f(w->p, c.y, lane);
            o[k][2] = sn_get3f(w->near_x, c.z, lane), p[k][2] = sn_get3f(w->p, c.z, lane);
            curvature[k] = w->curvature[sn_of((size_t)at, lane)];
            weight[k] = (float)d->corner_weight[at] * (1.0f / 36);
        }
        SN_UNROLL
        for (int k = 0; k < SN_TETS_AHEAD; k++) {
            if (e + k >= end) continue;
            sn_float4 t = sn_tet_product(sn_float4_sub(o[k][0], x), sn_float4_sub(o[k][1], x),
                                         sn_float4_sub(o[k][2], x), sn_float4_sub(p[k][0], here),
                                         sn_float4_sub(p[k][1], here), sn_float4_sub(p[k][2], here),
                                         weight[k], curvature[k]);
            y.x += t.x, y.y += t.y, y.z += t.z;
        }
    }
    return y;
}

/* q = H p. Sums: p . q. */
SN_BATCH_FN void sn_batch_product(sn_grid *g, const sn_spring_device *device,
                                  const sn_batch_work *work, const sn_batch_frame *frames) {
    SN_OWN(sn_spring_device, d, device);
    SN_OWN(sn_batch_work, w, work);
    SN_OWN_FRAMES(s, frames);
    sn_batch_sums sums = {{{0}}};
    float unscale = 1 / (d->table_scale * d->table_scale);
    SN_ITEMS(g, v, d->free_count) SN_EACH(i) {
        if (!s[i].in) continue;
        int lane = SN_LANE(i);
        sn_float4 here = sn_get3f(w->p, v, lane), y = {0, 0, 0, 0};
        int end = d->row_start[v + 1];
        for (int e = d->row_start[v]; e < end; e += SN_ROWS_AHEAD) {
            sn_float4 far[SN_ROWS_AHEAD];
            sn_half4 table[SN_ROWS_AHEAD];
            SN_UNROLL
            for (int k = 0; k < SN_ROWS_AHEAD; k++) {
                int at = e + k < end ? e + k : end - 1;
                far[k] = sn_get3f(w->p, d->row_other[at], lane);
                table[k] = w->table[sn_of((size_t)d->row_spring[at], lane)];
            }
            SN_UNROLL
            for (int k = 0; k < SN_ROWS_AHEAD; k++) {
                sn_float4 u = sn_float4_sub(here, far[k]), t = sn_half4_value(table[k]);
                if (e + k >= end) u = sn_float4_make(0, 0, 0);
                float along = sn_float4_dot(t, u);
                y.x += along * t.x + t.w * u.x, y.y += along * t.y + t.w * u.y;
                y.z += along * t.z + t.w * u.z;
            }
        }
        y = sn_float4_make(unscale * y.x, unscale * y.y, unscale * y.z);
        if (d->corner_count > 0) {
            sn_float4 t = sn_batch_tets(d, w, v, lane, here);
            y.x += t.x, y.y += t.y, y.z += t.z;
        }
        float pull = (float)(d->pull + sn_soft_stiffness(s[i].asked, v));
        y.x += pull * here.x, y.y += pull * here.y, y.z += pull * here.z;
        if (sn_is_frozen(s[i].asked, v)) y = sn_float4_make(0, 0, 0);
        sn_set3f(w->q, v, lane, y);
        sums.v[0][i] += (double)sn_float4_dot(y, here);
    }
    sn_batch_hand_over(g, w, 1, &sums, 0);
}

/* r -= alpha q, step += alpha p, on both levels. Sums: r . z, r . r. */
SN_BATCH_FN void sn_batch_correct(sn_grid *g, const sn_spring_device *device,
                                  const sn_batch_work *work, const sn_batch_frame *frames) {
    SN_OWN(sn_spring_device, d, device);
    SN_OWN(sn_batch_work, w, work);
    SN_OWN_FRAMES(s, frames);
    sn_batch_sums sums = {{{0}}};
    sn_batch_coarse(g, d, w, s, false, &sums);
    int end = sn_block_end(g, d->free_count), warps = sn_warps(g);
    for (int first = sn_block_begin(g, d->free_count) + g->thread / SN_WARP; first < end;
         first += SN_VERTICES_AHEAD * warps)
        SN_EACH(i) {
            if (!s[i].in) continue;
            int lane = SN_LANE(i);
            float alpha = s[i].alpha, b[SN_VERTICES_AHEAD][6];
            sn_float4 r[SN_VERTICES_AHEAD], q[SN_VERTICES_AHEAD], step[SN_VERTICES_AHEAD];
            sn_float4 p[SN_VERTICES_AHEAD];
            SN_UNROLL
            for (int n = 0; n < SN_VERTICES_AHEAD; n++) {
                int v = first + n * warps < end ? first + n * warps : first;
                r[n] = sn_get3f(w->r, v, lane), q[n] = sn_get3f(w->q, v, lane);
                step[n] = sn_get3f(w->step, v, lane), p[n] = sn_get3f(w->p, v, lane);
                sn_batch_block(w, v, lane, b[n]);
            }
            SN_UNROLL
            for (int n = 0; n < SN_VERTICES_AHEAD; n++) {
                int v = first + n * warps;
                if (v >= end) continue;
                r[n] = sn_float4_make(r[n].x - alpha * q[n].x, r[n].y - alpha * q[n].y,
                                      r[n].z - alpha * q[n].z);
                sn_set3f(w->r, v, lane, r[n]);
                sn_set3f(w->step, v, lane,
                         sn_float4_make(step[n].x + alpha * p[n].x, step[n].y + alpha * p[n].y,
                                        step[n].z + alpha * p[n].z));
                sn_batch_precondition(w, v, lane, b[n], r[n], i, &sums);
            }
        }
    sn_batch_hand_over(g, w, 2, &sums, 0);
}

/* step = p: the first direction already had negative curvature. */
SN_BATCH_FN void sn_batch_take_direction(sn_grid *g, const sn_spring_device *device,
                                         const sn_batch_work *work, const sn_batch_frame *frames) {
    SN_OWN(sn_spring_device, d, device);
    SN_OWN(sn_batch_work, w, work);
    SN_OWN_FRAMES(s, frames);
    SN_ITEMS(g, v, d->free_count) SN_EACH(i) {
        int lane = SN_LANE(i);
        if (s[i].direct) sn_set3f(w->step, v, lane, sn_get3f(w->p, v, lane));
    }
}

/* What a product says of a frame. */
SN_FN void sn_batch_after_product(sn_batch_frame *s, double product, bool first) {
    if (!s->in) return;
    if (product > 0) {
        s->inner++;
        s->alpha = (float)(s->rz / product);
        return;
    }
    s->in = false, s->good = !(product <= 0);
    s->direct = first;
}

/* step = about -H^-1 gradient / largest for frames that are on; `good`: no negative curvature was
 * met on the way. */
SN_FN void sn_batch_direction(sn_grid *g, const sn_spring_device *d, const sn_batch_work *w,
                              sn_batch_frame *s) {
    SN_DECIDE(i, s[i].in = s[i].on; s[i].good = true; s[i].direct = false; s[i].beta = 0;
              if (s[i].on) s[i].goal =
                  sn_inner_goal(s[i].asked->tolerance, s[i].residual, s[i].before););
    SN_PHASE(g, sn_batch_cg_begin(g, d, w, s));
    sn_batch_totals(g, w, 2, 0);
    SN_DECIDE(i, double rr = sn_batch_total(g, 1)[i]; s[i].rz = sn_batch_total(g, 0)[i];
              s[i].end = s[i].goal * s[i].goal * rr; s[i].in = s[i].in && rr > 0;);
    SN_PHASE(g, sn_batch_restrict(g, d, w, s, w->r));
    SN_PHASE(g, sn_batch_cg_coarse(g, d, w, s));
    sn_batch_totals(g, w, 1, 0);
    SN_DECIDE(i, s[i].rz += sn_batch_total(g, 0)[i]; s[i].in = s[i].in && s[i].rz > 0;);
    for (int k = 0; k < SN_CG_LIMIT && sn_batch_some_in(s); k++) {
        SN_PHASE(g, sn_batch_direct(g, d, w, s));
        SN_PHASE(g, sn_batch_product(g, d, w, s));
        sn_batch_totals(g, w, 1, 0);
        SN_DECIDE(i, sn_batch_after_product(&s[i], sn_batch_total(g, 0)[i], k == 0););
        if (k == 0 && sn_batch_some_direct(s)) SN_PHASE(g, sn_batch_take_direction(g, d, w, s));
        SN_PHASE(g, sn_batch_restrict(g, d, w, s, w->q));
        SN_PHASE(g, sn_batch_correct(g, d, w, s));
        sn_batch_totals(g, w, 2, 0);
        SN_DECIDE(i, if (!s[i].in) continue; double rz = sn_batch_total(g, 0)[i];
                  s[i].in = sn_batch_total(g, 1)[i] > s[i].end && rz > 0;
                  s[i].beta = (float)(rz / s[i].rz); s[i].rz = rz;);
    }
}

#endif
