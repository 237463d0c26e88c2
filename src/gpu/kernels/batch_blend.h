/* The rotation-aware blend of a batch: kernels/rotation.h, with frames side by side. */
#ifndef SN_GPU_KERNELS_BATCH_BLEND_H
#define SN_GPU_KERNELS_BATCH_BLEND_H

#include "gpu/kernels/batch.h"

SN_BATCH_FN void sn_batch_items(sn_grid *g, const sn_rotation_device *device,
                                const sn_batch_work *work) {
    SN_OWN(sn_rotation_device, d, device);
    SN_OWN(sn_batch_work, w, work);
    SN_ITEMS(g, e, d->item_count) SN_EACH(i) {
        int lane = SN_LANE(i), size = e < d->element_count ? 9 : 3;
        double c[SN_ITEM_SIZE] = {0}, f[9];
        for (int k = d->item_start[e]; k < d->item_start[e + 1]; k++) {
            double a = w->activations[sn_of((size_t)d->item_target[k], lane)];
            const double *value = d->item_value + SN_ITEM_SIZE * (size_t)k;
            SN_UNROLL
            for (int j = 0; j < SN_ITEM_SIZE; j++) c[j] += a * value[j];
        }
        sn_rotation_compose(d, e, c, f);
        double *to = w->item + sn_of(9 * (size_t)e, lane);
        for (int j = 0; j < size; j++) to[sn_of((size_t)j, 0)] = f[j];
    }
}

/* The right-hand side in double, and in single by places in the tree. */
SN_BATCH_FN void sn_batch_right(sn_grid *g, const sn_rotation_device *device,
                                const sn_batch_work *work) {
    SN_OWN(sn_rotation_device, d, device);
    SN_OWN(sn_batch_work, w, work);
    SN_ITEMS(g, place, d->vertex_count) SN_EACH(i) {
        int lane = SN_LANE(i), v = d->solve.order[place];
        sn_double4 sum = {0, 0, 0, 0};
        for (int k = d->corner_start[v]; k < d->corner_start[v + 1]; k++) {
            int item = d->corner_item[k];
            const double *from = w->item + sn_of(9 * (size_t)item, lane);
            const double *c = d->corner_value + 3 * (size_t)k;
            double f[9];
            bool element = item < d->element_count;
            SN_UNROLL
            for (int j = 0; j < 9; j++) f[j] = element || j < 3 ? from[sn_of((size_t)j, 0)] : 0;
            sum = sn_double4_add(
                sum, element ? sn_apply9(f, sn_double4_make(c[0], c[1], c[2]))
                             : sn_double4_scale(c[0], sn_double4_make(f[0], f[1], f[2])));
        }
        sum = sn_double4_sub(sum, d->rest_right[v]);
        sn_set3(w->right, v, lane, sum);
        sn_set3f(w->right32, place, lane, sn_float4_make((float)sum.x, (float)sum.y, (float)sum.z));
    }
}

/* ---- the solve ---- */

/* Columns whose numbers are on their way at a time. */
enum { SN_COLUMNS_AHEAD = 4 };

/* What the children pass on to a level's own unknowns. */
SN_BATCH_FN void sn_batch_gather(sn_grid *g, const sn_dissection_device *device,
                                 const sn_batch_work *work, int level) {
    SN_OWN(sn_dissection_device, d, device);
    SN_OWN(sn_batch_work, w, work);
    int first = d->level_place[level], count = d->level_place[level + 1] - first;
    SN_ITEMS(g, k, count) SN_EACH(i) {
        int lane = SN_LANE(i), place = first + k;
        int begin = d->own_start[place], end = d->own_start[place + 1];
        if (begin == end) continue;
        sn_float4 sum = sn_get3f(w->right32, place, lane);
        for (int j = begin; j < end; j++) {
            sn_float4 u = sn_get3f(w->u, d->own_from[j], lane);
            sum.x += u.x, sum.y += u.y, sum.z += u.z;
        }
        sn_set3f(w->right32, place, lane, sum);
    }
}

/* What the children pass on to a boundary row. */
SN_FN sn_float4 sn_batch_passed(const sn_dissection_device *d, const sn_batch_work *w, int at,
                                int lane) {
    sn_float4 sum = {0, 0, 0, 0};
    for (int k = d->boundary_start[at]; k < d->boundary_start[at + 1]; k++) {
        sn_float4 u = sn_get3f(w->u, d->boundary_from[k], lane);
        sum.x += u.x, sum.y += u.y, sum.z += u.z;
    }
    return sum;
}

