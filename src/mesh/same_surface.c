/* Whether two meshes are the same surface over the same vertices, however their files list it.
 *
 * Faces may come in another order, start at another corner or wind in the other direction, and a
 * polygon may be cut into other triangles. We compare cells: faces are joined across the edges that
 * only their own mesh has (cuts), so that a cell is bounded by edges of both meshes. Two meshes are
 * the same surface when they have the same cells, and a cell is known by its boundary. A cell with
 * a vertex inside is not a polygon that was triangulated differently: it matches nothing. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "mesh/topology.h"

/* A cell's boundary as a sum over its edges of two mixed words: the order of edges does not matter.
 */
typedef struct boundary {
    uint64_t first, second;
    int cell; /* its first face */
} boundary;

/* A vertex of a cell that has cuts. */
typedef struct cell_corner {
    int cell, vertex;
    bool outside; /* next to an edge of the boundary */
} cell_corner;

typedef struct side {
    const sinew_mesh *mesh;
    sn_edges edges;
    uint64_t salt; /* tells the sides apart */
    bool *cut;     /* per edge: between faces of this mesh, and not in the other */
    int *cell;     /* per face: union-find */
    int *size;     /* per cell: faces */
    boundary *boundaries;
    int count; /* cells */
} side;

static uint64_t mix(uint64_t x) {
    x ^= x >> 30, x *= 0xbf58476d1ce4e5b9ull;
    x ^= x >> 27, x *= 0x94d049bb133111ebull;
    return x ^ x >> 31;
}

static int compare_boundaries(const void *left, const void *right) {
    const boundary *a = left, *b = right;
    if (a->first != b->first) return a->first < b->first ? -1 : 1;
    if (a->second != b->second) return a->second < b->second ? -1 : 1;
    return 0;
}

static int compare_corners(const void *left, const void *right) {
    const cell_corner *a = left, *b = right;
    if (a->cell != b->cell) return a->cell < b->cell ? -1 : 1;
    if (a->vertex != b->vertex) return a->vertex < b->vertex ? -1 : 1;
    return (int)b->outside - (int)a->outside;
}

static int face_size(const sinew_mesh *mesh, int face) {
    return mesh->face_start[face + 1] - mesh->face_start[face];
}

/* The ends of the edge from corner c of a face to the next. */
static void edge_of(const sinew_mesh *mesh, int face, int c, int *a, int *b) {
    const int *v = mesh->face_vertices + mesh->face_start[face];
    *a = v[c], *b = v[c + 1 < face_size(mesh, face) ? c + 1 : 0];
}

static bool is_cut(const side *s, int a, int b) {
    return a != b && s->cut[sn_edges_find(&s->edges, a, b)];
}

static sinew_status join_faces(side *s, const sn_edges *other, int *cuts, sinew_error *error) {
    const sinew_mesh *mesh = s->mesh;
    int *first = SN_NEW(int, s->edges.count);
    if (!first) return sn_no_memory(error);
    for (int e = 0; e < s->edges.count; e++) first[e] = -1;
    for (int f = 0; f < mesh->face_count; f++) s->cell[f] = f;
    *cuts = 0;
    for (int f = 0; f < mesh->face_count; f++)
        for (int c = 0; c < face_size(mesh, f); c++) {
            int a, b;
            edge_of(mesh, f, c, &a, &b);
            if (a == b || sn_edges_find(other, a, b) >= 0) continue;
            int e = sn_edges_find(&s->edges, a, b);
            if (first[e] < 0) {
                first[e] = f;
            } else {
                s->cut[e] = true;
                sn_set_join(s->cell, first[e], f);
                ++*cuts;
            }
        }
    sn_free(first);
    return SINEW_OK;
}

static void find_boundaries(side *s) {
    const sinew_mesh *mesh = s->mesh;
    for (int f = 0; f < mesh->face_count; f++) {
        int cell = sn_set_find(s->cell, f);
        boundary *own = &s->boundaries[cell];
        s->cell[f] = cell;
        s->size[cell]++;
        own->cell = cell;
        for (int c = 0; c < face_size(mesh, f); c++) {
            int a, b;
            edge_of(mesh, f, c, &a, &b);
            if (is_cut(s, a, b)) continue;
            uint64_t key = (uint64_t)(a < b ? a : b) << 32 | (uint32_t)(a < b ? b : a);
            own->first += mix(key + 0x9e3779b97f4a7c15ull);
            own->second += mix(key ^ 0xd1b54a32d192ed03ull);
        }
    }
}

/* Gives every cell with a vertex inside a boundary of its own. */
static sinew_status spoil_large_cells(side *s, sinew_error *error) {
    const sinew_mesh *mesh = s->mesh;
    size_t room = 0, count = 0;
    for (int f = 0; f < mesh->face_count; f++)
        if (s->size[s->cell[f]] > 1) room += (size_t)face_size(mesh, f);
    cell_corner *corners = SN_NEW(cell_corner, room);
    if (!corners) return sn_no_memory(error);
    for (int f = 0; f < mesh->face_count; f++) {
        int size = face_size(mesh, f);
        if (s->size[s->cell[f]] < 2) continue;
        for (int c = 0; c < size; c++) {
            int a, b, before, same;
            edge_of(mesh, f, c, &a, &b);
            edge_of(mesh, f, c > 0 ? c - 1 : size - 1, &before, &same);
            corners[count++] =
                (cell_corner){s->cell[f], a, !is_cut(s, a, b) || !is_cut(s, before, same)};
        }
    }
    qsort(corners, count, sizeof *corners, compare_corners);
    for (size_t k = 0; k < count; k++) {
        bool new = k == 0 || corners[k].cell != corners[k - 1].cell ||
                   corners[k].vertex != corners[k - 1].vertex;
        if (new && !corners[k].outside)
            s->boundaries[corners[k].cell].first = mix(s->salt + (uint64_t)k);
    }
    sn_free(corners);
    return SINEW_OK;
}

