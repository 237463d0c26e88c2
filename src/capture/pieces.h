/* Connected pieces of a mesh, as selections and anatomies count them. */
#ifndef SN_CAPTURE_PIECES_H
#define SN_CAPTURE_PIECES_H

#include "base/status.h"
#include "sinew/mesh.h"

/* piece[vertex_count], counted from 0 by first vertices. Vertices of one part at the same position
 * belong together: they are the two sides of a seam. */
sinew_status sn_pieces(const sinew_mesh *mesh, int *piece, int *count, sinew_error *error);

#endif
