#include "samples/builders.h"

#include "base/memory.h"
#include "base/status.h"

sinew_status sn_quad_mesh(const char *name, int vertex_count, const double *positions,
                          int face_count, const int *quads, sinew_mesh **mesh, sinew_error *error) {
    int *start = SN_NEW(int, face_count + 1);
    if (!start) return sn_no_memory(error);
    for (int f = 0; f <= face_count; f++) start[f] = 4 * f;
    sinew_status status =
        sinew_mesh_create(vertex_count, positions, face_count, start, quads, mesh, error);
    sn_free(start);
    SN_TRY(status);
    (*mesh)->name = sn_strdup(name);
    if (!(*mesh)->name) {
        sinew_mesh_destroy(*mesh);
        *mesh = NULL;
        return sn_no_memory(error);
    }
    return SINEW_OK;
}

sinew_status sn_add_region(sinew_rig *rig, const char *name, sn_region_test *inside,
                           const void *user, sinew_error *error) {
    const sinew_mesh *mesh = rig->neutral;
    sinew_region *regions =
        sn_realloc(rig->regions, (size_t)rig->region_count + 1, sizeof *regions);
    if (!regions) return sn_no_memory(error);
    rig->regions = regions;
    sinew_region region = {.name = sn_strdup(name), .vertices = SN_NEW(int, mesh->vertex_count)};
    if (!region.name || !region.vertices) {
        sn_free(region.name);
        sn_free(region.vertices);
        return sn_no_memory(error);
    }
    for (int v = 0; v < mesh->vertex_count; v++)
        if (inside(v, mesh->positions + 3 * (size_t)v, user)) region.vertices[region.count++] = v;
    regions[rig->region_count++] = region;
    return SINEW_OK;
}
