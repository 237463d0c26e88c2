#include "rig/marker_rows.h"

#include <string.h>

#include "base/memory.h"
#include "base/status.h"

sinew_status sn_marker_rows(const sinew_rig *rig, const sinew_marker_map *map, double *rows,
                            sinew_error *error) {
    size_t height = 3 * (size_t)map->count, n = (size_t)rig->neutral->vertex_count;
    double *dense = SN_NEW0(double, 3 * n);
    if (!dense) return sn_no_memory(error);
    for (int k = 0; k < rig->target_count; k++) {
        const sinew_target *target = &rig->targets[k];
        for (int i = 0; i < target->count; i++)
            memcpy(dense + 3 * (size_t)target->vertices[i], target->deltas + 3 * (size_t)i,
                   3 * sizeof(double));
        sinew_marker_map_points(map, rig->neutral, dense, rows + height * (size_t)k);
        for (int i = 0; i < target->count; i++)
            memset(dense + 3 * (size_t)target->vertices[i], 0, 3 * sizeof(double));
    }
    sn_free(dense);
    return SINEW_OK;
}
