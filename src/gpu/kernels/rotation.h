/* The rotation-aware blend of one frame (rig/rotation_blend.c, mesh/rotation_strain.c):
 *
 *   items       coordinates sum_t a_t c_t of every element and link, composed to F = exp(w) exp(q)
 *               (Y + S)
 *   right       sum over a vertex's corners of |e| F g, less L times the rest shape
 *   solve       L d = right in single precision, x = rest + d
 *   refine      once more for what is left in double, where more than 7 digits are asked for
 *   place       every component by its center, turned as a whole, or by the vertices at rest */
#ifndef SN_GPU_KERNELS_ROTATION_H
#define SN_GPU_KERNELS_ROTATION_H

#include "gpu/kernels/dissection.h"

/* Numbers per item, and per component: center and rotation of the whole. */
enum { SN_ITEM_SIZE = 12, SN_MOTION_SIZE = 6, SN_TRANSFORM_SIZE = 16 };

typedef struct sn_rotation_device {
    int vertex_count, element_count, item_count, component_count, target_count;
    const int *item_start; /* item_count + 1 */
    const int *item_target;
    const double *item_value; /* SN_ITEM_SIZE per entry */
    const double *stretch;    /* 6 per element, or NULL */
    const double *half_rest;  /* 3 per item after the elements */

    const int *corner_start; /* vertex_count + 1 */
    const int *corner_item;
    const double *corner_value; /* 3 per entry: |e| g; of a link: its factor, 0, 0 */
    const sn_double4 *rest;
    const sn_double4 *rest_right; /* L rest */
    const int *row_start;         /* L as it is factored, all entries */
    const int *row_column;
    const double *row_value;

    int chunk_count;        /* of vertices of one component */
    const int *chunk_start; /* chunk_count + 1, into chunk_vertex */
    const int *chunk_vertex;
    const int *component_chunk;            /* component_count + 1 */
    const double *vertex_mass, *held_mass; /* held_mass: 0 for a vertex that is not held */
    const int *vertex_component;           /* -1: loose */
    const sn_double4 *rest_center;         /* w: mass of the component */
    const sn_double4 *held_center;         /* mean at rest of its held vertices; w: their mass */
    const double *target_motion;           /* per target and component SN_MOTION_SIZE */

    int loose_count;
    const int *loose_vertex, *loose_start, *loose_target;
    const double *loose_value; /* 3 per entry */

    sn_dissection_device solve;
} sn_rotation_device;

typedef struct sn_rotation_work {
    double *gradient;  /* 9 per item */
    sn_double4 *right; /* in double, kept for the refinement */
    sn_float4 *right32, *answer;
    sn_double4 *shift; /* x - rest */
    double *chunk_sum; /* 6 per chunk */
    double *transform; /* SN_TRANSFORM_SIZE per component: R, center, shift before and after */
    sn_dissection_work solve;
} sn_rotation_work;

SN_FN void sn_exp9(double x, double y, double z, double *r) {
    double angle = sqrt(x * x + y * y + z * z);
    double s = angle > 1e-100 ? sin(0.5 * angle) / angle : 0.5, w = cos(0.5 * angle);
    x *= s, y *= s, z *= s;
    r[0] = 1 - 2 * (y * y + z * z), r[1] = 2 * (x * y - w * z), r[2] = 2 * (x * z + w * y);
    r[3] = 2 * (x * y + w * z), r[4] = 1 - 2 * (x * x + z * z), r[5] = 2 * (y * z - w * x);
    r[6] = 2 * (x * z - w * y), r[7] = 2 * (y * z + w * x), r[8] = 1 - 2 * (x * x + y * y);
}

SN_FN void sn_multiply9(const double *a, const double *b, double *c) {
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            c[3 * i + j] = a[3 * i] * b[j] + a[3 * i + 1] * b[3 + j] + a[3 * i + 2] * b[6 + j];
}

