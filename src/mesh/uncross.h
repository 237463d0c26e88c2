/* Small self-intersections of a surface taken out, so that its inside can be meshed. */
#ifndef SN_MESH_UNCROSS_H
#define SN_MESH_UNCROSS_H

#include "sinew/mesh.h"
#include "sinew/monitor.h"

/* positions[3 * vertex_count] of a surface with the same triangles that does not intersect itself:
 * regions around intersections are smoothed until none is left. SINEW_BAD_INPUT: they could not be
 * removed, or too much of the surface would have to move. *moved: vertices that differ. */
sinew_status sn_uncross(const sinew_mesh *mesh, const sinew_monitor *monitor, double *positions,
                        int *moved, sinew_error *error);

#endif
