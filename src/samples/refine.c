/* Sampling the Catmull-Clark surface of a cage.
 *
 * Based on: E. Catmull, J. Clark, "Recursively generated B-spline surfaces on arbitrary topological
 * meshes", 1978.
 * We differ in: the cage is refined until it is finer than wanted and then sampled bilinearly at
 * k x k cells per cage quad, so that sizes other than powers of four can be had. */
#include "samples/cage.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"

/* One level of refinement. Child c of quad q is quad 4 q + c: it has the corner c of q first, then
 * the middle of the edge to the next corner, the middle of q, the middle of the previous edge. */
typedef struct level {
    int channels, vertex_count, quad_count;
    double *values;
    int *quads;
} level;

/* Edges of a quad mesh: quad_edge[4 q + i] is the edge from corner i to the next. */
typedef struct edges {
    int count;
    int *ends;       /* 2 per edge, as its first quad sees it */
    int *edge_quads; /* 2 per edge; -1: boundary */
    int *quad_edge;
} edges;

static void edges_destroy(edges *e) {
    sn_free(e->ends);
    sn_free(e->edge_quads);
    sn_free(e->quad_edge);
    *e = (edges){0};
}

/* The edges found so far are kept in a list per lower end. */
static bool edges_create(int vertex_count, int quad_count, const int *quads, edges *e) {
    size_t corners = 4 * (size_t)quad_count;
    int *first = SN_NEW(int, vertex_count), *next = SN_NEW(int, corners);
    *e = (edges){.ends = SN_NEW(int, 2 * corners),
                 .edge_quads = SN_NEW(int, 2 * corners),
                 .quad_edge = SN_NEW(int, corners)};
    bool ok = first && next && e->ends && e->edge_quads && e->quad_edge;
    if (ok)
        for (int v = 0; v < vertex_count; v++) first[v] = -1;
    for (size_t k = 0; ok && k < corners; k++) {
        int a = quads[k], b = quads[(k & ~(size_t)3) | ((k + 1) & 3)];
        int low = a < b ? a : b, found = first[low];
        while (found >= 0 && !(e->ends[2 * found] == b && e->ends[2 * found + 1] == a))
            found = next[found];
        if (found < 0) {
            found = e->count++;
            e->ends[2 * found] = a, e->ends[2 * found + 1] = b;
            e->edge_quads[2 * found] = (int)(k / 4), e->edge_quads[2 * found + 1] = -1;
            next[found] = first[low], first[low] = found;
        } else {
            e->edge_quads[2 * found + 1] = (int)(k / 4);
        }
        e->quad_edge[k] = found;
    }
    sn_free(first);
    sn_free(next);
    if (!ok) edges_destroy(e);
    return ok;
}

static void level_destroy(level *l) {
    sn_free(l->values);
    sn_free(l->quads);
    *l = (level){0};
}

/* The new vertices: old ones first, then edges, then faces.
 *   face    mean of its corners
 *   edge    mean of its ends and its two faces; on a boundary the mean of its ends
 *   vertex  (F + 2 R + (n - 3) P) / n with F, R the means of its n faces and edge middles; on a
 *           boundary (6 P + both neighbors along it) / 8 */
