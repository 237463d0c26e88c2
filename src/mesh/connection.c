/* Boundary loops, connected components and welding of coincident vertices. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/vec3.h"
#include "mesh/topology.h"

int sn_set_find(int *parent, int i) {
    while (parent[i] != i) {
        parent[i] = parent[parent[i]];
        i = parent[i];
    }
    return i;
}

void sn_set_join(int *parent, int a, int b) {
    a = sn_set_find(parent, a);
    b = sn_set_find(parent, b);
    if (a < b)
        parent[b] = a;
    else
        parent[a] = b;
}

sinew_status sn_components_of(int vertex_count, int element_count, int corners, const int *elements,
                              int *component, int *count, sinew_error *error) {
    *count = 0;
    int *parent = SN_NEW(int, vertex_count);
    if (!parent) return sn_no_memory(error);
    for (int v = 0; v < vertex_count; v++) parent[v] = v, component[v] = -1;
    for (int e = 0; e < element_count; e++) {
        const int *element = elements + (size_t)corners * (size_t)e;
        for (int k = 0; k < corners; k++) {
            component[element[k]] = 0; /* used */
            if (k > 0) sn_set_join(parent, element[0], element[k]);
        }
    }
    /* A root is the smallest vertex of its set, so it is numbered before the others ask. */
    for (int v = 0; v < vertex_count; v++) {
        if (component[v] < 0) continue;
        int root = sn_set_find(parent, v);
        component[v] = root == v ? (*count)++ : component[root];
    }
    sn_free(parent);
    return SINEW_OK;
}

sinew_status sn_components(int vertex_count, int triangle_count, const int *triangles,
                           int *component, int *count, sinew_error *error) {
    return sn_components_of(vertex_count, triangle_count, 3, triangles, component, count, error);
}

/* Directed boundary edges leaving each vertex, increasing by end. */
static sinew_status boundary_exits(const sn_topology *topology, sn_lists *exits,
                                   sinew_error *error) {
    int count = 0;
    for (int e = 0; e < topology->edges.count; e++)
        count += sn_list_size(&topology->edge_triangles, e) == 1;
    int *from = SN_NEW(int, count), *to = SN_NEW(int, count);
    sinew_status status = from && to ? SINEW_OK : sn_no_memory(error);
    if (status == SINEW_OK) {
        int i = 0;
        for (int e = 0; e < topology->edges.count; e++) {
            if (sn_list_size(&topology->edge_triangles, e) != 1) continue;
            int triangle = topology->edge_triangles.item[topology->edge_triangles.start[e]];
            int forward = sn_topology_direction(topology, triangle, e) > 0;
            from[i] = topology->edges.vertices[2 * e + !forward];
            to[i++] = topology->edges.vertices[2 * e + forward];
        }
        status = sn_lists_create(topology->vertex_count, count, from, to, exits, error);
    }
    sn_free(from);
    sn_free(to);
    return status;
}

/* Walks the boundary edges from every vertex; whenever the walk comes back to a vertex on its
 * path, the ring since then is cut off and kept. A walk that gets stuck is dropped. */
typedef struct ring_walk {
    const sn_lists *exits;
    int *used;     /* exits taken so far, per vertex */
    int *place;    /* position of a vertex on the path, or -1 */
    int *path;     /* vertices */
    int *ring;     /* rings found, one after the other */
    int *ring_end; /* end of each ring in `ring` */
    int rings;
} ring_walk;

static void walk_from(ring_walk *walk, int start) {
    int length = 0;
    walk->path[length] = start;
    walk->place[start] = length++;
    while (length > 0) {
        int here = walk->path[length - 1];
        int next = walk->exits->start[here] + walk->used[here];
        if (next == walk->exits->start[here + 1]) { /* stuck, or all rings here are done */
            walk->place[here] = -1;
            length--;
            continue;
        }
        walk->used[here]++;
        int to = walk->exits->item[next];
        if (walk->place[to] < 0) {
            walk->path[length] = to;
            walk->place[to] = length++;
            continue;
        }
        int end = walk->rings ? walk->ring_end[walk->rings - 1] : 0;
        int begin = walk->place[to];
        for (int i = begin; i < length; i++) walk->ring[end++] = walk->path[i];
        walk->ring_end[walk->rings++] = end;
        for (int i = begin + 1; i < length; i++) walk->place[walk->path[i]] = -1;
        length = begin + 1;
    }
}

static sinew_status collect_rings(const ring_walk *walk, sn_lists *loops, sinew_error *error) {
    int total = walk->rings ? walk->ring_end[walk->rings - 1] : 0;
    loops->start = SN_NEW0(int, (size_t)walk->rings + 1);
    loops->item = SN_NEW(int, total);
    int *smallest = SN_NEW(int, walk->rings);
    sn_lists order = {0};
    sinew_status status = loops->start && loops->item && smallest ? SINEW_OK : sn_no_memory(error);
    int vertices = 0;
    for (int r = 0; status == SINEW_OK && r < walk->rings; r++) {
        int begin = r ? walk->ring_end[r - 1] : 0;
        smallest[r] = walk->ring[begin];
        for (int i = begin; i < walk->ring_end[r]; i++) {
            if (walk->ring[i] < smallest[r]) smallest[r] = walk->ring[i];
            if (walk->ring[i] >= vertices) vertices = walk->ring[i] + 1;
        }
    }
    if (status == SINEW_OK)
        status = sn_lists_create(vertices, walk->rings, smallest, NULL, &order, error);
    for (int o = 0, out = 0; status == SINEW_OK && o < walk->rings; o++) {
        int r = order.item[o], begin = r ? walk->ring_end[r - 1] : 0;
        int size = walk->ring_end[r] - begin, shift = 0;
        while (walk->ring[begin + shift] != smallest[r]) shift++;
        for (int i = 0; i < size; i++) loops->item[out++] = walk->ring[begin + (shift + i) % size];
        loops->start[o + 1] = out;
    }
    loops->count = walk->rings;
    sn_free(smallest);
    sn_lists_free(&order);
    if (status != SINEW_OK) sn_lists_free(loops);
    return status;
}