/* The gradient F of an element with the coordinates c, or the offset of half a link. */
SN_FN void sn_rotation_compose(const sn_rotation_device *d, int e, const double *c, double *f) {
    double r[9], turned[9];
    if (e >= d->element_count) {
        const double *rest = d->half_rest + 3 * (size_t)(e - d->element_count);
        sn_double4 o = sn_double4_make(rest[0] + c[6], rest[1] + c[7], rest[2] + c[8]);
        sn_exp9(c[3], c[4], c[5], r);
        o = sn_apply9(r, o);
        sn_exp9(c[0], c[1], c[2], r);
        o = sn_apply9(r, o);
        f[0] = o.x, f[1] = o.y, f[2] = o.z;
        return;
    }
    const double *y = d->stretch ? d->stretch + 6 * (size_t)e : NULL;
    double s[6];
    for (int i = 0; i < 6; i++) s[i] = (y ? y[i] : i < 3 ? 1.0 : 0.0) + c[6 + i];
    f[0] = s[0], f[4] = s[1], f[8] = s[2];
    f[1] = f[3] = s[3], f[2] = f[6] = s[4], f[5] = f[7] = s[5];
    for (int half = 1; half >= 0; half--) {
        const double *angle = c + 3 * half;
        if (angle[0] == 0 && angle[1] == 0 && angle[2] == 0) continue;
        sn_exp9(angle[0], angle[1], angle[2], r);
        sn_multiply9(r, f, turned);
        for (int i = 0; i < 9; i++) f[i] = turned[i];
    }
}

/* Numbers that a thread has on their way at a time: targets of an item, corners of a vertex,
 * entries of a row; and threads of a vertex. */
enum {
    SN_TARGETS_AT_ONCE = 4,
    SN_CORNERS_AT_ONCE = 2,
    SN_COLUMNS_AT_ONCE = 4,
    SN_CORNER_LANES = SN_FEW_LANES
};

/* Gradients of items: elements, and offsets of the links' halves (in the first three numbers). */
SN_PHASE_FN void sn_rotation_items(sn_grid *g, const sn_rotation_device *d,
                                   const sn_rotation_work *w, const double *activations) {
    for (int e = sn_first(g); e < d->item_count; e += sn_stride(g)) {
        double c[SN_ITEM_SIZE] = {0}, f[9];
        for (int k = d->item_start[e], end = d->item_start[e + 1]; k < end;
             k += SN_TARGETS_AT_ONCE) {
            double a[SN_TARGETS_AT_ONCE];
            SN_UNROLL
            for (int j = 0; j < SN_TARGETS_AT_ONCE; j++)
                a[j] = k + j < end ? activations[d->item_target[k + j]] : 0;
            SN_UNROLL
            for (int j = 0; j < SN_TARGETS_AT_ONCE; j++) {
                if (a[j] == 0) continue;
                const double *value = d->item_value + SN_ITEM_SIZE * (size_t)(k + j);
                for (int i = 0; i < SN_ITEM_SIZE; i++) c[i] += a[j] * value[i];
            }
        }
        sn_rotation_compose(d, e, c, f);
        double *to = w->gradient + 9 * (size_t)e;
        for (int i = 0; i < (e < d->element_count ? 9 : 3); i++) to[i] = f[i];
    }
}

