/* Based on: Embree's point queries and rays (Wald et al. 2014); solid angles (van Oosterom and
 * Strackee 1983) for winding numbers (Jacobson et al. 2013).
 * We differ in: Embree's single-precision tree only proposes triangles; distances, hits and signs
 * are computed in double from our own copy. A ray that passes close to an edge is not believed:
 * another direction is tried, and in the end the exact winding number decides. */
#include "sinew/query.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/parallel.h"
#include "base/stoppable.h"
#include "mesh/broadphase.h"
#include "mesh/closest.h"
#include "mesh/embree.h"
#include "mesh/intersection.h"
#include "mesh/topology.h"

/* Embree may read 16 bytes from the last vertex on. */
enum { BUFFER_PADDING = 4 };

/* Single-precision error of tree and query, in frame units, per unit of distance from the center.
 * Eight times the half spacing of floats: positions, boxes and Embree's own arithmetic. */
static const double float_error = 8 * 5.97e-8;

/* Beyond this distance (in half box sizes) the tree cannot tell triangles apart any more. */
static const double far_away = 1e4;

struct sinew_query {
    int vertex_count, triangle_count;
    double *positions;
    int *triangles;
    bool closed;   /* an even number of triangles at every edge */
    bool oriented; /* closed, and they run along it in turn */

    sn_box_frame frame;
    float *local; /* positions in the frame; Embree reads them */
    RTCDevice device;
    RTCScene scene;
    RTCGeometry geometry;
};

static void localise(void *context, sn_span span) {
    sinew_query *query = context;
    SN_IN_SPAN(int, v, span) {
        sn_vec3 p =
            sn_scale(query->frame.scale, sn_sub(sn_at(query->positions, v), query->frame.center));
        float *out = query->local + 3 * (size_t)v;
        out[0] = (float)p.x, out[1] = (float)p.y, out[2] = (float)p.z;
    }
}

static void fill_local(sinew_query *query) {
    query->frame = sn_box_frame_of(query->vertex_count, query->positions, 0, NULL);
    sn_parallel_for(query->vertex_count, 512, localise, query);
}

static sinew_status build_scene(sinew_query *query, sinew_error *error) {
    SN_TRY(sn_embree_device(&query->device, error));
    query->scene = sn_embree()->rtcNewScene(query->device);
    sn_embree()->rtcSetSceneFlags(query->scene, RTC_SCENE_FLAG_DYNAMIC | RTC_SCENE_FLAG_ROBUST |
                                                    RTC_SCENE_FLAG_CONTEXT_FILTER_FUNCTION);
    query->geometry = sn_embree()->rtcNewGeometry(query->device, RTC_GEOMETRY_TYPE_TRIANGLE);
    sn_embree()->rtcSetGeometryBuildQuality(query->geometry, RTC_BUILD_QUALITY_REFIT);
    sn_embree()->rtcSetSharedGeometryBuffer(query->geometry, RTC_BUFFER_TYPE_VERTEX, 0,
                                            RTC_FORMAT_FLOAT3, query->local, 0, 3 * sizeof(float),
                                            (size_t)query->vertex_count);
    sn_embree()->rtcSetSharedGeometryBuffer(query->geometry, RTC_BUFFER_TYPE_INDEX, 0,
                                            RTC_FORMAT_UINT3, query->triangles, 0, 3 * sizeof(int),
                                            (size_t)query->triangle_count);
    sn_embree()->rtcCommitGeometry(query->geometry);
    sn_embree()->rtcAttachGeometry(query->scene, query->geometry);
    sn_embree_commit(query->scene);
    return sn_embree_status(query->device, error);
}

static sinew_status look_at_edges(sinew_query *query, sinew_error *error) {
    sn_topology *topology;
    SN_TRY(sn_topology_create(query->vertex_count, query->triangle_count, query->triangles,
                              &topology, error));
    query->closed = query->oriented = true;
    for (int e = 0; e < topology->edges.count; e++) {
        int sum = 0;
        for (int i = topology->edge_triangles.start[e]; i < topology->edge_triangles.start[e + 1];
             i++)
            sum += sn_topology_direction(topology, topology->edge_triangles.item[i], e);
        if (sn_list_size(&topology->edge_triangles, e) % 2) query->closed = false;
        if (sum != 0) query->oriented = false;
    }
    sn_topology_destroy(topology);
    return SINEW_OK;
}

