/* Vertices that stand on the floor in all poses. */
#include <math.h>

#include "base/memory.h"
#include "base/status.h"
#include "sinew/rotation.h"

/* Of the diagonal: a vertex this little above the lowest one stands on the floor. */
static const double CONTACT = 0.005;
/* Fewer vertices are not a foot. */
enum { FEWEST = 3 };

/* height[v] of the neutral with one target added; NULL: the neutral itself. Combinations and
 * in-betweens are looked at by themselves. */
static double fill_heights(const sinew_rig *rig, int axis, const sinew_target *target,
                           double *height) {
    double lowest = INFINITY;
    for (int v = 0; v < rig->neutral->vertex_count; v++)
        height[v] = rig->neutral->positions[3 * (size_t)v + (size_t)axis];
    for (int i = 0; target && i < target->count; i++)
        height[target->vertices[i]] += target->deltas[3 * (size_t)i + (size_t)axis];
    for (int v = 0; v < rig->neutral->vertex_count; v++) lowest = fmin(lowest, height[v]);
    return lowest;
}

/* Marks the vertices that rest in all poses; returns their number. */
static int mark_resting(const sinew_rig *rig, int axis, double diagonal, double *height,
                        bool *rests) {
    int n = rig->neutral->vertex_count, count = 0;
    double floor = fill_heights(rig, axis, NULL, height);
    for (int v = 0; v < n; v++) rests[v] = height[v] - floor <= CONTACT * diagonal;
    for (int t = 0; t < rig->target_count; t++) {
        double lowest = fill_heights(rig, axis, &rig->targets[t], height);
        for (int v = 0; v < n; v++) rests[v] = rests[v] && height[v] - lowest <= CONTACT * diagonal;
    }
    for (int v = 0; v < n; v++) count += rests[v];
    return count >= FEWEST ? count : 0;
}

sinew_status sinew_find_resting(const sinew_rig *rig, int **vertices, int *count, int *axis,
                                sinew_error *error) {
    SN_REQUIRE(rig && rig->neutral && vertices && count && axis, error);
    *vertices = NULL, *count = 0, *axis = 1;
    int n = rig->neutral->vertex_count;
    double diagonal = sinew_diagonal(n, rig->neutral->positions);
    double *height = SN_NEW(double, n);
    bool *rests = SN_NEW(bool, n);
    if (!height || !rests) {
        sn_free(height), sn_free(rests);
        return sn_no_memory(error);
    }
    int most = mark_resting(rig, 1, diagonal, height, rests), *found = NULL;
    if (most == 0) {
        *axis = 2;
        most = mark_resting(rig, 2, diagonal, height, rests);
    }
    sinew_status status = SINEW_OK;
    if (most > 0 && !(found = SN_NEW(int, most))) status = sn_no_memory(error);
    for (int v = 0; found && v < n; v++)
        if (rests[v]) found[(*count)++] = v;
    *vertices = found;
    sn_free(height), sn_free(rests);
    return status;
}
