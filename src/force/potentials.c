/* Based on: Bouaziz et al. 2014, Projective dynamics, for the form of the potentials; the skin
 * model of blendforces.
 * We differ in: stiffnesses follow from lengths, so that a mesh of another size or resolution moves
 * alike. */
#include "force/potentials.h"

#ifdef __AVX__
#include <immintrin.h>
#endif
#include <math.h>
#include <string.h>

#include "base/inline.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "base/vec3.h"

/* An edge takes the mean of its ends. */
static double stretch_factor(const sn_skin *skin, const double *map, size_t edge) {
    return map ? 0.5 * (map[skin->edges[2 * edge]] + map[skin->edges[2 * edge + 1]]) : 1;
}

/* ---- rings ----------------------------------------------------------------------------------- */

static int valence(const sn_skin *s, int v) {
    return s->start[v + 1] - s->start[v];
}

/* Vertices of each batch by falling valence, so that rings side by side are of about one length. */
static void order_batches(const sn_skin *s, int *vertex) {
    int n = s->vertex_count;
    for (int first = 0; first < n; first += SN_RING_BATCH) {
        int end = first + SN_RING_BATCH < n ? first + SN_RING_BATCH : n;
        for (int v = first; v < end; v++) {
            int at = v;
            for (; at > first && valence(s, vertex[at - 1]) < valence(s, v); at--)
                vertex[at] = vertex[at - 1];
            vertex[at] = v;
        }
    }
}

static void fill_constants(const sn_potentials *p, bool inside, int v, int i, sn_rings *rings) {
    const sn_skin *s = p->skin;
    double over = 1 / (s->area[v] * s->mean_area), k = p->bending[v] * over;
    sn_vec3 x = sn_at(s->rest, v), sum = {0, 0, 0};
    for (int h = s->start[v]; h < s->start[v + 1]; h++)
        sum =
            sn_add_scaled(sum, s->neighbour_weight[h], sn_sub(x, sn_at(s->rest, s->neighbour[h])));
    double values[SN_RING_CONSTANTS] = {p->position[v], k * over, k * over * sum.x,
                                        k * over * sum.y, k * over * sum.z};
    for (int c = 0; c < SN_RING_CONSTANTS; c++) rings->constant[c][i] = inside ? values[c] : 0;
}

static sinew_status lay_out_rings(const sn_potentials *p, bool mapped, sn_rings *rings,
                                  sinew_error *error) {
    const sn_skin *s = p->skin;
    int n = s->vertex_count, lanes = SN_RING_LANES, groups = (n + lanes - 1) / lanes;
    rings->group_count = groups;
    rings->vertex = SN_NEW0(int, (size_t)groups *(size_t)lanes);
    rings->first = SN_NEW0(size_t, (size_t)groups + 1);
    rings->rest = sn_alloc_aligned(4 * (size_t)n, sizeof(double));
    if (!rings->vertex || !rings->first || !rings->rest) return sn_no_memory(error);
    for (int v = 0; v < n; v++) {
        memcpy(rings->rest + 4 * (size_t)v, s->rest + 3 * (size_t)v, 3 * sizeof(double));
        rings->rest[4 * (size_t)v + 3] = 0;
    }
    order_batches(s, rings->vertex);
    for (int g = 0; g < groups; g++)
        rings->first[g + 1] =
            rings->first[g] + (size_t)(valence(s, rings->vertex[g * lanes]) * lanes);
    size_t all = rings->first[groups];
    rings->neighbour = SN_NEW(int, all);
    rings->weight = sn_alloc_aligned(all, sizeof(float));
    if (mapped) rings->stretch = sn_alloc_aligned(all, sizeof(double));
    bool made = rings->neighbour && rings->weight && (!mapped || rings->stretch);
    for (int k = 0; k < SN_RING_CONSTANTS; k++) {
        rings->constant[k] = sn_alloc_aligned((size_t)groups * (size_t)lanes, sizeof(double));
        made = made && rings->constant[k];
    }
    if (!made) return sn_no_memory(error);
    for (int i = 0; i < groups * lanes; i++) fill_constants(p, i < n, rings->vertex[i], i, rings);
    for (int g = 0; g < groups; g++)
        for (size_t at = rings->first[g]; at < rings->first[g + 1]; at++) {
            int lane = (int)(at % (size_t)lanes), k = (int)(at - rings->first[g]) / lanes;
            int v = rings->vertex[g * lanes + lane], h = s->start[v] + k;
            bool inside = g * lanes + lane < n && h < s->start[v + 1];
            rings->neighbour[at] = inside ? s->neighbour[h] : v;
            rings->weight[at] = inside ? (float)s->neighbour_weight[h] : 0;
            if (mapped) rings->stretch[at] = inside ? p->stretch[s->edge[h]] : 0;
        }
    return SINEW_OK;
}

