#include "render/light.h"

#include <embree3/rtcore.h>
#include <string.h>

#include "base/memory.h"
#include "base/parallel.h"
#include "base/scope.h"
#include "base/status.h"
#include "mesh/embree.h"

/* Rays for all vertices together; a vertex gets between FEWEST and MOST for each kind of light. */
enum { RAY_BUDGET = 900000, FEWEST_RAYS = 12, MOST_RAYS = 64, FLOOR_RAYS = 24 };

/* Half the opening of the key light seen from the shape, as a tangent: a softbox at arm's length.
 */
#define KEY_SPREAD 0.22

/* Directions z-up with density proportional to cos (spread 0: whole hemisphere) on a golden-angle
 * spiral: even, and the same for every vertex, so that interpolation shows no noise. */
static sn_vec3 spiral(int i, int count, double spread) {
    double u = (i + 0.5) / count, angle = 2.39996322972865332 * i;
    double radius = sqrt(u);
    if (spread > 0)
        return sn_normalize(sn_v3(spread * radius * cos(angle), spread * radius * sin(angle), 1));
    return sn_v3(radius * cos(angle), radius * sin(angle), sqrt(1 - u));
}

/* Any two directions that make a frame with the unit vector n. */
static void complete_frame(sn_vec3 n, sn_vec3 *a, sn_vec3 *b) {
    *a = fabs(n.x) < 0.7 ? sn_v3(1, 0, 0) : sn_v3(0, 1, 0);
    *a = sn_normalize(sn_sub(*a, sn_scale(sn_dot(*a, n), n)));
    *b = sn_cross(n, *a);
}

/* Share of `count` rays around the axis that leave the scene. */
static float visible(RTCScene scene, sn_vec3 from, sn_vec3 axis, double spread, int count,
                     sn_vec3 facing) {
    sn_vec3 a, b;
    complete_frame(axis, &a, &b);
    struct RTCIntersectContext context;
    rtcInitIntersectContext(&context);
    int free = 0;
    for (int i = 0; i < count; i++) {
        sn_vec3 local = spiral(i, count, spread);
        sn_vec3 d =
            sn_add(sn_add(sn_scale(local.x, a), sn_scale(local.y, b)), sn_scale(local.z, axis));
        if (sn_dot(d, facing) <= 0) continue; /* below the surface's own horizon */
        struct RTCRay ray = {.org_x = (float)from.x,
                             .org_y = (float)from.y,
                             .org_z = (float)from.z,
                             .dir_x = (float)d.x,
                             .dir_y = (float)d.y,
                             .dir_z = (float)d.z,
                             .tnear = 0,
                             .tfar = INFINITY,
                             .mask = ~0u};
        sn_embree()->rtcOccluded1(scene, &context, &ray);
        free += ray.tfar > 0;
    }
    return (float)free / (float)count;
}

static sinew_status build_scene(const sn_soup *soup, RTCDevice *device, RTCScene *scene,
                                sinew_error *error) {
    SN_TRY(sn_embree_device(device, error));
    *scene = sn_embree()->rtcNewScene(*device);
    RTCGeometry geometry = sn_embree()->rtcNewGeometry(*device, RTC_GEOMETRY_TYPE_TRIANGLE);
    float *vertices =
        sn_embree()->rtcSetNewGeometryBuffer(geometry, RTC_BUFFER_TYPE_VERTEX, 0, RTC_FORMAT_FLOAT3,
                                             3 * sizeof(float), (size_t)soup->vertex_count);
    unsigned *triangles =
        sn_embree()->rtcSetNewGeometryBuffer(geometry, RTC_BUFFER_TYPE_INDEX, 0, RTC_FORMAT_UINT3,
                                             3 * sizeof(unsigned), (size_t)soup->triangle_count);
    if (!vertices || !triangles) {
        sn_embree()->rtcReleaseGeometry(geometry), sn_embree()->rtcReleaseScene(*scene),
            sn_embree()->rtcReleaseDevice(*device);
        return sn_no_memory(error);
    }
    for (size_t i = 0; i < 3 * (size_t)soup->vertex_count; i++)
        vertices[i] = (float)soup->positions[i];
    for (size_t i = 0; i < 3 * (size_t)soup->triangle_count; i++)
        triangles[i] = (unsigned)soup->triangles[i];
    sn_embree()->rtcCommitGeometry(geometry);
    sn_embree()->rtcAttachGeometry(*scene, geometry);
    sn_embree()->rtcReleaseGeometry(geometry);
    sn_embree()->rtcCommitScene(*scene);
    return SINEW_OK;
}

