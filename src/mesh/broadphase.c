#include "mesh/broadphase.h"

#include <embree3/rtcore.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/memory.h"
#include "base/monitor.h"
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

/* Pairs that are filtered at a time. */
enum { CHUNK = 1 << 18 };

/* Embree cannot be interrupted while it searches, so the boxes are searched in pieces, and the call
 * can be cancelled between two of them. */
enum { LEAST_PIECE = 4096, MOST_PIECES = 32 };

/* What the callback fills; it may be called from several threads at once. */
typedef struct collector {
    pthread_mutex_t lock;
    bool ordered;         /* a piece against itself: keep i < j only */
    int first_a, first_b; /* of the pieces that are searched */
    sn_pair_filter *filter;
    void *user;
    int *waiting; /* 2 each: pairs not filtered yet */
    char *keep;
    int waiting_count;
    int *first, *second;
    size_t count, first_capacity, second_capacity;
    sinew_status status;
    sinew_error *error;
} collector;

static sinew_status filter_waiting(collector *all) {
    int count = all->waiting_count;
    all->waiting_count = 0;
    memset(all->keep, 1, (size_t)count);
    if (all->filter) SN_TRY(all->filter(all->user, count, all->waiting, all->keep, all->error));
    if (!SN_RESERVE(all->first, all->first_capacity, all->count + (size_t)count) ||
        !SN_RESERVE(all->second, all->second_capacity, all->count + (size_t)count))
        return sn_no_memory(all->error);
    for (size_t i = 0; i < (size_t)count; i++) {
        if (!all->keep[i]) continue;
        all->first[all->count] = all->waiting[2 * i];
        all->second[all->count++] = all->waiting[2 * i + 1];
    }
    return SINEW_OK;
}

