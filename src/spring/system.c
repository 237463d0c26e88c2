#include "spring/system.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/parallel.h"
#include "base/status.h"

/* ---- order ---- */

typedef struct graph {
    int *start, *neighbour;
} graph;

static bool graph_create(const sn_network *network, graph *g) {
    int n = network->vertex_count;
    g->start = SN_NEW0(int, n + 1);
    g->neighbour = SN_NEW(int, 2 * (size_t)network->spring_count);
    if (!g->start || !g->neighbour) return false;
    for (int e = 0; e < 2 * network->spring_count; e++) g->start[network->ends[e] + 1]++;
    for (int v = 0; v < n; v++) g->start[v + 1] += g->start[v];
    int *fill = SN_NEW(int, n);
    if (!fill) return false;
    memcpy(fill, g->start, (size_t)n * sizeof *fill);
    for (int q = 0; q < network->spring_count; q++) {
        int a = network->ends[2 * q], b = network->ends[2 * q + 1];
        g->neighbour[fill[a]++] = b, g->neighbour[fill[b]++] = a;
    }
    sn_free(fill);
    return true;
}

/* Breadth-first from `seed` over unvisited free vertices; appends to order, returns the count. */
static int sweep(const graph *g, const bool *held, int seed, bool *visited, int *order) {
    int head = 0, tail = 0;
    order[tail++] = seed, visited[seed] = true;
    while (head < tail) {
        int v = order[head++];
        for (int k = g->start[v]; k < g->start[v + 1]; k++) {
            int u = g->neighbour[k];
            if (!visited[u] && !held[u]) visited[u] = true, order[tail++] = u;
        }
    }
    return tail;
}

/* Cuthill-McKee: breadth-first from an end of each component (found by two sweeps), reversed. */
static bool find_order(const sn_network *network, const bool *held, sn_system *system) {
    int n = network->vertex_count, count = 0;
    graph g = {0};
    bool *visited = SN_NEW0(bool, n);
    bool ok = graph_create(network, &g) && visited;
    if (ok) {
        for (int v = 0; v < n; v++) {
            if (held[v] || visited[v]) continue;
            int *part = system->order + count;
            int seed = v, found = 0;
            for (int pass = 0; pass < 3; pass++) {
                found = sweep(&g, held, seed, visited, part);
                if (pass == 2) break;
                seed = part[found - 1];
                for (int k = 0; k < found; k++) visited[part[k]] = false;
            }
            for (int a = 0, b = found - 1; a < b; a++, b--) {
                int swap = part[a];
                part[a] = part[b], part[b] = swap;
            }
            count += found;
        }
        system->free_count = count;
        for (int v = 0; v < n; v++)
            if (held[v]) system->order[count++] = v;
        for (int k = 0; k < n; k++) system->place[system->order[k]] = k;
    }
    sn_free(g.start), sn_free(g.neighbour), sn_free(visited);
    return ok;
}

/* ---- rows ---- */

typedef struct entry {
    int row, other, spring;
} entry;

static int compare_entries(const void *a, const void *b) {
    const entry *x = a, *y = b;
    return x->row != y->row ? (x->row > y->row) - (x->row < y->row)
                            : (x->other > y->other) - (x->other < y->other);
}

static sinew_status fill_rows(const sn_network *network, sn_system *system, sinew_error *error) {
    entry *entries = SN_NEW(entry, network->spring_count);
    if (!entries) return sn_no_memory(error);
    int count = 0;
    double total = 0;
    for (int q = 0; q < network->spring_count; q++) {
        int a = system->place[network->ends[2 * q]], b = system->place[network->ends[2 * q + 1]];
        total += network->stiffness[q];
        if (a >= system->free_count && b >= system->free_count) continue;
        entries[count++] = (entry){a < b ? a : b, a < b ? b : a, q};
    }
    system->mean_stiffness = network->spring_count ? total / network->spring_count : 0;
    qsort(entries, (size_t)count, sizeof *entries, compare_entries);
    system->spring_count = count;
    system->row_start = SN_NEW0(int, system->free_count + 1);
    system->row_split = SN_NEW(int, system->free_count);
    system->other = SN_NEW(int, count);
    system->spring = SN_NEW(int, count);
    system->stiffness = SN_NEW(double, count);
    if (!system->row_start || !system->row_split || !system->other || !system->spring ||
        !system->stiffness) {
        sn_free(entries);
        return sn_no_memory(error);
    }
    for (int k = 0; k < count; k++) {
        system->row_start[entries[k].row + 1]++;
        system->other[k] = entries[k].other;
        system->spring[k] = entries[k].spring;
        system->stiffness[k] = network->stiffness[entries[k].spring];
    }
    for (int v = 0; v < system->free_count; v++) {
        system->row_start[v + 1] += system->row_start[v];
        int split = system->row_start[v + 1];
        while (split > system->row_start[v] && system->other[split - 1] >= system->free_count)
            split--;
        system->row_split[v] = split;
    }
    sn_free(entries);
    return SINEW_OK;
}

