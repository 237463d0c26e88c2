#include "modal/body_links.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/monitor.h"
#include "cache/pack.h"
#include "mesh/topology.h"
#include "rig/part_links.h"

static const double *pose_of(void *user, int k) {
    return ((const double *const *)user)[k];
}

/* A link of the artist's surface in a cage: from the main corner of the vertex's tet to the tet of
 * the point, whose smallest corner is left out. */
static sn_link carried_link(const sinew_embedding *embedding, const sn_link *link) {
    int main = 0;
    for (int c = 1; c < 3; c++)
        if (link->weights[c] > link->weights[main]) main = c;
    const size_t from = 4 * (size_t)link->vertex, to = 4 * (size_t)link->corners[main];
    int first = 0, least = 0, used = 0;
    for (int k = 1; k < 4; k++) {
        if (embedding->weights[from + (size_t)k] > embedding->weights[from + (size_t)first])
            first = k;
        if (embedding->weights[to + (size_t)k] < embedding->weights[to + (size_t)least]) least = k;
    }
    sn_link result = {.vertex = embedding->corners[from + (size_t)first]};
    double sum = 0;
    for (int k = 0; k < 4; k++) {
        if (k == least) continue;
        result.corners[used] = embedding->corners[to + (size_t)k];
        result.weights[used] = fmax(embedding->weights[to + (size_t)k], 0);
        sum += result.weights[used++];
    }
    for (int k = 0; k < 3; k++) result.weights[k] = sum > 0 ? result.weights[k] / sum : 1.0 / 3;
    return result;
}

/* A link of the cage, and what tells it from others. */
typedef struct carried {
    sn_link link;
    int part;     /* of its point */
    int original; /* place in the list */
} carried;

static int by_ends(const void *a, const void *b) {
    const carried *x = a, *y = b;
    if (x->link.vertex != y->link.vertex) return x->link.vertex < y->link.vertex ? -1 : 1;
    if (x->part != y->part) return x->part < y->part ? -1 : 1;
    return x->original - y->original;
}

/* Links of the surface as links of the cage: those inside one of its parts say nothing new, and
 * from a vertex one to each other part is enough. */
static sinew_status carry_links(const sn_body *body, sn_link *links, int *count,
                                sinew_error *error) {
    const sinew_tets *tets = body->cage->tets;
    int *part = SN_NEW(int, tets->vertex_count), parts, found = 0, kept = 0;
    carried *list = SN_NEW(carried, *count);
    if (!part || !list) {
        sn_free(part), sn_free(list);
        return sn_no_memory(error);
    }
    sinew_status status =
        sn_components_of(tets->vertex_count, tets->tet_count, 4, tets->tets, part, &parts, error);
    for (int k = 0; status == SINEW_OK && k < *count; k++) {
        sn_link link = carried_link(body->cage->embedding, &links[k]);
        if (part[link.vertex] != part[link.corners[0]])
            list[found++] = (carried){link, part[link.corners[0]], k};
    }
    qsort(list, (size_t)found, sizeof *list, by_ends);
    for (int k = 0; k < found; k++)
        if (k == 0 || list[k].link.vertex != list[k - 1].link.vertex ||
            list[k].part != list[k - 1].part)
            links[kept++] = list[k].link;
    *count = kept;
    sn_free(part), sn_free(list);
    return status;
}

/* More parts than these are a heap rather than a character, and not linked. */
enum { MOST_PARTS = 500 };

/* Goes up with every change to what is stored or how it is computed. */
#define CACHE_VERSION "modal links 2"

