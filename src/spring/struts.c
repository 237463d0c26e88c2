/* Struts through the inside of a surface.
 *
 * From every vertex a ray goes inwards, against the normal. Where it leaves the body through the
 * same part of the surface, a spring joins the vertex to the nearest corner of the triangle that
 * was hit. The springs keep the thickness of limbs and the volume, as the inner edges of a
 * tetrahedral mesh do, but need no mesh: a hole, a crossing or an edge with three triangles costs
 * the struts around it and no others.
 *
 * A ray that enters the surface again before it leaves has met a part that overlaps; it goes on to
 * the first side seen from inside. Where parts overlap in the neutral that are apart in a pose, a
 * strut between them changes its length far more than the edges at its ends. And the hollow of a
 * sheet that is rolled up in the neutral is not an inside: in a pose that unrolls it, struts no
 * longer point inwards at their ends. Such struts are left out. */
#include "spring/interior.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/monitor.h"
#include "base/parallel.h"
#include "base/scope.h"
#include "base/status.h"
#include "base/stoppable.h"
#include "mesh/normals.h"
#include "sinew/query.h"

/* A ray starts this far inside, and goes on this far behind a hit, relative to the mean edge. */
static const double SKIN = 1e-3;
/* A strut may grow or shrink by this factor against the edges at its ends. */
static const double MOST_GROWTH = 2;
/* And in a pose it still points inwards: the least cosine of its angle to the normal at an end. */
static const double INWARDS = 0.5;
enum { MOST_HITS = 16 };

typedef struct strut_search {
    const sinew_mesh *mesh;
    sinew_query *query;
    int *component;
    double *normals; /* outward, 3 per vertex */
    double *outward; /* per part: -1 when its triangles face inward */
    double edge;     /* mean, in the neutral */
} strut_search;

/* The vertex across the body from v, or -1. */
static int find_across(const strut_search *search, int v) {
    const sinew_mesh *mesh = search->mesh;
    sn_vec3 at = sn_at(mesh->positions, v), normal = sn_at(search->normals, v);
    if (search->component[v] < 0 || !(sn_dot(normal, normal) > 0)) return -1;
    const double inward[3] = {-normal.x, -normal.y, -normal.z};
    double gone = SKIN * search->edge;
    for (int hits = 0; hits < MOST_HITS; hits++) {
        sn_vec3 from = sn_add_scaled(at, -gone, normal);
        sinew_closest hit;
        if (!sinew_query_ray(search->query, (double[3]){from.x, from.y, from.z}, inward, INFINITY,
                             &hit))
            return -1;
        gone += hit.distance + SKIN * search->edge;
        const int *triangle = mesh->triangles + 3 * (size_t)hit.triangle;
        if (search->component[triangle[0]] != search->component[v]) continue;
        if (triangle[0] == v || triangle[1] == v || triangle[2] == v) continue;
        /* a side seen from outside: something overlaps */
        double side = search->outward[search->component[v]] *
                      sn_dot(sn_area_vector(mesh->positions, triangle), normal);
        if (!(side < 0)) continue;
        int nearest = 0;
        for (int c = 1; c < 3; c++)
            if (hit.barycentric[c] > hit.barycentric[nearest]) nearest = c;
        int across = triangle[nearest];
        return sn_dot(sn_at(search->normals, across), normal) < 0 ? across : -1;
    }
    return -1;
}

typedef struct find_loop {
    const strut_search *search;
    int *across;
} find_loop;

static void find_some(void *context, sn_span span) {
    const find_loop *loop = context;
    SN_IN_SPAN(int, v, span) loop->across[v] = find_across(loop->search, v);
}

/* Mean length of the sides around every vertex. */
static void find_scales(const sinew_mesh *mesh, const double *positions, int *count,
                        double *scale) {
    memset(count, 0, (size_t)mesh->vertex_count * sizeof *count);
    memset(scale, 0, (size_t)mesh->vertex_count * sizeof *scale);
    for (int c = 0; c < 3 * mesh->triangle_count; c++) {
        int a = mesh->triangles[c], b = mesh->triangles[c % 3 == 2 ? c - 2 : c + 1];
        double length = sn_distance(sn_at(positions, a), sn_at(positions, b));
        scale[a] += length, scale[b] += length;
        count[a]++, count[b]++;
    }
    for (int v = 0; v < mesh->vertex_count; v++)
        if (count[v]) scale[v] /= count[v];
}

/* Outward normals of a pose, not normalized. */
static void find_normals(const strut_search *search, const double *positions, double *normals) {
    const sinew_mesh *mesh = search->mesh;
    memset(normals, 0, 3 * (size_t)mesh->vertex_count * sizeof *normals);
    for (int t = 0; t < mesh->triangle_count; t++) {
        const int *v = mesh->triangles + 3 * (size_t)t;
        sn_vec3 area =
            sn_scale(search->outward[search->component[v[0]]], sn_area_vector(positions, v));
        for (int c = 0; c < 3; c++) sn_put(normals, v[c], sn_add(sn_at(normals, v[c]), area));
    }
}

static double cosine(sn_vec3 a, sn_vec3 b) {
    return sn_dot(sn_normalize(a), sn_normalize(b));
}

/* Drops the struts that a pose does not confirm: it changes their length more than the edges around
 * them, or turns them out of the inside. */
