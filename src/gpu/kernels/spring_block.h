/* The part of a network that one block works on, and what of it the block keeps in shared memory
 * from phase to phase. Every barrier empties the first-level cache, so what stays in shared memory
 * need not come from the second level again in every step of conjugate gradients. */
#ifndef SN_GPU_KERNELS_SPRING_BLOCK_H
#define SN_GPU_KERNELS_SPRING_BLOCK_H

#include "gpu/kernels/spring_device.h"

/* Of a middle level. */
typedef struct sn_middle_part {
    int first, count; /* slots */
    sn_float4 *sum;   /* per slot: W^T r, inverse of the diagonal */
    const int *start; /* per slot, into item */
    const sn_item *item;
    const sn_float4 *weight;
    const uint16_t *slot;
} sn_middle_part;

/* Vertices, entries of rows and items are counted from the block's first. The block keeps this,
 * too: every phase would otherwise find all addresses again. */
typedef struct __attribute__((aligned(16))) sn_block_part {
    int first, count; /* vertices */
    int first_slot, slots;
    int first_row, rows; /* of the coarse inverse */
    int item_base, row_base;
    int first_halo, halo;

    float *right;          /* columns per side: D W^T r; see sn_coarse_place_of */
    const float *scale;    /* columns: D */
    sn_float4 *center;     /* per slot */
    float *rotation;       /* 9 per slot */
    float *motion;         /* 8 per slot: translation, 0, rotation, 0 */
    const int *item_start; /* per slot, less item_base */
    const int *cluster;    /* per slot */

    const int *cluster_start;        /* clusters + 1 */
    const uint16_t *near_slot;       /* slots of clusters in shared memory, or NULL: */
    const int *far_slot;             /* in device memory */
    const sn_half8 *inverse;         /* the block's rows */
    sn_float4 *r, *q, *step, *p, *x; /* p and x: copies of the block's own part, too */
    float *diagonal;                 /* 8 per vertex */
    const sn_float4 *weight;
    const uint16_t *slot;
    const sn_item *item;
    const int *row;   /* per vertex, less row_base */
    sn_float4 *table; /* has_table: per row entry sqrt(k - c) n, c; */
    sn_half4 *rough;  /* otherwise in half precision */
    const int *other;
    sn_float4 *tile;      /* has_tile: p of the block, then of the halo; between the phases' use of
                             it room for what the clusters add up */
    const uint16_t *near; /* has_halo: places in the tile */
    sn_middle_part middle[SN_MIDDLES];
} sn_block_part;

#define SN_EACH_MIDDLE(d, l)                                                                       \
    SN_UNROLL                                                                                      \
    for (int l = 0; l < SN_MIDDLES; l++)                                                           \
        if ((d)->middle[l].clusters > 0)

/* Hands out shared memory in pieces of 16 bytes; without a base it only counts. */
typedef struct sn_room_cursor {
    char *base;
    size_t used;
} sn_room_cursor;

SN_FN char *sn_room_take(sn_room_cursor *c, size_t bytes) {
    size_t at = c->used;
    c->used += (bytes + 15) / 16 * 16;
    return c->base + at;
}

/* Bytes of shared memory that the parts named in `room` take. Where they are: sn_block_part_at. */
SN_FN size_t sn_room_size(const sn_spring_device *d) {
    const sn_coarse_device *c = &d->coarse;
    const sn_block_room *m = &d->room;
    size_t n = (size_t)m->most_vertices, slots = (size_t)c->most_slots;
    size_t size = SN_GRID_SHARED + sizeof(sn_block_part) +
                  4 * (size_t)((c->sides + 1) * c->columns) + (16 + 36 + 32 + 4 + 4) * slots +
                  7 * 16;
    SN_EACH_MIDDLE(d, l) size += (16 + 4) * (size_t)d->middle[l].most_slots + 2 * 16;
    if (m->has_lists) size += 4 * (size_t)c->clusters + 2 * (size_t)c->slots + 3 * 16;
    if (m->has_rows) size += 2 * (size_t)m->rows * (size_t)c->columns;
    if (m->has_tile || m->has_vectors) size += 16 * n + 16;
    if (m->has_halo) size += 16 * (size_t)m->most_halo;
    if (m->has_vectors)
        size += (3 * 16 + 32 + 16 + 8 + 4) * n + 8 * (size_t)m->most_items + 10 * 16;
    if (m->has_vectors && m->has_places) size += 16 * n;
    SN_EACH_MIDDLE(d, l) size += m->has_vectors ? (16 + 8) * n + 2 * 16 : 0;
    if (m->has_table) size += 20 * (size_t)m->most_entries + 2 * 16;
    return size;
}

