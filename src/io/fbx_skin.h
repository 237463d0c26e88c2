/* Skins of FBX: bones that carry the vertices of a mesh. */
#ifndef SN_IO_FBX_SKIN_H
#define SN_IO_FBX_SKIN_H

#include "io/fbx_scene.h"

/* Places the mesh of a model: local[3 * count] (after its shapes) to world[3 * count], by its skin
 * where it has one, else by its node. */
sinew_status sn_fbx_place_mesh(const sn_fbx_scene *scene, const sn_fbx_model *model, int count,
                               const double *local, double *world);

#endif
