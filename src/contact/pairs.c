/* Based on: additive continuous collision detection (Li, Kaufman and Jiang 2021, Codimensional
 * incremental potential contact); nearest points after Ericson 2005.
 * We differ in: a least distance that survives rounding to floats, and ways shortened per vertex
 * instead of for the whole shape, so that lips that press do not stop the brows. */
#include "contact/pairs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/threads.h"
#include "mesh/closest.h"
#include "mesh/intersection.h"
#include "mesh/topology.h"

/* Share of the free distance that an advance may use up. */
#define ADVANCE 0.9
/* The rest of the free distance at which an advance stops. */
#define STOP 0.1
enum { MOST_ADVANCES = 200, MOST_ROUNDS = 40 };

/* ---- the surface ----------------------------------------------------------------------------- */

static void choose_triangles(sn_contact_surface *s, int triangle_count, const int *triangles,
                             const bool *inside, const bool *crossing) {
    for (int t = 0; t < triangle_count; t++) {
        const int *v = triangles + 3 * (size_t)t;
        if (inside && !(inside[v[0]] && inside[v[1]] && inside[v[2]])) continue;
        if (v[0] == v[1] || v[1] == v[2] || v[2] == v[0]) continue;
        if (crossing[t]) {
            s->dropped++;
            continue;
        }
        memcpy(s->triangles + 3 * (size_t)s->triangle_count++, v, 3 * sizeof(int));
    }
}

static sinew_status list_parts(sn_contact_surface *s, sinew_error *error) {
    sn_edges edges = {0};
    SN_TRY(sn_edges_of_triangles(s->triangle_count, s->triangles, &edges, error));
    s->edge_count = edges.count;
    s->edges = edges.vertices;
    bool *used = SN_NEW0(bool, s->vertex_count);
    s->points = SN_NEW(int, s->vertex_count);
    if (used && s->points) {
        for (int i = 0; i < 3 * s->triangle_count; i++) used[s->triangles[i]] = true;
        for (int v = 0; v < s->vertex_count; v++)
            if (used[v]) s->points[s->point_count++] = v;
    }
    bool complete = used && s->points;
    sn_free(used);
    return complete ? SINEW_OK : sn_no_memory(error);
}

sinew_status sn_contact_surface_create(int vertex_count, const double *rest, int triangle_count,
                                       const int *triangles, const bool *inside, double gap,
                                       sn_contact_surface **surface, sinew_error *error) {
    *surface = NULL;
    sn_contact_surface *s = SN_NEW0(sn_contact_surface, 1);
    if (!s) return sn_no_memory(error);
    s->vertex_count = vertex_count;
    s->gap = gap, s->reach = SN_CONTACT_REACH * gap;
    s->rest = sn_memdup(rest, 3 * (size_t)vertex_count, sizeof(double));
    s->triangles = SN_NEW(int, 3 * (size_t)triangle_count);
    bool *crossing = SN_NEW0(bool, triangle_count);
    sn_pairs cross = {0};
    sinew_status status = s->rest && s->triangles && crossing ? SINEW_OK : sn_no_memory(error);
    if (status == SINEW_OK)
        status = sn_self_intersections(vertex_count, rest, triangle_count, triangles, NULL, &cross,
                                       error);
    if (status == SINEW_OK) {
        for (int i = 0; i < 2 * cross.count; i++) crossing[cross.pair[i]] = true;
        choose_triangles(s, triangle_count, triangles, inside, crossing);
        status = list_parts(s, error);
    }
    sn_pairs_free(&cross);
    sn_free(crossing);
    if (status != SINEW_OK) {
        sn_contact_surface_destroy(s);
        return status;
    }
    *surface = s;
    return SINEW_OK;
}

void sn_contact_surface_destroy(sn_contact_surface *s) {
    if (!s) return;
    sn_free(s->triangles), sn_free(s->edges), sn_free(s->points), sn_free(s->rest);
    sn_free(s);
}

/* ---- distances ------------------------------------------------------------------------------- */

static double clamp01(double t) {
    return t < 0 ? 0 : t > 1 ? 1 : t;
}