SN_PHASE_FN void sn_rotation_right(sn_grid *g, const sn_rotation_device *d,
                                   const sn_rotation_work *w) {
    const int lanes = SN_CORNER_LANES;
    int lane = g->thread % lanes, rows = sn_stride(g) / lanes;
    for (int base = 0; base < d->vertex_count; base += rows) {
        int v = base + sn_first(g) / lanes;
        sn_double4 sum = {0, 0, 0, 0};
        int end = v < d->vertex_count ? d->corner_start[v + 1] : 0;
        for (int k = v < d->vertex_count ? d->corner_start[v] + lane : 0; k < end;
             k += SN_CORNERS_AT_ONCE * lanes) {
            double f[SN_CORNERS_AT_ONCE][9], c[SN_CORNERS_AT_ONCE][3];
            int item[SN_CORNERS_AT_ONCE];
            SN_UNROLL
            for (int n = 0; n < SN_CORNERS_AT_ONCE; n++) {
                int at = k + n * lanes < end ? k + n * lanes : k;
                item[n] = d->corner_item[at];
                const double *from = w->gradient + 9 * (size_t)item[n];
                SN_UNROLL
                for (int i = 0; i < 3; i++) {
                    c[n][i] = d->corner_value[3 * (size_t)at + (size_t)i];
                    if (k + n * lanes >= end) c[n][i] = 0;
                }
                SN_UNROLL
                for (int i = 0; i < 9; i++)
                    f[n][i] = i < 3 || item[n] < d->element_count ? from[i] : 0;
            }
            SN_UNROLL
            for (int n = 0; n < SN_CORNERS_AT_ONCE; n++)
                sum = sn_double4_add(
                    sum,
                    item[n] < d->element_count
                        ? sn_apply9(f[n], sn_double4_make(c[n][0], c[n][1], c[n][2]))
                        : sn_double4_scale(c[n][0], sn_double4_make(f[n][0], f[n][1], f[n][2])));
        }
        sum.x = sn_lane_sum_d_of(sum.x, lanes), sum.y = sn_lane_sum_d_of(sum.y, lanes);
        sum.z = sn_lane_sum_d_of(sum.z, lanes);
        if (v >= d->vertex_count || lane != 0) continue;
        sum = sn_double4_sub(sum, d->rest_right[v]);
        w->right[v] = sum;
        w->right32[v] = sn_float4_make((float)sum.x, (float)sum.y, (float)sum.z);
    }
}

/* shift = what was solved for so far. */
SN_FN sn_double4 sn_rotation_shift(const sn_rotation_work *w, int v, bool first) {
    sn_float4 a = w->answer[v];
    sn_double4 s = sn_double4_make((double)a.x, (double)a.y, (double)a.z);
    return first ? s : sn_double4_add(w->shift[v], s);
}

SN_PHASE_FN void sn_rotation_keep(sn_grid *g, const sn_rotation_device *d,
                                  const sn_rotation_work *w) {
    for (int v = sn_first(g); v < d->vertex_count; v += sn_stride(g))
        w->shift[v] = sn_rotation_shift(w, v, false);
}

/* What is left to solve for. `first`: keeps the shift, too. */
SN_PHASE_FN void sn_rotation_residual(sn_grid *g, const sn_rotation_device *d,
                                      const sn_rotation_work *w, bool first) {
    const int lanes = SN_CORNER_LANES;
    int lane = g->thread % lanes, rows = sn_stride(g) / lanes;
    for (int base = 0; base < d->vertex_count; base += rows) {
        int v = base + sn_first(g) / lanes;
        sn_double4 sum = {0, 0, 0, 0};
        int end = v < d->vertex_count ? d->row_start[v + 1] : 0;
        for (int k = v < d->vertex_count ? d->row_start[v] + lane : 0; k < end;
             k += SN_COLUMNS_AT_ONCE * lanes) {
            sn_double4 shift[SN_COLUMNS_AT_ONCE];
            double value[SN_COLUMNS_AT_ONCE];
            SN_UNROLL
            for (int n = 0; n < SN_COLUMNS_AT_ONCE; n++) {
                int at = k + n * lanes < end ? k + n * lanes : k, u = d->row_column[at];
                value[n] = k + n * lanes < end ? d->row_value[at] : 0;
                shift[n] = first ? sn_rotation_shift(w, u, true) : w->shift[u];
            }
            SN_UNROLL
            for (int n = 0; n < SN_COLUMNS_AT_ONCE; n++)
                sum = sn_double4_add(sum, sn_double4_scale(value[n], shift[n]));
        }
        sum.x = sn_lane_sum_d_of(sum.x, lanes), sum.y = sn_lane_sum_d_of(sum.y, lanes);
        sum.z = sn_lane_sum_d_of(sum.z, lanes);
        if (v >= d->vertex_count || lane != 0) continue;
        if (first) w->shift[v] = sn_rotation_shift(w, v, true);
        sum = sn_double4_sub(w->right[v], sum);
        w->right32[v] = sn_float4_make((float)sum.x, (float)sum.y, (float)sum.z);
    }
}

