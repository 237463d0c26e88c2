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
#include "mesh/closest.h"
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
/* What a search may test and find, per point and edge of the surface and at least. A search that
 * looks further than it was asked to and exceeds it is repeated without. */
enum { MOST_TESTS = 2048, MOST_FOUND = 256, LEAST_BUDGET = 1 << 20 };

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

/* Where the surface crosses itself at rest there is no side to keep to: a vertex of a triangle that
 * crosses, held apart from the sheet it has passed already, would be left behind as a spike. Such
 * vertices do not take part, nor do those of pieces that cross others over more than this fraction
 * of their triangles: shells around an eye, gums inside a jaw. */
#define TANGLED 0.2

/* tangled[vertex_count]: vertices that take no part. */
static sinew_status find_tangled(int vertex_count, int triangle_count, const int *triangles,
                                 const sn_pairs *cross, bool *tangled, sinew_error *error) {
    int pieces;
    int *piece = SN_NEW(int, vertex_count + 1), *total = NULL, *crossing = NULL;
    bool *crosses = SN_NEW0(bool, triangle_count + 1);
    sinew_status status = piece && crosses ? SINEW_OK : sn_no_memory(error);
    if (status == SINEW_OK)
        status = sn_components(vertex_count, triangle_count, triangles, piece, &pieces, error);
    if (status == SINEW_OK) {
        total = SN_NEW0(int, pieces + 1), crossing = SN_NEW0(int, pieces + 1);
        if (!total || !crossing) status = sn_no_memory(error);
    }
    for (int i = 0; status == SINEW_OK && i < 2 * cross->count; i++) crosses[cross->pair[i]] = true;
    for (int t = 0; status == SINEW_OK && t < triangle_count; t++) {
        const int *v = triangles + 3 * (size_t)t;
        total[piece[v[0]]]++, crossing[piece[v[0]]] += crosses[t];
        for (int c = 0; crosses[t] && c < 3; c++) tangled[v[c]] = true;
    }
    for (int v = 0; status == SINEW_OK && v < vertex_count; v++)
        if (piece[v] >= 0 && crossing[piece[v]] > TANGLED * total[piece[v]]) tangled[v] = true;
    sn_free(piece), sn_free(total), sn_free(crossing), sn_free(crosses);
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
    bool *tangled = SN_NEW0(bool, vertex_count + 1);
    int *layer = SN_NEW(int, triangle_count);
    sn_pairs cross = {0};
    sinew_status status =
        s->rest && s->triangles && tangled && layer
            ? count_layers(vertex_count, rest, triangle_count, triangles, layer, error)
            : sn_no_memory(error);
    if (status == SINEW_OK) status = sn_check_interrupt(error);
    if (status == SINEW_OK)
        status = sn_self_intersections(vertex_count, rest, triangle_count, triangles, NULL, &cross,
                                       error);
    if (status == SINEW_OK && cross.count > 0)
        status = find_tangled(vertex_count, triangle_count, triangles, &cross, tangled, error);
    if (status == SINEW_OK) {
        choose_triangles(s, triangle_count, triangles, inside, tangled, layer);
        status = list_parts(s, error);
    }
    if (status == SINEW_OK) status = sn_check_interrupt(error);
    if (status == SINEW_OK) status = plant_trees(s, error);
    sn_pairs_free(&cross);
    sn_free(tangled), sn_free(layer);
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
    sn_free(s->place);
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

/* ---- who comes near whom --------------------------------------------------------------------- */

/* Leaves that one task of a search walks. */
enum { BLOCK = 32 };

typedef struct pair_list {
    sn_contact_pair *pairs;
    size_t count, capacity;
} pair_list;

typedef struct fitted_tree {
    sn_hull *item, *node;
} fitted_tree;

struct sn_contact_work {
    sn_hull *ways; /* per point of the surface */
    fitted_tree points, edges, triangles;
    pair_list *blocks; /* what each task found, in a fixed order */
    int block_count;
    int *leaves; /* one list of leaves per thread */
    int threads, leaf_room;
    pair_list found;
    /* what the pairs found hold for: paths from `from` to `to`, and others as near as this */
    double *from, *to; /* 3 per point of the surface */
    double margin;     /* 0: nothing was searched for yet */
    double *target;    /* 3 per vertex: the full path while it is cut back */
    double *share;     /* per vertex: what is left of its path */
};

static bool make_tree(const sn_hierarchy *h, fitted_tree *tree) {
    tree->item = sn_alloc_aligned((size_t)h->count, sizeof(sn_hull));
    tree->node = sn_alloc_aligned((size_t)sn_hierarchy_nodes(h), sizeof(sn_hull));
    return tree->item && tree->node;
}

static void free_tree(fitted_tree *tree) {
    sn_free_aligned(tree->item), sn_free_aligned(tree->node);
}

static int blocks_of(const sn_hierarchy *h) {
    return (h->leaves + BLOCK - 1) / BLOCK;
}

sinew_status sn_contact_work_create(const sn_contact_surface *s, sn_contact_work **work,
                                    sinew_error *error) {
    *work = NULL;
    sn_contact_work *w = SN_NEW0(sn_contact_work, 1);
    if (!w) return sn_no_memory(error);
    w->ways = sn_alloc_aligned((size_t)s->point_count, sizeof(sn_hull));
    bool made = make_tree(&s->point_tree, &w->points) && make_tree(&s->edge_tree, &w->edges) &&
                make_tree(&s->triangle_tree, &w->triangles);
    w->block_count = blocks_of(&s->edge_tree) + blocks_of(&s->point_tree);
    w->blocks = SN_NEW0(pair_list, w->block_count);
    w->threads = sn_threads();
    w->leaf_room = s->edge_tree.leaves + s->triangle_tree.leaves;
    w->leaves = SN_NEW(int, (size_t)w->threads *(size_t)w->leaf_room);
    w->from = SN_NEW(double, 3 * (size_t)s->point_count);
    w->to = SN_NEW(double, 3 * (size_t)s->point_count);
    w->target = SN_NEW(double, 3 * (size_t)s->vertex_count);
    w->share = SN_NEW(double, s->vertex_count);
    if (!made || !w->ways || !w->blocks || !w->leaves || !w->from || !w->to || !w->target ||
        !w->share || !SN_RESERVE(w->found.pairs, w->found.capacity, 1024)) {
        sn_contact_work_destroy(w);
        return sn_no_memory(error);
    }
    *work = w;
    return SINEW_OK;
}

void sn_contact_work_destroy(sn_contact_work *w) {
    if (!w) return;
    for (int b = 0; w->blocks && b < w->block_count; b++) sn_free(w->blocks[b].pairs);
    free_tree(&w->points), free_tree(&w->edges), free_tree(&w->triangles);
    sn_free_aligned(w->ways);
    sn_free(w->blocks), sn_free(w->leaves), sn_free(w->found.pairs);
    sn_free(w->from), sn_free(w->to), sn_free(w->target), sn_free(w->share);
    sn_free(w);
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

static bool share_a_vertex(const sn_contact_pair *pair) {
    int first = pair->edges ? 2 : 1;
    for (int i = 0; i < first; i++)
        for (int j = first; j < 4; j++)
            if (pair->v[i] == pair->v[j]) return true;
    return false;
}

/* Does the pair come nearer than the margin? Not, when its distance is larger by more than its
 * parts can move towards each other. Sets its reach. */
static bool may_meet(const sn_contact_surface *s, sn_contact_pair *pair, const double *x0,
                     const double *x1, double margin) {
    sn_vec3 p[4], move[4], apart;
    double weight[4], rate = relative_motion(pair, x0, x1, p, move);
    if (distance_of(pair->edges, p, weight, &apart) - rate > margin) return false;
    double rest = sn_contact_rest_distance(s, pair);
    pair->reach = fmin(s->reach, 0.5 * rest);
    return rest > TOUCHING * s->reach;
}

/* One search, shared by the threads that work on it. */
typedef struct pair_search {
    const sn_contact_surface *s;
    sn_contact_work *w;
    const double *x0, *x1;
    double wide;
    size_t most_tests, most_found;
    atomic_size_t tests, found;
    atomic_bool no_memory, cancelled;
} pair_search;

static bool over_budget(const pair_search *p) {
    return atomic_load(&p->tests) > p->most_tests || atomic_load(&p->found) > p->most_found;
}

/* False: no memory. */
static bool test_pair(const pair_search *p, bool edges, int a, int b, pair_list *list) {
    sn_contact_pair pair = pair_of(p->s, edges, a, b);
    if (share_a_vertex(&pair) || !may_meet(p->s, &pair, p->x0, p->x1, p->wide)) return true;
    if (!SN_RESERVE(list->pairs, list->capacity, list->count + 1)) return false;
    list->pairs[list->count++] = pair;
    return true;
}

/* Items of the leaves of block b against those of the other tree; of one tree each pair once. */
static bool search_block(pair_search *p, bool edges, int b, int *leaves, pair_list *list) {
    const sn_contact_surface *s = p->s;
    const sn_contact_work *w = p->w;
    const sn_hierarchy *one = edges ? &s->edge_tree : &s->point_tree;
    const sn_hierarchy *two = edges ? &s->edge_tree : &s->triangle_tree;
    const fitted_tree *first = edges ? &w->edges : &w->points;
    const fitted_tree *second = edges ? &w->edges : &w->triangles;
    int last = (b + 1) * BLOCK < one->leaves ? (b + 1) * BLOCK : one->leaves;
    list->count = 0;
    for (int l = b * BLOCK; l < last && !over_budget(p); l++) {
        const sn_hull *hull = &first->node[one->leaves - 1 + l];
        int count = sn_hierarchy_near(two, second->node, hull, edges ? l : 0, leaves);
        size_t tests = 0, found = list->count;
        for (int i = sn_hierarchy_first(one, l); i < sn_hierarchy_first(one, l + 1); i++)
            for (int k = 0; k < count; k++) {
                int from = sn_hierarchy_first(two, leaves[k]);
                int to = sn_hierarchy_first(two, leaves[k] + 1);
                if (edges && leaves[k] == l) from = i + 1;
                for (int j = from; j < to; j++) {
                    if (!sn_hulls_meet(&first->item[i], &second->item[j])) continue;
                    if (!test_pair(p, edges, one->order[i], two->order[j], list)) return false;
                    tests++;
                }
            }
        atomic_fetch_add(&p->tests, tests);
        atomic_fetch_add(&p->found, list->count - found);
    }
    return true;
}

typedef struct fit_items_loop {
    const sn_contact_surface *s;
    const sn_contact_work *w;
    const sn_hierarchy *h;
    int corners;
    const int *vertices;
    fitted_tree *tree;
    atomic_bool cancelled;
} fit_items_loop;

static void fit_items(void *context, sn_span span) {
    fit_items_loop *loop = context;
    const sn_contact_surface *s = loop->s;
    const sn_contact_work *w = loop->w;
    const sn_hierarchy *h = loop->h;
    int corners = loop->corners;
    const int *vertices = loop->vertices;
    fitted_tree *tree = loop->tree;
    SN_IN_SPAN(int, i, span) {
        if (i % 64 == 0 && sn_interrupted()) atomic_store(&loop->cancelled, true);
        if (atomic_load_explicit(&loop->cancelled, memory_order_relaxed)) return;
        const int *v = vertices + (size_t)corners * (size_t)h->order[i];
        sn_hull hull = w->ways[s->place[v[0]]];
        for (int c = 1; c < corners; c++) sn_hull_join(&hull, &w->ways[s->place[v[c]]]);
        tree->item[i] = hull;
    }
}

static sinew_status fit_tree(const sn_contact_surface *s, const sn_contact_work *w,
                             const sn_hierarchy *h, int corners, const int *vertices,
                             fitted_tree *tree, sinew_error *error) {
    fit_items_loop loop = {s, w, h, corners, vertices, tree, false};
    sn_parallel_for(h->count, 64, fit_items, &loop);
    if (atomic_load(&loop.cancelled)) return sn_fail(error, SINEW_CANCELLED, "cancelled");
    sn_hierarchy_fit(h, tree->item, tree->node);
    return sn_check_interrupt(error);
}

/* Does the list of the last search hold for this path too? A vertex that is off by d on the way
 * changes distances by at most d. */
static bool still_holds(const sn_contact_surface *s, const sn_contact_work *w, const double *x0,
                        const double *x1, double margin) {
    double room = 0.5 * (w->margin - margin), most = 0;
    if (!(room >= 0 && w->margin > 0)) return false;
    for (int i = 0; i < s->point_count; i++) {
        sn_vec3 a = sn_sub(sn_at(x0, s->points[i]), sn_at(w->from, i));
        sn_vec3 b = sn_sub(sn_at(x1, s->points[i]), sn_at(w->to, i));
        most = fmax(most, fmax(sn_dot(a, a), sn_dot(b, b)));
    }
    return most <= room * room;
}

typedef struct bound_ways_loop {
    const sn_contact_surface *s;
    const sn_contact_work *w;
    const sn_hull_frame *frame;
    const double *x0;
    const double *x1;
    double wide;
} bound_ways_loop;

static void bound_ways(void *context, sn_span span) {
    const bound_ways_loop *loop = context;
    const sn_contact_surface *s = loop->s;
    const sn_contact_work *w = loop->w;
    const sn_hull_frame *frame = loop->frame;
    const double *x0 = loop->x0;
    const double *x1 = loop->x1;
    double wide = loop->wide;
    SN_IN_SPAN(int, i, span) {
        sn_put(w->from, i, sn_at(x0, s->points[i]));
        sn_put(w->to, i, sn_at(x1, s->points[i]));
        w->ways[i] = sn_hull_of_way(frame, sn_at(w->from, i), sn_at(w->to, i), 0.5 * wide);
    }
}

static void search_blocks(void *context, sn_span span) {
    pair_search *p = context;
    int edge_blocks = blocks_of(&p->s->edge_tree);
    int *leaves = p->w->leaves + (size_t)span.seat * (size_t)p->w->leaf_room;
    SN_IN_SPAN(int, b, span) {
        bool edges = b < edge_blocks;
        if (sn_interrupted()) atomic_store(&p->cancelled, true);
        if (atomic_load_explicit(&p->cancelled, memory_order_relaxed)) return;
        if (!search_block(p, edges, edges ? b : b - edge_blocks, leaves, &p->w->blocks[b]))
            atomic_store(&p->no_memory, true);
    }
}

/* What comes nearer than `wide` goes into the lists of the blocks. *fits: within the budget. */
static sinew_status search_all(const sn_contact_surface *s, sn_contact_work *w, const double *x0,
                               const double *x1, double wide, bool *fits, sinew_error *error) {
    sn_hull_frame frame = sn_hull_frame_of(s->point_count, s->points, x0, x1);
    sn_parallel_for(s->point_count, 64, bound_ways, &(bound_ways_loop){s, w, &frame, x0, x1, wide});
    SN_TRY(sn_check_interrupt(error));
    SN_TRY(fit_tree(s, w, &s->point_tree, 1, s->points, &w->points, error));
    SN_TRY(fit_tree(s, w, &s->edge_tree, 2, s->edges, &w->edges, error));
    SN_TRY(fit_tree(s, w, &s->triangle_tree, 3, s->triangles, &w->triangles, error));
    size_t parts = (size_t)s->point_count + (size_t)s->edge_count;
    pair_search search = {.s = s,
                          .w = w,
                          .x0 = x0,
                          .x1 = x1,
                          .wide = wide,
                          .most_tests = LEAST_BUDGET + MOST_TESTS * parts,
                          .most_found = LEAST_BUDGET + MOST_FOUND * parts};
    sn_parallel_for_seats(w->block_count, 1, w->threads, search_blocks, &search);
    if (atomic_load(&search.no_memory)) return sn_no_memory(error);
    if (atomic_load(&search.cancelled)) return sn_fail(error, SINEW_CANCELLED, "cancelled");
    *fits = !over_budget(&search);
    return SINEW_OK;
}

sinew_status sn_contact_find(const sn_contact_surface *s, sn_contact_work *w, const double *x0,
                             const double *x1, double margin, const sn_contact_pair **pairs,
                             int *count, sinew_error *error) {
    *pairs = w->found.pairs, *count = (int)w->found.count;
    if (still_holds(s, w, x0, x1, margin)) return SINEW_OK;
    w->margin = 0;
    double wide = margin + s->slack;
    bool fits;
    SN_TRY(search_all(s, w, x0, x1, wide, &fits, error));
    if (!fits) {
        wide = margin;
        SN_TRY(search_all(s, w, x0, x1, wide, &fits, error));
    }
    if (!fits)
        return sn_fail(error, SINEW_BAD_INPUT,
                       "self-contact: too many of the %d triangles are close to each other at "
                       "once; leave parts that overlap out of contact",
                       s->triangle_count);
    w->found.count = 0;
    for (int b = 0; b < w->block_count; b++) {
        const pair_list *list = &w->blocks[b];
        if (!SN_RESERVE(w->found.pairs, w->found.capacity, w->found.count + list->count))
            return sn_no_memory(error);
        if (list->count)
            memcpy(w->found.pairs + w->found.count, list->pairs,
                   list->count * sizeof(sn_contact_pair));
        w->found.count += list->count;
    }
    w->margin = wide;
    *pairs = w->found.pairs, *count = (int)w->found.count;
    return SINEW_OK;
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
 * may meet neighbours that the full one keeps up with, so every round asks for its pairs anew. */
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