static void new_values(const level *from, const edges *e, level *to, int *valence, bool *boundary) {
    size_t width = (size_t)from->channels;
    int old = from->vertex_count;
    double *edge_values = to->values + (size_t)old * width;
    double *face_values = edge_values + (size_t)e->count * width;
    memset(to->values, 0, (size_t)old * width * sizeof(double));
    for (int q = 0; q < from->quad_count; q++)
        for (size_t c = 0; c < width; c++) {
            double sum = 0;
            for (int i = 0; i < 4; i++)
                sum += from->values[(size_t)from->quads[4 * q + i] * width + c];
            face_values[(size_t)q * width + c] = sum / 4;
        }
    for (int k = 0; k < e->count; k++) {
        const double *a = from->values + (size_t)e->ends[2 * k] * width;
        const double *b = from->values + (size_t)e->ends[2 * k + 1] * width;
        bool rim = e->edge_quads[2 * k + 1] < 0;
        const double *f = face_values + (size_t)e->edge_quads[2 * k] * width;
        const double *g = rim ? f : face_values + (size_t)e->edge_quads[2 * k + 1] * width;
        for (size_t c = 0; c < width; c++)
            edge_values[(size_t)k * width + c] =
                rim ? (a[c] + b[c]) / 2 : (a[c] + b[c] + f[c] + g[c]) / 4;
        if (rim) boundary[e->ends[2 * k]] = boundary[e->ends[2 * k + 1]] = true;
    }
    for (int k = 0; k < e->count; k++) {
        bool rim = e->edge_quads[2 * k + 1] < 0;
        for (int side = 0; side < 2; side++) {
            int v = e->ends[2 * k + side], w = e->ends[2 * k + 1 - side];
            const double *p = from->values + (size_t)v * width;
            const double *o = from->values + (size_t)w * width;
            double *sum = to->values + (size_t)v * width;
            if (boundary[v]) {
                if (rim)
                    for (size_t c = 0; c < width; c++) sum[c] += o[c] / 8;
            } else {
                valence[v]++;
                for (size_t c = 0; c < width; c++) sum[c] += p[c] + o[c]; /* twice the middle */
            }
        }
    }
    for (int q = 0; q < from->quad_count; q++)
        for (int i = 0; i < 4; i++) {
            int v = from->quads[4 * q + i];
            if (boundary[v]) continue;
            for (size_t c = 0; c < width; c++)
                to->values[(size_t)v * width + c] += face_values[(size_t)q * width + c];
        }
    for (int v = 0; v < old; v++) {
        const double *p = from->values + (size_t)v * width;
        double n = valence[v], *sum = to->values + (size_t)v * width;
        for (size_t c = 0; c < width; c++)
            sum[c] = boundary[v] ? sum[c] + 0.75 * p[c] : (sum[c] / n + (n - 3) * p[c]) / n;
    }
}

static bool refine_once(const level *from, level *to) {
    edges e;
    if (!edges_create(from->vertex_count, from->quad_count, from->quads, &e)) return false;
    size_t width = (size_t)from->channels;
    int old = from->vertex_count;
    *to = (level){.channels = from->channels,
                  .vertex_count = old + e.count + from->quad_count,
                  .quad_count = 4 * from->quad_count};
    to->values = SN_NEW(double, (size_t)to->vertex_count *width);
    to->quads = SN_NEW(int, 4 * (size_t)to->quad_count);
    int *valence = SN_NEW0(int, old);
    bool *boundary = SN_NEW0(bool, old);
    bool ok = to->values && to->quads && valence && boundary;
    if (ok) {
        new_values(from, &e, to, valence, boundary);
        for (int q = 0; q < from->quad_count; q++)
            for (int i = 0; i < 4; i++) {
                int *child = to->quads + 4 * (4 * (size_t)q + (size_t)i);
                child[0] = from->quads[4 * q + i];
                child[1] = old + e.quad_edge[4 * q + i];
                child[2] = old + e.count + q;
                child[3] = old + e.quad_edge[4 * q + ((i + 3) & 3)];
            }
    } else {
        level_destroy(to);
    }
    sn_free(valence);
    sn_free(boundary);
    edges_destroy(&e);
    return ok;
}

/* The value at (u, v) of a cage quad, u from corner 0 to 1, v from corner 0 to 3: walk down to the
 * child that holds it. Child c's own axes are those of the parent turned by c quarter turns. */
static void sample(const level *l, int depth, int quad, double u, double v, double *values) {
    for (int d = 0; d < depth; d++) {
        double a = u, b = v;
        int child = a <= 0.5 ? (b <= 0.5 ? 0 : 3) : (b <= 0.5 ? 1 : 2);
        quad = 4 * quad + child;
        u = child == 0 ? 2 * a : child == 1 ? 2 * b : child == 2 ? 2 * (1 - a) : 2 * (1 - b);
        v = child == 0 ? 2 * b : child == 1 ? 2 * (1 - a) : child == 2 ? 2 * (1 - b) : 2 * a;
    }
    const int *at = l->quads + 4 * (size_t)quad;
    size_t width = (size_t)l->channels;
    const double weight[4] = {(1 - u) * (1 - v), u * (1 - v), u * v, (1 - u) * v};
    for (size_t c = 0; c < width; c++) {
        values[c] = 0;
        for (int k = 0; k < 4; k++) values[c] += weight[k] * l->values[(size_t)at[k] * width + c];
    }
}

