#include "rig/rotation_store.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"

/* Goes up with every change to what is stored or how it is computed. */
#define CACHE_VERSION "rotation 5"

static void add_ints(sinew_hash *hash, const int *values, size_t count) {
    if (count) sinew_hash_add(hash, values, count * sizeof *values);
}

static void add_doubles(sinew_hash *hash, const double *values, size_t count) {
    if (count) sinew_hash_add(hash, values, count * sizeof *values);
}

static void add_target(sinew_hash *hash, const sinew_target *target) {
    int facts[] = {(int)target->kind, target->slider, (int)target->combine, target->driver_count,
                   target->count};
    sinew_hash_add(hash, facts, sizeof facts);
    sinew_hash_add_number(hash, target->at);
    add_ints(hash, target->drivers, (size_t)target->driver_count);
    add_ints(hash, target->vertices, (size_t)target->count);
    add_doubles(hash, target->deltas, 3 * (size_t)target->count);
}

void sn_rig_hash(sinew_hash *hash, const sinew_rig *rig) {
    int counts[] = {rig->slider_count, rig->target_count};
    sinew_hash_add(hash, counts, sizeof counts);
    for (int i = 0; i < rig->slider_count; i++) sinew_hash_add_number(hash, rig->sliders[i].rest);
    for (int k = 0; k < rig->target_count; k++) add_target(hash, &rig->targets[k]);
}

static sinew_cache_key key_of(const sn_rotation_source *s) {
    const sinew_rig *rig = s->rig;
    const sinew_mesh *mesh = rig->neutral;
    size_t coordinates = 3 * (size_t)s->vertex_count;
    int sizes[] = {s->vertex_count,       s->corners,       s->element_count,
                   mesh->triangle_count,  s->poses != NULL, s->options->published,
                   s->options->hold_count};
    sinew_hash hash;
    sinew_hash_start(&hash);
    sinew_hash_add(&hash, sizes, sizeof sizes);
    add_doubles(&hash, s->rest, coordinates);
    add_ints(&hash, s->elements, (size_t)s->corners * (size_t)s->element_count);
    add_ints(&hash, mesh->triangles, 3 * (size_t)mesh->triangle_count);
    add_ints(&hash, s->options->hold, (size_t)s->options->hold_count);
    sn_rig_hash(&hash, rig);
    for (int k = 0; s->poses && k < rig->target_count; k++)
        add_doubles(&hash, s->poses[k], coordinates);
    return sinew_hash_key(&hash);
}

sinew_status sn_rotation_store_open(sn_rotation_store *store, const sn_rotation_source *source,
                                    const sinew_monitor *monitor, sinew_error *error) {
    *store = (sn_rotation_store){0};
    if (!source->options || !source->options->cache) return SINEW_OK;
    SN_TRY(sinew_cache_enter(source->options->cache, key_of(source), CACHE_VERSION, monitor,
                             &store->entry, error));
    store->found = store->entry->bytes != NULL;
    store->from = (sn_unpack){.bytes = store->entry->bytes, .size = store->entry->size};
    return SINEW_OK;
}

void sn_rotation_store_close(sn_rotation_store *store) {
    sinew_cache_leave(store->entry);
    *store = (sn_rotation_store){0};
}

static bool is_index(int index, int count) {
    return index >= 0 && index < count;
}

void sn_rotation_store_links(sn_rotation_store *store, int vertex_count, sn_link **links,
                             int *count) {
    *links = NULL, *count = 0;
    if (!store->found) return;
    int stored = sn_unpack_int(&store->from);
    sn_link *list =
        stored >= 0 ? sn_unpack_array(&store->from, (size_t)stored, sizeof *list) : NULL;
    for (int l = 0; list && l < stored; l++)
        store->from.failed |= !is_index(list[l].vertex, vertex_count) ||
                              !is_index(list[l].corners[0], vertex_count) ||
                              !is_index(list[l].corners[1], vertex_count) ||
                              !is_index(list[l].corners[2], vertex_count);
    store->found = list && !store->from.failed;
    if (store->found)
        *links = list, *count = stored;
    else
        sn_free(list);
}