/* The block's part, after sn_block_part_load. */
SN_FN const sn_block_part *sn_block_part_kept(const sn_grid *g) {
    return (const sn_block_part *)(g->shared + SN_GRID_SHARED);
}
SN_FN sn_block_part sn_block_part_at(const sn_grid *g) {
    return *sn_block_part_kept(g);
}

SN_FN sn_block_part sn_block_part_find(const sn_grid *g, const sn_spring_device *d,
                                       const sn_spring_work *w) {
    const sn_coarse_device *c = &d->coarse;
    const sn_block_room *m = &d->room;
    sn_room_cursor at = {g->shared, SN_GRID_SHARED};
    sn_block_part b;
    size_t n = (size_t)m->most_vertices, slots = (size_t)c->most_slots;
    int row = m->rows * g->block < c->modes ? m->rows * g->block : c->modes;
    (void)sn_room_take(&at, sizeof b);
    b.first = sn_block_begin(g, d->free_count);
    b.count = sn_block_end(g, d->free_count) - b.first;
    b.first_slot = c->slot_start[g->block];
    b.slots = c->slot_start[g->block + 1] - b.first_slot;
    b.first_row = row, b.rows = c->modes - row < m->rows ? c->modes - row : m->rows;
    b.item_base = c->item_start[b.first_slot], b.row_base = d->row_start[b.first];
    b.first_halo = m->has_halo ? d->halo.start[g->block] : 0;
    b.halo = m->has_halo ? d->halo.start[g->block + 1] - b.first_halo : 0;
    b.right = (float *)sn_room_take(&at, 4 * (size_t)(c->sides * c->columns));
    b.scale = (const float *)sn_room_take(&at, 4 * (size_t)c->columns);
    b.center = (sn_float4 *)sn_room_take(&at, 16 * slots);
    b.rotation = (float *)sn_room_take(&at, 36 * slots);
    b.motion = (float *)sn_room_take(&at, 32 * slots);
    b.item_start = (const int *)sn_room_take(&at, 4 * (slots + 1));
    b.cluster = (const int *)sn_room_take(&at, 4 * slots);

    size_t first = (size_t)b.first;
    SN_EACH_MIDDLE(d, l) {
        const sn_middle_device *from = &d->middle[l];
        size_t middles = (size_t)from->most_slots;
        sn_middle_part *to = &b.middle[l];
        to->first = from->slot_start[g->block];
        to->count = from->slot_start[g->block + 1] - to->first;
        to->sum = (sn_float4 *)sn_room_take(&at, 16 * middles);
        to->start = (const int *)sn_room_take(&at, 4 * (middles + 1));
        to->item = from->item;
        to->weight = from->weight + first, to->slot = from->slot + 4 * first;
    }
    b.cluster_start = c->cluster_start, b.near_slot = NULL, b.far_slot = c->cluster_slot;
    if (m->has_lists) {
        b.cluster_start = (const int *)sn_room_take(&at, 4 * (size_t)(c->clusters + 1));
        b.near_slot = (const uint16_t *)sn_room_take(&at, 2 * (size_t)c->slots);
    }
    b.inverse = c->inverse + (size_t)b.first_row * (size_t)(c->columns / 8);
    if (m->has_rows)
        b.inverse = (const sn_half8 *)sn_room_take(&at, 2 * (size_t)m->rows * (size_t)c->columns);

    b.r = w->r + first, b.q = w->q + first, b.step = w->step + first;
    b.p = w->p + first, b.x = w->near_x + first;
    b.diagonal = w->diagonal + 8 * first;
    b.weight = c->weight + first, b.slot = c->slot + 4 * first;
    b.item = c->item + b.item_base;
    b.row = d->row_start + first;
    b.tile = NULL;
    if (m->has_tile)
        b.tile =
            (sn_float4 *)sn_room_take(&at, 16 * (n + (size_t)(m->has_halo ? m->most_halo : 0)));
    if (m->has_vectors) {
        b.p = m->has_tile ? b.tile : (sn_float4 *)sn_room_take(&at, 16 * n);
        b.r = (sn_float4 *)sn_room_take(&at, 16 * n);
        b.q = (sn_float4 *)sn_room_take(&at, 16 * n);
        b.step = (sn_float4 *)sn_room_take(&at, 16 * n);
        if (m->has_places) b.x = (sn_float4 *)sn_room_take(&at, 16 * n);
        b.diagonal = (float *)sn_room_take(&at, 32 * n);
        b.weight = (const sn_float4 *)sn_room_take(&at, 16 * n);
        b.slot = (const uint16_t *)sn_room_take(&at, 8 * n);
        b.item = (const sn_item *)sn_room_take(&at, 8 * (size_t)m->most_items);
        b.row = (const int *)sn_room_take(&at, 4 * (n + 1));
        SN_EACH_MIDDLE(d, l) {
            b.middle[l].weight = (const sn_float4 *)sn_room_take(&at, 16 * n);
            b.middle[l].slot = (const uint16_t *)sn_room_take(&at, 8 * n);
        }
    }
    b.table = NULL, b.rough = w->rough ? w->rough + b.row_base : NULL;
    b.other = d->row_other + b.row_base;
    b.near = m->has_halo ? d->halo.near + b.row_base : NULL;
    if (m->has_table) {
        b.table = (sn_float4 *)sn_room_take(&at, 16 * (size_t)m->most_entries);
        b.other = (const int *)sn_room_take(&at, 4 * (size_t)m->most_entries);
    }
    return b;
}