static sinew_cache_key key_of(const sn_body *body, const sinew_mesh *mesh,
                              const sinew_modal_options *options, const sn_body_shape *shape) {
    size_t surface = 3 * (size_t)mesh->vertex_count * sizeof(double);
    sinew_hash hash;
    sinew_hash_start(&hash);
    sinew_hash_add_number(&hash, body->kind);
    sinew_hash_add(&hash, shape->rest, 3 * (size_t)shape->vertex_count * sizeof(double));
    sinew_hash_add(&hash, shape->elements,
                   (size_t)shape->corners * (size_t)shape->element_count * sizeof(int));
    sinew_hash_add(&hash, mesh->positions, surface);
    sinew_hash_add(&hash, mesh->triangles, 3 * (size_t)mesh->triangle_count * sizeof(int));
    for (int k = 0; k < options->pose_count; k++) sinew_hash_add(&hash, options->poses[k], surface);
    return sinew_hash_key(&hash);
}

static bool is_vertex(int index, const sn_body_shape *shape) {
    return index >= 0 && index < shape->vertex_count;
}

/* False: not in the cache, or damaged. */
static bool restore(sn_body_links *links, const sn_body_shape *shape) {
    sn_unpack unpack = {.bytes = links->entry->bytes, .size = links->entry->size};
    if (!unpack.bytes) return false;
    int count = sn_unpack_int(&unpack);
    if (unpack.failed || count < 0) return false;
    links->list = sn_unpack_array(&unpack, (size_t)count, sizeof *links->list);
    links->pivots = sn_unpack_numbers(&unpack, 6 * (size_t)count);
    bool good = sn_unpack_complete(&unpack);
    for (int l = 0; good && l < count; l++) {
        const sn_link *link = &links->list[l];
        good = is_vertex(link->vertex, shape) && is_vertex(link->corners[0], shape) &&
               is_vertex(link->corners[1], shape) && is_vertex(link->corners[2], shape);
    }
    if (good) {
        links->count = count;
    } else {
        sn_free(links->list), sn_free(links->pivots);
        links->list = NULL, links->pivots = NULL;
    }
    return good;
}

static void keep(const sn_rotation_strain *rs, sinew_cache_entry *entry) {
    size_t count = (size_t)rs->link_count;
    sn_pack pack = {0};
    sn_pack_int(&pack, rs->link_count);
    sn_pack_array(&pack, rs->links, count, sizeof *rs->links);
    sn_pack_array(&pack, rs->half_rest, 6 * count, sizeof *rs->half_rest);
    if (!pack.failed) (void)sinew_cache_store(entry, pack.bytes, pack.size, NULL);
    sn_pack_free(&pack);
}

void sn_body_links_free(sn_body_links *links) {
    sinew_cache_leave(links->entry);
    sn_free(links->list), sn_free(links->pivots);
    *links = (sn_body_links){0};
}

sinew_status sn_body_links_find(const sn_body *body, const sinew_mesh *mesh,
                                const sinew_modal_options *options, const sn_body_shape *shape,
                                const sinew_monitor *monitor, sn_body_links *links,
                                sinew_error *error) {
    *links = (sn_body_links){0};
    if (options->pose_count < 1 || mesh->triangle_count < 1) return SINEW_OK;
    int *part = SN_NEW(int, mesh->vertex_count), parts = 0;
    if (!part) return sn_no_memory(error);
    sinew_status counted = sn_components(mesh->vertex_count, mesh->triangle_count, mesh->triangles,
                                         part, &parts, error);
    sn_free(part);
    SN_TRY(counted);
    if (parts < 2 || parts > MOST_PARTS) return SINEW_OK;
    if (options->cache)
        SN_TRY(sinew_cache_enter(options->cache, key_of(body, mesh, options, shape), CACHE_VERSION,
                                 monitor, &links->entry, error));
    if (links->entry && restore(links, shape)) return SINEW_OK;
    sn_part_poses poses = {mesh->vertex_count, mesh->positions, options->pose_count, pose_of,
                           (void *)options->poses};
    SN_TRY(sn_part_links_find(&poses, 3, mesh->triangle_count, mesh->triangles,
                              mesh->triangle_count, mesh->triangles, monitor, &links->list,
                              &links->count, error));
    if (!body->cage || links->count == 0) return SINEW_OK;
    return carry_links(body, links->list, &links->count, error);
}

