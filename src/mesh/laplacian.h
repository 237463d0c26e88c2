/* Laplacians and masses of triangle and tet meshes.
 *
 *   x^T L x = sum over elements of |element| |grad x|^2
 *
 * so L is symmetric positive semi-definite with zero row sums: its null space is one constant per
 * connected component. Matrices hold the lower triangle, and an entry on the whole diagonal, also
 * for vertices that no element uses. */
#ifndef SN_MESH_LAPLACIAN_H
#define SN_MESH_LAPLACIAN_H

#include "algebra/sparse.h"
#include "mesh/topology.h"

/* Cotangent weights, linear finite elements on triangles. A sliver's weights are bounded: its
 * height counts as at least 1e-6 of its longest edge; a collapsed triangle weighs nothing. */
sinew_status sn_laplacian_cotangent(int vertex_count, const double *positions, int triangle_count,
                                    const int *triangles, sn_sparse **matrix, sinew_error *error);
/* Weight 1 on every edge. */
sinew_status sn_laplacian_uniform(int vertex_count, const sn_edges *edges, sn_sparse **matrix,
                                  sinew_error *error);
/* Linear finite elements on tets. Flat tets are bounded in the same way. */
sinew_status sn_laplacian_tets(int vertex_count, const double *positions, int tet_count,
                               const int *tets, sn_sparse **matrix, sinew_error *error);

/* Area of each vertex: a third of its triangles. The areas add up to that of the surface. */
void sn_mass_barycentric(int vertex_count, const double *positions, int triangle_count,
                         const int *triangles, double *mass);
/* Mixed Voronoi areas: closer to the true share of a vertex, safe at obtuse corners; the same sum.
 */
void sn_mass_voronoi(int vertex_count, const double *positions, int triangle_count,
                     const int *triangles, double *mass);
/* A quarter of the volume of its tets. */
void sn_mass_tets(int vertex_count, const double *positions, int tet_count, const int *tets,
                  double *mass);

/* Signed volumes: positive for (b - a) x (c - a) . (d - a) > 0. */
void sn_tet_volumes(const double *positions, int tet_count, const int *tets, double *volumes);

#endif
