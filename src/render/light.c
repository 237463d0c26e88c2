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

/* What casts shadows. Eyebrows and hair lie on the skin and cover vertices below them;
 * interpolated, their darkness would reach an edge beyond the strip that casts it, as a smudge on a
 * coarse forehead. Hair therefore does not shade a vertex from nearer than its edges are long,
 * which is as much as light per vertex can resolve. */
typedef struct shades {
    RTCDevice device;
    RTCScene solid, hair; /* hair: and markers; NULL when there are none */
    float *edge;          /* per vertex: length of its longest edge; NULL without hair */
} shades;

static bool blocked(RTCScene scene, sn_vec3 from, sn_vec3 d, double near) {
    if (!scene) return false;
    struct RTCIntersectContext context;
    rtcInitIntersectContext(&context);
    struct RTCRay ray = {.org_x = (float)from.x,
                         .org_y = (float)from.y,
                         .org_z = (float)from.z,
                         .dir_x = (float)d.x,
                         .dir_y = (float)d.y,
                         .dir_z = (float)d.z,
                         .tnear = (float)near,
                         .tfar = INFINITY,
                         .mask = ~0u};
    sn_embree()->rtcOccluded1(scene, &context, &ray);
    return !(ray.tfar > 0);
}

/* Share of `count` rays around the axis that leave the scene; hair nearer than `near` is left out.
 */
static float visible(const shades *s, sn_vec3 from, double near, sn_vec3 axis, double spread,
                     int count, sn_vec3 facing) {
    sn_vec3 a, b;
    complete_frame(axis, &a, &b);
    int free = 0;
    for (int i = 0; i < count; i++) {
        sn_vec3 local = spiral(i, count, spread);
        sn_vec3 d =
            sn_add(sn_add(sn_scale(local.x, a), sn_scale(local.y, b)), sn_scale(local.z, axis));
        if (sn_dot(d, facing) <= 0) continue; /* below the surface's own horizon */
        free += !blocked(s->solid, from, d, 0) && !blocked(s->hair, from, d, near);
    }
    return (float)free / (float)count;
}

static bool lies_on_skin(const sn_soup *soup, size_t triangle) {
    int material = soup->material[triangle];
    return material == SN_MATERIAL_HAIR || material == SN_MATERIAL_MARKER;
}

/* The triangles that lie on the skin, or those that do not. */
static sinew_status build_scene(const sn_soup *soup, RTCDevice device, bool hair, int count,
                                RTCScene *scene, sinew_error *error) {
    *scene = sn_embree()->rtcNewScene(device);
    RTCGeometry geometry = sn_embree()->rtcNewGeometry(device, RTC_GEOMETRY_TYPE_TRIANGLE);
    float *vertices =
        sn_embree()->rtcSetNewGeometryBuffer(geometry, RTC_BUFFER_TYPE_VERTEX, 0, RTC_FORMAT_FLOAT3,
                                             3 * sizeof(float), (size_t)soup->vertex_count);
    unsigned *triangles = sn_embree()->rtcSetNewGeometryBuffer(
        geometry, RTC_BUFFER_TYPE_INDEX, 0, RTC_FORMAT_UINT3, 3 * sizeof(unsigned), (size_t)count);
    if (!vertices || !triangles) {
        sn_embree()->rtcReleaseGeometry(geometry);
        return sn_no_memory(error);
    }
    for (size_t i = 0; i < 3 * (size_t)soup->vertex_count; i++)
        vertices[i] = (float)soup->positions[i];
    for (size_t t = 0; t < (size_t)soup->triangle_count; t++)
        if (lies_on_skin(soup, t) == hair)
            for (size_t k = 0; k < 3; k++) *triangles++ = (unsigned)soup->triangles[3 * t + k];
    sn_embree()->rtcCommitGeometry(geometry);
    sn_embree()->rtcAttachGeometry(*scene, geometry);
    sn_embree()->rtcReleaseGeometry(geometry);
    sn_embree()->rtcCommitScene(*scene);
    return SINEW_OK;
}

