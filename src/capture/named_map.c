/* Markers named after vertices or regions of the rig. */
#include <stdio.h>
#include <strings.h>

#include "base/status.h"
#include "capture/marker_layouts.h"
#include "capture/take.h"

/* The vertex nearest to the middle of a region. */
static int middle_of(const sinew_rig *rig, const sinew_region *region) {
    sn_vec3 sum = {0, 0, 0};
    for (int i = 0; i < region->count; i++)
        sum = sn_add(sum, sn_at(rig->neutral->positions, region->vertices[i]));
    sum = sn_scale(1.0 / region->count, sum);
    int best = region->vertices[0];
    double least = INFINITY;
    for (int i = 0; i < region->count; i++) {
        double d = sn_distance(sum, sn_at(rig->neutral->positions, region->vertices[i]));
        if (d < least) least = d, best = region->vertices[i];
    }
    return best;
}

/* "v12", "vertex12", "12" or the name of a region; -1: none of them. */
static int vertex_by_name(const sinew_rig *rig, const char *name) {
    int region = sinew_rig_find_region(rig, name);
    if (region >= 0 && rig->regions[region].count > 0) return middle_of(rig, &rig->regions[region]);
    int vertex, used = 0;
    const char *digits = strncasecmp(name, "vertex", 6) == 0 ? name + 6
                         : *name == 'v' || *name == 'V'      ? name + 1
                                                             : name;
    if (sscanf(digits, "%9d%n", &vertex, &used) == 1 && digits[used] == '\0' && vertex >= 0 &&
        vertex < rig->neutral->vertex_count)
        return vertex;
    return -1;
}

sinew_status sn_map_by_name(const sinew_rig *rig, const sinew_markers *take, sinew_marker_map **map,
                            sinew_error *error) {
    int known = 0;
    sn_layout_guess guesses[SN_LAYOUT_GUESSES];
    if (sn_layout_guesses(take, guesses) > 0) return SINEW_OK; /* points of a face, not vertices */
    for (int i = 0; i < take->marker_count; i++) known += vertex_by_name(rig, take->names[i]) >= 0;
    if (known < 4 || 2 * known < take->marker_count) return SINEW_OK;
    SN_TRY(sinew_marker_map_create(known, map, error));
    for (int i = 0, j = 0; i < take->marker_count; i++) {
        int vertex = vertex_by_name(rig, take->names[i]);
        if (vertex < 0) continue;
        SN_TRY(sinew_marker_map_set_name(*map, j, take->names[i], error));
        (*map)->vertices[j++] = vertex;
    }
    return SINEW_OK;
}
