/* Based on: additive continuous collision detection (Li, Kaufman and Jiang 2021, Codimensional
 * incremental potential contact); nearest points after Ericson 2005.
 * We differ in: a least distance that survives rounding to floats, and paths shortened per vertex
 * instead of for the whole shape, so that lips that press do not stop the brows; advances that also
 * use the plane between the nearest points, so that sliding costs few of them. */
#include "contact/pairs.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/monitor.h"
#include "base/parallel.h"
#include "contact/search.h"
#include "mesh/closest.h"
#include "mesh/embedded.h"
#include "mesh/intersection.h"
#include "mesh/topology.h"

/* Share of the free distance that an advance may use up. */
#define ADVANCE 0.9
/* Advances stop at this fraction of the reach above it, unless the pair is parting. */
#define STOP 0.1
enum { MOST_ADVANCES = 200, MOST_ROUNDS = 40 };
/* Of the reach: pairs nearer than this at rest touch. */
#define TOUCHING 1e-3
/* A search looks this much of the mean edge further than it was asked to, so that its pairs hold
 * for ways a little off, too. */
#define SLACK 0.05
/* Surfaces that lie exactly on each other at rest, up to this many, take part as they are. More of
 * them mean a damaged file: each pair of copies would cost, although it is exempt. */
enum { MOST_LAYERS = 8 };

/* ---- the surface ----------------------------------------------------------------------------- */

/* layer[t]: how many triangles before t lie exactly where it lies. */
static sinew_status count_layers(int vertex_count, const double *rest, int triangle_count,
                                 const int *triangles, int *layer, sinew_error *error) {
    size_t corners = 3 * (size_t)triangle_count;
    int *weld = SN_NEW(int, vertex_count), *corner = SN_NEW(int, corners), merged;
    int *first = SN_NEW(int, triangle_count), *seen = SN_NEW0(int, triangle_count);
    sinew_status status = weld && corner && first && seen
                              ? sn_weld(vertex_count, rest, 0, weld, &merged, error)
                              : sn_no_memory(error);
    if (status == SINEW_OK) {
        for (size_t c = 0; c < corners; c++) corner[c] = weld[triangles[c]];
        status = sn_equal_triangles(triangle_count, corner, first, error);
    }
    for (int t = 0; status == SINEW_OK && t < triangle_count; t++) layer[t] = seen[first[t]]++;
    sn_free(weld), sn_free(corner), sn_free(first), sn_free(seen);
    return status;
}

static void choose_triangles(sn_contact_surface *s, int triangle_count, const int *triangles,
                             const bool *inside, const bool *tangled, const int *layer) {
    for (int t = 0; t < triangle_count; t++) {
        const int *v = triangles + 3 * (size_t)t;
        if (inside && !(inside[v[0]] && inside[v[1]] && inside[v[2]])) continue;
        if (v[0] == v[1] || v[1] == v[2] || v[2] == v[0]) continue;
        if (tangled[v[0]] || tangled[v[1]] || tangled[v[2]] || layer[t] >= MOST_LAYERS) {
            s->dropped++;
            continue;
        }
        s->takes_part[t] = true;
        memcpy(s->triangles + 3 * (size_t)s->triangle_count++, v, 3 * sizeof(int));
    }
}

static sinew_status list_parts(sn_contact_surface *s, sinew_error *error) {
    sn_edges edges = {0};
    SN_TRY(sn_edges_of_triangles(s->triangle_count, s->triangles, &edges, error));
    s->edge_count = edges.count;
    s->edges = edges.vertices;
    s->points = SN_NEW(int, s->vertex_count);
    s->place = SN_NEW(int, s->vertex_count);
    if (!s->points || !s->place) return sn_no_memory(error);
    for (int v = 0; v < s->vertex_count; v++) s->place[v] = -1;
    for (int i = 0; i < 3 * s->triangle_count; i++) s->place[s->triangles[i]] = 0;
    for (int v = 0; v < s->vertex_count; v++)
        if (s->place[v] == 0) {
            s->place[v] = s->point_count;
            s->points[s->point_count++] = v;
        }
    double sum = 0;
    for (int e = 0; e < s->edge_count; e++)
        sum += sn_distance(sn_at(s->rest, s->edges[2 * (size_t)e]),
                           sn_at(s->rest, s->edges[2 * (size_t)e + 1]));
    s->slack = s->edge_count ? SLACK * sum / s->edge_count : 0;
    return SINEW_OK;
}

