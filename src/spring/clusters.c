/* Smooth clusters of a network.
 *
 * Centers are chosen one after another, each the vertex farthest from those before it (distances
 * along springs). Every vertex then belongs to its nearest centers c with hat weights
 *
 *   w_c = max(0, D - d_c),  D the distance to the first center that is left out,
 *
 * scaled to sum 1: continuous, 1 near a center, overlapping between. Distances follow the springs,
 * so two fingers that lie side by side do not share a cluster.
 *
 * Large networks are given their centers: choosing the farthest visits every vertex for each. */
#include "spring/precondition.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/parallel.h"
#include "base/status.h"

enum { NEAREST = SN_CLUSTERS_PER_VERTEX + 1 };

typedef struct graph {
    int count;
    int *start, *neighbour;
    float *length;
} graph;

static void graph_free(graph *g) {
    sn_free(g->start), sn_free(g->neighbour), sn_free(g->length);
}

static bool graph_create(const sn_system *system, const double *lengths, graph *g) {
    int n = g->count = system->free_count;
    size_t edges = 0;
    for (int v = 0; v < n; v++) edges += (size_t)(system->row_split[v] - system->row_start[v]);
    g->start = SN_NEW0(int, n + 2);
    g->neighbour = SN_NEW(int, 2 * edges);
    g->length = SN_NEW(float, 2 * edges);
    if (!g->start || !g->neighbour || !g->length) return false;
    /* start[v + 2] counts, start[v + 1] runs while filling, start[v] is the offset at the end */
    for (int v = 0; v < n; v++)
        for (int s = system->row_start[v]; s < system->row_split[v]; s++)
            g->start[v + 2]++, g->start[system->other[s] + 2]++;
    for (int v = 0; v < n; v++) g->start[v + 2] += g->start[v + 1];
    for (int v = 0; v < n; v++)
        for (int s = system->row_start[v]; s < system->row_split[v]; s++) {
            int u = system->other[s], a = g->start[v + 1]++, b = g->start[u + 1]++;
            g->neighbour[a] = u, g->neighbour[b] = v;
            g->length[a] = g->length[b] = (float)lengths[s];
        }
    return true;
}

/* ---- a binary heap of (distance, vertex, center) ---- */

typedef struct item {
    float distance;
    int vertex, center;
} item;

typedef struct heap {
    item *items;
    size_t count, capacity;
} heap;

/* Ties by vertex, then center: the order must not depend on anything else. */
static bool before(const item *a, const item *b) {
    if (a->distance != b->distance) return a->distance < b->distance;
    if (a->vertex != b->vertex) return a->vertex < b->vertex;
    return a->center < b->center;
}

static bool heap_push(heap *h, item value) {
    if (!SN_RESERVE(h->items, h->capacity, h->count + 1)) return false;
    size_t k = h->count++;
    for (; k && before(&value, &h->items[(k - 1) / 2]); k = (k - 1) / 2)
        h->items[k] = h->items[(k - 1) / 2];
    h->items[k] = value;
    return true;
}

static item heap_pop(heap *h) {
    item top = h->items[0], last = h->items[--h->count];
    size_t k = 0;
    for (;;) {
        size_t child = 2 * k + 1;
        if (child >= h->count) break;
        if (child + 1 < h->count && before(&h->items[child + 1], &h->items[child])) child++;
        if (!before(&h->items[child], &last)) break;
        h->items[k] = h->items[child], k = child;
    }
    if (h->count) h->items[k] = last;
    return top;
}

/* Shrinks `distance` where `center` is nearer. */
static bool spread(const graph *g, int center, float *distance, heap *h) {
    distance[center] = 0;
    h->count = 0;
    if (!heap_push(h, (item){0, center, 0})) return false;
    while (h->count) {
        item top = heap_pop(h);
        if (top.distance > distance[top.vertex]) continue;
        for (int k = g->start[top.vertex]; k < g->start[top.vertex + 1]; k++) {
            float d = top.distance + g->length[k];
            if (d < distance[g->neighbour[k]]) {
                distance[g->neighbour[k]] = d;
                if (!heap_push(h, (item){d, g->neighbour[k], 0})) return false;
            }
        }
    }
    return true;
}