static sinew_status drop_false(const strut_search *search, int pose_count,
                               const double *const *poses, int *across, sinew_error *error) {
    const sinew_mesh *mesh = search->mesh;
    int *count = SN_NEW(int, mesh->vertex_count);
    double *rest = SN_NEW(double, mesh->vertex_count), *scale = SN_NEW(double, mesh->vertex_count);
    double *normals = SN_NEW(double, 3 * (size_t)mesh->vertex_count);
    bool ok = count && rest && scale && normals;
    if (ok) find_scales(mesh, mesh->positions, count, rest);
    for (int p = 0; p < pose_count && ok && !sn_scope_poll(); p++) {
        find_scales(mesh, poses[p], count, scale);
        find_normals(search, poses[p], normals);
        for (int v = 0; v < mesh->vertex_count; v++) {
            int u = across[v];
            if (u < 0) continue;
            double edges = 0.5 * (scale[v] / rest[v] + scale[u] / rest[u]);
            double growth = sn_distance(sn_at(poses[p], v), sn_at(poses[p], u)) /
                            sn_distance(sn_at(mesh->positions, v), sn_at(mesh->positions, u));
            sn_vec3 inwards = sn_sub(sn_at(poses[p], v), sn_at(poses[p], u));
            bool inside = cosine(inwards, sn_at(normals, v)) > INWARDS &&
                          sn_dot(inwards, sn_at(normals, u)) < 0;
            if (!(growth < MOST_GROWTH * edges && growth * MOST_GROWTH > edges && inside))
                across[v] = -1;
        }
    }
    sn_free(count), sn_free(rest), sn_free(scale), sn_free(normals);
    return ok ? SINEW_OK : sn_no_memory(error);
}

/* Parts whose triangles are listed clockwise enclose a negative volume: their normals are turned,
 * and the sides of their triangles change places. */
static sinew_status turn_outwards(strut_search *search, int parts, sinew_error *error) {
    const sinew_mesh *mesh = search->mesh;
    sn_vec3 *first = SN_NEW(sn_vec3, parts);
    double *volume = SN_NEW0(double, parts);
    search->outward = SN_NEW(double, parts);
    bool ok = first && volume && search->outward;
    if (ok) {
        /* relative to a vertex of the part: an open part far from the origin has a sign, too */
        for (int v = mesh->vertex_count - 1; v >= 0; v--)
            if (search->component[v] >= 0) first[search->component[v]] = sn_at(mesh->positions, v);
        for (int t = 0; t < mesh->triangle_count; t++) {
            const int *v = mesh->triangles + 3 * (size_t)t;
            int part = search->component[v[0]];
            volume[part] += sn_dot(sn_area_vector(mesh->positions, v),
                                   sn_sub(sn_at(mesh->positions, v[0]), first[part]));
        }
        for (int p = 0; p < parts; p++) search->outward[p] = volume[p] < 0 ? -1 : 1;
        for (int v = 0; v < mesh->vertex_count; v++)
            if (search->component[v] >= 0)
                sn_put(search->normals, v,
                       sn_scale(search->outward[search->component[v]], sn_at(search->normals, v)));
    }
    sn_free(first), sn_free(volume);
    return ok ? SINEW_OK : sn_no_memory(error);
}

static sinew_status find_all(strut_search *search, const sinew_monitor *monitor, int *across,
                             sinew_error *error) {
    const sinew_mesh *mesh = search->mesh;
    int n = mesh->vertex_count, parts = 0;
    search->component = SN_NEW(int, n);
    search->normals = SN_NEW(double, 3 * (size_t)n);
    if (!search->component || !search->normals) return sn_no_memory(error);
    sn_topology *topology = NULL;
    SN_TRY(sn_topology_create(n, mesh->triangle_count, mesh->triangles, &topology, error));
    sn_vertex_normals(topology, mesh->positions, SN_NORMAL_ANGLE, search->normals);
    sn_topology_destroy(topology);
    SN_TRY(
        sn_components(n, mesh->triangle_count, mesh->triangles, search->component, &parts, error));
    SN_TRY(turn_outwards(search, parts, error));
    SN_TRY(sinew_query_create(n, mesh->positions, mesh->triangle_count, mesh->triangles,
                              &search->query, error));
    if (sn_cancelled(monitor)) return sn_fail(error, SINEW_CANCELLED, "cancelled");
    double sum = 0;
    for (int c = 0; c < 3 * mesh->triangle_count; c++)
        sum += sn_distance(sn_at(mesh->positions, mesh->triangles[c]),
                           sn_at(mesh->positions, mesh->triangles[c % 3 == 2 ? c - 2 : c + 1]));
    search->edge = sum / (3 * mesh->triangle_count);
    sn_parallel_for_stoppable(n, 64, find_some, &(find_loop){search, across});
    return sn_scope_poll() ? sn_fail(error, SINEW_CANCELLED, "cancelled") : SINEW_OK;
}

sinew_status sn_struts_find(const sinew_mesh *mesh, int pose_count, const double *const *poses,
                            const sinew_monitor *monitor, int **across, sinew_error *error) {
    *across = SN_NEW(int, mesh->vertex_count);
    if (!*across) return sn_no_memory(error);
    strut_search search = {.mesh = mesh};
    sinew_status status = find_all(&search, monitor, *across, error);
    if (status == SINEW_OK) status = drop_false(&search, pose_count, poses, *across, error);
    sinew_query_destroy(search.query);
    sn_free(search.component), sn_free(search.normals), sn_free(search.outward);
    if (status != SINEW_OK) {
        sn_free(*across);
        *across = NULL;
    }
    return status;
}