static sinew_status plant(const sn_contact_surface *s, int count, int corners, const int *vertices,
                          sn_hierarchy *tree, sinew_error *error) {
    double *centers = SN_NEW(double, 3 * (size_t)count);
    if (!centers) return sn_no_memory(error);
    for (int i = 0; i < count; i++) {
        sn_vec3 sum = {0, 0, 0};
        for (int c = 0; c < corners; c++)
            sum = sn_add(sum, sn_at(s->rest, vertices[(size_t)corners * (size_t)i + (size_t)c]));
        sn_put(centers, i, sn_scale(1.0 / corners, sum));
    }
    sinew_status status = sn_hierarchy_create(count, centers, tree, error);
    sn_free(centers);
    return status;
}

static sinew_status plant_trees(sn_contact_surface *s, sinew_error *error) {
    SN_TRY(plant(s, s->point_count, 1, s->points, &s->point_tree, error));
    SN_TRY(plant(s, s->edge_count, 2, s->edges, &s->edge_tree, error));
    return plant(s, s->triangle_count, 3, s->triangles, &s->triangle_tree, error);
}

/* Rigid pieces that cross each other are one body: corners of triangles are joined to sets. */
typedef struct body_search {
    int vertex_count, count, others;
    const double *rest;
    int *list;     /* 3 vertices each: `count` rigid triangles, then the others */
    int *triangle; /* their indices */
    int *root;     /* per vertex: another of its body, or itself */
} body_search;

static int find_root(int *root, int v) {
    while (root[v] != v) v = root[v] = root[root[v]];
    return v;
}

static void join_corners(body_search *b, int from, int to) {
    int first = find_root(b->root, b->list[3 * (size_t)from]);
    for (int c = 0; c < 3; c++)
        b->root[find_root(b->root, b->list[3 * (size_t)to + (size_t)c])] = first;
}

/* crossing: of rigid triangles, only of those that cross others than rigid ones. */
static sinew_status join_bodies(body_search *b, bool *crossing, sinew_error *error) {
    sn_pairs pairs = {0};
    const int *others = b->list + 3 * (size_t)b->count;
    for (int v = 0; v < b->vertex_count; v++) b->root[v] = v;
    for (int i = 0; i < b->count; i++) join_corners(b, i, i);
    SN_TRY(sn_self_intersections(b->vertex_count, b->rest, b->count, b->list, NULL, &pairs, error));
    for (int k = 0; k < pairs.count; k++) {
        join_corners(b, pairs.pair[2 * (size_t)k], pairs.pair[2 * (size_t)k + 1]);
        for (int c = 0; c < 2; c++) crossing[b->triangle[pairs.pair[2 * (size_t)k + c]]] = false;
    }
    sn_pairs_free(&pairs);
    SN_TRY(sn_intersections(b->vertex_count, b->rest, b->count, b->list, b->vertex_count, b->rest,
                            b->others, others, NULL, &pairs, error));
    for (int k = 0; k < pairs.count; k++) crossing[b->triangle[pairs.pair[2 * (size_t)k]]] = true;
    sn_pairs_free(&pairs);
    return SINEW_OK;
}

