/* Based on: minimum-area triangulation of holes (Barequet and Sharir 1995); winding numbers decide
 * what is solid (Jacobson et al. 2013). */
#include "mesh/solid.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "base/vec3.h"
#include "mesh/intersection.h"
#include "mesh/laplacian.h"
#include "mesh/normals.h"
#include "mesh/sides.h"
#include "mesh/topology.h"
#include "sinew/query.h"

void sn_solid_free(sn_solid *solid) {
    sn_free(solid->triangles);
    sn_free(solid->used);
    sn_free(solid->place);
    *solid = (sn_solid){0};
}

/* ---- holes ---- */

static double area_of(const double *positions, int a, int b, int c) {
    return 0.5 * sn_length(sn_area_vector(positions, (int[3]){a, b, c}));
}

/* The triangulation of least area of a ring: cost[i][k] of the part from i to k is the best of
 *   cost[i][m] + cost[m][k] + area(i, m, k),  i < m < k.
 * Triangles are written against the direction of the ring. */
static bool close_ring(const double *positions, int n, const int *ring, int *triangles) {
    double *cost = SN_NEW0(double, (size_t)n *(size_t)n);
    int *middle = SN_NEW0(int, (size_t)n *(size_t)n), *stack = SN_NEW(int, 2 * (size_t)n);
    if (!cost || !middle || !stack) {
        sn_free(cost), sn_free(middle), sn_free(stack);
        return false;
    }
    for (int span = 2; span < n; span++)
        for (int i = 0; i + span < n; i++) {
            int k = i + span;
            double best = INFINITY;
            for (int m = i + 1; m < k; m++) {
                double sum = cost[i * n + m] + cost[m * n + k] +
                             area_of(positions, ring[i], ring[m], ring[k]);
                if (sum < best) best = sum, middle[i * n + k] = m;
            }
            cost[i * n + k] = best;
        }
    int depth = 0;
    stack[depth++] = 0, stack[depth++] = n - 1;
    while (depth > 0) {
        int k = stack[--depth], i = stack[--depth];
        if (k - i < 2) continue;
        int m = middle[i * n + k];
        triangles[0] = ring[k], triangles[1] = ring[m], triangles[2] = ring[i];
        triangles += 3;
        stack[depth++] = i, stack[depth++] = m;
        stack[depth++] = m, stack[depth++] = k;
    }
    sn_free(cost), sn_free(middle), sn_free(stack);
    return true;
}

sinew_status sn_close_holes(int vertex_count, const double *positions, int hole_edges,
                            int **triangles, int *triangle_count, sinew_error *error) {
    sn_topology *topology;
    sn_lists loops = {0};
    SN_TRY(sn_topology_create(vertex_count, *triangle_count, *triangles, &topology, error));
    sinew_status status = sn_boundary_loops(topology, &loops, error);
    long long extra = 0;
    for (int i = 0; i < loops.count; i++)
        if (sn_list_size(&loops, i) <= hole_edges) extra += sn_list_size(&loops, i) - 2;
    if (status == SINEW_OK && extra > INT_MAX / 3 - *triangle_count)
        status = sn_fail(error, SINEW_BAD_INPUT, "too many holes");
    if (status == SINEW_OK && extra > 0) {
        int *grown =
            sn_realloc(*triangles, 3 * ((size_t)*triangle_count + (size_t)extra), sizeof(int));
        if (grown) *triangles = grown;
        bool ok = grown != NULL;
        for (int i = 0; ok && i < loops.count; i++) {
            int size = sn_list_size(&loops, i);
            if (size > hole_edges) continue;
            ok = close_ring(positions, size, loops.item + loops.start[i],
                            grown + 3 * (size_t)*triangle_count);
            if (ok) *triangle_count += size - 2;
        }
        if (!ok) status = sn_no_memory(error);
    }
    sn_lists_free(&loops);
    sn_topology_destroy(topology);
    return status;
}

/* ---- checks ---- */