static sinew_status check_surface(int vertex_count, const double *positions, int triangle_count,
                                  const int *triangles, sinew_error *error) {
    for (size_t i = 0; i < 3 * (size_t)vertex_count; i++)
        if (!isfinite(positions[i]))
            return sn_fail(error, SINEW_BAD_INPUT, "vertex %zu: coordinate is not finite", i / 3);
    for (size_t c = 0; c < 3 * (size_t)triangle_count; c++)
        if (triangles[c] < 0 || triangles[c] >= vertex_count)
            return sn_fail(error, SINEW_BAD_INPUT,
                           "triangle %zu: refers to vertex %d, there are %d", c / 3, triangles[c],
                           vertex_count);
    return SINEW_OK;
}

sinew_status sinew_query_create(int vertex_count, const double *positions, int triangle_count,
                                const int *triangles, sinew_query **query, sinew_error *error) {
    SN_REQUIRE(query, error);
    *query = NULL;
    SN_REQUIRE(vertex_count >= 0 && triangle_count >= 0 && triangle_count <= INT_MAX / 3, error);
    SN_REQUIRE(positions || vertex_count == 0, error);
    SN_REQUIRE(triangles || triangle_count == 0, error);
    SN_TRY(check_surface(vertex_count, positions, triangle_count, triangles, error));
    sinew_query *made = SN_NEW0(sinew_query, 1);
    if (!made) return sn_no_memory(error);
    made->vertex_count = vertex_count;
    made->triangle_count = triangle_count;
    made->positions = sn_memdup(positions, 3 * (size_t)vertex_count, sizeof(double));
    made->triangles = sn_memdup(triangles, 3 * (size_t)triangle_count, sizeof(int));
    made->local = SN_NEW0(float, 3 * (size_t)vertex_count + BUFFER_PADDING);
    sinew_status status =
        made->positions && made->triangles && made->local ? SINEW_OK : sn_no_memory(error);
    if (status == SINEW_OK) status = look_at_edges(made, error);
    if (status == SINEW_OK) {
        fill_local(made);
        status = build_scene(made, error);
    }
    if (status != SINEW_OK) {
        sinew_query_destroy(made);
        return status;
    }
    *query = made;
    return SINEW_OK;
}

void sinew_query_destroy(sinew_query *query) {
    if (!query) return;
    if (query->geometry) sn_embree()->rtcReleaseGeometry(query->geometry);
    if (query->scene) sn_embree()->rtcReleaseScene(query->scene);
    if (query->device) sn_embree()->rtcReleaseDevice(query->device);
    sn_free(query->positions);
    sn_free(query->triangles);
    sn_free(query->local);
    sn_free(query);
}

sinew_status sinew_query_move(sinew_query *query, const double *positions, sinew_error *error) {
    SN_REQUIRE(query && (positions || query->vertex_count == 0), error);
    SN_TRY(check_surface(query->vertex_count, positions, 0, NULL, error));
    for (size_t i = 0; i < 3 * (size_t)query->vertex_count; i++) query->positions[i] = positions[i];
    fill_local(query);
    sn_embree()->rtcUpdateGeometryBuffer(query->geometry, RTC_BUFFER_TYPE_VERTEX, 0);
    sn_embree()->rtcCommitGeometry(query->geometry);
    sn_embree_commit(query->scene);
    return sn_embree_status(query->device, error);
}

static void corners(const sinew_query *query, int triangle, sn_vec3 out[3]) {
    for (int k = 0; k < 3; k++)
        out[k] = sn_at(query->positions, query->triangles[3 * (size_t)triangle + (size_t)k]);
}

static bool is_finite(sn_vec3 p) {
    return isfinite(p.x) && isfinite(p.y) && isfinite(p.z);
}

static sn_vec3 to_local(const sinew_query *query, sn_vec3 p) {
    return sn_scale(query->frame.scale, sn_sub(p, query->frame.center));
}

/* ---- nearest point ---- */

typedef struct search {
    const sinew_query *query;
    sn_vec3 point;
    double margin; /* frame units */
    double best;   /* distance so far */
    sinew_closest *closest;
} search;

