/* Based on: umbrella smoothing (Taubin 1995) of the regions that intersect.
 * We differ in: only the rings around intersecting triangles move, more rings the longer they
 * resist. A crease opens within a few rounds; two limbs that pass through each other shrink there
 * until they let go. The result is a rest shape of finite elements, never shown: a shape that the
 * artist made is a pose of it, and met exactly. */
#include "mesh/uncross.h"

#include <string.h>

#include "base/memory.h"
#include "base/monitor.h"
#include "base/status.h"
#include "base/vec3.h"
#include "mesh/intersection.h"
#include "mesh/topology.h"

enum { ROUNDS = 40, SMOOTHINGS = 3 };
static const double STEP = 0.6;
/* More of the vertices than this do not stand for small repairs. */
static const double MOST_MOVED = 0.2;

/* Rings of neighbors added to the marked vertices. */
static void widen(const sn_lists *near, int rings, bool *marked, bool *scratch) {
    for (int r = 0; r < rings; r++) {
        memcpy(scratch, marked, (size_t)near->count * sizeof *marked);
        for (int v = 0; v < near->count; v++)
            for (int k = near->start[v]; scratch[v] && k < near->start[v + 1]; k++)
                marked[near->item[k]] = true;
    }
}

static void smooth(const sn_lists *near, const bool *marked, double *positions, double *next) {
    for (int v = 0; v < near->count; v++) {
        int degree = near->start[v + 1] - near->start[v];
        sn_vec3 sum = {0, 0, 0}, own = sn_at(positions, v);
        if (!marked[v] || degree == 0) continue;
        for (int k = near->start[v]; k < near->start[v + 1]; k++)
            sum = sn_add(sum, sn_at(positions, near->item[k]));
        sn_put(next, v, sn_add(sn_scale(1 - STEP, own), sn_scale(STEP / degree, sum)));
    }
    for (int v = 0; v < near->count; v++)
        if (marked[v]) sn_put(positions, v, sn_at(next, v));
}

static sinew_status run(const sinew_mesh *mesh, const sn_lists *near, const sinew_monitor *monitor,
                        double *positions, double *next, bool *marked, bool *scratch,
                        sinew_error *error) {
    int n = mesh->vertex_count;
    for (int round = 0; round < ROUNDS; round++) {
        if (sn_cancelled(monitor))
            return sn_fail(error, SINEW_CANCELLED, "cancelled while removing intersections");
        sn_pairs pairs;
        SN_TRY(sn_self_intersections(n, positions, mesh->triangle_count, mesh->triangles, monitor,
                                     &pairs, error));
        memset(marked, 0, (size_t)n * sizeof *marked);
        for (int k = 0; k < 2 * pairs.count; k++)
            for (int c = 0; c < 3; c++)
                marked[mesh->triangles[3 * (size_t)pairs.pair[k] + (size_t)c]] = true;
        int left = pairs.count;
        sn_pairs_free(&pairs);
        if (left == 0) return SINEW_OK;
        widen(near, 1 + round / 8, marked, scratch);
        for (int s = 0; s < SMOOTHINGS; s++) smooth(near, marked, positions, next);
    }
    return sn_fail(error, SINEW_BAD_INPUT, "its intersections could not be smoothed out");
}

sinew_status sn_uncross(const sinew_mesh *mesh, const sinew_monitor *monitor, double *positions,
                        int *moved, sinew_error *error) {
    int n = mesh->vertex_count;
    sn_topology *topology;
    *moved = 0;
    memcpy(positions, mesh->positions, (size_t)3 * (size_t)n * sizeof *positions);
    SN_TRY(sn_topology_create(n, mesh->triangle_count, mesh->triangles, &topology, error));
    double *next = SN_NEW(double, (size_t)3 * (size_t)n);
    bool *marked = SN_NEW(bool, n), *scratch = SN_NEW(bool, n);
    sinew_status status = next && marked && scratch ? SINEW_OK : sn_no_memory(error);
    if (status == SINEW_OK)
        status =
            run(mesh, &topology->vertex_vertices, monitor, positions, next, marked, scratch, error);
    for (int v = 0; status == SINEW_OK && v < n; v++)
        *moved += memcmp(positions + 3 * (size_t)v, mesh->positions + 3 * (size_t)v,
                         3 * sizeof *positions) != 0;
    if (status == SINEW_OK && *moved > MOST_MOVED * n)
        status =
            sn_fail(error, SINEW_BAD_INPUT, "intersections cover %d of %d vertices", *moved, n);
    sn_topology_destroy(topology);
    sn_free(next), sn_free(marked), sn_free(scratch);
    return status;
}