/* Sums of mass x shift over chunks of components: of all vertices, and of the held ones. */
SN_PHASE_FN void sn_rotation_chunks(sn_grid *g, const sn_rotation_device *d,
                                    const sn_rotation_work *w, bool first) {
    int lane = g->thread % SN_WARP, warps = sn_stride(g) / SN_WARP;
    for (int chunk = sn_first(g) / SN_WARP; chunk < d->chunk_count; chunk += warps) {
        double s[6] = {0};
        for (int k = d->chunk_start[chunk] + lane; k < d->chunk_start[chunk + 1]; k += SN_WARP) {
            int v = d->chunk_vertex[k];
            sn_double4 x = sn_rotation_shift(w, v, first);
            w->shift[v] = x;
            double m = d->vertex_mass[v], h = d->held_mass[v];
            s[0] += m * x.x, s[1] += m * x.y, s[2] += m * x.z;
            s[3] += h * x.x, s[4] += h * x.y, s[5] += h * x.z;
        }
        for (int i = 0; i < 6; i++) {
            s[i] = sn_warp_sum_d(s[i]);
            if (lane == 0) w->chunk_sum[6 * (size_t)chunk + (size_t)i] = s[i];
        }
    }
}

/* y = center + R (x + before - center) + after, from the motion m of the component and the sums s
 * over its vertices. */
SN_FN void sn_rotation_transform(const sn_rotation_device *d, int c, const double *m,
                                 const double *s, double *to) {
    sn_double4 rest = d->rest_center[c], held = d->held_center[c];
    sn_exp9(m[3], m[4], m[5], to);
    sn_double4 center = sn_double4_make(rest.x + m[0], rest.y + m[1], rest.z + m[2]);
    /* where the center is now: rest + sum of mass x shift over the mass */
    sn_double4 before =
        sn_double4_make(m[0] - s[0] / rest.w, m[1] - s[1] / rest.w, m[2] - s[2] / rest.w);
    to[9] = center.x, to[10] = center.y, to[11] = center.z;
    /* before and after in one: y = R x + (R (before - center) + center + after) */
    sn_double4 constant = sn_double4_add(sn_apply9(to, sn_double4_sub(before, center)), center);
    if (held.w > 0) {
        sn_double4 at =
            sn_double4_make(held.x + s[3] / held.w, held.y + s[4] / held.w, held.z + s[5] / held.w);
        constant = sn_double4_sub(held, sn_apply9(to, at));
    }
    to[12] = constant.x, to[13] = constant.y, to[14] = constant.z, to[15] = 0;
}

SN_PHASE_FN void sn_rotation_transforms(sn_grid *g, const sn_rotation_device *d,
                                        const sn_rotation_work *w, const double *activations) {
    int lane = g->thread % SN_WARP, warps = sn_stride(g) / SN_WARP;
    for (int c = sn_first(g) / SN_WARP; c < d->component_count; c += warps) {
        double m[SN_MOTION_SIZE] = {0}, s[6] = {0};
        for (int t = lane; t < d->target_count; t += SN_WARP) {
            double a = activations[t];
            const double *motion =
                d->target_motion +
                SN_MOTION_SIZE * ((size_t)t * (size_t)d->component_count + (size_t)c);
            for (int i = 0; i < SN_MOTION_SIZE; i++) m[i] += a * motion[i];
        }
        for (int k = d->component_chunk[c] + lane; k < d->component_chunk[c + 1]; k += SN_WARP)
            for (int i = 0; i < 6; i++) s[i] += w->chunk_sum[6 * (size_t)k + (size_t)i];
        for (int i = 0; i < 6; i++) m[i] = sn_warp_sum_d(m[i]), s[i] = sn_warp_sum_d(s[i]);
        if (lane != 0) continue;
        sn_rotation_transform(d, c, m, s, w->transform + SN_TRANSFORM_SIZE * (size_t)c);
    }
}