/* Where a column is in `right`: pieces of eight in two halves, so that neighboring threads read
 * neighboring 16 bytes. */
SN_FN int sn_coarse_place_of(const sn_coarse_device *c, int column) {
    return column / 8 * 4 + column % 4 + (column % 8 < 4 ? 0 : c->columns / 2);
}

#define SN_COPY(to, from, size)                                                                    \
    for (int i_ = g->thread; i_ < (int)(size); i_ += g->threads) (to)[i_] = (from)[i_]

/* Once per frame: what does not change. The dissection used the same memory before. */
SN_PHASE_FN void sn_block_part_load(sn_grid *g, const sn_spring_device *d,
                                    const sn_spring_work *w) {
    const sn_coarse_device *c = &d->coarse;
    const sn_block_room *m = &d->room;
    if (g->thread == 0) *(sn_block_part *)sn_block_part_kept(g) = sn_block_part_find(g, d, w);
    sn_sync_block();
    sn_block_part b = sn_block_part_at(g);
    SN_COPY((int *)b.item_start, c->item_start + b.first_slot, b.slots + 1);
    if (m->has_lists) {
        SN_COPY((int *)b.cluster_start, c->cluster_start, c->clusters + 1);
        SN_COPY((uint16_t *)b.near_slot, c->cluster_slot, c->slots);
    }
    if (m->has_rows)
        SN_COPY((sn_half8 *)b.inverse, c->inverse + (size_t)b.first_row * (size_t)(c->columns / 8),
                b.rows * (c->columns / 8));
    if (m->has_vectors) {
        SN_COPY((sn_float4 *)b.weight, c->weight + b.first, b.count);
        SN_COPY((uint16_t *)b.slot, c->slot + 4 * (size_t)b.first, 4 * b.count);
        SN_COPY((sn_item *)b.item, c->item + b.item_base,
                c->item_start[b.first_slot + b.slots] - b.item_base);
        SN_COPY((int *)b.row, d->row_start + b.first, b.count + 1);
        SN_EACH_MIDDLE(d, l) {
            SN_COPY((sn_float4 *)b.middle[l].weight, d->middle[l].weight + b.first, b.count);
            SN_COPY((uint16_t *)b.middle[l].slot, d->middle[l].slot + 4 * (size_t)b.first,
                    4 * b.count);
        }
    }
    SN_EACH_MIDDLE(d, l) {
        const sn_middle_part *to = &b.middle[l];
        SN_COPY((int *)to->start, d->middle[l].item_start + to->first, to->count + 1);
        for (int s = g->thread; s < to->count; s += g->threads) {
            sn_float4 empty = {0, 0, 0, d->middle[l].about[to->first + s].inverse};
            to->sum[s] = empty;
        }
    }
    if (m->has_table)
        SN_COPY((int *)b.other, d->row_other + b.row_base,
                d->row_start[b.first + b.count] - b.row_base);
    SN_COPY((float *)b.scale, c->scale, c->columns);
    for (int i = g->thread; i < c->sides * c->columns; i += g->threads) b.right[i] = 0;
    for (int s = g->thread; s < b.slots; s += g->threads) {
        int k = c->slot_cluster[b.first_slot + s];
        ((int *)b.cluster)[s] = k;
        if (!c->rigid) continue;
        b.center[s] = w->center[k];
        for (int i = 0; i < 9; i++) b.rotation[9 * s + i] = w->rotation[9 * (size_t)k + (size_t)i];
    }
}

#endif