SN_FN void sn_batch_finish_row(const sn_dissection_device *d, const sn_batch_work *w,
                               const sn_dissection_task *t, bool up, int r, int lane,
                               sn_float4 sum) {
    if (up && r >= t->own) {
        int at = t->boundary_first + r - t->own;
        sn_set3f(w->u, at, lane, sn_float4_sub(sn_batch_passed(d, w, at, lane), sum));
        return;
    }
    int at = t->first + r;
    if (!up)
        sn_set3f(w->x32, at, lane, sn_float4_sub(sn_get3f(w->y, at, lane), sum));
    else if (t->boundary > 0)
        sn_set3f(w->y, at, lane, sum);
    else
        sn_set3f(w->x32, at, lane, sum);
}

/* A block's rows of one task, eight rows a warp; warps that would have none split the columns. */
SN_FN void sn_batch_rows(sn_grid *g, const sn_dissection_device *d, const sn_batch_work *w,
                         const sn_dissection_task *t, bool up) {
    int columns = up ? t->own : t->boundary, warps = sn_warps(g), warp = g->thread / SN_WARP;
    int tiles = (t->last - t->row + SN_TILE_ROWS - 1) / SN_TILE_ROWS, split = 1;
    while (2 * split * tiles <= warps && 16 * split < columns) split *= 2;
    size_t stride = sn_dissection_stride(up ? t->own + t->boundary : t->own);
    const float *values = d->values + (up ? t->up : t->down);
    const int *above = d->boundary + t->boundary_first;
    int piece = warp % split, begin = (int)((int64_t)columns * piece / split);
    int end = (int)((int64_t)columns * (piece + 1) / split);
    for (int base = 0; base < tiles; base += warps / split) {
        int row = t->row + SN_TILE_ROWS * (base + warp / split);
        SN_EACH(i) {
            int lane = SN_LANE(i);
            sn_tile tile;
            sn_tile_clear(&tile);
            if (row < t->last) {
                const sn_float4 *m = (const sn_float4 *)(values + (size_t)row);
                for (int j = begin; j < end; j += SN_COLUMNS_AHEAD) {
                    sn_float4 v[SN_COLUMNS_AHEAD], a[SN_COLUMNS_AHEAD], b[SN_COLUMNS_AHEAD];
                    SN_UNROLL
                    for (int k = 0; k < SN_COLUMNS_AHEAD; k++) {
                        int n = j + k < end ? j + k : end - 1;
                        const sn_float4 *at = m + (size_t)n * (stride / 4);
                        a[k] = at[0], b[k] = at[1];
                        v[k] = up ? sn_get3f(w->right32, t->first + n, lane)
                                  : sn_get3f(w->x32, above[n], lane);
                    }
                    SN_UNROLL
                    for (int k = 0; k < SN_COLUMNS_AHEAD; k++) {
                        if (j + k >= end) v[k] = sn_float4_make(0, 0, 0);
                        sn_tile_add(&tile, 0, a[k].x, v[k]), sn_tile_add(&tile, 1, a[k].y, v[k]);
                        sn_tile_add(&tile, 2, a[k].z, v[k]), sn_tile_add(&tile, 3, a[k].w, v[k]);
                        sn_tile_add(&tile, 4, b[k].x, v[k]), sn_tile_add(&tile, 5, b[k].y, v[k]);
                        sn_tile_add(&tile, 6, b[k].z, v[k]), sn_tile_add(&tile, 7, b[k].w, v[k]);
                    }
                }
            }
            sn_tile_join(g, split, SN_TILE_ROWS, &tile);
            if (piece != 0) continue;
            SN_UNROLL
            for (int r = 0; r < SN_TILE_ROWS; r++)
                if (row + r < t->last) sn_batch_finish_row(d, w, t, up, row + r, lane, tile.row[r]);
        }
    }
}

SN_BATCH_FN void sn_batch_sweep(sn_grid *g, const sn_dissection_device *device,
                                const sn_batch_work *work, int phase) {
    SN_OWN(sn_dissection_device, d, device);
    SN_OWN(sn_batch_work, w, work);
    const int *start =
        d->task_start + (size_t)g->block * (size_t)(sn_dissection_phases(d) + 1) + phase;
    for (int task = start[0], last = start[1]; task < last; task++) {
        const sn_dissection_task t = d->tasks[task];
        sn_batch_rows(g, d, w, &t, phase < d->levels);
    }
}