/* Vertices that belong to no component. */
SN_FN sn_double4 sn_rotation_loose(const sn_rotation_device *d, int i, const double *activations,
                                   int stride) {
    sn_double4 x = d->rest[d->loose_vertex[i]];
    for (int k = d->loose_start[i]; k < d->loose_start[i + 1]; k++) {
        const double *value = d->loose_value + 3 * (size_t)k;
        double a = activations[(size_t)d->loose_target[k] * (size_t)stride];
        x.x += a * value[0], x.y += a * value[1], x.z += a * value[2];
    }
    return x;
}

SN_FN void sn_rotation_put(int v, sn_double4 x, const int *place, sn_double4 *positions,
                           double *packed) {
    if (packed)
        packed[3 * (size_t)v] = x.x, packed[3 * (size_t)v + 1] = x.y,
                   packed[3 * (size_t)v + 2] = x.z;
    else
        positions[place[v]] = x;
}

SN_PHASE_FN void sn_rotation_place(sn_grid *g, const sn_rotation_device *d,
                                   const sn_rotation_work *w, const double *activations,
                                   const int *place, sn_double4 *positions, double *packed) {
    for (int v = sn_first(g); v < d->vertex_count; v += sn_stride(g)) {
        int c = d->vertex_component[v];
        if (c < 0) continue;
        const double *t = w->transform + SN_TRANSFORM_SIZE * (size_t)c;
        sn_double4 x = sn_double4_add(d->rest[v], w->shift[v]);
        x = sn_double4_add(sn_apply9(t, x), sn_double4_make(t[12], t[13], t[14]));
        sn_rotation_put(v, x, place, positions, packed);
    }
    for (int i = sn_first(g); i < d->loose_count; i += sn_stride(g)) {
        sn_double4 x = sn_rotation_loose(d, i, activations, 1);
        sn_rotation_put(d->loose_vertex[i], x, place, positions, packed);
    }
}

/* From the items' gradients. The result goes to `packed`, 3 per vertex, or to
 * positions[place[vertex]]. */
SN_FN void sn_rotation_rebuild(sn_grid *g, const sn_rotation_device *d, const sn_rotation_work *w,
                               const double *activations, int refinements, const int *place,
                               sn_double4 *positions, double *packed) {
    SN_PHASE(g, (sn_dissection_load(g, &d->solve), sn_rotation_right(g, d, w)));
    sn_dissection_solve(g, &d->solve, &w->solve, w->right32, w->answer);
    for (int k = 0; k < refinements; k++) {
        if (k > 0) SN_PHASE(g, sn_rotation_keep(g, d, w));
        SN_PHASE(g, sn_rotation_residual(g, d, w, k == 0));
        sn_dissection_solve(g, &d->solve, &w->solve, w->right32, w->answer);
    }
    SN_PHASE(g, sn_rotation_chunks(g, d, w, refinements == 0));
    SN_PHASE(g, sn_rotation_transforms(g, d, w, activations));
    SN_PHASE(g, sn_rotation_place(g, d, w, activations, place, positions, packed));
}

SN_FN void sn_rotation_run(sn_grid *g, const sn_rotation_device *d, const sn_rotation_work *w,
                           const double *activations, int refinements, const int *place,
                           sn_double4 *positions, double *packed) {
    SN_PHASE(g, sn_rotation_items(g, d, w, activations));
    sn_rotation_rebuild(g, d, w, activations, refinements, place, positions, packed);
}

#endif
