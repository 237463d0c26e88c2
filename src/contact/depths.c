/* How deep a mesh sits in an obstacle. */
#include <string.h>

#include "base/monitor.h"
#include "contact/obstacle.h"

bool sn_obstacle_depths(const sinew_obstacle *obstacle, const sinew_mesh *mesh,
                        const double *positions, const bool *skipped, const bool *changed,
                        double *vertex_depths, double *triangle_depths) {
    for (int v = 0; v < mesh->vertex_count; v++) {
        if ((skipped && skipped[v]) || (changed && !changed[v])) continue;
        if (sn_interrupted()) return false;
        double d = sinew_obstacle_distance(obstacle, positions + 3 * (size_t)v, NULL);
        vertex_depths[v] = d < 0 ? -d : 0;
    }
    for (int t = 0; t < mesh->triangle_count; t++) {
        const int *v = mesh->triangles + 3 * (size_t)t;
        if (skipped && skipped[v[0]]) continue;
        if (changed && !changed[v[0]] && !changed[v[1]] && !changed[v[2]]) continue;
        if (sn_interrupted()) return false;
        double corners[9];
        for (int c = 0; c < 3; c++)
            memcpy(corners + 3 * c, positions + 3 * (size_t)v[c], 3 * sizeof *corners);
        triangle_depths[t] = sinew_obstacle_triangle_depth(obstacle, corners);
    }
    return true;
}

void sinew_obstacle_depths(const sinew_obstacle *obstacle, const sinew_mesh *mesh,
                           const double *positions, const bool *skipped, const bool *changed,
                           double *vertex_depths, double *triangle_depths) {
    (void)sn_obstacle_depths(obstacle, mesh, positions, skipped, changed, vertex_depths,
                             triangle_depths);
}
