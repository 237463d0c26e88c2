#include "mesh/topology.h"

#include <limits.h>
#include <string.h>

#include "base/memory.h"

void sn_lists_free(sn_lists *lists) {
    sn_free(lists->start);
    sn_free(lists->item);
    *lists = (sn_lists){0};
}

void sn_edges_free(sn_edges *edges) {
    sn_free(edges->vertices);
    *edges = (sn_edges){0};
}

sinew_status sn_lists_create(int list_count, int item_count, const int *list_of, const int *item_of,
                             sn_lists *lists, sinew_error *error) {
    *lists = (sn_lists){0};
    int *start = SN_NEW0(int, (size_t)list_count + 2), *item = SN_NEW(int, item_count);
    if (!start || !item) {
        sn_free(start);
        sn_free(item);
        return sn_no_memory(error);
    }
    /* start is shifted by one place while it serves as the write position of each list */
    for (int i = 0; i < item_count; i++) start[list_of[i] + 2]++;
    for (int i = 0; i < list_count; i++) start[i + 2] += start[i + 1];
    for (int i = 0; i < item_count; i++) item[start[list_of[i] + 1]++] = item_of ? item_of[i] : i;
    *lists = (sn_lists){list_count, start, item};
    return SINEW_OK;
}

/* Half-edges bucketed by their smaller vertex, each bucket sorted by the larger. */
typedef struct half_edges {
    int count;
    int *low, *high, *order; /* order: positions of the half-edges, sorted */
} half_edges;

static void half_edges_free(half_edges *half) {
    sn_free(half->low);
    sn_free(half->high);
    sn_free(half->order);
}

static sinew_status sort_half_edges(half_edges *half, sinew_error *error) {
    /* Two stable counting sorts: by high, then by low. */
    int vertices = 0;
    for (int i = 0; i < half->count; i++)
        if (half->high[i] >= vertices) vertices = half->high[i] + 1;
    sn_lists by_high;
    SN_TRY(sn_lists_create(vertices, half->count, half->high, NULL, &by_high, error));
    int *low = SN_NEW(int, half->count);
    sn_lists by_low = {0};
    sinew_status status = low ? SINEW_OK : sn_no_memory(error);
    if (status == SINEW_OK) {
        for (int i = 0; i < half->count; i++) low[i] = half->low[by_high.item[i]];
        status = sn_lists_create(vertices, half->count, low, by_high.item, &by_low, error);
    }
    if (status == SINEW_OK) {
        half->order = by_low.item;
        by_low.item = NULL;
    }
    sn_free(low);
    sn_lists_free(&by_low);
    sn_lists_free(&by_high);
    return status;
}

static sinew_status half_edges_create(int capacity, half_edges *half, sinew_error *error) {
    *half = (half_edges){0, SN_NEW(int, capacity), SN_NEW(int, capacity), NULL};
    if (half->low && half->high) return SINEW_OK;
    half_edges_free(half);
    return sn_no_memory(error);
}

static void add_half_edge(half_edges *half, int a, int b) {
    half->low[half->count] = a < b ? a : b;
    half->high[half->count] = a < b ? b : a;
    half->count++;
}

static bool same_edge(const half_edges *half, int i, int j) {
    int a = half->order[i], b = half->order[j];
    return half->low[a] == half->low[b] && half->high[a] == half->high[b];
}

static sinew_status unique_edges(half_edges *half, sn_edges *edges, sinew_error *error) {
    *edges = (sn_edges){0};
    SN_TRY(sort_half_edges(half, error));
    int count = 0;
    for (int i = 0; i < half->count; i++) count += i == 0 || !same_edge(half, i - 1, i);
    int *vertices = SN_NEW(int, 2 * (size_t)count);
    if (!vertices) return sn_no_memory(error);
    int made = 0;
    for (int i = 0; i < half->count; i++) {
        if (i > 0 && same_edge(half, i - 1, i)) continue;
        vertices[2 * made] = half->low[half->order[i]];
        vertices[2 * made + 1] = half->high[half->order[i]];
        made++;
    }
    *edges = (sn_edges){count, vertices};
    return SINEW_OK;
}