/* True when the triangle is the better answer: nearer, or as near with a smaller index. That makes
 * the answer independent of the order in which the tree is walked. */
static bool consider(search *state, int triangle) {
    sn_vec3 p[3];
    double weights[3];
    corners(state->query, triangle, p);
    sn_vec3 point = sn_closest_on_triangle(state->point, p[0], p[1], p[2], weights);
    double distance = sn_distance(state->point, point);
    sinew_closest *closest = state->closest;
    if (!(distance < state->best ||
          (distance == state->best && (closest->triangle < 0 || triangle < closest->triangle))))
        return false;
    state->best = closest->distance = distance;
    closest->triangle = triangle;
    for (int k = 0; k < 3; k++) closest->barycentric[k] = weights[k];
    closest->point[0] = point.x, closest->point[1] = point.y, closest->point[2] = point.z;
    return true;
}

/* A search radius that surely reaches everything within the distance. */
static float safe_radius(const search *state) {
    return (float)(state->best * state->query->frame.scale * (1 + 1e-6) + state->margin);
}

static bool visit(struct RTCPointQueryFunctionArguments *arguments) {
    search *state = arguments->userPtr;
    if (!consider(state, (int)arguments->primID)) return false;
    float radius = safe_radius(state);
    if (!(radius < arguments->query->radius)) return false;
    arguments->query->radius = radius;
    return true;
}

bool sinew_query_closest(const sinew_query *query, const double point[3], double max_distance,
                         sinew_closest *closest) {
    *closest = (sinew_closest){.triangle = -1, .distance = INFINITY};
    search state = {query, sn_v3(point[0], point[1], point[2]), 0, max_distance, closest};
    if (!is_finite(state.point) || !(max_distance >= 0)) return false;
    sn_vec3 local = to_local(query, state.point);
    double away = fmax(fabs(local.x), fmax(fabs(local.y), fabs(local.z)));
    if (!(away < far_away)) {
        for (int t = 0; t < query->triangle_count; t++) consider(&state, t);
        return closest->triangle >= 0;
    }
    state.margin = float_error * (1 + away);
    struct RTCPointQuery ball = {.x = (float)local.x,
                                 .y = (float)local.y,
                                 .z = (float)local.z,
                                 .radius = safe_radius(&state)};
    struct RTCPointQueryContext context;
    rtcInitPointQueryContext(&context);
    sn_embree()->rtcPointQuery(query->scene, &ball, &context, visit, &state);
    return closest->triangle >= 0;
}

typedef struct find_closest_loop {
    const sinew_query *query;
    const double *points;
    double max_distance;
    sinew_closest *closest;
} find_closest_loop;

static void find_closest(void *context, sn_span span) {
    const find_closest_loop *loop = context;
    const sinew_query *query = loop->query;
    const double *points = loop->points;
    double max_distance = loop->max_distance;
    sinew_closest *closest = loop->closest;
    SN_IN_SPAN(int, i, span)
        sinew_query_closest(query, points + 3 * (size_t)i, max_distance, closest + i);
}

void sinew_query_closest_all(const sinew_query *query, int count, const double *points,
                             double max_distance, sinew_closest *closest) {
    sn_parallel_for_stoppable(count, 16, find_closest,
                              &(find_closest_loop){query, points, max_distance, closest});
    /* some triangle for callers that use its index before they find that they were cancelled */
    if (sn_scope_poll()) memset(closest, 0, (size_t)count * sizeof *closest);
}

/* ---- rays ---- */

/* Where the line meets the plane of the triangle, in double; false when it runs along it. */
static bool hit_plane(const sinew_query *query, int triangle, sn_vec3 origin, sn_vec3 direction,
                      sinew_closest *hit) {
    sn_vec3 p[3];
    corners(query, triangle, p);
    sn_vec3 normal = sn_cross(sn_sub(p[1], p[0]), sn_sub(p[2], p[0]));
    double slope = sn_dot(normal, direction);
    if (slope == 0) return false;
    double t = sn_dot(normal, sn_sub(p[0], origin)) / slope;
    sn_vec3 point = sn_add_scaled(origin, t, direction);
    double weights[3];
    point = sn_closest_on_triangle(point, p[0], p[1], p[2], weights);
    hit->triangle = triangle;
    for (int k = 0; k < 3; k++) hit->barycentric[k] = weights[k];
    hit->point[0] = point.x, hit->point[1] = point.y, hit->point[2] = point.z;
    hit->distance = t > 0 ? t : 0;
    return true;
}