static sinew_status find_cells(side *s, const sn_edges *other, sinew_error *error) {
    int faces = s->mesh->face_count, cuts = 0;
    s->cell = SN_NEW(int, faces);
    s->cut = SN_NEW0(bool, s->edges.count);
    s->size = SN_NEW0(int, faces);
    s->boundaries = SN_NEW0(boundary, faces);
    if (!s->cell || !s->cut || !s->size || !s->boundaries) return sn_no_memory(error);
    SN_TRY(join_faces(s, other, &cuts, error));
    find_boundaries(s);
    if (cuts > 0) SN_TRY(spoil_large_cells(s, error));
    for (int f = 0; f < faces; f++)
        if (s->cell[f] == f) s->boundaries[s->count++] = s->boundaries[f];
    qsort(s->boundaries, (size_t)s->count, sizeof *s->boundaries, compare_boundaries);
    return SINEW_OK;
}

static void side_free(side *s) {
    sn_edges_free(&s->edges);
    sn_free(s->cut), sn_free(s->cell), sn_free(s->size), sn_free(s->boundaries);
}

/* Faces of b in cells that a does not have, the first of them, and those of a that b lacks. */
typedef struct difference {
    int added, first_added;
    int missing, first_missing;
} difference;

static void count_cell(const side *s, const boundary *cell, int *faces, int *first) {
    *faces += s->size[cell->cell];
    if (*first < 0 || cell->cell < *first) *first = cell->cell;
}

static difference compare_cells(const side *a, const side *b) {
    difference d = {0, -1, 0, -1};
    int i = 0, j = 0;
    while (i < a->count || j < b->count) {
        int order = i == a->count   ? 1
                    : j == b->count ? -1
                                    : compare_boundaries(&a->boundaries[i], &b->boundaries[j]);
        if (order < 0) count_cell(a, &a->boundaries[i], &d.missing, &d.first_missing);
        if (order > 0) count_cell(b, &b->boundaries[j], &d.added, &d.first_added);
        i += order <= 0, j += order >= 0;
    }
    return d;
}

/* "12 7 9", of a long face its first corners. */
static void list_corners(const sinew_mesh *mesh, int face, char *text, size_t size) {
    size_t used = 0;
    for (int c = 0; c < face_size(mesh, face) && c < 8; c++)
        used += (size_t)snprintf(text + used, size - used, "%s%d", c ? " " : "",
                                 mesh->face_vertices[mesh->face_start[face] + c]);
}

static sinew_status report(const difference *d, const sinew_mesh *a, const sinew_mesh *b,
                           const char *name_a, const char *name_b, sinew_error *error) {
    bool added = d->first_added >= 0;
    const sinew_mesh *mesh = added ? b : a;
    int face = added ? d->first_added : d->first_missing;
    char corners[128];
    list_corners(mesh, face, corners, sizeof corners);
    return sn_fail(error, SINEW_BAD_INPUT,
                   "%d of %d faces differ from %s, first face %d of %s (vertices %s). Poses need "
                   "the same faces over the same vertices: export all of them from one mesh, with "
                   "the vertex order kept and without welding or remeshing",
                   added ? d->added : d->missing, mesh->face_count, added ? name_a : name_b, face,
                   added ? name_b : name_a, corners);
}

static bool same_lists(const sinew_mesh *a, const sinew_mesh *b) {
    if (a->face_count != b->face_count) return false;
    if (a->face_count == 0) return true;
    size_t starts = (size_t)a->face_count + 1, corners = (size_t)a->face_start[a->face_count];
    return memcmp(a->face_start, b->face_start, starts * sizeof *a->face_start) == 0 &&
           memcmp(a->face_vertices, b->face_vertices, corners * sizeof *a->face_vertices) == 0;
}

sinew_status sinew_mesh_same_topology(const sinew_mesh *a, const sinew_mesh *b,
                                      sinew_error *error) {
    SN_REQUIRE(a && b, error);
    const char *name_a = a->name ? a->name : "the first mesh";
    const char *name_b = b->name ? b->name : "the second mesh";
    if (a->vertex_count != b->vertex_count)
        return sn_fail(error, SINEW_BAD_INPUT,
                       "%s has %d vertices, %s has %d. Poses need the same vertices in the same "
                       "order",
                       name_a, a->vertex_count, name_b, b->vertex_count);
    if (same_lists(a, b)) return SINEW_OK;
    side first = {.mesh = a, .salt = 1ull << 40}, second = {.mesh = b, .salt = 1ull << 41};
    sinew_status status = sn_edges_of_faces(a, &first.edges, error);
    if (status == SINEW_OK) status = sn_edges_of_faces(b, &second.edges, error);
    if (status == SINEW_OK) status = find_cells(&first, &second.edges, error);
    if (status == SINEW_OK) status = find_cells(&second, &first.edges, error);
    if (status == SINEW_OK) {
        difference d = compare_cells(&first, &second);
        if (d.added + d.missing > 0) status = report(&d, a, b, name_a, name_b, error);
    }
    side_free(&first), side_free(&second);
    return status;
}