/* The NEAREST centers of every vertex: one search in which a vertex may be settled by several. */
static bool search_nearest(const graph *g, int center_count, const int *centers, int *found,
                           int *center, float *distance, heap *h) {
    memset(found, 0, (size_t)g->count * sizeof *found);
    h->count = 0;
    for (int c = 0; c < center_count; c++)
        if (!heap_push(h, (item){0, centers[c], c})) return false;
    while (h->count) {
        item top = heap_pop(h);
        int v = top.vertex, known = found[v];
        if (known == NEAREST) continue;
        bool repeated = false;
        for (int k = 0; k < known; k++) repeated |= center[NEAREST * v + k] == top.center;
        if (repeated) continue;
        center[NEAREST * v + known] = top.center;
        distance[NEAREST * v + known] = top.distance;
        found[v]++;
        for (int k = g->start[v]; k < g->start[v + 1]; k++)
            if (found[g->neighbour[k]] < NEAREST &&
                !heap_push(h, (item){top.distance + g->length[k], g->neighbour[k], top.center}))
                return false;
    }
    return true;
}

static int choose_centers(const graph *g, int wanted, int *centers, float *distance, heap *h) {
    for (int v = 0; v < g->count; v++) distance[v] = INFINITY;
    int count = 0;
    while (count < wanted) {
        int farthest = 0;
        for (int v = 1; v < g->count; v++)
            if (distance[v] > distance[farthest]) farthest = v;
        if (count && !(distance[farthest] > 0)) break;
        centers[count++] = farthest;
        if (!spread(g, farthest, distance, h)) return -1;
    }
    return count;
}

/* From the centers found for a vertex and their distances, nearest first. */
static void set_weights(int v, int found, const int *center, const float *distance,
                        sn_clusters *clusters) {
    int *own = clusters->cluster + SN_CLUSTERS_PER_VERTEX * (size_t)v;
    float *weight = clusters->weight + SN_CLUSTERS_PER_VERTEX * (size_t)v, sum = 0;
    int count = found < SN_CLUSTERS_PER_VERTEX ? found : SN_CLUSTERS_PER_VERTEX;
    /* with fewer centers than that in reach nothing is left out: a little past the farthest */
    float limit = found == NEAREST ? distance[NEAREST - 1]
                  : count          ? 1.25f * distance[count - 1]
                                   : 0;
    for (int k = 0; k < SN_CLUSTERS_PER_VERTEX; k++) {
        own[k] = k < count ? center[k] : 0;
        weight[k] = k < count ? limit - distance[k] : 0;
        sum += weight[k];
    }
    if (!(sum > 0) && count) weight[0] = sum = 1;
    for (int k = 0; k < SN_CLUSTERS_PER_VERTEX; k++) weight[k] = sum > 0 ? weight[k] / sum : 0;
}

static bool clusters_room(int n, sn_clusters *clusters) {
    clusters->cluster = SN_NEW0(int, SN_CLUSTERS_PER_VERTEX *(size_t)n);
    clusters->weight = SN_NEW0(float, SN_CLUSTERS_PER_VERTEX *(size_t)n);
    return clusters->cluster && clusters->weight;
}

sinew_status sn_clusters_create(const sn_system *system, const double *lengths, int wanted,
                                sn_clusters *clusters, sinew_error *error) {
    *clusters = (sn_clusters){0};
    int n = system->free_count;
    graph g = {0};
    heap h = {0};
    if (wanted > n) wanted = n;
    int *centers = SN_NEW(int, wanted), *found = SN_NEW(int, n);
    int *center = SN_NEW(int, NEAREST *(size_t)n);
    float *distance = SN_NEW(float, NEAREST *(size_t)n);
    bool ok = clusters_room(n, clusters) && centers && found && center && distance &&
              graph_create(system, lengths, &g);
    if (ok && n > 0) {
        clusters->count = choose_centers(&g, wanted, centers, distance, &h);
        ok = clusters->count >= 0 &&
             search_nearest(&g, clusters->count, centers, found, center, distance, &h);
        for (int v = 0; v < n && ok; v++)
            set_weights(v, found[v], center + NEAREST * (size_t)v, distance + NEAREST * (size_t)v,
                        clusters);
    }
    graph_free(&g);
    sn_free(h.items), sn_free(centers), sn_free(found), sn_free(center), sn_free(distance);
    if (ok) return SINEW_OK;
    sn_clusters_free(clusters);
    return sn_no_memory(error);
}

