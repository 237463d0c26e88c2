/* Based on: Bouaziz et al. 2014, Projective dynamics, for the form of the potentials; the skin
 * model of blendforces.
 * We differ in: stiffnesses follow from lengths, so that a mesh of another size or resolution moves
 * alike. */
#include "force/potentials.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/threads.h"
#include "base/vec3.h"
#include "force/ring_rotation.h"

/* An edge takes the mean of its ends. */
static double stretch_factor(const sn_skin *skin, const double *map, size_t edge) {
    return map ? 0.5 * (map[skin->edges[2 * edge]] + map[skin->edges[2 * edge + 1]]) : 1;
}

static void fill_ring(const sn_skin *s, int v, size_t first, int length, sn_rings *rings) {
    sn_vec3 rest = sn_at(s->rest, v);
    double size = 0;
    for (int k = 0; k < length; k++) {
        size_t at = first + (size_t)k * SN_RING_LANES + (size_t)v % SN_RING_LANES;
        int h = s->start[v] + k;
        bool inside = h < s->start[v + 1];
        double w = inside ? s->neighbour_weight[h] : 0;
        rings->neighbour[at] = inside ? s->neighbour[h] : v;
        sn_vec3 edge = sn_sub(rest, sn_at(s->rest, rings->neighbour[at]));
        rings->weight[at] = w;
        rings->along[0][at] = w * edge.x, rings->along[1][at] = w * edge.y;
        rings->along[2][at] = w * edge.z;
        size += w * sn_dot(edge, edge);
    }
    rings->size[v] = size;
}

static sinew_status lay_out_rings(const sn_skin *s, sn_rings *rings, sinew_error *error) {
    int n = s->vertex_count, groups = (n + SN_RING_LANES - 1) / SN_RING_LANES;
    rings->first = SN_NEW0(size_t, (size_t)groups + 1);
    rings->size = SN_NEW(double, n);
    if (!rings->first || !rings->size) return sn_no_memory(error);
    for (int g = 0; g < groups; g++) {
        int longest = 0;
        for (int v = g * SN_RING_LANES; v < n && v < (g + 1) * SN_RING_LANES; v++)
            if (s->start[v + 1] - s->start[v] > longest) longest = s->start[v + 1] - s->start[v];
        rings->first[g + 1] = rings->first[g] + (size_t)longest * SN_RING_LANES;
    }
    size_t all = rings->first[groups];
    rings->neighbour = SN_NEW0(int, all);
    rings->weight = sn_alloc_aligned(all, sizeof(double));
    bool made = rings->neighbour && rings->weight;
    for (int a = 0; a < 3; a++) {
        rings->along[a] = sn_alloc_aligned(all, sizeof(double));
        made = made && rings->along[a];
    }
    if (!made) return sn_no_memory(error);
    memset(rings->weight, 0, all * sizeof(double));
    for (int a = 0; a < 3; a++) memset(rings->along[a], 0, all * sizeof(double));
    for (int v = 0; v < n; v++) {
        int g = v / SN_RING_LANES;
        fill_ring(s, v, rings->first[g],
                  (int)((rings->first[g + 1] - rings->first[g]) / SN_RING_LANES), rings);
    }
    return SINEW_OK;
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
    made->curvature = SN_NEW0(double, 3 * n);
    made->stretch = SN_NEW(double, edges);
    if (!made->position || !made->bending || !made->curvature || !made->stretch) {
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
        sn_vec3 x = sn_at(skin->rest, (int)v), sum = {0, 0, 0};
        for (int h = skin->start[v]; h < skin->start[v + 1]; h++)
            sum = sn_add_scaled(sum, skin->neighbour_weight[h],
                                sn_sub(x, sn_at(skin->rest, skin->neighbour[h])));
        sn_put(made->curvature, (int)v, sn_scale(1 / (skin->area[v] * skin->mean_area), sum));
    }
    for (size_t e = 0; e < edges; e++)
        made->stretch[e] = stretch * stretch / skin->mean_area * skin->weight[e] *
                           stretch_factor(skin, options->stretch_map, e);
    sinew_status status = made->bends ? lay_out_rings(skin, &made->rings, error) : SINEW_OK;
    if (status != SINEW_OK) {
        sn_potentials_destroy(made);
        return status;
    }
    *potentials = made;
    return SINEW_OK;
}