/* s->body; crossing, per triangle: false for those that cross their own body alone. */
static sinew_status find_bodies(sn_contact_surface *s, int triangle_count, const int *triangles,
                                const bool *rigid, bool *crossing, sinew_error *error) {
    for (int v = 0; v < s->vertex_count; v++) s->body[v] = -1;
    if (!rigid) return SINEW_OK;
    body_search b = {.vertex_count = s->vertex_count, .rest = s->rest};
    b.list = SN_NEW(int, 3 * (size_t)triangle_count), b.triangle = SN_NEW(int, triangle_count);
    b.root = SN_NEW(int, s->vertex_count);
    bool some = false;
    for (int pass = 0; b.list && b.triangle && pass < 2; pass++)
        for (int t = 0; t < triangle_count; t++) {
            const int *v = triangles + 3 * (size_t)t;
            if (rigid[v[0]] != (pass == 0)) continue;
            int at = b.count + b.others;
            memcpy(b.list + 3 * (size_t)at, v, 3 * sizeof(int)), b.triangle[at] = t;
            *(pass == 0 ? &b.count : &b.others) += 1;
            some |= pass == 0 && crossing[t];
        }
    sinew_status status = b.list && b.triangle && b.root ? SINEW_OK : sn_no_memory(error);
    if (status == SINEW_OK && some) {
        status = join_bodies(&b, crossing, error);
        for (int v = 0; v < s->vertex_count; v++)
            if (rigid[v]) s->body[v] = find_root(b.root, v);
    }
    sn_free(b.list), sn_free(b.triangle), sn_free(b.root);
    return status;
}

sinew_status sn_contact_surface_create(int vertex_count, const double *rest, int triangle_count,
                                       const int *triangles, const bool *inside, const bool *rigid,
                                       double gap, sn_contact_surface **surface,
                                       sinew_error *error) {
    *surface = NULL;
    sn_contact_surface *s = SN_NEW0(sn_contact_surface, 1);
    if (!s) return sn_no_memory(error);
    s->vertex_count = vertex_count;
    s->gap = gap, s->reach = SN_CONTACT_REACH * gap;
    s->rest = sn_memdup(rest, 3 * (size_t)vertex_count, sizeof(double));
    s->triangles = SN_NEW(int, 3 * (size_t)triangle_count);
    s->takes_part = SN_NEW0(bool, triangle_count + 1);
    s->crosses = SN_NEW0(bool, vertex_count + 1);
    s->body = SN_NEW(int, vertex_count);
    bool *tangled = SN_NEW0(bool, vertex_count + 1);
    int *layer = SN_NEW(int, triangle_count);
    bool *crosses = SN_NEW0(bool, triangle_count + 1);
    sinew_status status =
        s->rest && s->triangles && s->takes_part && s->crosses && s->body && tangled && layer &&
                crosses
            ? count_layers(vertex_count, rest, triangle_count, triangles, layer, error)
            : sn_no_memory(error);
    if (status == SINEW_OK) status = sn_check_interrupt(error);
    if (status == SINEW_OK)
        status =
            sn_crossing_triangles(vertex_count, rest, triangle_count, triangles, crosses, error);
    for (int t = 0; status == SINEW_OK && t < triangle_count; t++)
        for (int c = 0; crosses[t] && c < 3; c++)
            s->crosses[triangles[3 * (size_t)t + (size_t)c]] = true;
    if (status == SINEW_OK)
        status = find_bodies(s, triangle_count, triangles, rigid, crosses, error);
    if (status == SINEW_OK)
        status = sn_find_tangled(vertex_count, triangle_count, triangles, crosses, tangled,
                                 s->crosses, error);
    if (status == SINEW_OK) {
        choose_triangles(s, triangle_count, triangles, inside, tangled, layer);
        status = list_parts(s, error);
    }
    if (status == SINEW_OK) status = sn_check_interrupt(error);
    if (status == SINEW_OK) status = plant_trees(s, error);
    sn_free(tangled), sn_free(layer), sn_free(crosses);
    if (status != SINEW_OK) {
        sn_contact_surface_destroy(s);
        return status;
    }
    *surface = s;
    return SINEW_OK;
}

sinew_status sn_contact_surface_hold(sn_contact_surface *s, const bool *held, sinew_error *error) {
    bool *copy = sn_memdup(held, (size_t)s->vertex_count, sizeof *held);
    if (!copy) return sn_no_memory(error);
    sn_free(s->held);
    s->held = copy;
    return SINEW_OK;
}