/* Parameters of the nearest points of segments a + s u and b + t v. */
static void nearest_on_segments(sn_vec3 a, sn_vec3 u, sn_vec3 b, sn_vec3 v, double *s, double *t) {
    sn_vec3 r = sn_sub(a, b);
    double uu = sn_dot(u, u), vv = sn_dot(v, v), uv = sn_dot(u, v);
    double ur = sn_dot(u, r), vr = sn_dot(v, r), below = uu * vv - uv * uv;
    if (!(uu > 0)) {
        *s = 0, *t = vv > 0 ? clamp01(vr / vv) : 0;
        return;
    }
    if (!(vv > 0)) {
        *t = 0, *s = clamp01(-ur / uu);
        return;
    }
    *s = below > 1e-14 * uu * vv ? clamp01((uv * vr - ur * vv) / below) : 0;
    *t = (uv * *s + vr) / vv;
    if (*t < 0)
        *t = 0, *s = clamp01(-ur / uu);
    else if (*t > 1)
        *t = 1, *s = clamp01((uv - ur) / uu);
}

static double distance_of(bool edges, const sn_vec3 p[4], double weight[4], sn_vec3 *apart) {
    if (edges) {
        sn_vec3 u = sn_sub(p[1], p[0]), v = sn_sub(p[3], p[2]);
        double s, t;
        nearest_on_segments(p[0], u, p[2], v, &s, &t);
        weight[0] = 1 - s, weight[1] = s, weight[2] = t - 1, weight[3] = -t;
        *apart = sn_sub(sn_add_scaled(p[0], s, u), sn_add_scaled(p[2], t, v));
    } else {
        double b[3];
        sn_vec3 near = sn_closest_on_triangle(p[0], p[1], p[2], p[3], b);
        weight[0] = 1, weight[1] = -b[0], weight[2] = -b[1], weight[3] = -b[2];
        *apart = sn_sub(p[0], near);
    }
    return sn_length(*apart);
}

double sn_contact_distance(const sn_contact_pair *pair, const double *x, double weight[4],
                           sn_vec3 *normal) {
    sn_vec3 p[4], apart;
    for (int i = 0; i < 4; i++) p[i] = sn_at(x, pair->v[i]);
    double distance = distance_of(pair->edges, p, weight, &apart);
    *normal = sn_normalize(apart);
    return distance;
}

/* No point of the pair moves faster, relative to the mean motion, than the sum of the largest
 * motions of its two parts: the distance shrinks at most at that rate, and an advance by 0.9 of
 * (distance - reach) / rate is safe. */
double sn_contact_impact(const sn_contact_pair *pair, const double *x0, const double *x1,
                         double reach) {
    sn_vec3 p[4], move[4], mean = {0, 0, 0}, apart;
    double weight[4], first = 0, second = 0;
    for (int i = 0; i < 4; i++) {
        p[i] = sn_at(x0, pair->v[i]);
        move[i] = sn_sub(sn_at(x1, pair->v[i]), p[i]);
        mean = sn_add_scaled(mean, 0.25, move[i]);
    }
    for (int i = 0; i < 4; i++) {
        move[i] = sn_sub(move[i], mean);
        double length = sn_length(move[i]);
        if (i < (pair->edges ? 2 : 1))
            first = fmax(first, length);
        else
            second = fmax(second, length);
    }
    double rate = first + second;
    if (!(rate > 0)) return 1;
    double free = distance_of(pair->edges, p, weight, &apart) - reach;
    if (!(free > 0)) { /* too near from the start: it may only part */
        sn_vec3 end[4];
        for (int i = 0; i < 4; i++) end[i] = sn_add(p[i], move[i]);
        return distance_of(pair->edges, end, weight, &apart) - reach > free ? 1 : 0;
    }
    double stop = STOP * free, at = 0;
    for (int k = 0; k < MOST_ADVANCES; k++) {
        double advance = ADVANCE * free / rate;
        if (at + advance >= 1) return 1;
        sn_vec3 q[4];
        for (int i = 0; i < 4; i++) q[i] = sn_add_scaled(p[i], at + advance, move[i]);
        free = distance_of(pair->edges, q, weight, &apart) - reach;
        if (!(free > 0)) return at; /* rounding */
        at += advance;
        if (free < stop) return at;
    }
    return at;
}

