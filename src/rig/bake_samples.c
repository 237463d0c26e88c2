#include "rig/bake_samples.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "sinew/bake.h"

#define ALIKE      0.5 /* cosine between two displacements */
#define ALIKE_FACE 0.7
#define TIED       0.7 /* how often a left and a right slider move together */

/* Largest motion of each vertex by any plain target or in-between of a slider, as a sparse list. */
typedef struct reach {
    int count;
    const int *vertices;
    const double *deltas;
    double square; /* of all displacements */
} reach;

static int by_overlap(const void *a, const void *b) {
    const sn_slider_pair *p = a, *q = b;
    if (p->overlap != q->overlap) return p->overlap > q->overlap ? -1 : 1;
    return p->a != q->a ? p->a - q->a : p->b - q->b;
}

static double square_of(const reach *r) {
    double sum = 0;
    for (size_t i = 0; i < 3 * (size_t)r->count; i++) sum += r->deltas[i] * r->deltas[i];
    return sum;
}

/* Overlap 0: they share nothing. Poses of a limb are alternatives where they move the skin that
 * they share alike. On a face they must be alike as a whole: a lip that goes down moves its few
 * vertices as jawOpen does, but a performer uses both at once. */
static sn_slider_pair compare(const reach *a, const reach *b, bool face) {
    double overlap = 0, along = 0, own_a = 0, own_b = 0;
    for (int i = 0, j = 0; i < a->count && j < b->count;) {
        int v = a->vertices[i], w = b->vertices[j];
        if (v == w) {
            const double *d = a->deltas + 3 * (size_t)i, *e = b->deltas + 3 * (size_t)j;
            double dd = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
            double ee = e[0] * e[0] + e[1] * e[1] + e[2] * e[2];
            overlap += sqrt(dd * ee);
            along += d[0] * e[0] + d[1] * e[1] + d[2] * e[2];
            own_a += dd, own_b += ee;
        }
        i += v <= w, j += w <= v;
    }
    double limit = face ? ALIKE_FACE * sqrt(a->square * b->square) : ALIKE * sqrt(own_a * own_b);
    return (sn_slider_pair){.overlap = overlap, .alike = along > limit};
}

sinew_status sn_bake_pairs(const sinew_rig *rig, sn_slider_pair **pairs, int *count,
                           sinew_error *error) {
    int n = rig->slider_count;
    reach *reaches = SN_NEW0(reach, n);
    size_t capacity = 0;
    *pairs = NULL, *count = 0;
    if (!reaches) return sn_no_memory(error);
    for (int t = 0; t < rig->target_count; t++) {
        const sinew_target *target = &rig->targets[t];
        if (target->kind == SINEW_TARGET_KIND_PLAIN)
            reaches[target->slider] = (reach){target->count, target->vertices, target->deltas, 0};
    }
    for (int s = 0; s < n; s++) reaches[s].square = square_of(&reaches[s]);
    for (int a = 0; a < n; a++)
        for (int b = a + 1; b < n; b++) {
            sn_slider_pair pair = compare(&reaches[a], &reaches[b], n > SN_BAKE_MANY_SLIDERS);
            if (pair.overlap == 0) continue;
            pair.a = a, pair.b = b;
            if (!SN_RESERVE(*pairs, capacity, *count + 1)) {
                sn_free(reaches), sn_free(*pairs);
                return sn_no_memory(error);
            }
            (*pairs)[(*count)++] = pair;
        }
    sn_free(reaches);
    if (*count > 0) qsort(*pairs, (size_t)*count, sizeof **pairs, by_overlap);
    return SINEW_OK;
}

/* Whether two sliders are alternatives. */
static bool are_alike(const sn_slider_pair *pairs, int count, int a, int b) {
    for (int i = 0; i < count; i++)
        if ((pairs[i].a == a && pairs[i].b == b) || (pairs[i].a == b && pairs[i].b == a))
            return pairs[i].alike;
    return false;
}

/* Alternatives share the weight of one slider. */
static void share_weights(const sn_slider_pair *pairs, int pair_count, const int *chosen, int used,
                          double *u) {
    double sum[4];
    for (int i = 0; i < used; i++) {
        sum[i] = u[i];
        for (int j = 0; j < used; j++)
            if (j != i && are_alike(pairs, pair_count, chosen[i], chosen[j])) sum[i] += u[j];
    }
    for (int i = 0; i < used; i++)
        if (sum[i] > 1) u[i] /= sum[i];
}