static sinew_status check_numbers(const sinew_mesh *mesh, sinew_error *error) {
    if (mesh->triangle_count == 0) return sn_fail(error, SINEW_BAD_INPUT, "the surface is empty");
    for (size_t c = 0; c < 3 * (size_t)mesh->triangle_count; c++)
        if (mesh->triangles[c] < 0 || mesh->triangles[c] >= mesh->vertex_count)
            return sn_fail(error, SINEW_BAD_INPUT,
                           "triangle %zu refers to vertex %d, the mesh has %d", c / 3,
                           mesh->triangles[c], mesh->vertex_count);
    for (size_t i = 0; i < 3 * (size_t)mesh->vertex_count; i++)
        if (!isfinite(mesh->positions[i]))
            return sn_fail(error, SINEW_BAD_INPUT, "vertex %zu has a coordinate that is not finite",
                           i / 3);
    return SINEW_OK;
}

/* Triangles met when walking once around the vertex from its first triangle. */
static int fan_size(const sn_topology *topology, int vertex) {
    int first = topology->vertex_triangles.item[topology->vertex_triangles.start[vertex]];
    int limit = sn_list_size(&topology->vertex_triangles, vertex), here = first, size = 0;
    do {
        const int *t = topology->triangles + 3 * (size_t)here;
        int k = t[0] == vertex ? 0 : t[1] == vertex ? 1 : 2;
        here = sn_topology_across(topology, here, k);
        size++;
    } while (here != first && here >= 0 && size <= limit);
    return size;
}

static int opposite_corner(const int *triangle, int a, int b) {
    for (int k = 0; k < 3; k++)
        if (triangle[k] != a && triangle[k] != b) return triangle[k];
    return -1;
}

static sinew_status check_edges(const sn_topology *topology, sinew_error *error) {
    for (int c = 0; c < 3 * topology->triangle_count; c++)
        if (topology->triangle_edges[c] < 0)
            return sn_fail(error, SINEW_BAD_INPUT, "triangle %d uses a vertex twice", c / 3);
    int boundary = 0;
    for (int e = 0; e < topology->edges.count; e++) {
        int count = sn_list_size(&topology->edge_triangles, e);
        const int *v = topology->edges.vertices + 2 * (size_t)e;
        if (count > 2)
            return sn_fail(error, SINEW_BAD_INPUT, "edge %d-%d joins %d triangles", v[0], v[1],
                           count);
        boundary += count == 1;
    }
    if (boundary)
        return sn_fail(error, SINEW_BAD_INPUT, "the surface is open: %d boundary edges", boundary);
    for (int e = 0; e < topology->edges.count; e++) {
        const int *v = topology->edges.vertices + 2 * (size_t)e;
        const int *pair = topology->edge_triangles.item + topology->edge_triangles.start[e];
        if (sn_topology_direction(topology, pair[0], e) ==
            sn_topology_direction(topology, pair[1], e))
            return sn_fail(error, SINEW_BAD_INPUT,
                           "edge %d-%d joins triangles with opposite orientations", v[0], v[1]);
        if (opposite_corner(topology->triangles + 3 * (size_t)pair[0], v[0], v[1]) ==
            opposite_corner(topology->triangles + 3 * (size_t)pair[1], v[0], v[1]))
            return sn_fail(error, SINEW_BAD_INPUT, "triangles %d and %d have the same vertices",
                           pair[0], pair[1]);
    }
    for (int v = 0; v < topology->vertex_count; v++) {
        int count = sn_list_size(&topology->vertex_triangles, v);
        if (count && fan_size(topology, v) != count)
            return sn_fail(error, SINEW_BAD_INPUT, "vertex %d joins several fans of triangles", v);
    }
    return SINEW_OK;
}

/* Needs used[] and place[]. */
static sinew_status check_places(const sn_solid *solid, sinew_error *error) {
    double *positions = SN_NEW(double, 3 * (size_t)solid->used_count);
    int *same = SN_NEW(int, solid->used_count), merged;
    if (!positions || !same) {
        sn_free(positions), sn_free(same);
        return sn_no_memory(error);
    }
    for (int i = 0; i < solid->used_count; i++)
        sn_put(positions, i, sn_at(solid->positions, solid->used[i]));
    sinew_status status = sn_weld(solid->used_count, positions, 0, same, &merged, error);
    for (int i = 0; status == SINEW_OK && merged && i < solid->used_count; i++)
        if (same[i] != i)
            status = sn_fail(error, SINEW_BAD_INPUT, "vertices %d and %d are at the same position",
                             solid->used[same[i]], solid->used[i]);
    sn_free(positions), sn_free(same);
    return status;
}

