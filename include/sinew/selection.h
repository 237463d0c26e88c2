/* Sets of vertices as people write them, in options and in scenes:
 *
 *   v:1,5-9        vertices by index, from 0 in file order
 *   region:NAME    a region of the rig, or one derived from its targets (sinew/anatomy.h)
 *   piece:N        a connected piece of the neutral, counted from 0 by first vertices
 *   target:NAME>F  vertices that a target moves by at least the fraction F of its largest motion
 *   part:NAME      all vertices of a named part of the neutral
 *   mask:FILE      CSV "vertex,value": vertices with a value of at least one half
 *   all            every vertex */
#ifndef SINEW_SELECTION_H
#define SINEW_SELECTION_H

#include "sinew/loader.h"
#include "sinew/lock.h"
#include "sinew/rig.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Increasing indices without repetition; release with sinew_free. folder: where a mask's relative
 * path starts; NULL: the working directory. loader reads masks; NULL: a mask is SINEW_UNAVAILABLE.
 * An index beyond the mesh, an unknown name and an empty result are SINEW_BAD_INPUT. Regions that
 * are derived from targets take longest. */
SINEW_API sinew_status sinew_select(const sinew_rig *rig, const char *text, const char *folder,
                                    const sinew_loader *loader, const sinew_monitor *monitor,
                                    int **vertices, int *count, sinew_error *error);

/* Adds a lock on a selection at the pose of the weights. axes: letters of "xyz", NULL: all. A mask
 * gives each vertex its value as strength. */
SINEW_API sinew_status sinew_locks_add_selection(sinew_locks *locks, const sinew_rig *rig,
                                                 const char *name, const char *select,
                                                 const char *axes, const char *folder,
                                                 const sinew_loader *loader, const double *weights,
                                                 const sinew_monitor *monitor, sinew_error *error);

#ifdef __cplusplus
}
#endif
#endif