/* Starts from a pair that meets and adds up to two sliders that meet one of the pair. */
static int choose_sliders(const sn_slider_pair *pairs, int pair_count, uint64_t *state,
                          int chosen[4]) {
    const sn_slider_pair *p = &pairs[(int)(sn_bake_random(state) * pair_count)];
    int used = 0, more = (int)(3 * sn_bake_random(state));
    chosen[used++] = p->a, chosen[used++] = p->b;
    for (int tries = 0; more > 0 && tries < 20; tries++) {
        const sn_slider_pair *q = &pairs[(int)(sn_bake_random(state) * pair_count)];
        bool meets = q->a == p->a || q->b == p->a || q->a == p->b || q->b == p->b;
        int other = q->a == p->a || q->a == p->b ? q->b : q->a;
        for (int i = 0; i < used; i++) meets &= other != chosen[i];
        if (meets) chosen[used++] = other, more--;
    }
    return used;
}

sinew_status sinew_bake_poses(const sinew_rig *rig, uint64_t seed, int count, double *rows,
                              sinew_error *error) {
    SN_REQUIRE(rig && rows && count >= 0, error);
    sn_slider_pair *pairs;
    int pair_count;
    SN_TRY(sn_bake_pairs(rig, &pairs, &pair_count, error));
    size_t n = (size_t)rig->slider_count;
    uint64_t state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
    for (int i = 0; i < 8; i++) sn_bake_random(&state);
    for (int k = 0; k < count; k++) {
        double *row = rows + (size_t)k * n, u[4];
        int chosen[4], used = 0;
        sinew_rig_rest_weights(rig, row);
        if (pair_count > 0)
            used = choose_sliders(pairs, pair_count, &state, chosen);
        else if (n > 0)
            chosen[used++] = (int)(sn_bake_random(&state) * rig->slider_count);
        for (int i = 0; i < used; i++) u[i] = sn_bake_random(&state);
        share_weights(pairs, pair_count, chosen, used, u);
        for (int i = 0; i < used; i++)
            row[chosen[i]] = sn_bake_weight(&rig->sliders[chosen[i]], u[i]);
    }
    sn_free(pairs);
    return SINEW_OK;
}

sinew_status sn_bake_crowded_poses(const sinew_rig *rig, uint64_t seed, int count, double *rows,
                                   sinew_error *error) {
    sn_slider_pair *pairs;
    int pair_count;
    SN_TRY(sn_bake_pairs(rig, &pairs, &pair_count, error));
    sinew_rig *mirrored = NULL;
    sinew_status status = sinew_rig_copy(rig, &mirrored, error);
    if (status == SINEW_OK) status = sinew_rig_deduce_from_names(mirrored, error);
    if (status != SINEW_OK) {
        sinew_rig_destroy(mirrored), sn_free(pairs);
        return status;
    }
    int n = rig->slider_count;
    bool many = n > SN_BAKE_MANY_SLIDERS;
    uint64_t state = seed * UINT64_C(0xd1342543de82ef95) + 1;
    for (int i = 0; i < 8; i++) sn_bake_random(&state);
    double *u = SN_NEW(double, 2 * (size_t)n), *sum = u ? u + n : NULL;
    for (int k = 0; u && k < count; k++) {
        double *row = rows + (size_t)k * (size_t)n;
        double share = sn_bake_random(&state), strength = sn_bake_random(&state);
        for (int s = 0; s < n; s++) {
            double chance = sn_bake_random(&state), value = sn_bake_random(&state);
            if (many)
                u[s] = chance < 0.6 * share ? fmin(1, (0.3 + 1.2 * strength) * value) : 0;
            else
                u[s] = chance < share ? (0.5 + 0.5 * strength) * value * value : 0;
        }
        for (int s = 0; many && s < n; s++) {
            int other = mirrored->sliders[s].mirror;
            double chance = sn_bake_random(&state), value = sn_bake_random(&state);
            if (other > s && chance < TIED) u[other] = fmin(1, u[s] * (0.8 + 0.4 * value));
        }
        for (int s = 0; s < n; s++) sum[s] = u[s];
        /* Alternatives share the weight of one slider. */
        for (int p = 0; p < pair_count; p++) {
            if (!pairs[p].alike) continue;
            sum[pairs[p].a] += u[pairs[p].b];
            sum[pairs[p].b] += u[pairs[p].a];
        }
        for (int s = 0; s < n; s++)
            row[s] = sn_bake_weight(&rig->sliders[s], sum[s] > 1 ? u[s] / sum[s] : u[s]);
    }
    status = u ? SINEW_OK : sn_no_memory(error);
    sinew_rig_destroy(mirrored);
    sn_free(u), sn_free(pairs);
    return status;
}