sinew_status sn_edges_of_faces(const sinew_mesh *mesh, sn_edges *edges, sinew_error *error) {
    *edges = (sn_edges){0};
    int corners = mesh->face_count ? mesh->face_start[mesh->face_count] : 0;
    half_edges half;
    SN_TRY(half_edges_create(corners, &half, error));
    for (int f = 0; f < mesh->face_count; f++) {
        int begin = mesh->face_start[f], end = mesh->face_start[f + 1];
        for (int c = begin; c < end; c++) {
            int a = mesh->face_vertices[c], b = mesh->face_vertices[c + 1 < end ? c + 1 : begin];
            if (a != b) add_half_edge(&half, a, b);
        }
    }
    sinew_status status = unique_edges(&half, edges, error);
    half_edges_free(&half);
    return status;
}

sinew_status sn_edges_of_triangles(int triangle_count, const int *triangles, sn_edges *edges,
                                   sinew_error *error) {
    *edges = (sn_edges){0};
    if (triangle_count > INT_MAX / 3)
        return sn_fail(error, SINEW_BAD_INPUT, "too many triangles: %d", triangle_count);
    half_edges half;
    SN_TRY(half_edges_create(3 * triangle_count, &half, error));
    for (int t = 0; t < triangle_count; t++)
        for (int k = 0; k < 3; k++) {
            int a = triangles[3 * t + k], b = triangles[3 * t + (k + 1) % 3];
            if (a != b) add_half_edge(&half, a, b);
        }
    sinew_status status = unique_edges(&half, edges, error);
    half_edges_free(&half);
    return status;
}

int sn_edges_find(const sn_edges *edges, int a, int b) {
    int low = a < b ? a : b, high = a < b ? b : a;
    int from = 0, to = edges->count;
    while (from < to) {
        int middle = from + (to - from) / 2;
        const int *v = edges->vertices + 2 * (size_t)middle;
        if (v[0] < low || (v[0] == low && v[1] < high))
            from = middle + 1;
        else
            to = middle;
    }
    if (from == edges->count) return -1;
    const int *v = edges->vertices + 2 * (size_t)from;
    return v[0] == low && v[1] == high ? from : -1;
}

/* The range of edges whose smaller vertex is v starts at first[v]. */
static int *first_edges(const sn_edges *edges, int vertex_count) {
    int *first = SN_NEW0(int, (size_t)vertex_count + 1);
    if (!first) return NULL;
    for (int e = 0; e < edges->count; e++) first[edges->vertices[2 * (size_t)e] + 1]++;
    for (int v = 0; v < vertex_count; v++) first[v + 1] += first[v];
    return first;
}

