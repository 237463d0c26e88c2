#include "spring/network_store.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "rig/rotation_store.h"

/* Goes up with every change to what is stored or how it is computed. */
#define CACHE_VERSION "spring network 2"

/* ---- key ---- */

static sinew_cache_key key_of(const sinew_spring *spring, bool stiffened) {
    const sinew_spring_options *options = &spring->options;
    const sinew_mesh *mesh = spring->rig->neutral;
    const sinew_tets *tets = spring->tets;
    const sn_rotation_strain *blend = sn_rotation_structure(spring->rotation);
    bool anchored = options->boundary == SINEW_SPRING_BOUNDARY_ANCHOR;
    bool ties = stiffened || options->tie_distance > 0;
    int facts[] = {mesh->vertex_count,
                   mesh->triangle_count,
                   (int)options->bending,
                   (int)options->interior,
                   anchored,
                   anchored && options->anchor,
                   stiffened,
                   tets != NULL,
                   ties ? blend->link_count : 0};
    sinew_hash hash;
    sinew_hash_start(&hash);
    sinew_hash_add(&hash, facts, sizeof facts);
    sinew_hash_add(&hash, mesh->positions, 3 * (size_t)mesh->vertex_count * sizeof(double));
    sinew_hash_add(&hash, mesh->triangles, 3 * (size_t)mesh->triangle_count * sizeof(int));
    sn_rig_hash(&hash, spring->rig);
    if (tets) {
        sinew_hash_add(&hash, tets->positions, 3 * (size_t)tets->vertex_count * sizeof(double));
        sinew_hash_add(&hash, tets->tets, 4 * (size_t)tets->tet_count * sizeof(int));
    }
    if (anchored && options->anchor) sinew_hash_add(&hash, options->anchor, 12 * sizeof(double));
    sinew_hash_add_number(&hash, options->tie_distance);
    for (int l = 0; ties && l < blend->link_count; l++) {
        const sn_link *link = &blend->links[l];
        sinew_hash_add(&hash, &link->vertex, sizeof link->vertex);
        sinew_hash_add(&hash, link->corners, sizeof link->corners);
        sinew_hash_add(&hash, link->weights, sizeof link->weights);
    }
    return sinew_hash_key(&hash);
}

sinew_status sn_network_store_open(const sinew_spring *spring, bool stiffened, sinew_cache *cache,
                                   const sinew_monitor *monitor, sinew_cache_entry **entry,
                                   sinew_error *error) {
    *entry = NULL;
    if (!cache) return SINEW_OK;
    return sinew_cache_enter(cache, key_of(spring, stiffened), CACHE_VERSION, monitor, entry,
                             error);
}

/* ---- keeping ---- */

static void pack_doubles(sn_pack *pack, const double *values, int count) {
    sn_pack_array(pack, values, (size_t)count, sizeof *values);
}

static void pack_increments(sn_pack *pack, int target_count, const sn_increment *increments) {
    for (int t = 0; t < target_count; t++) {
        sn_pack_int(pack, increments[t].count);
        sn_pack_array(pack, increments[t].index, (size_t)increments[t].count, sizeof(int));
        pack_doubles(pack, increments[t].value, increments[t].count);
    }
}