/* ---- around given centers ---- */

/* The centers that are known to be nearest to a vertex, nearest first. */
typedef struct nearest {
    int count, center[NEAREST];
    float distance[NEAREST];
} nearest;

/* Every vertex asks its neighbors for the centers they know, again and again. A sweep reads the
 * lists of the one before, so the result does not depend on the threads. */
typedef struct sweep {
    const graph *graph;
    nearest *from, *to;
    uint8_t *moved, *moves; /* per vertex: its list changed in the sweep before, or in this one */
    sn_clusters *clusters;
} sweep;

/* Adds a center unless it is no nearer than what is known; ties by number. */
static bool learn(nearest *l, int center, float distance) {
    int at = 0, end = l->count;
    while (at < l->count && (l->distance[at] < distance ||
                             (l->distance[at] == distance && l->center[at] <= center))) {
        if (l->center[at] == center) return false;
        at++;
    }
    if (at == NEAREST) return false;
    for (int k = at; k < l->count; k++)
        if (l->center[k] == center) end = k;
    if (end == l->count && l->count < NEAREST) l->count++;
    for (int k = end < NEAREST ? end : NEAREST - 1; k > at; k--)
        l->center[k] = l->center[k - 1], l->distance[k] = l->distance[k - 1];
    l->center[at] = center, l->distance[at] = distance;
    return true;
}

static void ask_neighbors(void *context, sn_span span) {
    const sweep *s = context;
    const graph *g = s->graph;
    SN_IN_SPAN(int, v, span) {
        nearest own = s->from[v];
        bool changed = false;
        for (int k = g->start[v]; k < g->start[v + 1]; k++) {
            if (!s->moved[g->neighbour[k]]) continue;
            const nearest *other = &s->from[g->neighbour[k]];
            for (int j = 0; j < other->count; j++) {
                float d = other->distance[j] + g->length[k];
                if (own.count == NEAREST && d > own.distance[NEAREST - 1]) break;
                if (learn(&own, other->center[j], d)) changed = true;
            }
        }
        s->to[v] = own, s->moves[v] = changed;
    }
}

static void weigh_nearest(void *context, sn_span span) {
    const sweep *s = context;
    SN_IN_SPAN(int, v, span)
        set_weights(v, s->from[v].count, s->from[v].center, s->from[v].distance, s->clusters);
}

sinew_status sn_clusters_around(const sn_system *system, const double *lengths, int count,
                                const int *centers, sn_clusters *clusters, sinew_error *error) {
    *clusters = (sn_clusters){.count = count};
    size_t n = (size_t)system->free_count;
    graph g = {0};
    sweep s = {
        &g,      SN_NEW0(nearest, n), SN_NEW(nearest, n), SN_NEW0(uint8_t, n), SN_NEW0(uint8_t, n),
        clusters};
    bool ok = clusters_room(system->free_count, clusters) && s.from && s.to && s.moved && s.moves &&
              graph_create(system, lengths, &g);
    for (int c = 0; c < count && ok; c++) learn(&s.from[centers[c]], c, 0), s.moved[centers[c]] = 1;
    for (bool more = ok && count > 0; more;) {
        sn_parallel_for(n, 256, ask_neighbors, &s);
        nearest *lists = s.from;
        uint8_t *moves = s.moved;
        s.from = s.to, s.to = lists, s.moved = s.moves, s.moves = moves;
        more = memchr(s.moved, 1, n) != NULL;
    }
    if (ok) sn_parallel_for(n, 1024, weigh_nearest, &s);
    graph_free(&g);
    sn_free(s.from), sn_free(s.to), sn_free(s.moved), sn_free(s.moves);
    if (ok) return SINEW_OK;
    sn_clusters_free(clusters);
    return sn_no_memory(error);
}

void sn_clusters_free(sn_clusters *clusters) {
    sn_free(clusters->cluster), sn_free(clusters->weight);
    *clusters = (sn_clusters){0};
}