void sn_potentials_destroy(sn_potentials *p) {
    if (!p) return;
    sn_rings *r = &p->rings;
    sn_free(r->first), sn_free(r->neighbour), sn_free(r->size);
    sn_free_aligned(r->weight);
    for (int a = 0; a < 3; a++) sn_free_aligned(r->along[a]);
    sn_free(p->position), sn_free(p->stretch), sn_free(p->bending), sn_free(p->curvature);
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

size_t sn_potentials_scratch(const sn_potentials *p) {
    return (size_t)p->skin->edge_count + 3 * (size_t)p->skin->vertex_count;
}

/* tension[e]: the force on the first end is tension times (x_i - x_j). */
static void find_tensions(const sn_potentials *p, const double *restrict x,
                          double *restrict tension) {
    const sn_skin *s = p->skin;
    const int *restrict edges = s->edges;
    const double *restrict length = s->length, *restrict stretch = p->stretch;
    double over = p->overstretch;
#pragma omp parallel for simd num_threads(sn_threads()) schedule(static)
    for (int e = 0; e < s->edge_count; e++) {
        const double *a = x + 3 * edges[2 * e], *b = x + 3 * edges[2 * e + 1];
        double u = a[0] - b[0], v = a[1] - b[1], w = a[2] - b[2];
        /* a collapsed edge has no direction and gets no force */
        double inverse = 1 / sqrt(u * u + v * v + w * w + 1e-300);
        double ratio = length[e] * inverse;
        double limit = SINEW_FORCE_OVERSTRETCH_FROM * ratio;
        double extra = limit < 1 ? over * (limit - 1) : 0;
        tension[e] = inverse < 1e140 ? stretch[e] * (ratio - 1 + extra) : 0;
    }
}

typedef double lanes __attribute__((vector_size(SN_RING_LANES * sizeof(double)), may_alias));

/* Single loads: gather instructions are no quicker, and slow on some machines. */
static inline void gather(const double *x, const int *vertices, lanes at[3]) {
    const double *p = x + 3 * (size_t)vertices[0], *q = x + 3 * (size_t)vertices[1];
    const double *r = x + 3 * (size_t)vertices[2], *t = x + 3 * (size_t)vertices[3];
    for (int a = 0; a < 3; a++) at[a] = (lanes){p[a], q[a], r[a], t[a]};
}

/* Sums over the rings of the group that starts with vertex v: entry k of S is [k][i], of the
 * Laplacian now[a][i]. */
static void sum_rings(const sn_potentials *p, const double *x, int v, int count, int i,
                      double S[9][SN_RING_BATCH], double bound[SN_RING_BATCH],
                      double now[3][SN_RING_BATCH]) {
    const sn_rings *r = &p->rings;
    size_t from = r->first[v / SN_RING_LANES], to = r->first[v / SN_RING_LANES + 1];
    lanes own[3], sum[3] = {{0}}, m[9] = {{0}}, size = {0};
    int self[SN_RING_LANES];
    for (int l = 0; l < SN_RING_LANES; l++) self[l] = v + (l < count ? l : 0);
    gather(x, self, own);
    for (size_t at = from; at < to; at += SN_RING_LANES) {
        const int *neighbour = r->neighbour + at;
        const lanes w = *(const lanes *)(r->weight + at);
        lanes other[3], e[3];
        gather(x, neighbour, other);
        for (int a = 0; a < 3; a++) {
            e[a] = own[a] - other[a];
            sum[a] += w * e[a];
            size += w * e[a] * e[a];
        }
        for (int b = 0; b < 3; b++) {
            const lanes along = *(const lanes *)(r->along[b] + at);
            for (int a = 0; a < 3; a++) m[3 * a + b] += e[a] * along;
        }
    }
    for (int l = 0; l < count; l++) {
        for (int k = 0; k < 9; k++) S[k][i + l] = m[k][l];
        for (int a = 0; a < 3; a++) now[a][i + l] = sum[a][l];
        bound[i + l] = 0.5 * (size[l] + r->size[v + l]);
    }
}

/* pull[3 * i] of vertex v = first + i: g_v = k_v / A_v (R_v c_v - (L x)_v / A_v). `first` starts a
 * batch. */
static void find_bending(const sn_potentials *p, const double *x, int first, int count,
                         double *pull) {
    const sn_skin *s = p->skin;
    double S[9][SN_RING_BATCH] = {{0}}, bound[SN_RING_BATCH] = {0}, now[3][SN_RING_BATCH];
    for (int i = 0; i < count; i += SN_RING_LANES)
        sum_rings(p, x, first + i, count - i < SN_RING_LANES ? count - i : SN_RING_LANES, i, S,
                  bound, now);
    sn_ring_rotations(S, bound);
    for (int i = 0; i < count; i++) {
        int v = first + i;
        double over = 1 / (s->area[v] * s->mean_area), k = p->bending[v] * over;
        const double *c = p->curvature + 3 * (size_t)v;
        for (int a = 0; a < 3; a++)
            pull[3 * i + a] = k * (S[3 * a][i] * c[0] + S[3 * a + 1][i] * c[1] +
                                   S[3 * a + 2][i] * c[2] - over * now[a][i]);
    }
}

void sn_potentials_strains(const sn_potentials *p, const double *x, double *tension, double *pull) {
    int n = p->skin->vertex_count, batches = (n + SN_RING_BATCH - 1) / SN_RING_BATCH;
    if (p->stretches) find_tensions(p, x, tension);
    if (p->bends) {
#pragma omp parallel for num_threads(sn_threads()) schedule(static)
        for (int b = 0; b < batches; b++) {
            int first = b * SN_RING_BATCH;
            find_bending(p, x, first, n - first < SN_RING_BATCH ? n - first : SN_RING_BATCH,
                         pull + 3 * (size_t)first);
        }
    }
}

void sn_potentials_forces(const sn_potentials *p, const double *x, double *scratch,
                          double *forces) {
    const sn_skin *s = p->skin;
    int n = s->vertex_count;
    double *tension = scratch, *pull = scratch + s->edge_count;
    sn_potentials_strains(p, x, tension, pull);
#pragma omp parallel for num_threads(sn_threads()) schedule(static)
    for (int v = 0; v < n; v++) {
        sn_vec3 xv = sn_at(x, v);
        sn_vec3 f = sn_scale(p->position[v], sn_sub(sn_at(s->rest, v), xv));
        if (p->stretches)
            for (int h = s->start[v]; h < s->start[v + 1]; h++)
                f = sn_add_scaled(f, tension[s->edge[h]], sn_sub(xv, sn_at(x, s->neighbour[h])));
        if (p->bends) {
            sn_vec3 g = sn_at(pull, v);
            for (int h = s->start[v]; h < s->start[v + 1]; h++)
                f = sn_add_scaled(f, s->neighbour_weight[h],
                                  sn_sub(g, sn_at(pull, s->neighbour[h])));
        }
        sn_put(forces, v, f);
    }
}

double sn_potentials_energy(const sn_potentials *p, const double *x) {
    const sn_skin *s = p->skin;
    double sum = 0;
    for (int v = 0; v < s->vertex_count; v++) {
        sn_vec3 d = sn_sub(sn_at(x, v), sn_at(s->rest, v));
        sum += 0.5 * p->position[v] * sn_dot(d, d);
    }
    for (int e = 0; p->stretches && e < s->edge_count; e++) {
        double length =
            sn_distance(sn_at(x, s->edges[2 * (size_t)e]), sn_at(x, s->edges[2 * (size_t)e + 1]));
        double off = length - s->length[e];
        double beyond = fmax(length - SINEW_FORCE_OVERSTRETCH_FROM * s->length[e], 0);
        sum += 0.5 * p->stretch[e] * (off * off + p->overstretch * beyond * beyond);
    }
    for (int first = 0; p->bends && first < s->vertex_count; first += SN_RING_BATCH) {
        double pull[3 * SN_RING_BATCH];
        int count = s->vertex_count - first;
        if (count > SN_RING_BATCH) count = SN_RING_BATCH;
        find_bending(p, x, first, count, pull);
        for (int i = 0; i < count; i++) {
            double k = p->bending[first + i], area = s->area[first + i] * s->mean_area;
            sn_vec3 g = sn_at(pull, i);
            if (k > 0) sum += 0.5 * sn_dot(g, g) * area * area / k;
        }
    }
    return sum;
}