static void free_rings(sn_rings *r) {
    sn_free(r->vertex), sn_free(r->first), sn_free(r->neighbour);
    sn_free_aligned(r->rest), sn_free_aligned(r->weight), sn_free_aligned(r->stretch);
    for (int k = 0; k < SN_RING_CONSTANTS; k++) sn_free_aligned(r->constant[k]);
}

sinew_status sn_potentials_create(const sn_skin *skin, const sinew_force_options *options,
                                  sn_potentials **potentials, sinew_error *error) {
    *potentials = NULL;
    size_t n = (size_t)skin->vertex_count, edges = (size_t)skin->edge_count;
    sn_potentials *made = SN_NEW0(sn_potentials, 1);
    if (!made) return sn_no_memory(error);
    made->skin = skin;
    made->position = SN_NEW(double, n);
    made->bending = SN_NEW(double, n);
    made->stretch = SN_NEW(double, edges);
    if (!made->position || !made->bending || !made->stretch) {
        sn_potentials_destroy(made);
        return sn_no_memory(error);
    }
    double stretch = options->stretch_length * skin->diagonal;
    double bend = options->bend_length * skin->diagonal;
    made->overstretch = options->overstretch;
    made->stretches = stretch > 0;
    made->bends = bend > 0;
    for (size_t v = 0; v < n; v++) {
        made->position[v] = options->position * skin->area[v] *
                            (options->position_map ? options->position_map[v] : 1);
        made->bending[v] = bend * bend * bend * bend * skin->area[v] *
                           (options->bend_map ? options->bend_map[v] : 1);
    }
    made->rings.stiffness = stretch * stretch / skin->mean_area;
    for (size_t e = 0; e < edges; e++)
        made->stretch[e] =
            made->rings.stiffness * skin->weight[e] * stretch_factor(skin, options->stretch_map, e);
    sinew_status status = lay_out_rings(made, options->stretch_map, &made->rings, error);
    if (status != SINEW_OK) {
        sn_potentials_destroy(made);
        return status;
    }
    *potentials = made;
    return SINEW_OK;
}

void sn_potentials_destroy(sn_potentials *p) {
    if (!p) return;
    free_rings(&p->rings);
    sn_free(p->position), sn_free(p->stretch), sn_free(p->bending);
    sn_free(p);
}

static sinew_status diagonal_and_edges(const sn_potentials *p, const double *inertia,
                                       sn_sparse **matrix, sinew_error *error) {
    const sn_skin *s = p->skin;
    sn_triplets t;
    SN_TRY(sn_triplets_create(s->vertex_count, s->vertex_count,
                              (size_t)s->vertex_count + 3 * (size_t)s->edge_count, &t, error));
    bool ok = true;
    for (int v = 0; ok && v < s->vertex_count; v++)
        ok = sn_triplets_add(&t, v, v, s->fixed[v] ? 1 : inertia[v] + p->position[v]);
    for (int e = 0; ok && e < s->edge_count; e++) {
        int i = s->edges[2 * (size_t)e], j = s->edges[2 * (size_t)e + 1];
        double k = p->stretch[e] * (1 + p->overstretch);
        if (!s->fixed[i]) ok = sn_triplets_add(&t, i, i, k);
        if (ok && !s->fixed[j]) ok = sn_triplets_add(&t, j, j, k);
        if (ok && !s->fixed[i] && !s->fixed[j]) ok = sn_triplets_add(&t, j, i, -k);
    }
    sinew_status status =
        ok ? sn_sparse_from_triplets(&t, true, matrix, error) : sn_no_memory(error);
    sn_triplets_free(&t);
    return status;
}