/* ---- who comes near whom --------------------------------------------------------------------- */

typedef struct box {
    double low[3], high[3];
    int item;
} box;

struct sn_contact_work {
    box *points, *edges, *triangles;
    sn_contact_pair *pairs;
    size_t count, capacity;
    double *target; /* 3 per vertex: the full way while it is cut back */
    double *share;  /* per vertex: what is left of its way */
};

sinew_status sn_contact_work_create(const sn_contact_surface *s, sn_contact_work **work,
                                    sinew_error *error) {
    *work = NULL;
    sn_contact_work *w = SN_NEW0(sn_contact_work, 1);
    if (!w) return sn_no_memory(error);
    w->points = SN_NEW(box, s->point_count);
    w->edges = SN_NEW(box, s->edge_count);
    w->triangles = SN_NEW(box, s->triangle_count);
    w->target = SN_NEW(double, 3 * (size_t)s->vertex_count);
    w->share = SN_NEW(double, s->vertex_count);
    if (!w->points || !w->edges || !w->triangles || !w->target || !w->share ||
        !SN_RESERVE(w->pairs, w->capacity, 1024)) {
        sn_contact_work_destroy(w);
        return sn_no_memory(error);
    }
    *work = w;
    return SINEW_OK;
}

void sn_contact_work_destroy(sn_contact_work *w) {
    if (!w) return;
    sn_free(w->points), sn_free(w->edges), sn_free(w->triangles), sn_free(w->pairs);
    sn_free(w->target), sn_free(w->share);
    sn_free(w);
}

static void sweep_box(box *b, int item, int corners, const int *v, const double *x0,
                      const double *x1, double margin) {
    b->item = item;
    for (int a = 0; a < 3; a++) b->low[a] = INFINITY, b->high[a] = -INFINITY;
    for (int c = 0; c < corners; c++)
        for (int a = 0; a < 3; a++) {
            double p = x0[3 * (size_t)v[c] + (size_t)a], q = x1[3 * (size_t)v[c] + (size_t)a];
            b->low[a] = fmin(b->low[a], fmin(p, q) - margin);
            b->high[a] = fmax(b->high[a], fmax(p, q) + margin);
        }
}

static int by_low(const void *a, const void *b) {
    const box *p = a, *q = b;
    if (p->low[0] != q->low[0]) return p->low[0] < q->low[0] ? -1 : 1;
    return (p->item > q->item) - (p->item < q->item);
}

static bool overlap(const box *a, const box *b) {
    return a->low[0] <= b->high[0] && b->low[0] <= a->high[0] && a->low[1] <= b->high[1] &&
           b->low[1] <= a->high[1] && a->low[2] <= b->high[2] && b->low[2] <= a->high[2];
}

static sinew_status add_pair(const sn_contact_surface *s, sn_contact_work *w, sn_contact_pair pair,
                             sinew_error *error) {
    int first = pair.edges ? 2 : 1;
    for (int i = 0; i < first; i++)
        for (int j = first; j < 4; j++)
            if (pair.v[i] == pair.v[j]) return SINEW_OK;
    double weight[4];
    sn_vec3 normal;
    if (sn_contact_distance(&pair, s->rest, weight, &normal) <= s->gap) return SINEW_OK;
    if (!SN_RESERVE(w->pairs, w->capacity, w->count + 1)) return sn_no_memory(error);
    w->pairs[w->count++] = pair;
    return SINEW_OK;
}

static sn_contact_pair pair_of(const sn_contact_surface *s, bool edges, int a, int b) {
    sn_contact_pair pair = {.edges = edges};
    if (edges) {
        int first = a < b ? a : b, second = a < b ? b : a;
        memcpy(pair.v, s->edges + 2 * (size_t)first, 2 * sizeof(int));
        memcpy(pair.v + 2, s->edges + 2 * (size_t)second, 2 * sizeof(int));
    } else {
        pair.v[0] = s->points[a];
        memcpy(pair.v + 1, s->triangles + 3 * (size_t)b, 3 * sizeof(int));
    }
    return pair;
}

