/* Meshes of FBX files that their program shows subdivided. */
#ifndef SN_IO_FBX_SUBDIVIDE_H
#define SN_IO_FBX_SUBDIVIDE_H

#include "io/fbx_tree.h"
#include "mesh/subdivide.h"

/* How often the mesh of this node is subdivided where it is shown; 0: not at all. */
int sn_fbx_subdivision_levels(const sn_fbx_tree *tree, int mesh);

/* The cage becomes the mesh that is shown. index[index_count]: PolygonVertexIndex, which edges and
 * their creases refer to. */
sinew_status sn_fbx_subdivide(sn_fbx_tree *tree, int mesh, const int64_t *index, int index_count,
                              sn_surface *cage, sinew_error *error);

#endif