/* Those with the `most` largest values above zero. */
static void mark_largest(int count, const double *values, int most, bool *marked) {
    for (int n = 0; n < most; n++) {
        int best = -1;
        for (int k = 0; k < count; k++)
            if (!marked[k] && values[k] > 0 && (best < 0 || values[k] > values[best])) best = k;
        if (best >= 0) marked[best] = true;
    }
}

/* The `most` poses that move farthest, marked. */
static void mark_farthest(const sinew_mesh *mesh, const sinew_modal_options *options, int most,
                          double *farthest, bool *marked) {
    for (int k = 0; k < options->pose_count; k++) {
        farthest[k] = 0, marked[k] = false;
        for (int i = 0; i < mesh->vertex_count; i++)
            farthest[k] = fmax(farthest[k],
                               sn_distance(sn_at(options->poses[k], i), sn_at(mesh->positions, i)));
    }
    mark_largest(options->pose_count, farthest, most, marked);
}

/* The `most` poses that move links most, marked: each link votes for the pose that changes its
 * offset most, by how much it does. */
static void mark_moving(const sn_body *body, const sinew_modal_options *options, int most,
                        double *votes, bool *marked) {
    const sn_rotation_strain *rs = body->rs;
    for (int k = 0; k < options->pose_count; k++) votes[k] = 0, marked[k] = false;
    for (int l = 0; l < rs->link_count; l++) {
        double rest[3], posed[3], farthest = 0;
        int best = -1;
        sn_link_offset(&rs->links[l], body->rest, rest); /* the surface's vertices come first */
        for (int k = 0; k < options->pose_count; k++) {
            sn_link_offset(&rs->links[l], options->poses[k], posed);
            double moved = sn_distance(sn_at(posed, 0), sn_at(rest, 0));
            if (moved > farthest) farthest = moved, best = k;
        }
        if (best >= 0) votes[best] += farthest;
    }
    mark_largest(options->pose_count, votes, most, marked);
}

/* Poses are costly to carry to the inside of a body, where a few tell enough. */
enum { MOST_LIFTS = 4 };

static sinew_status watch_poses(sn_body *body, const sinew_modal_options *options,
                                const sinew_monitor *monitor, sinew_error *error) {
    double *shape = SN_NEW(double, (size_t)3 * body->vertex_count);
    double *rank = SN_NEW(double, options->pose_count);
    bool *marked = SN_NEW(bool, options->pose_count);
    bool solid = body->rs->corners == 4;
    sinew_status status = shape && rank && marked ? SINEW_OK : sn_no_memory(error);
    if (status == SINEW_OK && body->cage) /* its links have vertices of its own */
        mark_farthest(body->mesh, options, MOST_LIFTS, rank, marked);
    else if (status == SINEW_OK && solid)
        mark_moving(body, options, MOST_LIFTS, rank, marked);
    for (int k = 0; status == SINEW_OK && k < options->pose_count; k++) {
        if (solid && !marked[k]) continue;
        double *leftover = NULL;
        status = sn_body_lift(body, options->poses[k], monitor, shape, &leftover, error);
        sn_free(leftover);
        if (status == SINEW_OK)
            status = sn_rotation_strain_watch(body->rs, body->rest, shape, error);
    }
    sn_free(shape), sn_free(rank), sn_free(marked);
    return status;
}

sinew_status sn_body_links_settle(sn_body *body, const sinew_modal_options *options,
                                  const sn_body_links *links, const sinew_monitor *monitor,
                                  sinew_error *error) {
    sn_rotation_strain *rs = body->rs;
    if (rs->link_count > 0) {
        if (links->pivots)
            memcpy(rs->half_rest, links->pivots, 6 * (size_t)rs->link_count * sizeof(double));
        else
            SN_TRY(watch_poses(body, options, monitor, error));
        sn_rotation_strain_settle(rs); /* pivots stay where no pose was shown */
    }
    if (links->entry && !links->pivots) keep(rs, links->entry);
    return SINEW_OK;
}