static void collect(void *user, struct RTCCollision *found, unsigned int count) {
    collector *all = user;
    pthread_mutex_lock(&all->lock);
    for (unsigned int i = 0; all->status == SINEW_OK && i < count; i++) {
        int a = all->first_a + (int)found[i].primID0, b = all->first_b + (int)found[i].primID1;
        if (all->ordered && a >= b) continue; /* each pair comes in both orders */
        int *pair = all->waiting + 2 * (size_t)all->waiting_count++;
        pair[0] = a, pair[1] = b;
        if (all->waiting_count == CHUNK) all->status = filter_waiting(all);
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
    RTCScene scene = sn_embree()->rtcNewScene(device);
    RTCGeometry geometry = sn_embree()->rtcNewGeometry(device, RTC_GEOMETRY_TYPE_USER);
    sn_embree()->rtcSetGeometryUserPrimitiveCount(geometry, (unsigned int)count);
    /* Embree only hands the pointer back; bounds_of does not write through it. */
    sn_embree()->rtcSetGeometryUserData(geometry, (void *)(uintptr_t)boxes);
    sn_embree()->rtcSetGeometryBoundsFunction(geometry, bounds_of, NULL);
    sn_embree()->rtcCommitGeometry(geometry);
    sn_embree()->rtcAttachGeometry(scene, geometry);
    sn_embree()->rtcReleaseGeometry(geometry);
    sn_embree_commit(scene);
    return scene;
}

/* Two stable counting sorts, then repeated pairs are dropped. */
sinew_status sn_pairs_sort(int count, const int *first, const int *second, int count_a, int count_b,
                           sn_pairs *pairs, sinew_error *error) {
    *pairs = (sn_pairs){0};
    sn_lists by_second = {0}, by_first = {0};
    int *ordered = SN_NEW(int, count);
    int *pair = SN_NEW(int, 2 * (size_t)count);
    sinew_status status = ordered && pair ? SINEW_OK : sn_no_memory(error);
    if (status == SINEW_OK)
        status = sn_lists_create(count_b, count, second, NULL, &by_second, error);
    if (status == SINEW_OK) {
        for (int i = 0; i < count; i++) ordered[i] = first[by_second.item[i]];
        status = sn_lists_create(count_a, count, ordered, by_second.item, &by_first, error);
    }
    size_t kept = 0;
    for (int i = 0; status == SINEW_OK && i < count; i++) {
        int a = first[by_first.item[i]], b = second[by_first.item[i]];
        if (kept && pair[2 * kept - 2] == a && pair[2 * kept - 1] == b) continue;
        pair[2 * kept] = a, pair[2 * kept + 1] = b;
        kept++;
    }
    sn_free(ordered);
    sn_lists_free(&by_second);
    sn_lists_free(&by_first);
    if (status != SINEW_OK) {
        sn_free(pair);
        return status;
    }
    *pairs = (sn_pairs){(int)kept, pair};
    return SINEW_OK;
}

typedef struct pieces {
    int count, size; /* boxes of a piece; the last may have fewer */
    RTCScene scene[MOST_PIECES];
} pieces;

/* The scenes that exist are released by release_pieces, also after a failure. */
static sinew_status build_pieces(RTCDevice device, int count, const sn_box *boxes, pieces *p,
                                 sinew_error *error) {
    p->count = 0;
    p->size = (count + MOST_PIECES - 1) / MOST_PIECES;
    if (p->size < LEAST_PIECE) p->size = LEAST_PIECE;
    for (int first = 0; first < count; first += p->size) {
        int left = count - first;
        SN_TRY(sn_check_interrupt(error));
        SN_TRY(sn_embree_room(error));
        p->scene[p->count++] = scene_of(device, left < p->size ? left : p->size, boxes + first);
        SN_TRY(sn_embree_status(device, error));
    }
    return SINEW_OK;
}

static void release_pieces(pieces *p) {
    for (int i = 0; i < p->count; i++) sn_embree()->rtcReleaseScene(p->scene[i]);
}

/* Every piece of a against every piece of b; b NULL: within a, each two pieces once. */
static sinew_status search_pieces(RTCDevice device, const pieces *a, const pieces *b,
                                  collector *all, sinew_error *error) {
    for (int i = 0; i < a->count; i++)
        for (int j = b ? 0 : i; j < (b ? b : a)->count; j++) {
            all->first_a = i * a->size, all->first_b = j * (b ? b : a)->size;
            all->ordered = !b && i == j;
            SN_TRY(sn_check_interrupt(error));
            sn_embree()->rtcCollide(a->scene[i], (b ? b : a)->scene[j], collect, all);
            SN_TRY(sn_embree_status(device, error));
            SN_TRY(all->status);
        }
    SN_TRY(sn_check_interrupt(error));
    return filter_waiting(all);
}

static sinew_status collide(int count_a, const sn_box *boxes_a, int count_b, const sn_box *boxes_b,
                            collector *all, sinew_error *error) {
    RTCDevice device;
    SN_TRY(sn_embree_device(&device, error));
    pthread_mutex_init(&all->lock, NULL);
    pieces a = {0}, b = {0};
    sinew_status status = build_pieces(device, count_a, boxes_a, &a, error);
    if (status == SINEW_OK && boxes_b) status = build_pieces(device, count_b, boxes_b, &b, error);
    if (status == SINEW_OK) status = sn_embree_room(error);
    if (status == SINEW_OK) status = search_pieces(device, &a, boxes_b ? &b : NULL, all, error);
    release_pieces(&a), release_pieces(&b);
    sn_embree()->rtcReleaseDevice(device);
    pthread_mutex_destroy(&all->lock);
    return status;
}

sinew_status sn_box_pairs(int count_a, const sn_box *boxes_a, int count_b, const sn_box *boxes_b,
                          sn_pair_filter *filter, void *user, sn_pairs *pairs, sinew_error *error) {
    *pairs = (sn_pairs){0};
    if (!boxes_b) count_b = count_a;
    collector all = {.filter = filter, .user = user, .error = error};
    all.waiting = SN_NEW(int, 2 * (size_t)CHUNK), all.keep = SN_NEW(char, CHUNK);
    sinew_status status = all.waiting && all.keep ? SINEW_OK : sn_no_memory(error);
    if (status == SINEW_OK && count_a > 0 && count_b > 0)
        status = collide(count_a, boxes_a, count_b, boxes_b, &all, error);
    if (status == SINEW_OK && all.count > INT_MAX / 2)
        status = sn_fail(error, SINEW_BAD_INPUT, "%zu overlapping boxes are too many", all.count);
    if (status == SINEW_OK)
        status =
            sn_pairs_sort((int)all.count, all.first, all.second, count_a, count_b, pairs, error);
    sn_free(all.waiting), sn_free(all.keep);
    sn_free(all.first), sn_free(all.second);
    return status;
}
