/* Vertices that stand on the floor in all poses.
 *
 * Feet are told apart: the parts of the neutral that lie low, joined by triangles. A vertex rests
 * that is among the lowest of its foot in every pose. Compared with the lowest point of the whole
 * shape, a single claw or tail that reaches below would leave the other feet without support.
 *
 * Files point up along y or z, and something is lowest along either: a chest, for one. The floor is
 * what the poses share although they move along it. Up is y, unless that holds for z only. */
#include <math.h>

#include "base/memory.h"
#include "base/status.h"
#include "mesh/topology.h"
#include "sinew/rotation.h"

/* Of the diagonal: a vertex this little above the lowest one of its foot rests on the floor. */
static const double CONTACT = 0.005;
/* Of the diagonal: what is lower belongs to a foot, and a foot that is higher is lifted. */
static const double FOOT = 0.05;
/* Fewer vertices are not a foot. */
enum { FEWEST = 3 };

/* height[v] of the neutral with one target added; NULL: the neutral itself. Combinations and
 * in-betweens are examined separately. */
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

/* What the search works on, per vertex. */
typedef struct search {
    double *height;
    int *foot;      /* set of the low part that it belongs to */
    double *lowest; /* of the foot, where foot[v] == v */
    bool *rests;
} search;

/* Vertices of a pose that do not stand are unmarked. */
static void check_pose(int n, double lowest, double diagonal, search *s) {
    for (int v = 0; v < n; v++) s->lowest[v] = INFINITY;
    for (int v = 0; v < n; v++)
        if (s->foot[v] >= 0) s->lowest[s->foot[v]] = fmin(s->lowest[s->foot[v]], s->height[v]);
    for (int v = 0; v < n; v++)
        s->rests[v] = s->rests[v] && s->lowest[s->foot[v]] - lowest <= FOOT * diagonal &&
                      s->height[v] - s->lowest[s->foot[v]] <= CONTACT * diagonal;
}

static void find_feet(const sinew_mesh *mesh, double lowest, double diagonal, search *s) {
    int n = mesh->vertex_count;
    for (int v = 0; v < n; v++) s->foot[v] = v;
    for (int t = 0; t < mesh->triangle_count; t++)
        for (int c = 0; c < 3; c++) {
            int a = mesh->triangles[3 * (size_t)t + (size_t)c];
            int b = mesh->triangles[3 * (size_t)t + (size_t)(c + 1) % 3];
            if (fmax(s->height[a], s->height[b]) - lowest <= FOOT * diagonal)
                sn_set_join(s->foot, a, b);
        }
    for (int v = 0; v < n; v++) s->foot[v] = sn_set_find(s->foot, v);
    for (int v = 0; v < n; v++) s->rests[v] = s->height[v] - lowest <= FOOT * diagonal;
}

/* How much poses move along an axis, and the largest difference between their lowest points. */
typedef struct motion {
    double most, spread;
} motion;

static double largest_move(const sinew_target *target, int axis) {
    double most = 0;
    for (int i = 0; i < target->count; i++)
        most = fmax(most, fabs(target->deltas[3 * (size_t)i + (size_t)axis]));
    return most;
}

/* Marks the vertices that rest in all poses; returns their number. */
static int mark_resting(const sinew_rig *rig, int axis, double diagonal, search *s, motion *moves) {
    int n = rig->neutral->vertex_count, count = 0;
    double lowest = fill_heights(rig, axis, NULL, s->height), least = lowest, most = lowest;
    find_feet(rig->neutral, lowest, diagonal, s);
    check_pose(n, lowest, diagonal, s);
    for (int t = 0; t < rig->target_count; t++) {
        double own = fill_heights(rig, axis, &rig->targets[t], s->height);
        check_pose(n, own, diagonal, s);
        least = fmin(least, own), most = fmax(most, own);
    }
    *moves = (motion){0, most - least};
    for (int t = 0; t < rig->target_count; t++)
        moves->most = fmax(moves->most, largest_move(&rig->targets[t], axis));
    for (int v = 0; v < n; v++) count += s->rests[v];
    return count >= FEWEST ? count : 0;
}

sinew_status sinew_find_resting(const sinew_rig *rig, int **vertices, int *count, int *axis,
                                sinew_error *error) {
    SN_REQUIRE(rig && rig->neutral && vertices && count && axis, error);
    *vertices = NULL, *count = 0, *axis = 1;
    int n = rig->neutral->vertex_count;
    double diagonal = sinew_diagonal(n, rig->neutral->positions);
    search s = {SN_NEW(double, n), SN_NEW(int, n), SN_NEW(double, n), SN_NEW(bool, n)};
    int most = 0, *found = NULL;
    sinew_status status =
        s.height && s.foot && s.lowest && s.rests ? SINEW_OK : sn_no_memory(error);
    if (status == SINEW_OK) {
        motion y, z;
        int along_y = mark_resting(rig, 1, diagonal, &s, &y);
        most = mark_resting(rig, 2, diagonal, &s, &z), *axis = 2;
        bool shared = z.spread <= CONTACT * diagonal && y.spread > CONTACT * diagonal &&
                      z.most >= 0.5 * y.most;
        if (most == 0 || (along_y > 0 && !shared))
            most = mark_resting(rig, 1, diagonal, &s, &y), *axis = 1;
    }
    if (most > 0 && !(found = SN_NEW(int, most))) status = sn_no_memory(error);
    for (int v = 0; found && v < n; v++)
        if (s.rests[v]) found[(*count)++] = v;
    *vertices = found;
    sn_free(s.height), sn_free(s.foot), sn_free(s.lowest), sn_free(s.rests);
    return status;
}
