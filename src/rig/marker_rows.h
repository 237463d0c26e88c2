/* The rows of the target displacements at the markers: S T, dense, 3 rows per marker. */
#ifndef SN_RIG_MARKER_ROWS_H
#define SN_RIG_MARKER_ROWS_H

#include "sinew/marker_map.h"
#include "sinew/rig.h"

/* rows[3 * map->count * target_count], column-major: column k is target k at the markers. */
sinew_status sn_marker_rows(const sinew_rig *rig, const sinew_marker_map *map, double *rows,
                            sinew_error *error);

#endif
