#include "mesh/broadphase.h"

#include <embree3/rtcore.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/memory.h"
#include "mesh/embree.h"
#include "mesh/topology.h"

sn_box_frame sn_box_frame_of(int count_a, const double *a, int count_b, const double *b) {
    sn_vec3 low = sn_v3(INFINITY, INFINITY, INFINITY), high = sn_scale(-1, low);
    for (int i = 0; i < count_a + count_b; i++) {
        sn_vec3 p = i < count_a ? sn_at(a, i) : sn_at(b, i - count_a);
        low = sn_v3(fmin(low.x, p.x), fmin(low.y, p.y), fmin(low.z, p.z));
        high = sn_v3(fmax(high.x, p.x), fmax(high.y, p.y), fmax(high.z, p.z));
    }
    if (!(low.x <= high.x)) return (sn_box_frame){sn_v3(0, 0, 0), 1};
    sn_vec3 half = sn_v3(high.x / 2 - low.x / 2, high.y / 2 - low.y / 2, high.z / 2 - low.z / 2);
    double extent = fmax(half.x, fmax(half.y, half.z));
    double scale = 1 / extent;
    return (sn_box_frame){sn_add(low, half), isfinite(scale) && scale > 0 ? scale : 1};
}

static float round_down(double x) {
    float f = (float)x;
    return (double)f > x ? nextafterf(f, -INFINITY) : f;
}

static float round_up(double x) {
    float f = (float)x;
    return (double)f < x ? nextafterf(f, INFINITY) : f;
}

void sn_box_include(sn_box *box, const sn_box_frame *frame, sn_vec3 point, double margin) {
    sn_vec3 local = sn_scale(frame->scale, sn_sub(point, frame->center));
    const double p[3] = {local.x, local.y, local.z};
    for (int k = 0; k < 3; k++) {
        box->low[k] = fminf(box->low[k], round_down(p[k] - margin));
        box->high[k] = fmaxf(box->high[k], round_up(p[k] + margin));
    }
}

void sn_pairs_free(sn_pairs *pairs) {
    sn_free(pairs->pair);
    *pairs = (sn_pairs){0};
}

/* What the callback fills; it may be called from several threads at once. */
typedef struct collector {
    pthread_mutex_t lock;
    bool within; /* one set: keep i < j only */
    bool no_memory;
    int *first, *second;
    size_t count, first_capacity, second_capacity;
} collector;

static void collect(void *user, struct RTCCollision *found, unsigned int count) {
    collector *all = user;
    pthread_mutex_lock(&all->lock);
    if (!SN_RESERVE(all->first, all->first_capacity, all->count + count) ||
        !SN_RESERVE(all->second, all->second_capacity, all->count + count))
        all->no_memory = true;
    else
        for (unsigned int i = 0; i < count; i++) {
            int a = (int)found[i].primID0, b = (int)found[i].primID1;
            if (all->within && a == b) continue;
            all->first[all->count] = all->within && b < a ? b : a;
            all->second[all->count++] = all->within && b < a ? a : b;
        }
    pthread_mutex_unlock(&all->lock);
}

static void bounds_of(const struct RTCBoundsFunctionArguments *arguments) {
    const sn_box *box = (const sn_box *)arguments->geometryUserPtr + arguments->primID;
    struct RTCBounds *bounds = arguments->bounds_o;
    bounds->lower_x = box->low[0], bounds->lower_y = box->low[1], bounds->lower_z = box->low[2];
    bounds->upper_x = box->high[0], bounds->upper_y = box->high[1], bounds->upper_z = box->high[2];
}

static RTCScene scene_of(RTCDevice device, int count, const sn_box *boxes) {
    RTCScene scene = rtcNewScene(device);
    RTCGeometry geometry = rtcNewGeometry(device, RTC_GEOMETRY_TYPE_USER);
    rtcSetGeometryUserPrimitiveCount(geometry, (unsigned int)count);
    /* Embree only hands the pointer back; bounds_of does not write through it. */
    rtcSetGeometryUserData(geometry, (void *)(uintptr_t)boxes);
    rtcSetGeometryBoundsFunction(geometry, bounds_of, NULL);
    rtcCommitGeometry(geometry);
    rtcAttachGeometry(scene, geometry);
    rtcReleaseGeometry(geometry);
    rtcCommitScene(scene);
    return scene;
}

/* Two stable counting sorts, then repeated pairs are dropped. */
static sinew_status sort_pairs(collector *all, int count_a, int count_b, sn_pairs *pairs,
                               sinew_error *error) {
    int count = (int)all->count;
    sn_lists by_second = {0}, by_first = {0};
    int *first = SN_NEW(int, count);
    int *pair = SN_NEW(int, 2 * (size_t)count);
    sinew_status status = first && pair ? SINEW_OK : sn_no_memory(error);
    if (status == SINEW_OK)
        status = sn_lists_create(count_b, count, all->second, NULL, &by_second, error);
    if (status == SINEW_OK) {
        for (int i = 0; i < count; i++) first[i] = all->first[by_second.item[i]];
        status = sn_lists_create(count_a, count, first, by_second.item, &by_first, error);
    }
    int kept = 0;
    for (int i = 0; status == SINEW_OK && i < count; i++) {
        int a = all->first[by_first.item[i]], b = all->second[by_first.item[i]];
        if (kept && pair[2 * kept - 2] == a && pair[2 * kept - 1] == b) continue;
        pair[2 * kept] = a, pair[2 * kept + 1] = b;
        kept++;
    }
    sn_free(first);
    sn_lists_free(&by_second);
    sn_lists_free(&by_first);
    if (status != SINEW_OK) {
        sn_free(pair);
        return status;
    }
    *pairs = (sn_pairs){kept, pair};
    return SINEW_OK;
}

sinew_status sn_box_pairs(int count_a, const sn_box *boxes_a, int count_b, const sn_box *boxes_b,
                          sn_pairs *pairs, sinew_error *error) {
    *pairs = (sn_pairs){0};
    bool within = boxes_b == NULL;
    if (within) count_b = count_a;
    collector all = {.within = within};
    sinew_status status = SINEW_OK;
    if (count_a > 0 && count_b > 0) {
        RTCDevice device;
        SN_TRY(sn_embree_device(&device, error));
        pthread_mutex_init(&all.lock, NULL);
        RTCScene scene_a = scene_of(device, count_a, boxes_a);
        RTCScene scene_b = within ? scene_a : scene_of(device, count_b, boxes_b);
        status = sn_embree_status(device, error);
        if (status == SINEW_OK) {
            rtcCollide(scene_a, scene_b, collect, &all);
            status = sn_embree_status(device, error);
        }
        if (!within) rtcReleaseScene(scene_b);
        rtcReleaseScene(scene_a);
        rtcReleaseDevice(device);
        pthread_mutex_destroy(&all.lock);
    }
    if (status == SINEW_OK && all.no_memory) status = sn_no_memory(error);
    if (status == SINEW_OK && all.count > INT_MAX / 2)
        status = sn_fail(error, SINEW_BAD_INPUT, "%zu overlapping boxes are too many", all.count);
    if (status == SINEW_OK) status = sort_pairs(&all, count_a, count_b, pairs, error);
    sn_free(all.first);
    sn_free(all.second);
    return status;
}
