/* Pieces that are embedded in larger ones at rest: eyeballs in sockets, shells and lashes in lids,
 * teeth in gums, gums in a mouth bag.
 *
 * Where two pieces intersect at rest, neither has a side to keep to, and what intersects moves with
 * them. Contact between the two is meaningless; contact of the larger one with itself is not: lids
 * must not pass through each other because lashes grow out of them. So the smaller piece takes no
 * part as a whole, and its intersections do not count. */
#ifndef SN_MESH_EMBEDDED_H
#define SN_MESH_EMBEDDED_H

#include <stdbool.h>

#include "base/status.h"
#include "sinew/monitor.h"

/* embedded[vertex_count]: vertices of such pieces; crosses[vertex_count]: vertices of triangles
 * that intersect others. */
sinew_status sn_embedded_pieces(int vertex_count, const double *rest, int triangle_count,
                                const int *triangles, const sinew_monitor *monitor, bool *embedded,
                                bool *crosses, sinew_error *error);

/* crosses: per triangle, whether it intersects another that takes part.
 * tangled[vertex_count]: vertices that take no part; at_crossing: those of them that belong to a
 * triangle that crosses. Both are 0 before. */
sinew_status sn_find_tangled(int vertex_count, int triangle_count, const int *triangles,
                             const bool *crosses, bool *tangled, bool *at_crossing,
                             sinew_error *error);

#endif