void sn_contact_surface_destroy(sn_contact_surface *s) {
    if (!s) return;
    sn_free(s->triangles), sn_free(s->edges), sn_free(s->points), sn_free(s->rest);
    sn_free(s->place), sn_free(s->takes_part), sn_free(s->crosses), sn_free(s->body),
        sn_free(s->held);
    sn_hierarchy_free(&s->point_tree), sn_hierarchy_free(&s->edge_tree);
    sn_hierarchy_free(&s->triangle_tree);
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

double sn_contact_rest_distance(const sn_contact_surface *s, const sn_contact_pair *pair) {
    double weight[4];
    sn_vec3 normal;
    return sn_contact_distance(pair, s->rest, weight, &normal);
}

/* No point of the pair moves faster, relative to the mean motion, than the sum of the largest
 * motions of its two parts: the distance shrinks at most at that rate, and an advance by 0.9 of
 * (distance - reach) / rate is safe. Returns that sum. */
static double relative_motion(const sn_contact_pair *pair, const double *x0, const double *x1,
                              sn_vec3 p[4], sn_vec3 move[4]) {
    sn_vec3 mean = {0, 0, 0};
    double first = 0, second = 0;
    for (int i = 0; i < 4; i++) {
        p[i] = sn_at(x0, pair->v[i]);
        move[i] = sn_sub(sn_at(x1, pair->v[i]), p[i]);
        mean = sn_add_scaled(mean, 0.25, move[i]);
    }
    for (int i = 0; i < 4; i++) {
        move[i] = sn_sub(move[i], mean);
        double square = sn_dot(move[i], move[i]);
        if (i < (pair->edges ? 2 : 1))
            first = fmax(first, square);
        else
            second = fmax(second, square);
    }
    return sqrt(first) + sqrt(second);
}

/* How long the parts keep `distance` from each other across the plane between their nearest points:
 * all corners move along lines, so each pair of them gives a linear bound. Motion along the plane
 * does not count. */
static double plane_holds(bool edges, const sn_vec3 p[4], const sn_vec3 move[4], sn_vec3 normal,
                          double distance) {
    double holds = INFINITY;
    int first = edges ? 2 : 1;
    for (int i = 0; i < first; i++)
        for (int j = first; j < 4; j++) {
            double slope = sn_dot(normal, sn_sub(move[i], move[j]));
            double free = sn_dot(normal, sn_sub(p[i], p[j])) - distance;
            if (slope < 0) holds = fmin(holds, free / -slope);
        }
    return holds;
}

bool sn_contact_stays_apart(const sn_contact_pair *pair, const double *x0, const double *x1,
                            double distance) {
    sn_vec3 p[4], move[4], apart;
    double weight[4], rate = relative_motion(pair, x0, x1, p, move);
    double now = distance_of(pair->edges, p, weight, &apart);
    if (!(now > distance)) return false;
    return now - rate > distance ||
           plane_holds(pair->edges, p, move, sn_scale(1 / now, apart), distance) >= 1;
}

double sn_contact_impact(const sn_contact_pair *pair, const double *x0, const double *x1,
                         double reach) {
    sn_vec3 p[4], q[4], move[4], apart;
    double weight[4], rate = relative_motion(pair, x0, x1, p, move);
    if (!(rate > 0)) return 1;
    double distance = distance_of(pair->edges, p, weight, &apart);
    if (!(distance > reach)) { /* too near from the start: it may only part */
        for (int i = 0; i < 4; i++) q[i] = sn_add(p[i], move[i]);
        return distance_of(pair->edges, q, weight, &apart) > distance ? 1 : 0;
    }
    double at = 0;
    memcpy(q, p, sizeof p);
    for (int k = 0; k < MOST_ADVANCES; k++) {
        sn_vec3 normal = sn_scale(1 / distance, apart);
        double keep = reach + 0.5 * fmin(distance - reach, STOP * reach);
        double advance = fmax(ADVANCE * (distance - reach) / rate,
                              plane_holds(pair->edges, q, move, normal, keep));
        if (at + advance >= 1) return 1;
        double before = distance;
        for (int i = 0; i < 4; i++) q[i] = sn_add_scaled(p[i], at + advance, move[i]);
        distance = distance_of(pair->edges, q, weight, &apart);
        if (!(distance > reach)) return at; /* rounding */
        at += advance;
        if (distance < (1 + STOP) * reach && distance <= before) return at;
    }
    return at;
}

/* Does the pair come nearer than the margin? Not, when its distance is larger by more than its
 * parts can move towards each other. Sets its reach. */
bool sn_contact_may_meet(const sn_contact_surface *s, sn_contact_pair *pair, const double *x0,
                         const double *x1, double margin) {
    sn_vec3 p[4], move[4], apart;
    double weight[4], rate = relative_motion(pair, x0, x1, p, move);
    if (distance_of(pair->edges, p, weight, &apart) - rate > margin) return false;
    double rest = sn_contact_rest_distance(s, pair);
    pair->reach = fmin(s->reach, 0.5 * rest);
    return rest > TOUCHING * s->reach;
}

/* ---- the free path ------------------------------------------------------------------------- */

static void place(const sn_contact_work *w, int v, const double *x0, double *x1) {
    for (size_t a = 3 * (size_t)v; a < 3 * (size_t)v + 3; a++)
        x1[a] = w->share[v] >= 1 ? w->target[a] : x0[a] + w->share[v] * (w->target[a] - x0[a]);
}

typedef struct meeting_loop {
    const sn_contact_pair *pairs;
    const double *x0, *x1;
    atomic_bool meets, cancelled;
} meeting_loop;

static void find_meeting(void *context, sn_span span) {
    meeting_loop *l = context;
    for (size_t i = span.begin; i < span.end && !atomic_load(&l->meets); i++) {
        if (i % 32 == 0 && sn_interrupted()) atomic_store(&l->cancelled, true);
        if (atomic_load_explicit(&l->cancelled, memory_order_relaxed)) return;
        if (sn_contact_impact(&l->pairs[i], l->x0, l->x1, l->pairs[i].reach) < 1)
            atomic_store(&l->meets, true);
    }
}

static sinew_status any_meets(int count, const sn_contact_pair *pairs, const double *x0,
                              const double *x1, bool *meets, sinew_error *error) {
    meeting_loop loop = {pairs, x0, x1, false, false};
    sn_parallel_for(count, 32, find_meeting, &loop);
    *meets = atomic_load(&loop.meets);
    return atomic_load(&loop.cancelled) ? sn_fail(error, SINEW_CANCELLED, "cancelled") : SINEW_OK;
}

/* Shares only shrink, and a share of zero is the free shape x0: the rounds end. A shortened path
 * may meet neighbors that the full one keeps up with, so every round searches its pairs again. */
sinew_status sn_contact_cut_back(const sn_contact_surface *s, sn_contact_work *w, const double *x0,
                                 double *x1, double *cut, sinew_error *error) {
    const sn_contact_pair *pairs;
    int count;
    *cut = 1;
    memcpy(w->target, x1, 3 * sizeof(double) * (size_t)s->vertex_count);
    for (int v = 0; v < s->vertex_count; v++) w->share[v] = 1;
    for (int round = 0;; round++) {
        SN_TRY(sn_contact_find(s, w, x0, x1, s->reach, &pairs, &count, error));
        bool meets;
        SN_TRY(any_meets(count, pairs, x0, x1, &meets, error));
        if (!meets) return SINEW_OK;
        for (int i = 0; i < count; i++) {
            if (i % 64 == 0) SN_TRY(sn_check_interrupt(error));
            double t = sn_contact_impact(&pairs[i], x0, x1, pairs[i].reach);
            if (t >= 1) continue;
            for (int c = 0; c < 4; c++) {
                int v = pairs[i].v[c];
                /* little that is left is not worth another round */
                w->share[v] *= t < 0.05 || round > MOST_ROUNDS / 2 ? 0 : t;
                place(w, v, x0, x1);
                *cut = fmin(*cut, w->share[v]);
            }
        }
        if (round < MOST_ROUNDS) continue;
        for (int i = 0; i < s->point_count; i++) {
            w->share[s->points[i]] = 0;
            place(w, s->points[i], x0, x1);
        }
        *cut = 0;
        return SINEW_OK;
    }
}