sinew_status sn_potentials_matrix(const sn_potentials *p, const double *inertia, sn_sparse **matrix,
                                  sinew_error *error) {
    *matrix = NULL;
    sn_sparse *rest = NULL, *laplacian = NULL, *bending = NULL;
    sinew_status status = diagonal_and_edges(p, inertia, &rest, error);
    if (status == SINEW_OK && !p->bends) {
        *matrix = rest;
        return SINEW_OK;
    }
    if (status == SINEW_OK) status = sn_skin_laplacian(p->skin, &laplacian, error);
    if (status == SINEW_OK) status = sn_sparse_gram(laplacian, p->bending, &bending, error);
    if (status == SINEW_OK) status = sn_sparse_combine(1, rest, 1, bending, matrix, error);
    sn_sparse_destroy(rest), sn_sparse_destroy(laplacian), sn_sparse_destroy(bending);
    return status;
}

/* ---- forces ---------------------------------------------------------------------------------- */

typedef double lanes __attribute__((vector_size(SN_RING_LANES * sizeof(double)), may_alias));
typedef float thin
    __attribute__((vector_size(SN_RING_LANES * sizeof(float)), may_alias, aligned(4)));

/* A vertex of x or bend, wherever the caller's array lies. */
typedef double point __attribute__((vector_size(4 * sizeof(double)), may_alias, aligned(8)));
typedef double pair __attribute__((vector_size(2 * sizeof(double)), may_alias, aligned(8)));

/* One instruction where the compiler would make four. */
SN_ALWAYS_INLINE lanes widen(thin a) {
#ifdef __AVX__
    return (lanes)_mm256_cvtps_pd((__m128)a);
#else
    return __builtin_convertvector(a, lanes);
#endif
}

SN_ALWAYS_INLINE lanes larger(lanes a, double b) {
    for (int i = 0; i < SN_RING_LANES; i++) a[i] = a[i] > b ? a[i] : b;
    return a;
}

SN_ALWAYS_INLINE lanes smaller(lanes a, double b) {
    for (int i = 0; i < SN_RING_LANES; i++) a[i] = a[i] < b ? a[i] : b;
    return a;
}

/* The coordinates of four vertices, of 4 numbers each, side by side. */
SN_ALWAYS_INLINE void gather(const double *x, const int *v, lanes at[3]) {
    const point *at_vertex = (const point *)x;
    lanes a = at_vertex[v[0]], b = at_vertex[v[1]], c = at_vertex[v[2]], d = at_vertex[v[3]];
    lanes ab = __builtin_shufflevector(a, b, 0, 4, 2, 6);
    lanes cd = __builtin_shufflevector(c, d, 0, 4, 2, 6);
    lanes ab_y = __builtin_shufflevector(a, b, 1, 5, 3, 7);
    lanes cd_y = __builtin_shufflevector(c, d, 1, 5, 3, 7);
    at[0] = __builtin_shufflevector(ab, cd, 0, 1, 4, 5);
    at[1] = __builtin_shufflevector(ab_y, cd_y, 0, 1, 4, 5);
    at[2] = __builtin_shufflevector(ab, cd, 2, 3, 6, 7);
}

/* The way back: four points from their coordinates side by side. */
SN_ALWAYS_INLINE void separate(const lanes at[3], point points[SN_RING_LANES]) {
    lanes none = {0};
    lanes ac = __builtin_shufflevector(at[0], at[1], 0, 4, 2, 6);
    lanes bd = __builtin_shufflevector(at[0], at[1], 1, 5, 3, 7);
    lanes ac_z = __builtin_shufflevector(at[2], none, 0, 4, 2, 6);
    lanes bd_z = __builtin_shufflevector(at[2], none, 1, 5, 3, 7);
    points[0] = __builtin_shufflevector(ac, ac_z, 0, 1, 4, 5);
    points[1] = __builtin_shufflevector(bd, bd_z, 0, 1, 4, 5);
    points[2] = __builtin_shufflevector(ac, ac_z, 2, 3, 6, 7);
    points[3] = __builtin_shufflevector(bd, bd_z, 2, 3, 6, 7);
}