sinew_status sn_contact_find(const sn_contact_surface *s, sn_contact_work *w, const double *x0,
                             const double *x1, double margin, const sn_contact_pair **pairs,
                             int *count, sinew_error *error) {
    double half = 0.5 * margin;
    for (int i = 0; i < s->point_count; i++)
        sweep_box(&w->points[i], i, 1, s->points + i, x0, x1, half);
    for (int i = 0; i < s->edge_count; i++)
        sweep_box(&w->edges[i], i, 2, s->edges + 2 * (size_t)i, x0, x1, half);
    for (int i = 0; i < s->triangle_count; i++)
        sweep_box(&w->triangles[i], i, 3, s->triangles + 3 * (size_t)i, x0, x1, half);
    qsort(w->points, (size_t)s->point_count, sizeof(box), by_low);
    qsort(w->edges, (size_t)s->edge_count, sizeof(box), by_low);
    qsort(w->triangles, (size_t)s->triangle_count, sizeof(box), by_low);
    w->count = 0;
    /* sorted along x, only boxes that start before this one ends can overlap it */
    for (int i = 0; i < s->edge_count; i++)
        for (int j = i + 1; j < s->edge_count && w->edges[j].low[0] <= w->edges[i].high[0]; j++)
            if (overlap(&w->edges[i], &w->edges[j]))
                SN_TRY(add_pair(s, w, pair_of(s, true, w->edges[i].item, w->edges[j].item), error));
    int from = 0;
    double widest = 0;
    for (int i = 0; i < s->triangle_count; i++)
        widest = fmax(widest, w->triangles[i].high[0] - w->triangles[i].low[0]);
    for (int i = 0; i < s->point_count; i++) {
        const box *p = &w->points[i];
        while (from < s->triangle_count && w->triangles[from].low[0] + widest < p->low[0]) from++;
        for (int j = from; j < s->triangle_count && w->triangles[j].low[0] <= p->high[0]; j++)
            if (overlap(p, &w->triangles[j]))
                SN_TRY(add_pair(s, w, pair_of(s, false, p->item, w->triangles[j].item), error));
    }
    *pairs = w->pairs;
    *count = (int)w->count;
    return SINEW_OK;
}

/* ---- the way that is free -------------------------------------------------------------------- */

static void place(const sn_contact_surface *s, const sn_contact_work *w, int v, const double *x0,
                  double *x1) {
    (void)s;
    for (size_t a = 3 * (size_t)v; a < 3 * (size_t)v + 3; a++)
        x1[a] = w->share[v] >= 1 ? w->target[a] : x0[a] + w->share[v] * (w->target[a] - x0[a]);
}

/* Shares only shrink, and a share of zero is the free shape x0: the rounds end. The boxes of the
 * full way hold every shortened one, so one search serves all rounds. */
sinew_status sn_contact_cut_back(const sn_contact_surface *s, sn_contact_work *w, const double *x0,
                                 double *x1, double *cut, sinew_error *error) {
    const sn_contact_pair *pairs;
    int count;
    *cut = 1;
    SN_TRY(sn_contact_find(s, w, x0, x1, s->reach, &pairs, &count, error));
    memcpy(w->target, x1, 3 * sizeof(double) * (size_t)s->vertex_count);
    for (int v = 0; v < s->vertex_count; v++) w->share[v] = 1;
    for (int round = 0;; round++) {
        bool hit = false;
        for (int i = 0; i < count; i++) {
            double t = sn_contact_impact(&pairs[i], x0, x1, s->reach);
            if (t >= 1) continue;
            hit = true;
            for (int c = 0; c < 4; c++) {
                int v = pairs[i].v[c];
                /* little that is left is not worth another round */
                w->share[v] *= t < 0.05 || round > MOST_ROUNDS / 2 ? 0 : t;
                place(s, w, v, x0, x1);
                *cut = fmin(*cut, w->share[v]);
            }
        }
        if (!hit) return SINEW_OK;
        if (round < MOST_ROUNDS) continue;
        for (int i = 0; i < s->point_count; i++) {
            w->share[s->points[i]] = 0;
            place(s, w, s->points[i], x0, x1);
        }
        *cut = 0;
        return SINEW_OK;
    }
}
