/* Which pairs of a surface may come near each other on the path from one shape to the next.
 *
 * A search bounds the paths of all points, edges and triangles by trees, and keeps the pairs whose
 * bounds meet. It looks a little further than it was asked to, so that its pairs also hold for
 * paths that are a little off. When only some points leave that room, as where lips are pressed
 * apart between two searches of a frame, their pairs alone are looked for again.
 *
 * What is apart on a path is so on any part of it. Points that contact has moved go on beside their
 * path as they are: relative to the path, at the same times, they stay where they are, so that the
 * pairs of one search hold for several steps along it. The pairs come in
 * the order of the trees in both cases, so that results do not depend on which it was. */
#include "contact/search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/monitor.h"
#include "base/parallel.h"

/* What a search may test and find, per point and edge of the surface and at least. A search that
 * looks further than it was asked to and exceeds it is repeated without. Faces whose frames are
 * half a second apart find 1.5 pairs per point and edge. */
enum { MOST_TESTS = 2048, MOST_FOUND = 32, LEAST_BUDGET = 1 << 20 };
/* Leaves that one task of a search walks; items of one that repeats some. */
enum { BLOCK = 32, ITEMS = BLOCK * SN_HIERARCHY_LEAF };
/* Points of which at most this fraction is off are searched for alone. */
#define SOME 0.5
/* Steps that a search looks ahead; a search that looks this many times farther than is needed is
 * done again. */
#define AHEAD      4
#define MOST_AHEAD 8

static bool make_tree(const sn_hierarchy *h, sn_fitted_tree *tree) {
    size_t count = (size_t)h->count, nodes = (size_t)sn_hierarchy_nodes(h);
    tree->item = sn_alloc_aligned(count, sizeof(sn_hull));
    tree->node = sn_alloc_aligned(nodes, sizeof(sn_hull));
    tree->stale = SN_NEW(bool, nodes), tree->is_dirty = SN_NEW(bool, count);
    tree->dirty = SN_NEW(int, count);
    return tree->item && tree->node && tree->stale && tree->is_dirty && tree->dirty;
}