/* forces += at, for the first `count` vertices v */
SN_ALWAYS_INLINE void add_to(double *forces, const int *v, int count, const lanes at[3]) {
    point points[SN_RING_LANES];
    separate(at, points);
    for (int i = 0; i < SN_RING_LANES && i < count; i++) {
        double *to = forces + 3 * (size_t)v[i];
        *(pair *)to += __builtin_shufflevector(points[i], points[i], 0, 1);
        to[2] += points[i][2];
    }
}

/* 1 / sqrt(a) for a in the range of a float: from a guess y the series of (a y^2)^-1/2 at 1. With a
 * guess of 14 bits three terms leave 1e-16. */
SN_ALWAYS_INLINE lanes inverse_root(lanes a) {
#ifdef __AVX512VL__
    lanes y = (lanes)_mm256_rsqrt14_pd((__m256d)a);
#else
    float guess[SN_RING_LANES];
    *(thin *)guess = __builtin_convertvector(a, thin);
    for (int i = 0; i < SN_RING_LANES; i++) guess[i] = 1 / sqrtf(guess[i]);
    lanes y = widen(*(thin *)guess);
#endif
    lanes off = 1 - a * y * y;
    return y + y * off * (0.5 + off * (0.375 + off * 0.3125));
}

/* Rest length over length, from their squares; over_square: 1 / diagonal^2. Edges shorter than 1e-9
 * of the diagonal have no direction; what comes out for them is finite. */
SN_ALWAYS_INLINE lanes length_ratio(lanes square, lanes rest, double over_square) {
    lanes scaled = rest * over_square;
    return scaled * inverse_root(larger(square * over_square * scaled, 1e-36));
}

/* What the rings of a batch add up to: entry k of S is [k][i]. */
typedef struct ring_sums {
    double S[9][SN_RING_BATCH], bound[SN_RING_BATCH], laplacian[3][SN_RING_BATCH];
} ring_sums;

/* Entries of rings whose sums are made before their tensions: these wait for a root, and a
 * processor that looks ahead by so many instructions only would wait along. */
enum { RING_CHUNK = 8 };
typedef struct ring_entry {
    lanes e[3], square, rest_square;
} ring_entry;

/* Lane i of the group: S = sum w e e0^T with half of sum w (|e|^2 + |e0|^2), sum w e; the forces of
 * place and edges are added to `forces` (may be NULL). */
SN_ALWAYS_INLINE void sum_rings(const sn_potentials *p, const double *x, int group, int i,
                                const bool stretches, const bool bends, const bool mapped,
                                ring_sums *sums, double *forces) {
    const sn_rings *r = &p->rings;
    const int *self = r->vertex + group * SN_RING_LANES;
    double over_square = 1 / (p->skin->diagonal * p->skin->diagonal);
    lanes own[3], own_rest[3], laplacian[3] = {{0}}, pull[3], m[9] = {{0}}, size = {0};
    gather(x, self, own);
    gather(r->rest, self, own_rest);
    lanes place = *(const lanes *)(r->constant[0] + group * SN_RING_LANES);
    for (int a = 0; a < 3; a++) pull[a] = place * (own_rest[a] - own[a]);
    size_t end = r->first[group + 1];
    for (size_t begin = r->first[group], next; begin < end; begin = next) {
        ring_entry entries[RING_CHUNK], *entry = entries;
        next = end - begin < RING_CHUNK * SN_RING_LANES ? end : begin + RING_CHUNK * SN_RING_LANES;
        for (size_t at = begin; at < next; at += SN_RING_LANES, entry++) {
            lanes rest[3], *e = entry->e, w = widen(*(const thin *)(r->weight + at));
            gather(x, r->neighbour + at, e);
            gather(r->rest, r->neighbour + at, rest);
            for (int a = 0; a < 3; a++) e[a] = own[a] - e[a], rest[a] = own_rest[a] - rest[a];
            entry->square = e[0] * e[0] + e[1] * e[1] + e[2] * e[2];
            entry->rest_square = rest[0] * rest[0] + rest[1] * rest[1] + rest[2] * rest[2];
            if (!bends) continue;
            size += w * (entry->square + entry->rest_square);
            for (int b = 0; b < 3; b++) {
                lanes along = w * rest[b];
                laplacian[b] += w * e[b];
                for (int a = 0; a < 3; a++) m[3 * a + b] += e[a] * along;
            }
        }
        entry = entries;
        for (size_t at = begin; stretches && at < next; at += SN_RING_LANES, entry++) {
            lanes ratio = length_ratio(entry->square, entry->rest_square, over_square);
            lanes beyond = smaller(SINEW_FORCE_OVERSTRETCH_FROM * ratio - 1, 0);
            lanes k = r->stiffness * widen(*(const thin *)(r->weight + at));
            if (mapped) k = *(const lanes *)(r->stretch + at);
            lanes tension = k * (ratio - 1 + p->overstretch * beyond);
            for (int a = 0; a < 3; a++) pull[a] += tension * entry->e[a];
        }
    }
    for (int k = 0; bends && k < 9; k++) *(lanes *)(sums->S[k] + i) = m[k];
    for (int a = 0; bends && a < 3; a++) *(lanes *)(sums->laplacian[a] + i) = laplacian[a];
    if (bends) *(lanes *)(sums->bound + i) = 0.5 * size;
    if (forces) add_to(forces, self, p->skin->vertex_count - group * SN_RING_LANES, pull);
}

