/* The inside of a closed surface: tetrahedra, and where their points are in every pose. */
#ifndef SN_SPRING_INTERIOR_H
#define SN_SPRING_INTERIOR_H

#include "sinew/monitor.h"
#include "sinew/spring.h"

/* The options' tets, or tets made from the mesh, or NULL with the reason in `note`. Only memory and
 * cancelling fail: an open or refused surface is no error. */
sinew_status sn_interior_make(const sinew_mesh *mesh, const sinew_spring_options *options,
                              const sinew_monitor *monitor, sinew_tets **tets, char *note,
                              int note_size, sinew_error *error);

/* Fill in the interior points of each pose, whose surface points are given. */
sinew_status sn_interior_carry(const sinew_tets *tets, int pose_count, double **poses,
                               const sinew_monitor *monitor, sinew_error *error);

#endif