SN_FN void sn_batch_solve(sn_grid *g, const sn_dissection_device *d, const sn_batch_work *w) {
    for (int phase = 0; phase < sn_dissection_phases(d); phase++) {
        if (phase > 0 && phase < d->levels) SN_PHASE(g, sn_batch_gather(g, d, w, phase));
        SN_PHASE(g, sn_batch_sweep(g, d, w, phase));
    }
}

/* ---- after the solve ---- */

/* shift = what was solved for so far. */
SN_BATCH_FN void sn_batch_keep(sn_grid *g, const sn_rotation_device *device,
                               const sn_batch_work *work, bool first) {
    SN_OWN(sn_rotation_device, d, device);
    SN_OWN(sn_batch_work, w, work);
    SN_ITEMS(g, place, d->vertex_count) SN_EACH(i) {
        int lane = SN_LANE(i), v = d->solve.order[place];
        sn_float4 a = sn_get3f(w->x32, place, lane);
        sn_double4 s = sn_double4_make((double)a.x, (double)a.y, (double)a.z);
        sn_set3(w->shift, v, lane, first ? s : sn_double4_add(sn_get3(w->shift, v, lane), s));
    }
}

SN_BATCH_FN void sn_batch_residual(sn_grid *g, const sn_rotation_device *device,
                                   const sn_batch_work *work) {
    SN_OWN(sn_rotation_device, d, device);
    SN_OWN(sn_batch_work, w, work);
    SN_ITEMS(g, place, d->vertex_count) SN_EACH(i) {
        int lane = SN_LANE(i), v = d->solve.order[place];
        sn_double4 sum = sn_get3(w->right, v, lane);
        SN_BATCH_UNROLL
        for (int k = d->row_start[v]; k < d->row_start[v + 1]; k++)
            sum = sn_double4_sub(
                sum, sn_double4_scale(d->row_value[k], sn_get3(w->shift, d->row_column[k], lane)));
        sn_set3f(w->right32, place, lane, sn_float4_make((float)sum.x, (float)sum.y, (float)sum.z));
    }
}

/* Sums of mass x shift over chunks of components: of all vertices, and of the held ones. */
SN_BATCH_FN void sn_batch_chunks(sn_grid *g, const sn_rotation_device *device,
                                 const sn_batch_work *work) {
    SN_OWN(sn_rotation_device, d, device);
    SN_OWN(sn_batch_work, w, work);
    SN_ITEMS(g, chunk, d->chunk_count) SN_EACH(i) {
        int lane = SN_LANE(i);
        double s[6] = {0};
        SN_BATCH_UNROLL
        for (int k = d->chunk_start[chunk]; k < d->chunk_start[chunk + 1]; k++) {
            int v = d->chunk_vertex[k];
            sn_double4 x = sn_get3(w->shift, v, lane);
            double m = d->vertex_mass[v], h = d->held_mass[v];
            s[0] += m * x.x, s[1] += m * x.y, s[2] += m * x.z;
            s[3] += h * x.x, s[4] += h * x.y, s[5] += h * x.z;
        }
        for (int j = 0; j < 6; j++) w->chunk_sum[sn_of(6 * (size_t)chunk + (size_t)j, lane)] = s[j];
    }
}

