#include "rig/bake_samples.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "sinew/bake.h"

#define ALIKE      0.5 /* cosine between two displacements */
#define ALIKE_FACE 0.7
#define TIED       0.85 /* how often a left and a right slider move together */
#define AGAINST    0.5  /* cosine between a slider and the motion that it would undo */
enum { MOST_GESTURES = 6 };

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

/* The displacements of every slider; NULL without memory. */
static reach *find_reaches(const sinew_rig *rig) {
    reach *reaches = SN_NEW0(reach, rig->slider_count);
    for (int t = 0; reaches && t < rig->target_count; t++) {
        const sinew_target *target = &rig->targets[t];
        if (target->kind == SINEW_TARGET_KIND_PLAIN)
            reaches[target->slider] = (reach){target->count, target->vertices, target->deltas, 0};
    }
    for (int s = 0; reaches && s < rig->slider_count; s++)
        reaches[s].square = square_of(&reaches[s]);
    return reaches;
}

sinew_status sn_bake_pairs(const sinew_rig *rig, sn_slider_pair **pairs, int *count,
                           sinew_error *error) {
    int n = rig->slider_count;
    reach *reaches = find_reaches(rig);
    size_t capacity = 0;
    *pairs = NULL, *count = 0;
    if (!reaches) return sn_no_memory(error);
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

/* What a crowded pose is made with. */
typedef struct crowd {
    const sinew_rig *rig;
    sinew_rig *mirrored; /* knows which slider is whose mirror */
    const sn_slider_pair *pairs;
    int pair_count;
    reach *reaches;
    uint64_t state;
    double *u, *sum; /* per slider: its part from rest to full, and what its alternatives have */
    double *moved;   /* 3 per vertex: where the sliders so far take it */
    int *order;
    const bool *from; /* per slider: it may take part; NULL: all may, and most of them do */
} crowd;

/* Whether the slider would undo what the others do to its vertices. */
static bool goes_against(const crowd *c, int slider) {
    const reach *r = &c->reaches[slider];
    double along = 0, own = 0;
    for (int i = 0; i < r->count; i++) {
        const double *d = r->deltas + 3 * (size_t)i, *m = c->moved + 3 * (size_t)r->vertices[i];
        along += d[0] * m[0] + d[1] * m[1] + d[2] * m[2];
        own += m[0] * m[0] + m[1] * m[1] + m[2] * m[2];
    }
    return along < -AGAINST * sqrt(r->square * own);
}

static void set_part(crowd *c, int slider, double u) {
    const reach *r = &c->reaches[slider];
    c->u[slider] = u;
    for (int i = 0; i < r->count; i++)
        for (size_t k = 0; k < 3; k++)
            c->moved[3 * (size_t)r->vertices[i] + k] += u * r->deltas[3 * (size_t)i + k];
}

/* An expression: some sliders, left and right together, to about the same extent, and none against
 * the rest. */
static void express(crowd *c) {
    int n = c->rig->slider_count;
    memset(c->moved, 0, 3 * (size_t)c->rig->neutral->vertex_count * sizeof *c->moved);
    for (int s = 0; s < n; s++) c->u[s] = 0, c->order[s] = s;
    for (int s = n - 1; s > 0; s--) {
        int other = (int)(sn_bake_random(&c->state) * (s + 1)), swap = c->order[s];
        c->order[s] = c->order[other], c->order[other] = swap;
    }
    double strength = 0.25 + 0.75 * sn_bake_random(&c->state);
    double most = c->from ? MOST_GESTURES + 1 : 0.7 * n;
    int tried = (int)(2 + (most - 2) * sn_bake_random(&c->state));
    for (int k = 0; k < n && tried > 0; k++) {
        int s = c->order[k], other = c->mirrored->sliders[s].mirror;
        if (c->from && !c->from[s]) continue;
        tried--;
        if (c->u[s] > 0 || goes_against(c, s)) continue;
        double u = fmin(1, strength * (0.6 + 0.8 * sn_bake_random(&c->state)));
        if (sn_bake_random(&c->state) < 0.3) u *= sn_bake_random(&c->state);
        set_part(c, s, u);
        if (other < 0 || c->u[other] > 0 || sn_bake_random(&c->state) >= TIED) continue;
        set_part(c, other, fmin(1, u * (0.85 + 0.3 * sn_bake_random(&c->state))));
    }
}

/* Few sliders: any of them at once. */
static void mix(crowd *c) {
    double share = sn_bake_random(&c->state), strength = sn_bake_random(&c->state);
    for (int s = 0; s < c->rig->slider_count; s++) {
        double chance = sn_bake_random(&c->state), value = sn_bake_random(&c->state);
        c->u[s] = chance < share ? (0.5 + 0.5 * strength) * value * value : 0;
    }
}

static void make_pose(crowd *c, double *row) {
    int n = c->rig->slider_count;
    if (n > SN_BAKE_MANY_SLIDERS)
        express(c);
    else
        mix(c);
    for (int s = 0; s < n; s++) c->sum[s] = c->u[s];
    /* Alternatives share the weight of one slider. */
    for (int p = 0; p < c->pair_count; p++) {
        if (!c->pairs[p].alike) continue;
        c->sum[c->pairs[p].a] += c->u[c->pairs[p].b];
        c->sum[c->pairs[p].b] += c->u[c->pairs[p].a];
    }
    for (int s = 0; s < n; s++)
        row[s] = sn_bake_weight(&c->rig->sliders[s], c->sum[s] > 1 ? c->u[s] / c->sum[s] : c->u[s]);
}

sinew_status sn_bake_crowded_poses(const sinew_rig *rig, uint64_t seed, const bool *from, int count,
                                   double *rows, sinew_error *error) {
    int n = rig->slider_count;
    sn_slider_pair *pairs;
    crowd c = {.rig = rig, .from = from, .state = seed * UINT64_C(0xd1342543de82ef95) + 1};
    SN_TRY(sn_bake_pairs(rig, &pairs, &c.pair_count, error));
    c.pairs = pairs;
    c.reaches = find_reaches(rig);
    c.u = SN_NEW(double, n), c.sum = SN_NEW(double, n), c.order = SN_NEW(int, n);
    c.moved = SN_NEW(double, 3 * (size_t)rig->neutral->vertex_count);
    sinew_status status =
        c.reaches && c.u && c.sum && c.order && c.moved ? SINEW_OK : sn_no_memory(error);
    if (status == SINEW_OK) status = sinew_rig_copy(rig, &c.mirrored, error);
    if (status == SINEW_OK) status = sinew_rig_deduce_from_names(c.mirrored, error);
    for (int i = 0; i < 8; i++) sn_bake_random(&c.state);
    for (int k = 0; status == SINEW_OK && k < count; k++)
        make_pose(&c, rows + (size_t)k * (size_t)n);
    sinew_rig_destroy(c.mirrored);
    sn_free(c.reaches), sn_free(c.u), sn_free(c.sum), sn_free(c.order), sn_free(c.moved);
    sn_free(pairs);
    return status;
}