/* Place and stretch of the batch that starts with group `first`, added to forces (may be NULL); and
 * its bending before it is shared with the neighbors, g_v = k_v / A_v (R_v c_v - (L x)_v / A_v),
 * into bend, 4 per vertex. */
SN_ALWAYS_INLINE void strain_batch(const sn_potentials *p, const double *x, int first,
                                   const bool stretches, const bool bends, const bool mapped,
                                   double *forces, double *bend) {
    int n = p->skin->vertex_count, groups = p->rings.group_count - first;
    if (groups > SN_RING_BATCH / SN_RING_LANES) groups = SN_RING_BATCH / SN_RING_LANES;
    ring_sums sums __attribute__((aligned(64)));
    for (int g = 0; g < groups; g++)
        sum_rings(p, x, first + g, g * SN_RING_LANES, stretches, bends, mapped, &sums, forces);
    if (!bends) return;
    const lanes *c[SN_RING_CONSTANTS];
    for (int k = 0; k < SN_RING_CONSTANTS; k++) c[k] = (const lanes *)p->rings.constant[k] + first;
    double turned[3][SN_RING_BATCH] __attribute__((aligned(64)));
    for (int a = 0; a < 3; a++) memcpy(turned[a], c[2 + a], sizeof(lanes) * (size_t)groups);
    sn_ring_rotate(groups * SN_RING_LANES, (const double(*)[SN_RING_BATCH])sums.S, sums.bound,
                   turned);
    for (int g = 0; g < groups; g++) {
        const int *vertex = p->rings.vertex + (first + g) * SN_RING_LANES;
        lanes at[3];
        point points[SN_RING_LANES];
        for (int a = 0; a < 3; a++)
            at[a] = ((lanes *)turned[a])[g] - c[1][g] * ((lanes *)sums.laplacian[a])[g];
        separate(at, points);
        for (int i = 0; i < SN_RING_LANES && (first + g) * SN_RING_LANES + i < n; i++)
            ((point *)bend)[vertex[i]] = points[i];
    }
}

typedef struct strain_batches_loop {
    const sn_potentials *p;
    const double *x;
    double *forces;
    double *bend;
} strain_batches_loop;

static void strain_batches(void *context, sn_span span) {
    const strain_batches_loop *loop = context;
    const sn_potentials *p = loop->p;
    const double *x = loop->x;
    double *forces = loop->forces;
    double *bend = loop->bend;
    int step = SN_RING_BATCH / SN_RING_LANES;
    bool mapped = p->rings.stretch;
    SN_IN_SPAN(int, b, span) {
        int first = b * step;
        if (p->stretches && p->bends && !mapped)
            strain_batch(p, x, first, true, true, false, forces, bend);
        else if (p->stretches && p->bends)
            strain_batch(p, x, first, true, true, true, forces, bend);
        else if (p->bends)
            strain_batch(p, x, first, false, true, false, forces, bend);
        else if (p->stretches)
            strain_batch(p, x, first, true, false, mapped, forces, bend);
        else
            strain_batch(p, x, first, false, false, false, forces, bend);
    }
}

