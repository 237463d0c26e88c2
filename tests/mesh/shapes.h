/* Small procedural meshes with known properties. Each stops the test when it cannot be made;
 * release with sinew_mesh_destroy. */
#ifndef TESTS_MESH_SHAPES_H
#define TESTS_MESH_SHAPES_H

#include "sinew/mesh.h"

/* From arrays that are known to be good. */
sinew_mesh *shape_from(int vertex_count, const double *positions, int triangle_count,
                       const int *triangles);
/* Unit sphere: an octahedron cut n times along each edge. 4 n^2 + 2 vertices, 8 n^2 triangles. */
sinew_mesh *shape_sphere(int n);
/* Radii 1 and 0.4; n around the ring, m around the tube. n m vertices, 2 n m triangles. */
sinew_mesh *shape_torus(int n, int m);
/* Box [0, length] x [0, 1] x [0, 1], its sides cut into quads of side 1 / n (n length long). */
sinew_mesh *shape_bar(int length, int n);
/* n x n quads over the unit square in z = 0, open. */
sinew_mesh *shape_grid(int n);
/* A band of n quads with a half twist: no consistent orientation. */
sinew_mesh *shape_moebius(int n);
/* Both as one mesh; b moved by (x, y, z). Releases a and b. */
sinew_mesh *shape_join(sinew_mesh *a, sinew_mesh *b, double x, double y, double z);

double shape_volume(const sinew_mesh *mesh);
double shape_area(const sinew_mesh *mesh);
#endif