/* Numbering of the fine vertices: cage points, then n - 1 along every edge from its first end, then
 * (n - 1)^2 inside every quad by rows. */
typedef struct numbering {
    int n, points, edge_count;
    const edges *e;
} numbering;

static int fine_index(const numbering *num, const int *quads, int q, int i, int j) {
    int n = num->n;
    bool u_end = i == 0 || i == n, v_end = j == 0 || j == n;
    if (u_end && v_end) return quads[4 * q + (j == 0 ? (i == 0 ? 0 : 1) : (i == 0 ? 3 : 2))];
    if (u_end || v_end) {
        int side = j == 0 ? 0 : i == n ? 1 : j == n ? 2 : 3;
        int along = side == 0 ? i : side == 1 ? j : side == 2 ? n - i : n - j;
        int edge = num->e->quad_edge[4 * q + side];
        if (num->e->ends[2 * edge] != quads[4 * q + side]) along = n - along;
        return num->points + edge * (n - 1) + along - 1;
    }
    return num->points + num->edge_count * (n - 1) + (q * (n - 1) + j - 1) * (n - 1) + i - 1;
}

static sinew_status allocate(const sn_cage *cage, const numbering *num, sn_fine *fine,
                             sinew_error *error) {
    int n = num->n;
    *fine = (sn_fine){.channels = cage->channels,
                      .vertex_count = num->points + num->edge_count * (n - 1) +
                                      cage->quad_count * (n - 1) * (n - 1),
                      .face_count = cage->quad_count * n * n};
    fine->values = SN_NEW(double, (size_t)fine->vertex_count *(size_t)cage->channels);
    fine->mirror = SN_NEW(int, fine->vertex_count);
    fine->quads = SN_NEW(int, 4 * (size_t)fine->face_count);
    fine->part = SN_NEW(int, fine->face_count);
    if (!fine->values || !fine->mirror || !fine->quads || !fine->part) {
        sn_fine_destroy(fine);
        return sn_no_memory(error);
    }
    return SINEW_OK;
}

/* sn_cage_mirror puts the image of quad q at q + half with corners 0, 3, 2, 1: (i, j) of the one is
 * (j, i) of the other. Quads on the mirror plane's both sides make the seam agree. */
static void fill(const sn_cage *cage, const level *l, int depth, const numbering *num,
                 sn_fine *fine) {
    int n = num->n, half = cage->quad_count / 2;
    size_t width = (size_t)cage->channels;
    bool mirrored = cage->point_count > 0 && cage->mirror[0] >= 0;
    for (int v = 0; v < fine->vertex_count; v++) fine->mirror[v] = -1;
    for (int q = 0; q < cage->quad_count; q++) {
        for (int j = 0; j <= n; j++)
            for (int i = 0; i <= n; i++) {
                int at = fine_index(num, cage->quads, q, i, j);
                sample(l, depth, q, (double)i / n, (double)j / n,
                       fine->values + (size_t)at * width);
                if (mirrored) {
                    int other = q < half ? q + half : q - half;
                    fine->mirror[at] = fine_index(num, cage->quads, other, j, i);
                }
            }
        for (int j = 0; j < n; j++)
            for (int i = 0; i < n; i++) {
                size_t f = (size_t)q * (size_t)(n * n) + (size_t)(j * n + i);
                fine->quads[4 * f] = fine_index(num, cage->quads, q, i, j);
                fine->quads[4 * f + 1] = fine_index(num, cage->quads, q, i + 1, j);
                fine->quads[4 * f + 2] = fine_index(num, cage->quads, q, i + 1, j + 1);
                fine->quads[4 * f + 3] = fine_index(num, cage->quads, q, i, j + 1);
                fine->part[f] = cage->part[q];
            }
    }
    for (int v = 0; v < fine->vertex_count; v++) { /* the left side is the model of the right */
        int w = fine->mirror[v];
        double *a = fine->values + (size_t)v * width;
        if (w == v) {
            a[0] = 0;
        } else if (w >= 0 && a[0] < 0) {
            memcpy(a, fine->values + (size_t)w * width, width * sizeof *a);
            a[0] = -a[0];
        }
    }
}

