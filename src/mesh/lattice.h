/* Grid cells that cover a surface and what it encloses, cut into tets. */
#ifndef SN_MESH_LATTICE_H
#define SN_MESH_LATTICE_H

#include "sinew/cage.h"

/* tet[v] and weights[4 v] of every vertex that a triangle uses; tet[v] = -1 for the others. `part`
 * numbers the vertices' parts (-1: unused), each of which gets cells of its own. */
sinew_status sn_lattice_create(int vertex_count, const double *positions, int triangle_count,
                               const int *triangles, const int *part, int part_count, double cell,
                               const sinew_monitor *monitor, sinew_tets *tets, int *tet,
                               double *weights, sinew_error *error);

#endif