/* A ray in frame units, its origin moved towards the surface when it starts far away. The frame's
 * box has a radius of at most sqrt 3. */
static double local_ray(const sinew_query *query, sn_vec3 origin, sn_vec3 unit,
                        struct RTCRay *ray) {
    sn_vec3 local = to_local(query, origin);
    double skip = fmax(0, sn_length(local) - 2);
    local = sn_add_scaled(local, skip, unit);
    ray->org_x = (float)local.x, ray->org_y = (float)local.y, ray->org_z = (float)local.z;
    ray->dir_x = (float)unit.x, ray->dir_y = (float)unit.y, ray->dir_z = (float)unit.z;
    ray->tnear = 0;
    ray->time = 0;
    ray->mask = UINT_MAX;
    ray->id = 0;
    ray->flags = 0;
    return skip;
}

bool sinew_query_ray(const sinew_query *query, const double origin[3], const double direction[3],
                     double max_distance, sinew_closest *hit) {
    *hit = (sinew_closest){.triangle = -1, .distance = INFINITY};
    sn_vec3 from = sn_v3(origin[0], origin[1], origin[2]);
    sn_vec3 along = sn_v3(direction[0], direction[1], direction[2]);
    double length = sn_length(along);
    if (!is_finite(from) || !is_finite(along) || !(length > 0) || !(max_distance >= 0))
        return false;
    struct RTCRayHit ray;
    double skip = local_ray(query, from, sn_scale(1 / length, along), &ray.ray);
    double reach = max_distance * length * query->frame.scale - skip;
    if (reach < -float_error) return false;
    ray.ray.tfar = (float)(fmax(reach, 0) * (1 + 1e-6) + float_error);
    ray.hit.geomID = ray.hit.instID[0] = RTC_INVALID_GEOMETRY_ID;
    struct RTCIntersectContext context;
    rtcInitIntersectContext(&context);
    sn_embree()->rtcIntersect1(query->scene, &context, &ray);
    if (ray.hit.geomID == RTC_INVALID_GEOMETRY_ID) return false;
    sinew_closest found;
    if (!hit_plane(query, (int)ray.hit.primID, from, along, &found)) return false;
    if (found.distance > max_distance) return false;
    *hit = found;
    return true;
}

/* ---- inside ---- */

double sinew_query_winding(const sinew_query *query, const double point[3]) {
    sn_vec3 p = sn_v3(point[0], point[1], point[2]);
    if (!is_finite(p)) return 0;
    double sum = 0;
    for (int t = 0; t < query->triangle_count; t++) {
        sn_vec3 c[3];
        corners(query, t, c);
        sn_vec3 a = sn_sub(c[0], p), b = sn_sub(c[1], p), d = sn_sub(c[2], p);
        double la = sn_length(a), lb = sn_length(b), ld = sn_length(d);
        /* tan(half the solid angle) */
        double rise = sn_dot(a, sn_cross(b, d));
        double run = la * lb * ld + sn_dot(a, b) * ld + sn_dot(b, d) * la + sn_dot(d, a) * lb;
        if (rise != 0 || run != 0) sum += atan2(rise, run);
    }
    return sum / 6.283185307179586;
}

/* Crossings of one ray. Embree's context comes first, so that the filter finds the rest. */
typedef struct crossings {
    struct RTCIntersectContext context;
    int count, sum;
    bool doubtful;
} crossings;

/* Nearer than this to an edge (barycentric), to the start (frame units) or to grazing (sine), the
 * single-precision hit is not believed. */
static const float near_edge = 1e-4f, near_start = 1e-5f, near_grazing = 1e-3f;

