/* Who touches whom in a mesh.
 *
 * Everything here uses indices only and accepts any triangles: open, non-manifold, with
 * repeated corners. Lists are sorted, so that two runs give the same order. */
#ifndef SN_MESH_TOPOLOGY_H
#define SN_MESH_TOPOLOGY_H

#include <stdbool.h>

#include "base/status.h"
#include "sinew/mesh.h"

/* Lists in one array: list i is item[start[i]] ... item[start[i + 1] - 1]. */
typedef struct sn_lists {
    int count;
    int *start; /* count + 1 */
    int *item;
} sn_lists;
void sn_lists_free(sn_lists *lists);
static inline int sn_list_size(const sn_lists *lists, int i) {
    return lists->start[i + 1] - lists->start[i];
}

/* Unique edges {a, b} with a < b, sorted by a, then b. Collapsed edges (a = b) are left out. */
typedef struct sn_edges {
    int count;
    int *vertices; /* 2 each */
} sn_edges;
void sn_edges_free(sn_edges *edges);
/* The edges of the polygons: what an artist calls an edge, without the cuts of triangulation. */
sinew_status sn_edges_of_faces(const sinew_mesh *mesh, sn_edges *edges, sinew_error *error);
sinew_status sn_edges_of_triangles(int triangle_count, const int *triangles, sn_edges *edges,
                                   sinew_error *error);
/* Index of the edge {a, b}, or -1. */
int sn_edges_find(const sn_edges *edges, int a, int b);

/* Adjacency of triangles. */
typedef struct sn_topology {
    int vertex_count;
    int triangle_count;
    const int *triangles; /* the caller's, 3 each */

    sn_edges edges;
    int *triangle_edges;       /* 3 each: edge k joins corners k and k + 1; -1 when collapsed */
    sn_lists edge_triangles;   /* increasing; a triangle that folds onto an edge appears twice */
    sn_lists vertex_vertices;  /* neighbors by edges, increasing */
    sn_lists vertex_triangles; /* increasing; once per corner */
} sn_topology;

/* `triangles` must outlive the topology. */
sinew_status sn_topology_create(int vertex_count, int triangle_count, const int *triangles,
                                sn_topology **topology, sinew_error *error);
void sn_topology_destroy(sn_topology *topology);

/* Triangle across edge k of a triangle, or -1 at a boundary or a non-manifold edge. */
int sn_topology_across(const sn_topology *topology, int triangle, int k);

/* +1 when the triangle runs along the edge from its smaller to its larger vertex, -1 against. */
int sn_topology_direction(const sn_topology *topology, int triangle, int edge);

/* Rings of vertices along boundary edges (edges with one triangle), each in the direction in which
 * the triangles run along it, rings sorted by their smallest vertex, which comes first. Where
 * several boundaries meet in a vertex they are taken apart into rings that pass it once; a chain
 * that cannot be closed (orientation flips along it) is left out. */
sinew_status sn_boundary_loops(const sn_topology *topology, sn_lists *loops, sinew_error *error);

/* Connected parts of the vertices, numbered by their smallest vertex; vertices without a triangle
 * get -1. component[vertex_count]. */
sinew_status sn_components(int vertex_count, int triangle_count, const int *triangles,
                           int *component, int *count, sinew_error *error);
/* The same for tets: elements with `corners` vertices each. */
sinew_status sn_components_of(int vertex_count, int element_count, int corners, const int *elements,
                              int *component, int *count, sinew_error *error);

/* Edges between two triangles that run along it in the same direction; 0: consistent. */
int sn_orientation_conflicts(const sn_topology *topology);

/* representative[v]: the smallest vertex within `tolerance` of v (chains are followed), v itself
 * when alone. tolerance 0: bit-equal coordinates (-0 = 0). Joins the two sides of seams. Returns
 * the number of vertices that are not their own representative in *merged. */
sinew_status sn_weld(int vertex_count, const double *positions, double tolerance,
                     int *representative, int *merged, sinew_error *error);

/* Counting sort of `item_count` pairs (list, item) into lists; items keep their order. */
sinew_status sn_lists_create(int list_count, int item_count, const int *list_of, const int *item_of,
                             sn_lists *lists, sinew_error *error);

/* Union-find over plain indices, the smallest index of a set is its root. */
int sn_set_find(int *parent, int i);
void sn_set_join(int *parent, int a, int b);

#endif
