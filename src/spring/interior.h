/* The inside of a surface: struts, or tetrahedra and where their points are in every pose. */
#ifndef SN_SPRING_INTERIOR_H
#define SN_SPRING_INTERIOR_H

#include "sinew/monitor.h"
#include "sinew/spring.h"

/* The options' tets, tets made from the mesh, or NULL; `note` names the kind of interior. */
sinew_status sn_interior_make(const sinew_mesh *mesh, const sinew_spring_options *options,
                              const sinew_monitor *monitor, sinew_tets **tets, char *note,
                              int note_size, sinew_error *error);

/* Fill in the interior points of each pose, whose surface points are given. */
sinew_status sn_interior_carry(const sinew_tets *tets, int pose_count, double **poses,
                               const sinew_monitor *monitor, sinew_error *error);

/* across[vertex_count]: the vertex on the other side of the body, or -1. Release with sn_free. */
sinew_status sn_struts_find(const sinew_mesh *mesh, int pose_count, const double *const *poses,
                            const sinew_monitor *monitor, int **across, sinew_error *error);

#endif
