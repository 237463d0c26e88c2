/* Sets of vertices as people write them, in options and in scenes:
 *
 *   v:1,5-9        vertices by index, from 0 in file order
 *   region:NAME    a region of the rig
 *   part:NAME      all vertices of a named part of the neutral
 *   mask:FILE      CSV "vertex,value": vertices with a value of at least one half
 *   all            every vertex */
#ifndef SINEW_SELECTION_H
#define SINEW_SELECTION_H

#include "sinew/rig.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Increasing indices without repetition; release with sinew_free. folder: where a mask's relative
 * path starts; NULL: the working directory. An index beyond the mesh, an unknown name and an empty
 * result are bad input. */
SINEW_API sinew_status sinew_select(const sinew_rig *rig, const char *text, const char *folder,
                                    int **vertices, int *count, sinew_error *error);

#ifdef __cplusplus
}
#endif
#endif