void sn_rotation_store_pivots(sn_rotation_store *store, sn_rotation_strain *structure) {
    size_t count = (size_t)structure->link_count;
    if (!store->found) return;
    double *halves = sn_unpack_numbers(&store->from, 6 * count);
    double *stiffness = sn_unpack_numbers(&store->from, count);
    store->found = halves && stiffness;
    for (size_t l = 0; stiffness && l < count; l++)
        store->found = store->found && stiffness[l] > 0 && isfinite(stiffness[l]);
    if (store->found && count > 0) {
        memcpy(structure->half_rest, halves, 6 * count * sizeof *halves);
        memcpy(structure->link_stiffness, stiffness, count * sizeof *stiffness);
    }
    sn_free(halves), sn_free(stiffness);
}

void sn_rotation_targets_free(sinew_rotation *rotation) {
    for (int k = 0; rotation->targets && k < rotation->target_count; k++) {
        sn_blend_target *target = &rotation->targets[k];
        sn_free(target->elements), sn_free(target->coordinates), sn_free(target->centers);
        sn_free(target->turns), sn_free(target->loose);
        *target = (sn_blend_target){0};
    }
}

void sn_rotation_store_targets(sn_rotation_store *store, sinew_rotation *r) {
    size_t parts = 3 * (size_t)r->structure->component_count;
    sn_unpack *from = &store->from;
    if (!store->found) return;
    r->refinements = sn_unpack_int(from);
    from->failed |= r->refinements < 0;
    store->on_line = sn_unpack_int(from) != 0;
    from->failed |= store->on_line && r->target_count != 1;
    sn_unpack_into(from, r->held, (size_t)r->vertex_count, sizeof *r->held);
    for (int k = 0; k < r->target_count && !from->failed; k++) {
        sn_blend_target *stored = &r->targets[k];
        int count = sn_unpack_int(from);
        bool loose = sn_unpack_int(from) != 0;
        from->failed |= count < 0 || count > r->structure->item_count;
        if (from->failed) break;
        stored->count = count;
        stored->elements = sn_unpack_array(from, (size_t)count, sizeof(int));
        stored->coordinates = sn_unpack_numbers(from, SN_RS_SIZE * (size_t)count);
        stored->centers = sn_unpack_numbers(from, parts);
        stored->turns = sn_unpack_numbers(from, parts);
        if (loose) stored->loose = sn_unpack_numbers(from, 3 * (size_t)r->loose_count);
        for (int i = 0; i < count && !from->failed; i++)
            from->failed |= stored->elements[i] < (i ? stored->elements[i - 1] + 1 : 0) ||
                            stored->elements[i] >= r->structure->item_count;
    }
    store->found = sn_unpack_complete(from);
    if (store->found) return;
    sn_rotation_targets_free(r);
    r->refinements = 0;
    memset(r->held, true, (size_t)r->vertex_count);
}

void sn_rotation_store_keep(sn_rotation_store *store, const sinew_rotation *r, const bool *held) {
    const sn_rotation_strain *rs = r->structure;
    size_t parts = 3 * (size_t)rs->component_count, links = (size_t)rs->link_count;
    sn_pack pack = {0};
    if (!store->entry) return;
    sn_pack_int(&pack, rs->link_count);
    sn_pack_array(&pack, rs->links, links, sizeof *rs->links);
    sn_pack_array(&pack, rs->half_rest, 6 * links, sizeof(double));
    sn_pack_array(&pack, rs->link_stiffness, links, sizeof(double));
    sn_pack_int(&pack, r->refinements);
    sn_pack_int(&pack, r->line != NULL);
    sn_pack_array(&pack, held, (size_t)r->vertex_count, sizeof *held);
    for (int k = 0; k < r->target_count; k++) {
        const sn_blend_target *stored = &r->targets[k];
        size_t count = (size_t)stored->count;
        sn_pack_int(&pack, stored->count);
        sn_pack_int(&pack, stored->loose != NULL);
        sn_pack_array(&pack, stored->elements, count, sizeof(int));
        sn_pack_array(&pack, stored->coordinates, SN_RS_SIZE * count, sizeof(double));
        sn_pack_array(&pack, stored->centers, parts, sizeof(double));
        sn_pack_array(&pack, stored->turns, parts, sizeof(double));
        if (stored->loose)
            sn_pack_array(&pack, stored->loose, 3 * (size_t)r->loose_count, sizeof(double));
    }
    if (!pack.failed) (void)sinew_cache_store(store->entry, pack.bytes, pack.size, NULL);
    sn_pack_free(&pack);
}
