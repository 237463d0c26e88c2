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

sinew_status sn_fine_rig(const sn_fine *fine, const char *name, double scale, sinew_rig **rig,
                         sinew_error *error) {
    double *positions = SN_NEW(double, 3 * (size_t)fine->vertex_count);
    if (!positions) return sn_no_memory(error);
    for (int v = 0; v < fine->vertex_count; v++)
        for (int k = 0; k < 3; k++)
            positions[3 * v + k] =
                scale * fine->values[(size_t)v * (size_t)fine->channels + (size_t)k];
    sinew_mesh *mesh;
    sinew_status status = sn_quad_mesh(name, fine->vertex_count, positions, fine->face_count,
                                       fine->quads, &mesh, error);
    sn_free(positions);
    SN_TRY(status);
    return sinew_rig_create(mesh, rig, error);
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