static void free_tree(sn_fitted_tree *tree) {
    sn_free_aligned(tree->item), sn_free_aligned(tree->node);
    sn_free(tree->stale), sn_free(tree->is_dirty), sn_free(tree->dirty);
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
    w->block_count =
        blocks_of(&s->edge_tree) + blocks_of(&s->point_tree) + blocks_of(&s->triangle_tree);
    w->blocks = SN_NEW0(sn_pair_list, w->block_count);
    w->threads = sn_threads();
    w->leaf_room = s->point_tree.leaves + s->edge_tree.leaves + s->triangle_tree.leaves;
    w->leaves = SN_NEW(int, (size_t)w->threads *(size_t)w->leaf_room);
    w->from = SN_NEW(double, 3 * (size_t)s->vertex_count);
    w->to = SN_NEW(double, 3 * (size_t)s->vertex_count);
    w->off = SN_NEW(bool, s->point_count);
    w->beside = SN_NEW0(double, s->point_count);
    w->ahead = SN_NEW(double, 3 * (size_t)s->vertex_count);
    w->known[1] = w->part[1] = 1;
    w->target = SN_NEW(double, 3 * (size_t)s->vertex_count);
    w->share = SN_NEW(double, s->vertex_count);
    if (!made || !w->ways || !w->blocks || !w->leaves || !w->from || !w->to || !w->off ||
        !w->beside || !w->ahead || !w->target || !w->share ||
        !SN_RESERVE(w->found.pairs, w->found.capacity, 1024)) {
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
    sn_free(w->blocks), sn_free(w->leaves), sn_free(w->found.pairs), sn_free(w->merged.pairs);
    sn_free(w->from), sn_free(w->to), sn_free(w->off), sn_free(w->target), sn_free(w->share);
    sn_free(w->beside), sn_free(w->ahead);
    sn_free(w);
}

void sn_contact_set_times(sn_contact_work *w, double from, double to) {
    w->part[0] = from, w->part[1] = to;
}

void sn_contact_set_course(sn_contact_work *w, const double *displacement, double end) {
    w->course = displacement, w->end = end;
}

/* ---- one pair -------------------------------------------------------------------------------- */

/* i, j: places in the trees: of edges i < j, or of a point and a triangle. */
static sn_contact_pair pair_of(const sn_contact_surface *s, bool edges, int i, int j) {
    sn_contact_pair pair = {.edges = edges};
    pair.key = (uint64_t)!edges << 62 | (uint64_t)i << 31 | (uint64_t)j;
    if (edges) {
        int a = s->edge_tree.order[i], b = s->edge_tree.order[j];
        int first = a < b ? a : b, second = a < b ? b : a;
        memcpy(pair.v, s->edges + 2 * (size_t)first, 2 * sizeof(int));
        memcpy(pair.v + 2, s->edges + 2 * (size_t)second, 2 * sizeof(int));
    } else {
        pair.v[0] = s->points[s->point_tree.order[i]];
        memcpy(pair.v + 1, s->triangles + 3 * (size_t)s->triangle_tree.order[j], 3 * sizeof(int));
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

static bool of_one_body(const sn_contact_surface *s, const sn_contact_pair *pair) {
    int body = s->body[pair->v[0]];
    return body >= 0 && body == s->body[pair->v[3]];
}

static bool all_held(const sn_contact_surface *s, const sn_contact_pair *pair) {
    const int *v = pair->v;
    return s->held && s->held[v[0]] && s->held[v[1]] && s->held[v[2]] && s->held[v[3]];
}

/* One search, shared by the threads that work on it. */
typedef struct pair_search {
    const sn_contact_surface *s;
    sn_contact_work *w;
    double wide;
    size_t most_tests, most_found;
    atomic_size_t tests, found;
    atomic_bool no_memory, cancelled;
} pair_search;

static bool over_budget(const pair_search *p) {
    return atomic_load(&p->tests) > p->most_tests || atomic_load(&p->found) > p->most_found;
}

/* How far points of the pair's two parts may be beside their paths. */
static double beside(const sn_contact_surface *s, const sn_contact_work *w,
                     const sn_contact_pair *pair) {
    double first = 0, second = 0;
    for (int i = 0; i < 4; i++) {
        double room = w->beside[s->place[pair->v[i]]];
        if (i < (pair->edges ? 2 : 1))
            first = fmax(first, room);
        else
            second = fmax(second, room);
    }
    return first + second;
}

/* False: no memory. */
static bool test_pair(const pair_search *p, bool edges, int i, int j, sn_pair_list *list) {
    sn_contact_pair pair = pair_of(p->s, edges, i, j);
    if (share_a_vertex(&pair) || of_one_body(p->s, &pair) || all_held(p->s, &pair) ||
        !sn_contact_may_meet(p->s, &pair, p->w->from, p->w->to,
                             p->wide + beside(p->s, p->w, &pair)))
        return true;
    if (!SN_RESERVE(list->pairs, list->capacity, list->count + 1)) return false;
    list->pairs[list->count++] = pair;
    return true;
}

static pair_search begin_search(const sn_contact_surface *s, sn_contact_work *w, double wide) {
    size_t parts = (size_t)s->point_count + (size_t)s->edge_count;
    return (pair_search){.s = s,
                         .w = w,
                         .wide = wide,
                         .most_tests = LEAST_BUDGET + MOST_TESTS * parts,
                         .most_found = LEAST_BUDGET + MOST_FOUND * parts};
}

/* *fits: within the budget. */
static sinew_status end_search(const pair_search *p, bool *fits, sinew_error *error) {
    if (atomic_load(&p->no_memory)) return sn_no_memory(error);
    if (atomic_load(&p->cancelled)) return sn_fail(error, SINEW_CANCELLED, "cancelled");
    *fits = !over_budget(p);
    return SINEW_OK;
}

/* ---- all pairs ------------------------------------------------------------------------------- */

/* Items of the leaves of block b against those of the other tree; of one tree each pair once. */
static bool search_block(pair_search *p, bool edges, int b, int *leaves, sn_pair_list *list) {
    const sn_contact_surface *s = p->s;
    const sn_contact_work *w = p->w;
    const sn_hierarchy *one = edges ? &s->edge_tree : &s->point_tree;
    const sn_hierarchy *two = edges ? &s->edge_tree : &s->triangle_tree;
    const sn_fitted_tree *first = edges ? &w->edges : &w->points;
    const sn_fitted_tree *second = edges ? &w->edges : &w->triangles;
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
                    if (!test_pair(p, edges, i, j, list)) return false;
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
    sn_fitted_tree *tree;
    atomic_bool cancelled;
} fit_items_loop;

static void fit_items(void *context, sn_span span) {
    fit_items_loop *loop = context;
    const sn_contact_surface *s = loop->s;
    const sn_contact_work *w = loop->w;
    const sn_hierarchy *h = loop->h;
    int corners = loop->corners;
    const int *vertices = loop->vertices;
    sn_fitted_tree *tree = loop->tree;
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
                             sn_fitted_tree *tree, sinew_error *error) {
    fit_items_loop loop = {s, w, h, corners, vertices, tree, false};
    sn_parallel_for(h->count, 64, fit_items, &loop);
    if (atomic_load(&loop.cancelled)) return sn_fail(error, SINEW_CANCELLED, "cancelled");
    sn_hierarchy_fit(h, tree->item, tree->node);
    return sn_check_interrupt(error);
}

/* The path of point i, which the pairs found hold for, and its hull. */
static void bound_way(const sn_contact_surface *s, const sn_contact_work *w, int i, sn_vec3 from,
                      sn_vec3 to, double beside, double wide) {
    sn_put(w->from, s->points[i], from), sn_put(w->to, s->points[i], to), w->beside[i] = beside;
    w->ways[i] = sn_hull_of_way(&w->frame, from, to, 0.5 * wide + beside);
}

typedef struct bound_ways_loop {
    const sn_contact_surface *s;
    const sn_contact_work *w;
    const double *x0;
    const double *x1;
    double wide;
} bound_ways_loop;

static void bound_ways(void *context, sn_span span) {
    const bound_ways_loop *loop = context;
    const sn_contact_surface *s = loop->s;
    const sn_contact_work *w = loop->w;
    const double *x0 = loop->x0;
    const double *x1 = loop->x1;
    double wide = loop->wide;
    SN_IN_SPAN(int, i, span) {
        bound_way(s, w, i, sn_at(x0, s->points[i]), sn_at(x1, s->points[i]), 0, wide);
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

/* What comes nearer than `wide` goes into the lists of the blocks. */
static sinew_status search_all(const sn_contact_surface *s, sn_contact_work *w, const double *x0,
                               const double *x1, double wide, bool *fits, sinew_error *error) {
    w->frame = sn_hull_frame_of(s->point_count, s->points, x0, x1);
    sn_parallel_for(s->point_count, 64, bound_ways, &(bound_ways_loop){s, w, x0, x1, wide});
    SN_TRY(sn_check_interrupt(error));
    SN_TRY(fit_tree(s, w, &s->point_tree, 1, s->points, &w->points, error));
    SN_TRY(fit_tree(s, w, &s->edge_tree, 2, s->edges, &w->edges, error));
    SN_TRY(fit_tree(s, w, &s->triangle_tree, 3, s->triangles, &w->triangles, error));
    pair_search search = begin_search(s, w, wide);
    int blocks = blocks_of(&s->edge_tree) + blocks_of(&s->point_tree);
    sn_parallel_for_seats(blocks, 1, w->threads, search_blocks, &search);
    SN_TRY(end_search(&search, fits, error));
    w->found.count = 0;
    for (int b = 0; *fits && b < blocks; b++) {
        const sn_pair_list *list = &w->blocks[b];
        SN_TRY(sn_check_interrupt(error));
        if (!SN_RESERVE(w->found.pairs, w->found.capacity, w->found.count + list->count))
            return sn_no_memory(error);
        if (list->count)
            memcpy(w->found.pairs + w->found.count, list->pairs,
                   list->count * sizeof(sn_contact_pair));
        w->found.count += list->count;
    }
    return SINEW_OK;
}

/* ---- pairs of some points -------------------------------------------------------------------- */

/* Which part of what the pairs hold for is asked for: [0, 1] when it is all. */
static void find_part(const sn_contact_work *w, double part[2]) {
    double length = w->known[1] - w->known[0];
    for (int end = 0; end < 2; end++)
        part[end] = w->part[end] == w->known[end] ? end : (w->part[end] - w->known[0]) / length;
}

/* By how much point i is beside its path at both ends of the part. */
static void find_beside(const sn_contact_work *w, int v, const double part[2], const double *x0,
                        const double *x1, sn_vec3 apart[2]) {
    sn_vec3 from = sn_at(w->from, v), to = sn_at(w->to, v);
    apart[0] = sn_sub(sn_at(x0, v), part[0] > 0 ? sn_lerp(from, to, part[0]) : from);
    apart[1] = sn_sub(sn_at(x1, v), part[1] < 1 ? sn_lerp(from, to, part[1]) : to);
}

/* Points whose paths have left what the last search holds for: a vertex that is off by d on the
 * path changes distances by at most d. Returns how many, or -1 when everything must be searched
 * again. */
static int find_off(const sn_contact_surface *s, const sn_contact_work *w, const double *x0,
                    const double *x1, double margin) {
    double room = 0.5 * (w->margin - margin), part[2];
    int count = 0;
    if (!(room >= 0 && w->margin > 0)) return -1;
    find_part(w, part);
    for (int i = 0; i < s->point_count; i++) {
        sn_vec3 apart[2];
        double most = room + w->beside[i];
        find_beside(w, s->points[i], part, x0, x1, apart);
        w->off[i] = !(fmax(sn_dot(apart[0], apart[0]), sn_dot(apart[1], apart[1])) <= most * most);
        count += w->off[i];
    }
    return count;
}

static bool in_frame(const sn_contact_work *w, sn_vec3 p) {
    p = sn_sub(p, w->frame.center);
    return fmax(fabs(p.x), fmax(fabs(p.y), fabs(p.z))) * w->frame.scale <= 1;
}

/* Where a point that is off goes: as asked for when that is all the path, otherwise along its old
 * path and beside it. False: it has left the frame of the hulls. */
static bool bound_off(const sn_contact_surface *s, sn_contact_work *w, const double *x0,
                      const double *x1) {
    double part[2];
    find_part(w, part);
    bool all = part[0] == 0 && part[1] == 1;
    for (int i = 0; i < s->point_count; i++) {
        if (!w->off[i]) continue;
        int v = s->points[i];
        sn_vec3 from = sn_at(x0, v), to = sn_at(x1, v);
        double beside = 0;
        if (!all) {
            sn_vec3 apart[2];
            find_beside(w, v, part, x0, x1, apart);
            sn_vec3 middle = sn_lerp(apart[0], apart[1], 0.5);
            beside = 0.5 * sn_distance(apart[0], apart[1]);
            from = sn_add(sn_at(w->from, v), middle), to = sn_add(sn_at(w->to, v), middle);
        }
        if (!in_frame(w, from) || !in_frame(w, to)) return false;
        bound_way(s, w, i, from, to, beside, w->margin);
    }
    return true;
}

/* Items with a point that is off, their hulls and those of the nodes above them. */
static void refit_tree(const sn_contact_surface *s, const sn_contact_work *w, const sn_hierarchy *h,
                       int corners, const int *vertices, sn_fitted_tree *tree) {
    fit_items_loop loop = {s, w, h, corners, vertices, tree, false};
    int first = h->leaves - 1;
    memset(tree->stale, 0, (size_t)sn_hierarchy_nodes(h) * sizeof(bool));
    tree->dirty_count = 0;
    for (int l = 0; l < h->leaves; l++)
        for (int i = sn_hierarchy_first(h, l); i < sn_hierarchy_first(h, l + 1); i++) {
            const int *v = vertices + (size_t)corners * (size_t)h->order[i];
            bool off = false;
            for (int c = 0; c < corners; c++) off |= w->off[s->place[v[c]]];
            tree->is_dirty[i] = off;
            if (!off) continue;
            tree->dirty[tree->dirty_count++] = i;
            tree->stale[first + l] = true;
            fit_items(&loop, (sn_span){.begin = (size_t)i, .end = (size_t)i + 1});
        }
    sn_hierarchy_refit(h, tree->item, tree->stale, tree->node);
}

typedef enum search_kind { EDGES, POINTS, TRIANGLES } search_kind;

/* The leaf of item i, or one before it. */
static int leaf_of(const sn_hierarchy *h, int i) {
    int leaf = (int)((long long)i * h->leaves / h->count);
    while (leaf > 0 && sn_hierarchy_first(h, leaf) > i) leaf--;
    return leaf;
}

/* The dirty items of one task against the other tree. Of two that are dirty, one finds the other.
 */
static bool repeat_items(pair_search *p, search_kind kind, int from, int to, int *leaves,
                         sn_pair_list *list) {
    const sn_contact_surface *s = p->s;
    const sn_contact_work *w = p->w;
    const sn_fitted_tree *one = kind == EDGES    ? &w->edges
                                : kind == POINTS ? &w->points
                                                 : &w->triangles;
    const sn_fitted_tree *two = kind == EDGES    ? &w->edges
                                : kind == POINTS ? &w->triangles
                                                 : &w->points;
    const sn_hierarchy *h = kind == EDGES    ? &s->edge_tree
                            : kind == POINTS ? &s->triangle_tree
                                             : &s->point_tree;
    const sn_hierarchy *own = kind == EDGES    ? &s->edge_tree
                              : kind == POINTS ? &s->point_tree
                                               : &s->triangle_tree;
    int leaf = -1, count = 0;
    for (int d = from; d < to && !over_budget(p); d++) {
        int i = one->dirty[d];
        size_t tests = 0, found = list->count;
        if (leaf < 0 || i >= sn_hierarchy_first(own, leaf + 1)) { /* items of a leaf share a walk */
            for (leaf = leaf < 0 ? leaf_of(own, i) : leaf; i >= sn_hierarchy_first(own, leaf + 1);)
                leaf++;
            count = sn_hierarchy_near(h, two->node, &one->node[own->leaves - 1 + leaf], 0, leaves);
        }
        for (int k = 0; k < count; k++)
            for (int j = sn_hierarchy_first(h, leaves[k]); j < sn_hierarchy_first(h, leaves[k] + 1);
                 j++) {
                if (kind == EDGES && (j == i || (two->is_dirty[j] && j < i))) continue;
                if (kind == TRIANGLES && two->is_dirty[j]) continue;
                if (!sn_hulls_meet(&one->item[i], &two->item[j])) continue;
                bool swap = kind == TRIANGLES || (kind == EDGES && j < i);
                if (!test_pair(p, kind == EDGES, swap ? j : i, swap ? i : j, list)) return false;
                tests++;
            }
        atomic_fetch_add(&p->tests, tests);
        atomic_fetch_add(&p->found, list->count - found);
    }
    return true;
}

static int tasks_of(const sn_fitted_tree *tree) {
    return (tree->dirty_count + ITEMS - 1) / ITEMS;
}

static void repeat_tasks(void *context, sn_span span) {
    pair_search *p = context;
    const sn_contact_work *w = p->w;
    const sn_fitted_tree *trees[3] = {&w->edges, &w->points, &w->triangles};
    int *leaves = w->leaves + (size_t)span.seat * (size_t)w->leaf_room;
    SN_IN_SPAN(int, b, span) {
        int kind = 0, task = b;
        if (sn_interrupted()) atomic_store(&p->cancelled, true);
        if (atomic_load_explicit(&p->cancelled, memory_order_relaxed)) return;
        for (; task >= tasks_of(trees[kind]); kind++) task -= tasks_of(trees[kind]);
        int from = task * ITEMS, to = from + ITEMS, last = trees[kind]->dirty_count;
        w->blocks[b].count = 0;
        if (!repeat_items(p, (search_kind)kind, from, to < last ? to : last, leaves, &w->blocks[b]))
            atomic_store(&p->no_memory, true);
    }
}

static int by_key(const void *a, const void *b) {
    uint64_t x = ((const sn_contact_pair *)a)->key, y = ((const sn_contact_pair *)b)->key;
    return (x > y) - (x < y);
}

/* The first `count` of two sorted runs, the first of them `left` long, as one run. */
static void join_runs(const sn_contact_pair *runs, size_t left, size_t count,
                      sn_contact_pair *joined) {
    size_t a = 0, b = left;
    for (size_t k = 0; k < count; k++) {
        bool first = b == count || (a < left && runs[a].key < runs[b].key);
        joined[k] = runs[first ? a++ : b++];
    }
}

/* By their keys, in steps between which the call can be cancelled. scratch: room for as many. */
static sinew_status sort_pairs(size_t count, sn_contact_pair *pairs, sn_contact_pair *scratch,
                               sinew_error *error) {
    enum { RUN = 4096 };
    sn_contact_pair *from = pairs, *to = scratch;
    for (size_t at = 0; at < count; at += RUN) {
        SN_TRY(sn_check_interrupt(error));
        qsort(pairs + at, count - at < RUN ? count - at : RUN, sizeof *pairs, by_key);
    }
    for (size_t run = RUN; run < count; run *= 2) {
        for (size_t at = 0; at < count; at += 2 * run) {
            size_t left = count - at < run ? count - at : run;
            SN_TRY(sn_check_interrupt(error));
            join_runs(from + at, left, count - at < 2 * run ? count - at : 2 * run, to + at);
        }
        sn_contact_pair *swap = from;
        from = to, to = swap;
    }
    if (from != pairs) memcpy(pairs, from, count * sizeof *pairs);
    return SINEW_OK;
}

static bool is_off(const sn_contact_surface *s, const sn_contact_work *w,
                   const sn_contact_pair *pair) {
    for (int i = 0; i < 4; i++)
        if (w->off[s->place[pair->v[i]]]) return true;
    return false;
}

/* The pairs that are not off and those of the tasks, in order. */
static sinew_status merge(const sn_contact_surface *s, sn_contact_work *w, int tasks,
                          sinew_error *error) {
    size_t fresh = 0, kept = 0;
    for (int b = 0; b < tasks; b++) fresh += w->blocks[b].count;
    if (!SN_RESERVE(w->merged.pairs, w->merged.capacity, w->found.count + 2 * fresh + 1))
        return sn_no_memory(error);
    /* new ones at the end of the room, sorted there */
    sn_contact_pair *news = w->merged.pairs + w->found.count + fresh, *at = news;
    for (int b = 0; b < tasks; b++) {
        SN_TRY(sn_check_interrupt(error));
        if (w->blocks[b].count) memcpy(at, w->blocks[b].pairs, w->blocks[b].count * sizeof *at);
        at += w->blocks[b].count;
    }
    SN_TRY(sort_pairs(fresh, news, w->merged.pairs, error));
    size_t n = 0, total = 0;
    for (; kept < w->found.count; kept++) {
        const sn_contact_pair *pair = &w->found.pairs[kept];
        if (kept % 4096 == 0) SN_TRY(sn_check_interrupt(error));
        if (is_off(s, w, pair)) continue;
        while (n < fresh && news[n].key < pair->key) w->merged.pairs[total++] = news[n++];
        w->merged.pairs[total++] = *pair;
    }
    while (n < fresh) w->merged.pairs[total++] = news[n++];
    w->merged.count = total;
    sn_pair_list swap = w->found;
    w->found = w->merged, w->merged = swap;
    return SINEW_OK;
}

/* The pairs of points that have left again. *fits: false when everything must be searched again. */
static sinew_status search_some(const sn_contact_surface *s, sn_contact_work *w, const double *x0,
                                const double *x1, bool *fits, sinew_error *error) {
    double wide = w->margin;
    *fits = bound_off(s, w, x0, x1);
    if (!*fits) return SINEW_OK;
    w->margin = 0;
    refit_tree(s, w, &s->point_tree, 1, s->points, &w->points);
    SN_TRY(sn_check_interrupt(error));
    refit_tree(s, w, &s->edge_tree, 2, s->edges, &w->edges);
    SN_TRY(sn_check_interrupt(error));
    refit_tree(s, w, &s->triangle_tree, 3, s->triangles, &w->triangles);
    SN_TRY(sn_check_interrupt(error));
    pair_search search = begin_search(s, w, wide);
    int tasks = tasks_of(&w->edges) + tasks_of(&w->points) + tasks_of(&w->triangles);
    sn_parallel_for_seats(tasks, 1, w->threads, repeat_tasks, &search);
    SN_TRY(end_search(&search, fits, error));
    if (!*fits) return SINEW_OK;
    SN_TRY(merge(s, w, tasks, error));
    w->margin = wide;
    return SINEW_OK;
}

/* Whether what was searched for contains the part that is asked for, and is not much longer. */
static bool contains_part(const sn_contact_work *w) {
    double asked = w->part[1] - w->part[0];
    return w->known[0] <= w->part[0] && w->part[1] <= w->known[1] &&
           (asked == 0 || w->known[1] - w->known[0] <= MOST_AHEAD * asked);
}

/* Looks ahead, so that the next steps have their pairs. *fits: false when that is too much. */
static sinew_status search_ahead(const sn_contact_surface *s, sn_contact_work *w, const double *x0,
                                 double wide, bool *fits, sinew_error *error) {
    double from = w->part[0], to = fmin(w->end, from + AHEAD * (w->part[1] - from));
    for (size_t i = 0; i < 3 * (size_t)s->vertex_count; i++)
        w->ahead[i] = x0[i] + (to - from) * w->course[i];
    w->margin = 0;
    SN_TRY(search_all(s, w, x0, w->ahead, wide, fits, error));
    if (*fits) w->margin = wide, w->known[0] = from, w->known[1] = to;
    return SINEW_OK;
}

/* What the last search found, with the pairs of points that are off anew. *fits: it is enough. */
static sinew_status search_again(const sn_contact_surface *s, sn_contact_work *w, const double *x0,
                                 const double *x1, double margin, bool *fits, sinew_error *error) {
    int off = contains_part(w) ? find_off(s, w, x0, x1, margin) : -1;
    *fits = off == 0;
    if (off > 0 && off <= SOME * s->point_count) SN_TRY(search_some(s, w, x0, x1, fits, error));
    return SINEW_OK;
}

sinew_status sn_contact_find(const sn_contact_surface *s, sn_contact_work *w, const double *x0,
                             const double *x1, double margin, const sn_contact_pair **pairs,
                             int *count, sinew_error *error) {
    double wide = fmax(margin, s->gap) + s->slack;
    bool fits;
    SN_TRY(search_again(s, w, x0, x1, margin, &fits, error));
    if (!fits && w->course && w->part[1] > w->part[0]) {
        SN_TRY(search_ahead(s, w, x0, wide, &fits, error));
        if (fits) SN_TRY(search_again(s, w, x0, x1, margin, &fits, error));
    }
    for (int narrow = 0; !fits && narrow < 2; narrow++) {
        w->margin = 0;
        SN_TRY(search_all(s, w, x0, x1, narrow ? margin : wide, &fits, error));
        if (fits) w->margin = narrow ? margin : wide;
        w->known[0] = w->part[0], w->known[1] = w->part[1];
    }
    if (!fits)
        return sn_fail(error, SINEW_BAD_INPUT,
                       "self-contact: too many of the %d triangles are close to each other at "
                       "once; leave parts that overlap out of contact",
                       s->triangle_count);
    *pairs = w->found.pairs, *count = (int)w->found.count;
    return SINEW_OK;
}