/* Tets or triangles in solver order. */
typedef struct element {
    int lowest, source;
    int vertices[4];
} element;

static int compare_elements(const void *a, const void *b) {
    const element *x = a, *y = b;
    return x->lowest != y->lowest ? (x->lowest > y->lowest) - (x->lowest < y->lowest)
                                  : (x->source > y->source) - (x->source < y->source);
}

/* The ones with a free vertex, of `corners` vertices each, with the weight stiffness / scale. */
static sinew_status fill_elements(const sn_system *system, int room, int corners,
                                  const int *vertices, double stiffness, const double *scale,
                                  int *count, int **vertex, int **source, double **weight,
                                  sinew_error *error) {
    if (!(stiffness > 0)) room = 0;
    element *elements = SN_NEW(element, room);
    if (!elements) return sn_no_memory(error);
    int found = 0;
    for (int t = 0; t < room; t++) {
        element made = {.lowest = system->count, .source = t};
        for (int c = 0; c < corners; c++) {
            made.vertices[c] = system->place[vertices[(size_t)corners * (size_t)t + (size_t)c]];
            if (made.vertices[c] < made.lowest) made.lowest = made.vertices[c];
        }
        if (made.lowest < system->free_count) elements[found++] = made;
    }
    qsort(elements, (size_t)found, sizeof *elements, compare_elements);
    *count = found;
    *vertex = SN_NEW(int, (size_t)corners *(size_t)found);
    *source = SN_NEW(int, found);
    *weight = SN_NEW(double, found);
    if (!*vertex || !*source || !*weight) {
        sn_free(elements);
        return sn_no_memory(error);
    }
    for (int t = 0; t < found; t++) {
        memcpy(*vertex + (size_t)corners * (size_t)t, elements[t].vertices,
               (size_t)corners * sizeof(int));
        (*source)[t] = elements[t].source;
        (*weight)[t] = stiffness / scale[elements[t].source];
    }
    sn_free(elements);
    return SINEW_OK;
}

/* ---- chunks ---- */

static void widen(sn_system *system, int chunk, int vertex) {
    if (vertex >= system->free_count) return;
    if (vertex < system->window_low[chunk]) system->window_low[chunk] = vertex;
    if (vertex >= system->window_high[chunk]) system->window_high[chunk] = vertex + 1;
}

static void cut_chunks(sn_system *system) {
    int row = 0;
    for (int c = 0; c <= SN_CHUNKS; c++) {
        /* equal shares of springs plus rows, so that rows without springs are spread too */
        double share = (double)c / SN_CHUNKS;
        double goal = share * (system->spring_count + system->free_count);
        while (row < system->free_count && system->row_start[row] + row < goal) row++;
        system->chunk_row[c] = c == SN_CHUNKS ? system->free_count : row;
        system->chunk_tet[c] = (int)(share * system->tet_count);
        system->chunk_triangle[c] = (int)(share * system->triangle_count);
    }
    size_t start = 0;
    for (int c = 0; c < SN_CHUNKS; c++) {
        system->window_low[c] = system->free_count, system->window_high[c] = 0;
        for (int v = system->chunk_row[c]; v < system->chunk_row[c + 1]; v++) {
            widen(system, c, v);
            if (system->row_split[v] > system->row_start[v])
                widen(system, c, system->other[system->row_split[v] - 1]);
        }
        for (int t = 4 * system->chunk_tet[c]; t < 4 * system->chunk_tet[c + 1]; t++)
            widen(system, c, system->tet[t]);
        for (int t = 3 * system->chunk_triangle[c]; t < 3 * system->chunk_triangle[c + 1]; t++)
            widen(system, c, system->triangle[t]);
        if (system->window_high[c] < system->window_low[c])
            system->window_low[c] = system->window_high[c] = 0;
        system->window_start[c] = start;
        start += (size_t)(system->window_high[c] - system->window_low[c]);
    }
    system->window_start[SN_CHUNKS] = start;
}