sinew_status sn_boundary_loops(const sn_topology *topology, sn_lists *loops, sinew_error *error) {
    *loops = (sn_lists){0};
    sn_lists exits = {0};
    SN_TRY(boundary_exits(topology, &exits, error));
    int total = exits.start[exits.count];
    size_t n = (size_t)topology->vertex_count;
    ring_walk walk = {.exits = &exits,
                      .used = SN_NEW0(int, n),
                      .place = SN_NEW(int, n),
                      .path = SN_NEW(int, n + 1),
                      .ring = SN_NEW(int, total),
                      .ring_end = SN_NEW(int, total)};
    sinew_status status = SINEW_OK;
    if (!walk.used || !walk.place || !walk.path || !walk.ring || !walk.ring_end)
        status = sn_no_memory(error);
    if (status == SINEW_OK) {
        for (size_t v = 0; v < n; v++) walk.place[v] = -1;
        for (int v = 0; v < topology->vertex_count; v++)
            if (exits.start[v] + walk.used[v] < exits.start[v + 1]) walk_from(&walk, v);
        status = collect_rings(&walk, loops, error);
    }
    sn_free(walk.used);
    sn_free(walk.place);
    sn_free(walk.path);
    sn_free(walk.ring);
    sn_free(walk.ring_end);
    sn_lists_free(&exits);
    return status;
}

/* Welding sweeps along the longest axis of the box: after sorting, only vertices within `tolerance`
 * along it are compared. Bit-equal vertices, which may be many, are joined first and then stand as
 * one. */
typedef struct sweep_point {
    double at[3]; /* along the sweep, then the two others */
    int vertex;
} sweep_point;

static int compare_points(const void *left, const void *right) {
    const sweep_point *a = left, *b = right;
    for (int k = 0; k < 3; k++)
        if (a->at[k] != b->at[k]) return a->at[k] < b->at[k] ? -1 : 1;
    return (a->vertex > b->vertex) - (a->vertex < b->vertex);
}

static int longest_axis(int vertex_count, const double *positions) {
    double extent[3];
    for (int k = 0; k < 3; k++) {
        double low = INFINITY, high = -INFINITY;
        for (int v = 0; v < vertex_count; v++) {
            double x = positions[3 * (size_t)v + (size_t)k];
            if (isfinite(x)) low = fmin(low, x), high = fmax(high, x);
        }
        extent[k] = high - low;
    }
    return extent[0] >= extent[1] && extent[0] >= extent[2] ? 0 : extent[1] >= extent[2] ? 1 : 2;
}

static double point_distance(const sweep_point *a, const sweep_point *b) {
    return sn_length(sn_v3(a->at[0] - b->at[0], a->at[1] - b->at[1], a->at[2] - b->at[2]));
}

sinew_status sn_weld(int vertex_count, const double *positions, double tolerance,
                     int *representative, int *merged, sinew_error *error) {
    *merged = 0;
    sweep_point *points = SN_NEW(sweep_point, vertex_count);
    if (!points) return sn_no_memory(error);
    int axis = longest_axis(vertex_count, positions), count = 0;
    for (int v = 0; v < vertex_count; v++) {
        const double *p = positions + 3 * (size_t)v;
        representative[v] = v;
        if (!isfinite(p[0]) || !isfinite(p[1]) || !isfinite(p[2])) continue;
        for (int k = 0; k < 3; k++) points[count].at[k] = p[(axis + k) % 3] + 0.0; /* -0 to 0 */
        points[count++].vertex = v;
    }
    qsort(points, (size_t)count, sizeof *points, compare_points);
    int distinct = 0;
    for (int i = 0; i < count; i++) {
        if (distinct && memcmp(points[distinct - 1].at, points[i].at, sizeof points[i].at) == 0)
            sn_set_join(representative, points[distinct - 1].vertex, points[i].vertex);
        else
            points[distinct++] = points[i];
    }
    for (int i = 0; tolerance > 0 && i < distinct; i++)
        for (int j = i + 1; j < distinct && points[j].at[0] - points[i].at[0] <= tolerance; j++)
            if (point_distance(points + i, points + j) <= tolerance)
                sn_set_join(representative, points[i].vertex, points[j].vertex);
    for (int v = 0; v < vertex_count; v++) {
        representative[v] = sn_set_find(representative, v);
        *merged += representative[v] != v;
    }
    sn_free(points);
    return SINEW_OK;
}