static void free_shades(shades *s) {
    if (s->solid) sn_embree()->rtcReleaseScene(s->solid);
    if (s->hair) sn_embree()->rtcReleaseScene(s->hair);
    sn_embree()->rtcReleaseDevice(s->device);
    sn_free(s->edge);
}

static sinew_status find_edges(const sn_soup *soup, float **edge, sinew_error *error) {
    *edge = SN_NEW0(float, soup->vertex_count);
    if (!*edge) return sn_no_memory(error);
    for (size_t t = 0; t < (size_t)soup->triangle_count; t++) {
        const int *v = soup->triangles + 3 * t;
        for (int k = 0; k < 3; k++) {
            int a = v[k], b = v[(k + 1) % 3];
            float length =
                (float)sn_length(sn_sub(sn_at(soup->positions, a), sn_at(soup->positions, b)));
            (*edge)[a] = fmaxf((*edge)[a], length), (*edge)[b] = fmaxf((*edge)[b], length);
        }
    }
    return SINEW_OK;
}

static sinew_status make_shades(const sn_soup *soup, shades *s, sinew_error *error) {
    int hair = 0;
    for (int t = 0; t < soup->triangle_count; t++) hair += lies_on_skin(soup, (size_t)t);
    int solid = soup->triangle_count - hair;
    *s = (shades){0};
    SN_TRY(sn_embree_device(&s->device, error));
    sinew_status status = SINEW_OK;
    if (solid > 0) status = build_scene(soup, s->device, false, solid, &s->solid, error);
    if (status == SINEW_OK && hair > 0)
        status = build_scene(soup, s->device, true, hair, &s->hair, error);
    if (status == SINEW_OK && hair > 0) status = find_edges(soup, &s->edge, error);
    if (status != SINEW_OK) free_shades(s);
    return status;
}

typedef struct light_vertices_loop {
    const shades *shades;
    sn_soup *soup;
    sn_vec3 key;
    int rays;
    double lift;
    int first; /* vertex of the slice */
} light_vertices_loop;

static void light_vertices(void *context, sn_span span) {
    const light_vertices_loop *loop = context;
    const shades *s = loop->shades;
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
        double near = s->edge ? s->edge[v] : 0;
        soup->ambient[v] = visible(s, from, near, n, 0, rays, n);
        soup->key[v] = visible(s, from, near, key, KEY_SPREAD, rays / 2, n);
    }
}

typedef struct light_floor_loop {
    const shades *shades;
    sn_floor *floor;
    sn_vec3 key;
    sn_vec3 up;
    double lift;
} light_floor_loop;

static void light_floor(void *context, sn_span span) {
    const light_floor_loop *loop = context;
    const shades *s = loop->shades;
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
            float lit = visible(s, from, 0, key, 3 * KEY_SPREAD, FLOOR_RAYS, up);
            float sky = visible(s, from, 0, up, 0, FLOOR_RAYS, up);
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
    shades s;
    SN_TRY(make_shades(soup, &s, error));

    int rays = RAY_BUDGET / (2 * (soup->vertex_count + 1));
    rays = rays < FEWEST_RAYS ? FEWEST_RAYS : rays > MOST_RAYS ? MOST_RAYS : rays;
    double lift = 1e-3 * sinew_diagonal(soup->vertex_count, soup->positions);
    /* In slices, between which the caller can cancel. */
    enum { SLICE = 4096 };
    bool stopped = false;
    for (int first = 0; first < soup->vertex_count && !stopped; first += SLICE) {
        int left = soup->vertex_count - first;
        sn_parallel_for(left < SLICE ? left : SLICE, 64, light_vertices,
                        &(light_vertices_loop){&s, soup, key, rays, lift, first});
        stopped = sn_scope_poll();
    }
    if (floor && !stopped) {
        sn_parallel_for(SN_FLOOR_CELLS + 1, 1, light_floor,
                        &(light_floor_loop){&s, floor, key, up, lift});
    }
    free_shades(&s);
    return stopped ? sn_fail(error, SINEW_CANCELLED, "cancelled") : SINEW_OK;
}