sinew_status sn_system_create(const sn_network *network, const bool *held, double volume_stiffness,
                              double altitude_stiffness, sn_system **result, sinew_error *error) {
    *result = NULL;
    sn_system *system = SN_NEW0(sn_system, 1);
    if (!system) return sn_no_memory(error);
    system->count = network->vertex_count;
    system->order = SN_NEW(int, system->count);
    system->place = SN_NEW(int, system->count);
    sinew_status status = SINEW_OK;
    if (!system->order || !system->place || !find_order(network, held, system))
        status = sn_no_memory(error);
    if (status == SINEW_OK) status = fill_rows(network, system, error);
    if (status == SINEW_OK)
        status = fill_elements(system, network->tet_count, 4, network->tets, volume_stiffness,
                               network->volume_scale, &system->tet_count, &system->tet,
                               &system->tet_source, &system->tet_weight, error);
    if (status == SINEW_OK)
        status = fill_elements(system, network->triangle_count, 3, network->altitude_corners,
                               altitude_stiffness, network->altitude_scale, &system->triangle_count,
                               &system->triangle, &system->triangle_source,
                               &system->triangle_weight, error);
    if (status == SINEW_OK) {
        system->triangle_foot = SN_NEW(double, system->triangle_count);
        if (!system->triangle_foot) status = sn_no_memory(error);
        for (int t = 0; status == SINEW_OK && t < system->triangle_count; t++)
            system->triangle_foot[t] = network->altitude_foot[system->triangle_source[t]];
    }
    if (status != SINEW_OK) {
        sn_system_destroy(system);
        return status;
    }
    cut_chunks(system);
    system->bytes = sizeof *system + 8 * (size_t)system->count + 8 * (size_t)system->free_count +
                    16 * (size_t)system->spring_count + 28 * (size_t)system->tet_count +
                    24 * (size_t)system->triangle_count;
    *result = system;
    return SINEW_OK;
}

void sn_system_destroy(sn_system *system) {
    if (!system) return;
    sn_free(system->order), sn_free(system->place);
    sn_free(system->row_start), sn_free(system->row_split), sn_free(system->other);
    sn_free(system->spring), sn_free(system->stiffness);
    sn_free(system->tet), sn_free(system->tet_source), sn_free(system->tet_weight);
    sn_free(system->triangle), sn_free(system->triangle_source), sn_free(system->triangle_foot);
    sn_free(system->triangle_weight);
    sn_free(system);
}

typedef struct import_vertices_loop {
    const sn_system *system;
    const double *positions;
    double *solver;
} import_vertices_loop;

static void import_vertices(void *context, sn_span span) {
    const import_vertices_loop *loop = context;
    const sn_system *system = loop->system;
    const double *positions = loop->positions;
    double *solver = loop->solver;
    SN_IN_SPAN(int, k, span) {
        const double *from = positions + 3 * (size_t)system->order[k];
        double *to = solver + SN_PAD * (size_t)k;
        to[0] = from[0], to[1] = from[1], to[2] = from[2], to[3] = 0;
    }
}

void sn_system_import(const sn_system *system, const double *positions, double *solver) {
    sn_parallel_for(system->count, 512, import_vertices,
                    &(import_vertices_loop){system, positions, solver});
}

typedef struct export_vertices_loop {
    const sn_system *system;
    const double *solver;
    double *positions;
} export_vertices_loop;

static void export_vertices(void *context, sn_span span) {
    const export_vertices_loop *loop = context;
    const sn_system *system = loop->system;
    const double *solver = loop->solver;
    double *positions = loop->positions;
    SN_IN_SPAN(int, k, span)
        memcpy(positions + 3 * (size_t)system->order[k], solver + SN_PAD * (size_t)k,
               3 * sizeof(double));
}

void sn_system_export(const sn_system *system, const double *solver, double *positions) {
    sn_parallel_for(system->count, 512, export_vertices,
                    &(export_vertices_loop){system, solver, positions});
}