SN_BATCH_FN void sn_batch_transforms(sn_grid *g, const sn_rotation_device *device,
                                     const sn_batch_work *work) {
    SN_OWN(sn_rotation_device, d, device);
    SN_OWN(sn_batch_work, w, work);
    SN_ITEMS(g, c, d->component_count) SN_EACH(i) {
        int lane = SN_LANE(i);
        double m[SN_MOTION_SIZE] = {0}, s[6] = {0}, to[SN_TRANSFORM_SIZE];
        for (int t = 0; t < d->target_count; t++) {
            double a = w->activations[sn_of((size_t)t, lane)];
            const double *motion =
                d->target_motion +
                SN_MOTION_SIZE * ((size_t)t * (size_t)d->component_count + (size_t)c);
            for (int j = 0; j < SN_MOTION_SIZE; j++) m[j] += a * motion[j];
        }
        int end = d->component_chunk[c + 1];
        for (int k = d->component_chunk[c]; k < end; k += SN_COLUMNS_AHEAD) {
            double part[SN_COLUMNS_AHEAD][6];
            SN_UNROLL
            for (int n = 0; n < SN_COLUMNS_AHEAD; n++) {
                size_t at = 6 * (size_t)(k + n < end ? k + n : end - 1);
                SN_UNROLL
                for (int j = 0; j < 6; j++) part[n][j] = w->chunk_sum[sn_of(at + (size_t)j, lane)];
            }
            SN_UNROLL
            for (int n = 0; n < SN_COLUMNS_AHEAD; n++)
                SN_UNROLL for (int j = 0; j < 6; j++) s[j] += k + n < end ? part[n][j] : 0;
        }
        sn_rotation_transform(d, c, m, s, to);
        for (int j = 0; j < SN_TRANSFORM_SIZE; j++)
            w->transform[sn_of(SN_TRANSFORM_SIZE * (size_t)c + (size_t)j, lane)] = to[j];
    }
}

/* R of a component. */
SN_FN void sn_batch_rotation(const sn_batch_work *w, int component, int lane, double *r) {
    for (int j = 0; j < 9; j++)
        r[j] = w->transform[sn_of(SN_TRANSFORM_SIZE * (size_t)component + (size_t)j, lane)];
}

/* To blend[place[vertex]], or blend[vertex] without a list. */
SN_BATCH_FN void sn_batch_place(sn_grid *g, const sn_rotation_device *device,
                                const sn_batch_work *work, const int *place) {
    SN_OWN(sn_rotation_device, d, device);
    SN_OWN(sn_batch_work, w, work);
    SN_ITEMS(g, v, d->vertex_count) SN_EACH(i) {
        int lane = SN_LANE(i), c = d->vertex_component[v];
        if (c < 0) continue;
        double r[9];
        sn_batch_rotation(w, c, lane, r);
        const double *t = w->transform + sn_of(SN_TRANSFORM_SIZE * (size_t)c + 12, lane);
        sn_double4 x = sn_double4_add(d->rest[v], sn_get3(w->shift, v, lane));
        x = sn_double4_add(sn_apply9(r, x),
                           sn_double4_make(t[0], t[SN_ABREAST], t[2 * SN_ABREAST]));
        sn_set3(w->blend, place ? place[v] : v, lane, x);
    }
    SN_ITEMS(g, k, d->loose_count) SN_EACH(i) {
        int lane = SN_LANE(i), v = d->loose_vertex[k];
        sn_set3(w->blend, place ? place[v] : v, lane,
                sn_rotation_loose(d, k, w->activations + lane, SN_ABREAST));
    }
}

/* Activations of the frames, side by side; 0 where there is no frame. */
SN_BATCH_FN void sn_batch_activations(sn_grid *g, int targets, int count,
                                      const sn_spring_asked *asked, const sn_batch_work *work) {
    SN_OWN(sn_batch_work, w, work);
    SN_ITEMS(g, t, targets) SN_EACH(i) {
        int lane = SN_LANE(i);
        w->activations[sn_of((size_t)t, lane)] = lane < count ? asked[lane].activations[t] : 0;
    }
}

/* Of frames asked[count]. */
SN_FN void sn_batch_blend(sn_grid *g, const sn_rotation_device *d, const sn_batch_work *w,
                          int count, const sn_spring_asked *asked, int refinements,
                          const int *place) {
    SN_PHASE(g, sn_batch_activations(g, d->target_count, count, asked, w));
    SN_PHASE(g, sn_batch_items(g, d, w));
    SN_PHASE(g, sn_batch_right(g, d, w));
    sn_batch_solve(g, &d->solve, w);
    SN_PHASE(g, sn_batch_keep(g, d, w, true));
    for (int k = 0; k < refinements; k++) {
        SN_PHASE(g, sn_batch_residual(g, d, w));
        sn_batch_solve(g, &d->solve, w);
        SN_PHASE(g, sn_batch_keep(g, d, w, false));
    }
    SN_PHASE(g, sn_batch_chunks(g, d, w));
    SN_PHASE(g, sn_batch_transforms(g, d, w));
    SN_PHASE(g, sn_batch_place(g, d, w, place));
}

#endif