static void count_hit(const struct RTCFilterFunctionNArguments *arguments) {
    crossings *found = (crossings *)arguments->context;
    const struct RTCRay *ray = (const struct RTCRay *)arguments->ray;
    const struct RTCHit *hit = (const struct RTCHit *)arguments->hit;
    float u = hit->u, v = hit->v, w = 1 - u - v;
    float slope = hit->Ng_x * ray->dir_x + hit->Ng_y * ray->dir_y + hit->Ng_z * ray->dir_z;
    float size = sqrtf(hit->Ng_x * hit->Ng_x + hit->Ng_y * hit->Ng_y + hit->Ng_z * hit->Ng_z);
    if (u < near_edge || v < near_edge || w < near_edge || ray->tfar < near_start ||
        !(fabsf(slope) > near_grazing * size))
        found->doubtful = true;
    found->count++;
    found->sum += slope > 0 ? 1 : -1;
    arguments->valid[0] = 0; /* go on to the next */
}

/* False when one of the crossings cannot be trusted. */
static bool count_crossings(const sinew_query *query, sn_vec3 origin, sn_vec3 unit, int *count,
                            int *sum) {
    crossings found = {.count = 0};
    rtcInitIntersectContext(&found.context);
    found.context.filter = count_hit;
    struct RTCRayHit ray;
    local_ray(query, origin, unit, &ray.ray);
    ray.ray.tfar = INFINITY;
    ray.hit.geomID = ray.hit.instID[0] = RTC_INVALID_GEOMETRY_ID;
    sn_embree()->rtcIntersect1(query->scene, &found.context, &ray);
    *count = found.count;
    *sum = found.sum;
    return !found.doubtful;
}

bool sinew_query_inside(const sinew_query *query, const double point[3]) {
    sn_vec3 p = sn_v3(point[0], point[1], point[2]);
    if (!is_finite(p) || query->triangle_count == 0) return false;
    sn_vec3 local = to_local(query, p);
    if (fmax(fabs(local.x), fmax(fabs(local.y), fabs(local.z))) > 1 + 1e-9) return false;
    /* Unit directions without any symmetry. */
    static const double directions[][3] = {{0.7311, 0.3579, 0.5809},
                                           {-0.4013, 0.8467, -0.3491},
                                           {0.2287, -0.6151, 0.7546},
                                           {-0.8713, -0.2917, 0.3947}};
    for (int i = 0; query->closed && i < 4; i++) {
        sn_vec3 unit = sn_normalize(sn_v3(directions[i][0], directions[i][1], directions[i][2]));
        int count, sum;
        if (count_crossings(query, p, unit, &count, &sum))
            return query->oriented ? sum != 0 : count % 2 == 1;
    }
    double winding = fabs(sinew_query_winding(query, point));
    if (query->closed && !query->oriented) return (long long)floor(winding + 0.5) % 2 == 1;
    return winding >= 0.5;
}

typedef struct find_inside_loop {
    const sinew_query *query;
    const double *points;
    bool *inside;
} find_inside_loop;

static void find_inside(void *context, sn_span span) {
    const find_inside_loop *loop = context;
    const sinew_query *query = loop->query;
    const double *points = loop->points;
    bool *inside = loop->inside;
    SN_IN_SPAN(int, i, span) inside[i] = sinew_query_inside(query, points + 3 * (size_t)i);
}

void sinew_query_inside_all(const sinew_query *query, int count, const double *points,
                            bool *inside) {
    sn_parallel_for_stoppable(count, 4, find_inside, &(find_inside_loop){query, points, inside});
    if (sn_scope_poll()) memset(inside, 0, (size_t)count * sizeof *inside);
}

sinew_status sinew_self_intersections(int vertex_count, const double *positions, int triangle_count,
                                      const int *triangles, const sinew_monitor *monitor,
                                      int **pairs, int *pair_count, sinew_error *error) {
    SN_REQUIRE(pairs && pair_count, error);
    *pairs = NULL;
    *pair_count = 0;
    SN_REQUIRE(vertex_count >= 0 && triangle_count >= 0, error);
    SN_REQUIRE((positions || vertex_count == 0) && (triangles || triangle_count == 0), error);
    SN_TRY(check_surface(vertex_count, positions, triangle_count, triangles, error));
    sn_pairs found;
    SN_TRY(sn_self_intersections(vertex_count, positions, triangle_count, triangles, monitor,
                                 &found, error));
    *pairs = found.pair;
    *pair_count = found.count;
    return SINEW_OK;
}