void sn_network_store_keep(sinew_cache_entry *entry, const sinew_spring *spring) {
    const sn_network *n = spring->network;
    const sn_anchor *anchor = &spring->anchor;
    if (!n->length_sum) return; /* no pose was added: there is nothing to save */
    size_t springs = (size_t)n->spring_count;
    sn_pack pack = {0};
    sn_pack_int(&pack, n->spring_count);
    sn_pack_array(&pack, n->ends, 2 * springs, sizeof *n->ends);
    sn_pack_array(&pack, n->kind, springs, sizeof *n->kind);
    pack_doubles(&pack, n->rest, n->spring_count);
    pack_doubles(&pack, n->length_sum, n->spring_count);
    sn_pack_array(&pack, n->altitude_corners, 3 * (size_t)n->triangle_count, sizeof(int));
    pack_doubles(&pack, n->altitude_foot, n->triangle_count);
    pack_doubles(&pack, n->altitude, n->triangle_count);
    pack_doubles(&pack, n->altitude_sum, n->triangle_count);
    pack_doubles(&pack, n->volume, n->tet_count);
    pack_doubles(&pack, n->volume_sum, n->tet_count);
    pack_increments(&pack, n->target_count, n->rest_increment);
    pack_increments(&pack, n->target_count, n->volume_increment);
    pack_increments(&pack, n->target_count, n->altitude_increment);
    sn_pack_array(&pack, n->component, (size_t)n->vertex_count, sizeof *n->component);
    sn_pack_int(&pack, n->component_count);
    sn_pack_int(&pack, n->pose_count);
    pack_doubles(&pack, (const double[]){n->mean_length, n->mean_edge, n->diagonal, n->rest_floor},
                 4);
    if (anchor->used) {
        size_t moves = 3 * (size_t)n->target_count;
        pack_doubles(&pack, anchor->rest, 12);
        sn_pack_array(&pack, &anchor->center, 3, sizeof(double));
        sn_pack_array(&pack, anchor->rotation, moves, sizeof(double));
        sn_pack_array(&pack, anchor->shift, moves, sizeof(double));
    }
    if (!pack.failed) (void)sinew_cache_store(entry, pack.bytes, pack.size, NULL);
    sn_pack_free(&pack);
}

/* ---- restoring ---- */

static bool is_index(int index, int count) {
    return index >= 0 && index < count;
}

static double *take_doubles(sn_unpack *from, int count) {
    return sn_unpack_numbers(from, (size_t)count);
}

static int *take_ints(sn_unpack *from, size_t count) {
    return sn_unpack_array(from, count, sizeof(int));
}

static sn_increment *take_increments(sn_unpack *from, int target_count, int size) {
    sn_increment *increments = SN_NEW0(sn_increment, target_count);
    from->failed |= !increments;
    for (int t = 0; t < target_count && !from->failed; t++) {
        sn_increment *increment = &increments[t];
        int count = sn_unpack_int(from);
        from->failed |= count < 0 || count > size;
        if (from->failed) break;
        increment->count = count;
        increment->index = take_ints(from, (size_t)count);
        increment->value = take_doubles(from, count);
        for (int k = 0; k < count && !from->failed; k++)
            from->failed = increment->index[k] < (k ? increment->index[k - 1] + 1 : 0) ||
                           increment->index[k] >= size;
    }
    return increments;
}

/* Indices that fit; springs in order. */
static bool is_sound(const sn_network *n) {
    bool good = n->component_count >= 0 && n->component_count <= n->vertex_count &&
                n->pose_count == n->target_count + 1;
    for (int q = 0; good && q < n->spring_count; q++) {
        const int *ends = n->ends + 2 * (size_t)q;
        good = ends[0] >= 0 && ends[0] < ends[1] && ends[1] < n->vertex_count &&
               n->kind[q] < SINEW_SPRING_KIND_COUNT && n->rest[q] >= 0 && n->length_sum[q] >= 0 &&
               (q == 0 || ends[-2] < ends[0] || (ends[-2] == ends[0] && ends[-1] < ends[1]));
    }
    for (int c = 0; good && c < 3 * n->triangle_count; c++)
        good = is_index(n->altitude_corners[c], n->surface_count);
    for (int v = 0; good && v < n->vertex_count; v++)
        good = n->component[v] >= -1 && n->component[v] < n->component_count;
    return good;
}

static void take_network(sn_unpack *from, sn_network *n) {
    n->spring_count = sn_unpack_int(from);
    from->failed |= n->spring_count < 0 || n->spring_count > INT32_MAX / 4;
    if (from->failed) return;
    size_t springs = (size_t)n->spring_count;
    n->ends = take_ints(from, 2 * springs);
    n->kind = sn_unpack_array(from, springs, sizeof *n->kind);
    n->rest = take_doubles(from, n->spring_count);
    n->length_sum = take_doubles(from, n->spring_count);
    n->altitude_corners = take_ints(from, 3 * (size_t)n->triangle_count);
    n->altitude_foot = take_doubles(from, n->triangle_count);
    n->altitude = take_doubles(from, n->triangle_count);
    n->altitude_sum = take_doubles(from, n->triangle_count);
    n->volume = take_doubles(from, n->tet_count);
    n->volume_sum = take_doubles(from, n->tet_count);
    n->rest_increment = take_increments(from, n->target_count, n->spring_count);
    n->volume_increment = take_increments(from, n->target_count, n->tet_count);
    n->altitude_increment = take_increments(from, n->target_count, n->triangle_count);
    n->component = take_ints(from, (size_t)n->vertex_count);
    n->component_count = sn_unpack_int(from);
    n->pose_count = sn_unpack_int(from);
    double *sizes = take_doubles(from, 4);
    if (sizes)
        n->mean_length = sizes[0], n->mean_edge = sizes[1], n->diagonal = sizes[2],
        n->rest_floor = sizes[3];
    sn_free(sizes);
}

