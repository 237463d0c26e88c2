#include "rig/tets_store.h"

#include "base/memory.h"
#include "base/status.h"
#include "cache/pack.h"

/* Of what is stored: to be counted up when the mesher or its options change. */
static const char CACHE_VERSION[] = "tets 1";

static sinew_tets *make_tets(int vertex_count, int surface_count, double *positions, int tet_count,
                             int *tets) {
    sinew_tets *made = SN_NEW0(sinew_tets, 1);
    if (!made || !positions || !tets) {
        sn_free(made), sn_free(positions), sn_free(tets);
        return NULL;
    }
    *made = (sinew_tets){.vertex_count = vertex_count,
                         .surface_count = surface_count,
                         .positions = positions,
                         .tet_count = tet_count,
                         .tets = tets};
    return made;
}

sinew_status sn_tets_copy(const sinew_tets *tets, sinew_tets **copy, sinew_error *error) {
    *copy =
        make_tets(tets->vertex_count, tets->surface_count,
                  sn_memdup(tets->positions, (size_t)3 * tets->vertex_count, sizeof(double)),
                  tets->tet_count, sn_memdup(tets->tets, (size_t)4 * tets->tet_count, sizeof(int)));
    return *copy ? SINEW_OK : sn_no_memory(error);
}

static sinew_cache_key key_of(const sinew_mesh *mesh, const sinew_tets_options *options) {
    sinew_hash hash;
    sinew_hash_start(&hash);
    sinew_hash_add(&hash, mesh->positions, (size_t)3 * mesh->vertex_count * sizeof(double));
    sinew_hash_add(&hash, mesh->triangles, (size_t)3 * mesh->triangle_count * sizeof(int));
    sinew_hash_add_number(&hash, options->interior_points);
    sinew_hash_add_number(&hash, options->radius_edge);
    sinew_hash_add_number(&hash, options->cell_size);
    sinew_hash_add_number(&hash, options->hole_edges);
    return sinew_hash_key(&hash);
}

/* NULL: not what was asked for, or no memory; then they are made again. */
static sinew_tets *unpack(const sinew_cache_entry *entry, const sinew_mesh *mesh) {
    sn_unpack bytes = {.bytes = entry->bytes, .size = entry->size};
    int vertices = sn_unpack_int(&bytes), tet_count = sn_unpack_int(&bytes);
    if (bytes.failed || vertices < mesh->vertex_count || tet_count < 1) return NULL;
    double *positions = sn_unpack_numbers(&bytes, (size_t)3 * (size_t)vertices);
    int *tets = sn_unpack_array(&bytes, (size_t)4 * (size_t)tet_count, sizeof *tets);
    bool good = sn_unpack_complete(&bytes);
    for (size_t k = 0; good && k < (size_t)4 * (size_t)tet_count; k++)
        good = tets[k] >= 0 && tets[k] < vertices;
    if (!good) {
        sn_free(positions), sn_free(tets);
        return NULL;
    }
    return make_tets(vertices, mesh->vertex_count, positions, tet_count, tets);
}

static void keep(const sinew_tets *tets, sinew_cache_entry *entry) {
    sn_pack pack = {0};
    sn_pack_int(&pack, tets->vertex_count);
    sn_pack_int(&pack, tets->tet_count);
    sn_pack_array(&pack, tets->positions, (size_t)3 * tets->vertex_count, sizeof(double));
    sn_pack_array(&pack, tets->tets, (size_t)4 * tets->tet_count, sizeof(int));
    if (!pack.failed) (void)sinew_cache_store(entry, pack.bytes, pack.size, NULL);
    sn_pack_free(&pack);
}

sinew_status sn_tets_make(const sinew_mesh *mesh, const sinew_tets_options *options,
                          sinew_cache *cache, const sinew_monitor *monitor, sinew_tets **tets,
                          sinew_error *error) {
    *tets = NULL;
    sinew_cache_entry *entry = NULL;
    if (cache)
        SN_TRY(
            sinew_cache_enter(cache, key_of(mesh, options), CACHE_VERSION, monitor, &entry, error));
    if (entry && entry->bytes) *tets = unpack(entry, mesh);
    sinew_status status = SINEW_OK;
    if (!*tets) {
        status = sinew_tets_from_surface(mesh, options, monitor, tets, error);
        if (status == SINEW_OK && entry) keep(*tets, entry);
    }
    sinew_cache_leave(entry);
    return status;
}