static sinew_status check_geometry(const sn_solid *solid, const sinew_monitor *monitor,
                                   sinew_error *error) {
    for (int t = 0; t < solid->triangle_count; t++) {
        const int *v = solid->triangles + 3 * (size_t)t;
        if (sn_triangle_collapsed(sn_at(solid->positions, v[0]), sn_at(solid->positions, v[1]),
                                  sn_at(solid->positions, v[2])))
            return sn_fail(error, SINEW_BAD_INPUT, "triangle %d has no area", t);
    }
    sn_pairs pairs;
    SN_TRY(sn_self_intersections(solid->vertex_count, solid->positions, solid->triangle_count,
                                 solid->triangles, monitor, &pairs, error));
    sinew_status status = SINEW_OK;
    if (pairs.count)
        status = sn_fail(error, SINEW_BAD_INPUT,
                         "the surface crosses itself: triangles %d and %d (%d pairs)",
                         pairs.pair[0], pairs.pair[1], pairs.count);
    sn_pairs_free(&pairs);
    return status;
}

static sinew_status find_used(sn_solid *solid, sinew_error *error) {
    solid->place = SN_NEW(int, solid->vertex_count);
    solid->used = SN_NEW(int, solid->vertex_count);
    if (!solid->place || !solid->used) return sn_no_memory(error);
    for (int v = 0; v < solid->vertex_count; v++) solid->place[v] = -1;
    for (size_t c = 0; c < 3 * (size_t)solid->triangle_count; c++)
        solid->place[solid->triangles[c]] = 0;
    for (int v = 0; v < solid->vertex_count; v++) {
        if (solid->place[v] < 0) continue;
        solid->place[v] = solid->used_count;
        solid->used[solid->used_count++] = v;
    }
    return SINEW_OK;
}

static sinew_status build(const sinew_mesh *mesh, int hole_edges, const sinew_monitor *monitor,
                          sn_solid *solid, sinew_error *error) {
    SN_TRY(check_numbers(mesh, error));
    solid->triangles = sn_memdup(mesh->triangles, 3 * (size_t)mesh->triangle_count, sizeof(int));
    if (!solid->triangles) return sn_no_memory(error);
    SN_TRY(sn_close_holes(solid->vertex_count, solid->positions, hole_edges, &solid->triangles,
                          &solid->triangle_count, error));
    sn_topology *topology;
    SN_TRY(sn_topology_create(solid->vertex_count, solid->triangle_count, solid->triangles,
                              &topology, error));
    sinew_status status = check_edges(topology, error);
    sn_topology_destroy(topology);
    SN_TRY(status);
    SN_TRY(find_used(solid, error));
    SN_TRY(check_places(solid, error));
    return check_geometry(solid, monitor, error);
}

sinew_status sn_solid_create(const sinew_mesh *mesh, int hole_edges, const sinew_monitor *monitor,
                             sn_solid *solid, sinew_error *error) {
    *solid = (sn_solid){.vertex_count = mesh->vertex_count,
                        .positions = mesh->positions,
                        .surface_triangles = mesh->triangle_count,
                        .triangle_count = mesh->triangle_count};
    sinew_status status = build(mesh, hole_edges, monitor, solid, error);
    if (status != SINEW_OK) sn_solid_free(solid);
    return status;
}

/* ---- verification ---- */

/* Joins tets into regions that the surface separates; false when a triangle of the surface is no
 * side of any tet, or the tets do not fit together. */
static bool find_regions(const sn_side *sides, size_t count, int *region) {
    for (size_t i = 0; i < count;) {
        size_t end = sn_sides_next(sides, count, i);
        bool surface = sides[i].tet < 0;
        size_t tets = end - i - (surface ? 1 : 0);
        if (tets == 0 || tets > 2 || (!surface && tets == 1)) return false;
        if (!surface) sn_set_join(region, sides[i].tet, sides[i + 1].tet);
        i = end;
    }
    return true;
}

