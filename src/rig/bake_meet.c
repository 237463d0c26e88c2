/* Where surfaces meet, for models with self-contact.
 *
 * Contact changes a shape only where the blend would intersect itself: lids that close while the
 * eye squints, lips that press and roll. Such poses are a small part of all, so samples must be
 * placed there; and they take the model most of its time, so no others should be. Intersections of
 * the linear blend show them without asking the model. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/monitor.h"
#include "base/status.h"
#include "rig/baker.h"
#include "sinew/query.h"

#define NEARBY 0.01 /* of the diagonal: sliders whose vertices stay farther apart do not meet */

static int by_key(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Pairs of triangles that intersect in the linear blend; release with sinew_free. */
static sinew_status find_intersections(sn_baker *b, const double *weights, int **pairs,
                                       int *count) {
    const sinew_mesh *mesh = b->rig->neutral;
    if (sn_cancelled(b->monitor)) return sn_fail(b->error, SINEW_CANCELLED, "cancelled");
    sinew_linear_evaluate(b->linear, weights, b->blend);
    return sinew_self_intersections(mesh->vertex_count, b->blend, mesh->triangle_count,
                                    mesh->triangles, b->monitor, pairs, count, b->error);
}

static int64_t key_of(const sn_baker *b, const int pair[2]) {
    return (int64_t)pair[0] * b->rig->neutral->triangle_count + pair[1];
}

static sinew_status add_known(sn_baker *b, const double *weights, size_t *capacity) {
    int *pairs = NULL, count = 0;
    SN_TRY(find_intersections(b, weights, &pairs, &count));
    sinew_status status = SN_RESERVE(b->known, *capacity, b->known_count + (size_t)count)
                              ? SINEW_OK
                              : sn_no_memory(b->error);
    for (int i = 0; status == SINEW_OK && i < count; i++)
        b->known[b->known_count++] = key_of(b, pairs + 2 * (size_t)i);
    sinew_free(pairs);
    return status;
}

/* What intersects in the neutral, and in the sliders alone. */
static sinew_status find_known(sn_baker *b, double *row) {
    size_t capacity = 0;
    SN_TRY(add_known(b, row, &capacity));
    for (int s = 0; s < b->rig->slider_count; s++) {
        row[s] = sn_bake_weight(&b->rig->sliders[s], 1);
        sinew_status status = add_known(b, row, &capacity);
        row[s] = b->rig->sliders[s].rest;
        if (status != SINEW_OK) return status;
    }
    if (b->known_count > 0) qsort(b->known, b->known_count, sizeof *b->known, by_key);
    return SINEW_OK;
}

sinew_status sn_bake_meets(sn_baker *b, const double *weights, bool *meets) {
    int *pairs = NULL, count = 0;
    SN_TRY(find_intersections(b, weights, &pairs, &count));
    *meets = false;
    for (int i = 0; !*meets && i < count; i++) {
        int64_t key = key_of(b, pairs + 2 * (size_t)i);
        *meets = b->known_count == 0 ||
                 !bsearch(&key, b->known, b->known_count, sizeof *b->known, by_key);
    }
    sinew_free(pairs);
    return SINEW_OK;
}

/* The box around the vertices that a slider moves, at rest and at full. */
typedef struct extent {
    double low[3], high[3];
} extent;

static void widen(extent *e, const double *point, const double *delta) {
    for (int c = 0; c < 3; c++) {
        e->low[c] = fmin(e->low[c], point[c] + fmin(delta[c], 0));
        e->high[c] = fmax(e->high[c], point[c] + fmax(delta[c], 0));
    }
}

static extent *find_extents(const sinew_rig *rig) {
    extent *extents = SN_NEW(extent, rig->slider_count);
    for (int s = 0; extents && s < rig->slider_count; s++)
        for (int c = 0; c < 3; c++) extents[s].low[c] = INFINITY, extents[s].high[c] = -INFINITY;
    for (int t = 0; extents && t < rig->target_count; t++) {
        const sinew_target *target = &rig->targets[t];
        if (target->kind != SINEW_TARGET_KIND_PLAIN) continue;
        for (int i = 0; i < target->count; i++)
            widen(&extents[target->slider],
                  rig->neutral->positions + 3 * (size_t)target->vertices[i],
                  target->deltas + 3 * (size_t)i);
    }
    return extents;
}

static bool are_near(const extent *a, const extent *b, double margin) {
    for (int c = 0; c < 3; c++)
        if (a->low[c] > b->high[c] + margin || b->low[c] > a->high[c] + margin) return false;
    return true;
}

/* Row and column of each pair that is listed: 1 + its index. */
static int *index_pairs(int n, const sn_slider_pair *pairs, int count) {
    int *listed = SN_NEW0(int, (size_t)n *(size_t)n);
    for (int i = 0; listed && i < count; i++)
        listed[(size_t)pairs[i].a * (size_t)n + (size_t)pairs[i].b] = i + 1;
    return listed;
}

static sinew_status test_pairs(sn_baker *b, double *row, const extent *extents, const int *listed,
                               sn_slider_pair **pairs, int *count) {
    int n = b->rig->slider_count;
    bool limb = n <= SN_BAKE_MANY_SLIDERS; /* its alternatives never act together; lids do */
    size_t capacity = (size_t)*count;
    for (int x = 0; x < n; x++)
        for (int y = x + 1; y < n; y++) {
            int at = listed[(size_t)x * (size_t)n + (size_t)y] - 1;
            bool meets = false;
            if (limb && at >= 0 && (*pairs)[at].alike) continue;
            if (!are_near(&extents[x], &extents[y], NEARBY * b->diagonal)) continue;
            row[x] = sn_bake_weight(&b->rig->sliders[x], 1);
            row[y] = sn_bake_weight(&b->rig->sliders[y], 1);
            sinew_status status = sn_bake_meets(b, row, &meets);
            row[x] = b->rig->sliders[x].rest, row[y] = b->rig->sliders[y].rest;
            if (status != SINEW_OK) return status;
            if (!meets) continue;
            if (at < 0) {
                if (!SN_RESERVE(*pairs, capacity, *count + 1)) return sn_no_memory(b->error);
                at = (*count)++;
                (*pairs)[at] = (sn_slider_pair){.a = x, .b = y};
            }
            (*pairs)[at].meets = true;
        }
    return SINEW_OK;
}

sinew_status sn_bake_find_meeting(sn_baker *b, sn_slider_pair **pairs, int *count) {
    double *row = SN_NEW(double, b->rig->slider_count);
    extent *extents = find_extents(b->rig);
    int *listed = index_pairs(b->rig->slider_count, *pairs, *count);
    sinew_status status = row && extents && listed ? SINEW_OK : sn_no_memory(b->error);
    if (status == SINEW_OK) {
        sinew_rig_rest_weights(b->rig, row);
        status = find_known(b, row);
    }
    if (status == SINEW_OK) status = test_pairs(b, row, extents, listed, pairs, count);
    sn_free(row), sn_free(extents), sn_free(listed);
    return status;
}
