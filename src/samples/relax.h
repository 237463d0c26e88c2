/* Takes slivers out of posed surfaces: where a pose shears cells until a triangle has an angle
 * under the limit, its vertices go towards the middle of their neighbors, a little at a time. Only
 * they move, so a shape without slivers keeps its bits. */
#ifndef SN_SAMPLES_RELAX_H
#define SN_SAMPLES_RELAX_H

#include <stdbool.h>

#include "base/status.h"

/* least: degrees that every angle should reach. may_move: per vertex, NULL: all. positions: 3 per
 * vertex. Where the vertices of slivers alone do not get there, their neighbors join, ring by
 * ring; what is left after many rounds stays. */
sinew_status sn_relax(int vertex_count, int triangle_count, const int *triangles, double least,
                      const bool *may_move, double *positions, sinew_error *error);

#endif