/* Winding number of each region, asked at the centroid of its largest tet: winding[root]. */
static sinew_status wind(const sn_solid *solid, const sinew_tets *tets, const double *volumes,
                         int *region, int *largest, double *winding, sinew_error *error) {
    sinew_query *query;
    SN_TRY(sinew_query_create(solid->vertex_count, solid->positions, solid->triangle_count,
                              solid->triangles, &query, error));
    for (int t = 0; t < tets->tet_count; t++) largest[t] = -1;
    for (int t = 0; t < tets->tet_count; t++) {
        int root = sn_set_find(region, t);
        if (largest[root] < 0 || volumes[t] > volumes[largest[root]]) largest[root] = t;
    }
    for (int t = 0; t < tets->tet_count; t++) {
        if (largest[t] < 0) continue;
        sn_vec3 sum = sn_v3(0, 0, 0);
        for (int k = 0; k < 4; k++)
            sum = sn_add_scaled(
                sum, 0.25, sn_at(tets->positions, tets->tets[4 * (size_t)largest[t] + (size_t)k]));
        winding[t] = floor(sinew_query_winding(query, (double[3]){sum.x, sum.y, sum.z}) + 0.5);
    }
    sinew_query_destroy(query);
    return SINEW_OK;
}

/* Drops tets of winding number 0 and the points that only they used. */
static bool keep_solid(const sn_solid *solid, sinew_tets *tets, int *region,
                       const double *winding) {
    int *number = SN_NEW(int, tets->vertex_count), kept = 0;
    if (!number) return false;
    for (int v = 0; v < tets->vertex_count; v++) number[v] = v < solid->vertex_count ? v : -1;
    for (int t = 0; t < tets->tet_count; t++) {
        if (winding[sn_set_find(region, t)] == 0) continue;
        memmove(tets->tets + 4 * (size_t)kept++, tets->tets + 4 * (size_t)t, 4 * sizeof(int));
    }
    tets->tet_count = kept;
    for (size_t c = 0; c < 4 * (size_t)kept; c++) number[tets->tets[c]] = tets->tets[c];
    int next = solid->vertex_count;
    for (int v = solid->vertex_count; v < tets->vertex_count; v++) {
        if (number[v] < 0) continue;
        sn_put(tets->positions, next, sn_at(tets->positions, v));
        number[v] = next++;
    }
    tets->vertex_count = next;
    for (size_t c = 0; c < 4 * (size_t)kept; c++) tets->tets[c] = number[tets->tets[c]];
    sn_free(number);
    return true;
}

sinew_status sn_solid_verify(const sn_solid *solid, sinew_tets *tets, sinew_error *error) {
    size_t side_count;
    sn_side *sides;
    SN_TRY(sn_sides_create(tets->tet_count, tets->tets, solid->triangle_count, solid->triangles,
                           &sides, &side_count, error));
    int *region = SN_NEW(int, tets->tet_count), *largest = SN_NEW(int, tets->tet_count);
    double *volumes = SN_NEW(double, tets->tet_count), *winding = SN_NEW0(double, tets->tet_count);
    sinew_status status = region && largest && volumes && winding ? SINEW_OK : sn_no_memory(error);
    if (status == SINEW_OK) {
        sn_tet_volumes(tets->positions, tets->tet_count, tets->tets, volumes);
        for (int t = 0; t < tets->tet_count; t++) region[t] = t;
        if (!find_regions(sides, side_count, region))
            status = sn_fail(error, SINEW_BAD_INPUT, "tetgen did not keep the surface");
    }
    if (status == SINEW_OK) status = wind(solid, tets, volumes, region, largest, winding, error);
    if (status == SINEW_OK) {
        double filled = 0, enclosed = sn_enclosed_volume(solid->triangle_count, solid->triangles,
                                                         solid->positions);
        for (int t = 0; t < tets->tet_count; t++)
            filled += volumes[t] * winding[sn_set_find(region, t)];
        if (!(fabs(filled - enclosed) <= 1e-6 * fabs(enclosed)))
            status = sn_fail(error, SINEW_BAD_INPUT, "tetgen filled a volume of %g instead of %g",
                             filled, enclosed);
        else if (!keep_solid(solid, tets, region, winding))
            status = sn_no_memory(error);
    }
    if (status == SINEW_OK && tets->tet_count == 0)
        status = sn_fail(error, SINEW_BAD_INPUT, "the surface encloses nothing");
    sn_free(sides);
    sn_free(region);
    sn_free(largest);
    sn_free(volumes);
    sn_free(winding);
    return status;
}
