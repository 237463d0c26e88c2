#include "io/gltf_split.h"

#include <string.h>

#include "base/memory.h"
#include "base/status.h"

typedef struct splitter {
    const sinew_mesh *mesh;
    sn_split *split;
    int *next; /* the next split vertex of the same mesh vertex, or -1 */
    bool *used;
    size_t vertex_capacity, uv_capacity, normal_capacity, next_capacity;
} splitter;

/* Rows are equal when their numbers are, whatever their index; -1 equals -1 only. */
static bool same_row(const double *rows, size_t width, int a, int b) {
    if (a == b) return true;
    if (a < 0 || b < 0) return false;
    const double *x = rows + width * (size_t)a, *y = rows + width * (size_t)b;
    for (size_t k = 0; k < width; k++)
        if ((float)x[k] != (float)y[k]) return false;
    return true;
}

static int add_split(splitter *s, int vertex, int uv, int normal) {
    sn_split *split = s->split;
    size_t needed = (size_t)split->count + 1;
    if (!SN_RESERVE(split->vertex, s->vertex_capacity, needed) ||
        !SN_RESERVE(split->uv, s->uv_capacity, needed) ||
        !SN_RESERVE(split->normal, s->normal_capacity, needed) ||
        !SN_RESERVE(s->next, s->next_capacity, needed))
        return -1;
    int i = split->count++;
    split->vertex[i] = vertex;
    split->uv[i] = uv;
    split->normal[i] = normal;
    s->next[i] = -1;
    return i;
}

/* The split vertex for a corner; -1: no memory. */
static int find_split(splitter *s, int vertex, int uv, int normal) {
    sn_split *split = s->split;
    if (!s->used[vertex]) {
        s->used[vertex] = true;
        split->uv[vertex] = uv;
        split->normal[vertex] = normal;
        return vertex;
    }
    for (int i = vertex;; i = s->next[i]) {
        if (same_row(s->mesh->uvs, 2, split->uv[i], uv) &&
            same_row(s->mesh->normals, 3, split->normal[i], normal))
            return i;
        if (s->next[i] >= 0) continue;
        int made = add_split(s, vertex, uv, normal);
        if (made >= 0) s->next[i] = made;
        return made;
    }
}

/* Corners of each triangle: the triangulation names vertices, its face tells which corner. */
static sinew_status split_triangles(const sinew_mesh *mesh, sn_split *split, sinew_error *error) {
    int *corner = SN_NEW0(int, mesh->vertex_count), face = -1; /* of the face, the first there */
    if (!corner) return sn_no_memory(error);
    for (int t = 0; t < mesh->triangle_count; t++) {
        if (mesh->triangle_face[t] != face) {
            face = mesh->triangle_face[t];
            for (int c = mesh->face_start[face + 1] - 1; c >= mesh->face_start[face]; c--)
                corner[mesh->face_vertices[c]] = c;
        }
        for (size_t i = 3 * (size_t)t; i < 3 * (size_t)t + 3; i++)
            split->triangles[i] = split->corners[corner[mesh->triangles[i]]];
    }
    sn_free(corner);
    return SINEW_OK;
}

static sinew_status split_corners(splitter *s, sinew_error *error) {
    const sinew_mesh *mesh = s->mesh;
    sn_split *split = s->split;
    for (int v = 0; v < mesh->vertex_count; v++)
        if (add_split(s, v, -1, -1) < 0) return sn_no_memory(error);
    int corners = mesh->face_start[mesh->face_count];
    for (int c = 0; c < corners; c++) {
        int uv = mesh->corner_uv ? mesh->corner_uv[c] : -1;
        int normal = mesh->corner_normal ? mesh->corner_normal[c] : -1;
        int i = find_split(s, mesh->face_vertices[c], uv, normal);
        if (i < 0) return sn_no_memory(error);
        split->corners[c] = i;
    }
    return split_triangles(mesh, split, error);
}

sinew_status sn_split_create(const sinew_mesh *mesh, sn_split *split, sinew_error *error) {
    memset(split, 0, sizeof *split);
    splitter s = {.mesh = mesh, .split = split, .used = SN_NEW0(bool, mesh->vertex_count)};
    split->corners = SN_NEW(int, mesh->face_start[mesh->face_count]);
    split->triangles = SN_NEW(int, 3 * (size_t)mesh->triangle_count);
    split->triangle_count = mesh->triangle_count;
    sinew_status status = s.used && split->corners && split->triangles ? split_corners(&s, error)
                                                                       : sn_no_memory(error);
    sn_free(s.used);
    sn_free(s.next);
    if (status != SINEW_OK) sn_split_free(split);
    return status;
}

void sn_split_free(sn_split *split) {
    sn_free(split->vertex);
    sn_free(split->uv);
    sn_free(split->normal);
    sn_free(split->corners);
    sn_free(split->triangles);
    memset(split, 0, sizeof *split);
}