static int find_from(const sn_edges *edges, const int *first, int a, int b) {
    int low = a < b ? a : b, high = a < b ? b : a;
    int from = first[low], to = first[low + 1];
    while (from < to) {
        int middle = from + (to - from) / 2;
        if (edges->vertices[2 * (size_t)middle + 1] < high)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

static sinew_status link_edges(sn_topology *topology, sinew_error *error) {
    const sn_edges *edges = &topology->edges;
    int corners = 3 * topology->triangle_count;
    int *first = first_edges(edges, topology->vertex_count);
    int *list_of = SN_NEW(int, corners), *item_of = SN_NEW(int, corners);
    topology->triangle_edges = SN_NEW(int, corners);
    sinew_status status = SINEW_OK;
    if (!first || !list_of || !item_of || !topology->triangle_edges) status = sn_no_memory(error);
    int count = 0;
    for (int c = 0; status == SINEW_OK && c < corners; c++) {
        int t = c / 3, k = c % 3;
        int a = topology->triangles[c], b = topology->triangles[3 * t + (k + 1) % 3];
        topology->triangle_edges[c] = a == b ? -1 : find_from(edges, first, a, b);
        if (a == b) continue;
        list_of[count] = topology->triangle_edges[c];
        item_of[count++] = t;
    }
    if (status == SINEW_OK)
        status = sn_lists_create(edges->count, count, list_of, item_of, &topology->edge_triangles,
                                 error);
    sn_free(first);
    sn_free(list_of);
    sn_free(item_of);
    return status;
}

static sinew_status link_vertices(sn_topology *topology, sinew_error *error) {
    const sn_edges *edges = &topology->edges;
    int corners = 3 * topology->triangle_count;
    int size = corners > 2 * edges->count ? corners : 2 * edges->count;
    int *list_of = SN_NEW(int, size), *item_of = SN_NEW(int, size);
    sinew_status status = list_of && item_of ? SINEW_OK : sn_no_memory(error);
    if (status == SINEW_OK) {
        /* Edges are sorted by (low, high): adding all (high -> low) first, then all (low -> high),
         * leaves every list increasing. */
        for (int e = 0; e < edges->count; e++) {
            int low = edges->vertices[2 * e], high = edges->vertices[2 * e + 1];
            list_of[e] = high, item_of[e] = low;
            list_of[edges->count + e] = low, item_of[edges->count + e] = high;
        }
        status = sn_lists_create(topology->vertex_count, 2 * edges->count, list_of, item_of,
                                 &topology->vertex_vertices, error);
    }
    if (status == SINEW_OK) {
        for (int c = 0; c < corners; c++) item_of[c] = c / 3;
        status = sn_lists_create(topology->vertex_count, corners, topology->triangles, item_of,
                                 &topology->vertex_triangles, error);
    }
    sn_free(list_of);
    sn_free(item_of);
    return status;
}

sinew_status sn_topology_create(int vertex_count, int triangle_count, const int *triangles,
                                sn_topology **topology, sinew_error *error) {
    *topology = NULL;
    sn_topology *made = SN_NEW0(sn_topology, 1);
    if (!made) return sn_no_memory(error);
    made->vertex_count = vertex_count;
    made->triangle_count = triangle_count;
    made->triangles = triangles;
    sinew_status status = sn_edges_of_triangles(triangle_count, triangles, &made->edges, error);
    if (status == SINEW_OK) status = link_edges(made, error);
    if (status == SINEW_OK) status = link_vertices(made, error);
    if (status != SINEW_OK) {
        sn_topology_destroy(made);
        return status;
    }
    *topology = made;
    return SINEW_OK;
}

void sn_topology_destroy(sn_topology *topology) {
    if (!topology) return;
    sn_edges_free(&topology->edges);
    sn_free(topology->triangle_edges);
    sn_lists_free(&topology->edge_triangles);
    sn_lists_free(&topology->vertex_vertices);
    sn_lists_free(&topology->vertex_triangles);
    sn_free(topology);
}

int sn_topology_across(const sn_topology *topology, int triangle, int k) {
    int edge = topology->triangle_edges[3 * triangle + k];
    if (edge < 0 || sn_list_size(&topology->edge_triangles, edge) != 2) return -1;
    const int *pair = topology->edge_triangles.item + topology->edge_triangles.start[edge];
    return pair[0] == triangle ? pair[1] : pair[0];
}

int sn_topology_direction(const sn_topology *topology, int triangle, int edge) {
    const int *t = topology->triangles + 3 * (size_t)triangle;
    int low = topology->edges.vertices[2 * (size_t)edge];
    int high = topology->edges.vertices[2 * (size_t)edge + 1];
    for (int k = 0; k < 3; k++)
        if (t[k] == low && t[(k + 1) % 3] == high) return 1;
    return -1;
}

int sn_orientation_conflicts(const sn_topology *topology) {
    int conflicts = 0;
    for (int e = 0; e < topology->edges.count; e++) {
        if (sn_list_size(&topology->edge_triangles, e) != 2) continue;
        const int *pair = topology->edge_triangles.item + topology->edge_triangles.start[e];
        conflicts += sn_topology_direction(topology, pair[0], e) ==
                     sn_topology_direction(topology, pair[1], e);
    }
    return conflicts;
}