sinew_status sn_cage_refine(const sn_cage *cage, int cells, sn_fine *fine, sinew_error *error) {
    *fine = (sn_fine){0};
    if (cage->failed) return sn_no_memory(error);
    int depth = 1; /* at least one, so that the coarsest sampling is smooth too */
    while (1 << depth < cells) depth++;
    if (1 << depth != cells && depth < 4 && cells > 1) depth++;
    level current = {.channels = cage->channels,
                     .vertex_count = cage->point_count,
                     .quad_count = cage->quad_count,
                     .values =
                         sn_memdup(cage->values, (size_t)cage->point_count * (size_t)cage->channels,
                                   sizeof(double)),
                     .quads = sn_memdup(cage->quads, 4 * (size_t)cage->quad_count, sizeof(int))};
    bool ok = current.values && current.quads;
    for (int d = 0; d < depth && ok; d++) {
        level next;
        ok = refine_once(&current, &next);
        level_destroy(&current);
        if (ok) current = next;
    }
    edges e = {0};
    if (ok) ok = edges_create(cage->point_count, cage->quad_count, cage->quads, &e);
    sinew_status status = ok ? SINEW_OK : sn_no_memory(error);
    if (status == SINEW_OK) {
        numbering num = {cells, cage->point_count, e.count, &e};
        status = allocate(cage, &num, fine, error);
        if (status == SINEW_OK) fill(cage, &current, depth, &num, fine);
    }
    edges_destroy(&e);
    level_destroy(&current);
    return status;
}

int sn_cage_cells(const sn_cage *cage, int vertices) {
    if (cage->failed || cage->quad_count == 0) return 1;
    double cells = sqrt((double)vertices / cage->quad_count);
    int n = (int)(cells + 0.5);
    return n < 1 ? 1 : n;
}

void sn_fine_destroy(sn_fine *fine) {
    sn_free(fine->values);
    sn_free(fine->mirror);
    sn_free(fine->quads);
    sn_free(fine->part);
    *fine = (sn_fine){0};
}

sinew_status sn_fine_append(sn_fine *fine, const sn_fine *other, sinew_error *error) {
    size_t n = (size_t)fine->vertex_count, m = (size_t)other->vertex_count;
    size_t f = (size_t)fine->face_count, g = (size_t)other->face_count;
    size_t width = (size_t)fine->channels;
    sn_fine joined = {.channels = fine->channels,
                      .vertex_count = (int)(n + m),
                      .face_count = (int)(f + g),
                      .values = SN_NEW(double, (n + m) * width),
                      .mirror = SN_NEW(int, n + m),
                      .quads = SN_NEW(int, 4 * (f + g)),
                      .part = SN_NEW(int, f + g)};
    if (!joined.values || !joined.mirror || !joined.quads || !joined.part) {
        sn_fine_destroy(&joined);
        return sn_no_memory(error);
    }
    memcpy(joined.values, fine->values, n * width * sizeof(double));
    memcpy(joined.values + n * width, other->values, m * width * sizeof(double));
    memcpy(joined.mirror, fine->mirror, n * sizeof(int));
    memcpy(joined.quads, fine->quads, 4 * f * sizeof(int));
    memcpy(joined.part, fine->part, f * sizeof(int));
    memcpy(joined.part + f, other->part, g * sizeof(int));
    for (size_t v = 0; v < m; v++)
        joined.mirror[n + v] = other->mirror[v] < 0 ? -1 : other->mirror[v] + (int)n;
    for (size_t i = 0; i < 4 * g; i++) joined.quads[4 * f + i] = other->quads[i] + (int)n;
    sn_fine_destroy(fine);
    *fine = joined;
    return SINEW_OK;
}
