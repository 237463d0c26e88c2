/* What the formats of tetrahedra share. */
#ifndef SN_IO_TETS_H
#define SN_IO_TETS_H

#include "io/format.h"

/* Takes over both arrays, also on failure. Tets of negative volume get two corners swapped, so that
 * all are positive; flat ones are kept. */
sinew_status sn_tets_build(int vertex_count, double *positions, int tet_count, int *tets,
                           sinew_tets **result, sinew_error *error);
/* A mesh of all vertices and the outer sides, facing outwards. */
sinew_status sn_tets_surface(const sinew_tets *tets, sinew_mesh **mesh, sinew_error *error);

#endif