typedef struct light_vertices_loop {
    RTCScene scene;
    sn_soup *soup;
    sn_vec3 key;
    int rays;
    double lift;
    int first; /* vertex of the slice */
} light_vertices_loop;

static void light_vertices(void *context, sn_span span) {
    const light_vertices_loop *loop = context;
    RTCScene scene = loop->scene;
    sn_soup *soup = loop->soup;
    sn_vec3 key = loop->key;
    int rays = loop->rays;
    double lift = loop->lift;
    SN_IN_SPAN(int, i, span) {
        int v = loop->first + i;
        sn_vec3 n = sn_at(soup->normals, v);
        soup->ambient[v] = soup->key[v] = 1;
        if (sn_dot(n, n) == 0) continue;
        sn_vec3 from = sn_add_scaled(sn_at(soup->positions, v), lift, n);
        soup->ambient[v] = visible(scene, from, n, 0, rays, n);
        soup->key[v] = visible(scene, from, key, KEY_SPREAD, rays / 2, n);
    }
}

typedef struct light_floor_loop {
    RTCScene scene;
    sn_floor *floor;
    sn_vec3 key;
    sn_vec3 up;
    double lift;
} light_floor_loop;

static void light_floor(void *context, sn_span span) {
    const light_floor_loop *loop = context;
    RTCScene scene = loop->scene;
    sn_floor *floor = loop->floor;
    sn_vec3 key = loop->key;
    sn_vec3 up = loop->up;
    double lift = loop->lift;
    int nodes = SN_FLOOR_CELLS + 1;
    SN_IN_SPAN(int, row, span)
        for (int column = 0; column < nodes; column++) {
            sn_vec3 from = sn_add_scaled(
                sn_add_scaled(floor->origin, (double)column / SN_FLOOR_CELLS, floor->side),
                (double)row / SN_FLOOR_CELLS, floor->other);
            from = sn_add_scaled(from, lift, up);
            /* A wide light: shadows on the floor are contact hints, not outlines. */
            float lit = visible(scene, from, key, 3 * KEY_SPREAD, FLOOR_RAYS, up);
            float sky = visible(scene, from, up, 0, FLOOR_RAYS, up);
            floor->shadow[row * nodes + column] = 0.55f * lit + 0.45f * sky;
        }
}

sinew_status sn_light_bake(sn_soup *soup, sn_vec3 key, sn_vec3 up, sn_floor *floor,
                           sinew_error *error) {
    if (soup->triangle_count == 0) {
        if (floor)
            for (size_t i = 0; i < sizeof floor->shadow / sizeof *floor->shadow; i++)
                floor->shadow[i] = 1;
        return SINEW_OK;
    }
    RTCDevice device;
    RTCScene scene = NULL;
    SN_TRY(build_scene(soup, &device, &scene, error));

    int rays = RAY_BUDGET / (2 * (soup->vertex_count + 1));
    rays = rays < FEWEST_RAYS ? FEWEST_RAYS : rays > MOST_RAYS ? MOST_RAYS : rays;
    double lift = 1e-3 * sinew_diagonal(soup->vertex_count, soup->positions);
    /* In slices, between which the caller can cancel. */
    enum { SLICE = 4096 };
    bool stopped = false;
    for (int first = 0; first < soup->vertex_count && !stopped; first += SLICE) {
        int left = soup->vertex_count - first;
        sn_parallel_for(left < SLICE ? left : SLICE, 64, light_vertices,
                        &(light_vertices_loop){scene, soup, key, rays, lift, first});
        stopped = sn_scope_poll();
    }
    if (floor && !stopped) {
        sn_parallel_for(SN_FLOOR_CELLS + 1, 1, light_floor,
                        &(light_floor_loop){scene, floor, key, up, lift});
    }
    sn_embree()->rtcReleaseScene(scene);
    sn_embree()->rtcReleaseDevice(device);
    return stopped ? sn_fail(error, SINEW_CANCELLED, "cancelled") : SINEW_OK;
}