/* The loops without the parts that a sheet does not have. */
static void strain(const sn_potentials *p, const double *x, double *forces, double *bend) {
    int step = SN_RING_BATCH / SN_RING_LANES;
    sn_parallel_for((p->rings.group_count + step - 1) / step, 1, strain_batches,
                    &(strain_batches_loop){p, x, forces, bend});
}

typedef struct share_groups_loop {
    const sn_potentials *p;
    const double *bend;
    double *forces;
} share_groups_loop;

static void share_groups(void *context, sn_span span) {
    const share_groups_loop *loop = context;
    const sn_potentials *p = loop->p;
    const double *bend = loop->bend;
    double *forces = loop->forces;
    const sn_rings *r = &p->rings;
    int n = p->skin->vertex_count;
    SN_IN_SPAN(int, g, span) {
        const int *self = r->vertex + g * SN_RING_LANES;
        lanes own[3], sum[3] = {{0}};
        gather(bend, self, own);
        for (size_t at = r->first[g]; at < r->first[g + 1]; at += SN_RING_LANES) {
            lanes w = widen(*(const thin *)(r->weight + at)), other[3];
            gather(bend, r->neighbour + at, other);
            for (int a = 0; a < 3; a++) sum[a] += w * (own[a] - other[a]);
        }
        add_to(forces, self, n - g * SN_RING_LANES, sum);
    }
}

/* forces += w (g_v - g_w) over the edges */
static void share_bending(const sn_potentials *p, const double *bend, double *forces) {
    sn_parallel_for(p->rings.group_count, 16, share_groups, &(share_groups_loop){p, bend, forces});
}

size_t sn_potentials_scratch(const sn_potentials *p) {
    return 8 * (size_t)p->skin->vertex_count;
}

void sn_potentials_add_forces(const sn_potentials *p, const double *x, double *bend,
                              double *forces) {
    strain(p, x, forces, bend);
    if (p->bends) share_bending(p, bend, forces);
}

static void pad(int n, const double *x, double *padded) {
    for (size_t v = 0; v < (size_t)n; v++) {
        memcpy(padded + 4 * v, x + 3 * v, 3 * sizeof(double));
        padded[4 * v + 3] = 0;
    }
}

void sn_potentials_forces(const sn_potentials *p, const double *x, double *scratch,
                          double *forces) {
    int n = p->skin->vertex_count;
    pad(n, x, scratch);
    memset(forces, 0, 3 * sizeof(double) * (size_t)n);
    sn_potentials_add_forces(p, scratch, scratch + 4 * (size_t)n, forces);
}

typedef struct find_tensions_loop {
    const sn_potentials *p;
    const double *x;
    double *tension;
} find_tensions_loop;

static void find_tensions(void *context, sn_span span) {
    const find_tensions_loop *loop = context;
    const sn_potentials *p = loop->p;
    const double *x = loop->x;
    double *tension = loop->tension;
    const sn_skin *s = p->skin;
    SN_IN_SPAN(int, e, span) {
        double length = sn_distance(sn_at(x, s->edges[2 * e]), sn_at(x, s->edges[2 * e + 1]));
        double ratio = length > 0 ? s->length[e] / length : 1;
        double beyond = fmin(SINEW_FORCE_OVERSTRETCH_FROM * ratio - 1, 0);
        tension[e] = p->stretch[e] * (ratio - 1 + p->overstretch * beyond);
    }
}

const double *sn_potentials_strains(const sn_potentials *p, const double *x, double *scratch,
                                    double *tension) {
    const sn_skin *s = p->skin;
    double *bend = scratch + 4 * (size_t)s->vertex_count;
    pad(s->vertex_count, x, scratch);
    if (p->bends)
        strain(p, scratch, NULL, bend);
    else
        memset(bend, 0, 4 * sizeof(double) * (size_t)s->vertex_count);
    sn_parallel_for(s->edge_count, 256, find_tensions, &(find_tensions_loop){p, x, tension});
    return bend;
}