static void take_anchor(sn_unpack *from, int target_count, sn_anchor *anchor) {
    int moves = 3 * target_count;
    double *rest = take_doubles(from, 12), *center = take_doubles(from, 3);
    double *rotation = take_doubles(from, moves), *shift = take_doubles(from, moves);
    anchor->rotation = SN_NEW(sn_vec3, target_count);
    anchor->shift = SN_NEW(sn_vec3, target_count);
    from->failed |= !anchor->rotation || !anchor->shift;
    if (!from->failed) {
        anchor->used = true;
        memcpy(anchor->rest, rest, sizeof anchor->rest);
        anchor->center = sn_at(center, 0);
        for (int t = 0; t < target_count; t++)
            anchor->rotation[t] = sn_at(rotation, t), anchor->shift[t] = sn_at(shift, t);
    }
    sn_free(rest), sn_free(center), sn_free(rotation), sn_free(shift);
}

/* What the caller has, and room for what sn_network_finish computes. */
static void add_known(sn_network *n, const sinew_mesh *mesh, const sinew_tets *tets,
                      const double *neutral, sn_unpack *from) {
    n->triangles = sn_memdup(mesh->triangles, 3 * (size_t)n->triangle_count, sizeof(int));
    n->neutral = sn_memdup(neutral, 3 * (size_t)n->vertex_count, sizeof(double));
    if (tets) n->tets = sn_memdup(tets->tets, 4 * (size_t)n->tet_count, sizeof(int));
    n->volume_scale = SN_NEW0(double, n->tet_count);
    n->altitude_scale = SN_NEW(double, n->triangle_count);
    from->failed |= !n->triangles || !n->neutral || (tets && !n->tets) || !n->volume_scale ||
                    !n->altitude_scale;
}

bool sn_network_store_restore(const sinew_cache_entry *entry, sinew_spring *spring,
                              double *neutral) {
    if (!entry || !entry->bytes) return false;
    const sinew_mesh *mesh = spring->rig->neutral;
    const sinew_tets *tets = spring->tets;
    sn_unpack from = {.bytes = entry->bytes, .size = entry->size};
    sn_network *n = SN_NEW0(sn_network, 1);
    if (!n) return false;
    bool anchored = spring->options.boundary == SINEW_SPRING_BOUNDARY_ANCHOR;
    n->surface_count = mesh->vertex_count;
    n->anchor_first = tets ? tets->vertex_count : mesh->vertex_count;
    n->vertex_count = n->anchor_first + (anchored ? 4 : 0);
    n->triangle_count = mesh->triangle_count;
    n->tet_count = tets ? tets->tet_count : 0;
    n->target_count = spring->rig->target_count;
    sn_anchor anchor = {0};
    take_network(&from, n);
    if (anchored) take_anchor(&from, n->target_count, &anchor);
    if (anchor.used) memcpy(neutral + 3 * (size_t)n->anchor_first, anchor.rest, sizeof anchor.rest);
    if (!from.failed) add_known(n, mesh, tets, neutral, &from);
    bool good = sn_unpack_complete(&from) && is_sound(n);
    if (good) {
        spring->network = n, spring->anchor = anchor;
        good = !anchored || sn_anchor_list_ties(spring, NULL) == SINEW_OK;
    }
    if (good) return true;
    sn_free(anchor.rotation), sn_free(anchor.shift);
    spring->network = NULL, spring->anchor = (sn_anchor){0};
    sn_network_destroy(n);
    return false;
}
