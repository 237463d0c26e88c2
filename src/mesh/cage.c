/* A cage around any surface. */
#include "sinew/cage.h"

#include <math.h>

#include "base/memory.h"
#include "base/sized.h"
#include "base/status.h"
#include "base/vec3.h"
#include "mesh/embedding.h"
#include "mesh/lattice.h"
#include "mesh/solid.h"
#include "mesh/topology.h"

void sinew_cage_options_init(sinew_cage_options *options) {
    *options = (sinew_cage_options){.size = sizeof *options,
                                    .cell = SINEW_CAGE_CELL_DEFAULT,
                                    .hole_edges = SINEW_TETS_HOLE_EDGES_DEFAULT,
                                    .separate_parts = true};
}

void sinew_cage_destroy(sinew_cage *cage) {
    if (!cage) return;
    sinew_tets_destroy(cage->tets);
    sinew_embedding_destroy(cage->embedding);
    sn_free(cage);
}

static sinew_status check_mesh(const sinew_mesh *mesh, sinew_error *error) {
    if (mesh->triangle_count == 0)
        return sn_fail(error, SINEW_BAD_INPUT, "the surface has no faces");
    for (size_t c = 0; c < 3 * (size_t)mesh->triangle_count; c++)
        if (mesh->triangles[c] < 0 || mesh->triangles[c] >= mesh->vertex_count)
            return sn_fail(error, SINEW_BAD_INPUT,
                           "triangle %zu refers to vertex %d, the mesh has %d", c / 3,
                           mesh->triangles[c], mesh->vertex_count);
    for (size_t i = 0; i < 3 * (size_t)mesh->vertex_count; i++)
        if (!isfinite(mesh->positions[i]))
            return sn_fail(error, SINEW_BAD_INPUT, "vertex %zu: coordinate is not finite", i / 3);
    return SINEW_OK;
}

/* Parts are joined by common vertices and by vertices at the same position, so that a seam does not
 * cut. */
static sinew_status find_parts(const sinew_mesh *mesh, bool separate, int *part, int *count,
                               sinew_error *error) {
    int *weld = SN_NEW(int, mesh->vertex_count), merged;
    int *joined = SN_NEW(int, 3 * (size_t)mesh->triangle_count);
    sinew_status status = weld && joined ? SINEW_OK : sn_no_memory(error);
    if (status == SINEW_OK)
        status = sn_weld(mesh->vertex_count, mesh->positions, 0, weld, &merged, error);
    if (status == SINEW_OK) {
        for (size_t c = 0; c < 3 * (size_t)mesh->triangle_count; c++)
            joined[c] = weld[mesh->triangles[c]];
        status =
            sn_components(mesh->vertex_count, mesh->triangle_count, joined, part, count, error);
    }
    if (status == SINEW_OK)
        for (size_t c = 0; c < 3 * (size_t)mesh->triangle_count; c++) {
            int v = mesh->triangles[c];
            part[v] = part[weld[v]];
        }
    /* A representative that no triangle uses by itself only stood in for others. */
    if (status == SINEW_OK) {
        for (int v = 0; v < mesh->vertex_count; v++) weld[v] = 0;
        for (size_t c = 0; c < 3 * (size_t)mesh->triangle_count; c++) weld[mesh->triangles[c]] = 1;
        for (int v = 0; v < mesh->vertex_count; v++)
            if (!weld[v])
                part[v] = -1;
            else if (!separate)
                part[v] = 0;
        if (!separate) *count = 1;
    }
    sn_free(weld);
    sn_free(joined);
    return status;
}

static double used_diagonal(const sinew_mesh *mesh, const int *part) {
    sn_vec3 low = sn_v3(INFINITY, INFINITY, INFINITY), high = sn_scale(-1, low);
    for (int v = 0; v < mesh->vertex_count; v++) {
        if (part[v] < 0) continue;
        sn_vec3 p = sn_at(mesh->positions, v);
        low = sn_v3(fmin(low.x, p.x), fmin(low.y, p.y), fmin(low.z, p.z));
        high = sn_v3(fmax(high.x, p.x), fmax(high.y, p.y), fmax(high.z, p.z));
    }
    return sn_distance(low, high);
}

/* Vertices that no face uses follow the cell that is nearest. */
static sinew_status embed_unused(const sinew_mesh *mesh, const int *part, sinew_cage *cage,
                                 sinew_error *error) {
    int *points = SN_NEW(int, mesh->vertex_count), count = 0;
    if (!points) return sn_no_memory(error);
    for (int v = 0; v < mesh->vertex_count; v++)
        if (part[v] < 0) points[count++] = v;
    sinew_status status = sn_embed_points(cage->tets, count, points, mesh->positions,
                                          cage->embedding->tet, cage->embedding->weights, error);
    sn_free(points);
    return status;
}

static sinew_status build(const sinew_mesh *mesh, const sinew_cage_options *options,
                          const sinew_monitor *monitor, int *part, int **triangles,
                          sinew_cage *cage, sinew_error *error) {
    int part_count, triangle_count = mesh->triangle_count;
    SN_TRY(find_parts(mesh, options->separate_parts, part, &part_count, error));
    double diagonal = used_diagonal(mesh, part);
    if (!(diagonal > 0) || !isfinite(diagonal))
        return sn_fail(error, SINEW_BAD_INPUT, "the surface has no extent");
    cage->cell = options->cell * diagonal;
    SN_TRY(sn_close_holes(mesh->vertex_count, mesh->positions, options->hole_edges, triangles,
                          &triangle_count, error));
    SN_TRY(sn_embedding_allocate(mesh->vertex_count, &cage->embedding, error));
    cage->tets = SN_NEW0(sinew_tets, 1);
    if (!cage->tets) return sn_no_memory(error);
    SN_TRY(sn_lattice_create(mesh->vertex_count, mesh->positions, triangle_count, *triangles, part,
                             part_count, cage->cell, monitor, cage->tets, cage->embedding->tet,
                             cage->embedding->weights, error));
    SN_TRY(embed_unused(mesh, part, cage, error));
    sn_embedding_corners(cage->tets, cage->embedding);
    return SINEW_OK;
}

sinew_status sinew_cage_create(const sinew_mesh *mesh, const sinew_cage_options *options,
                               const sinew_monitor *monitor, sinew_cage **cage,
                               sinew_error *error) {
    SN_REQUIRE(cage, error);
    *cage = NULL;
    SN_REQUIRE(mesh, error);
    SN_OPTIONS(sinew_cage_options, wanted, options, error);
    options = &wanted;
    SN_REQUIRE(options->cell > 0 && options->hole_edges >= 0, error);
    SN_TRY(check_mesh(mesh, error));
    sinew_cage *made = SN_NEW0(sinew_cage, 1);
    int *part = SN_NEW(int, mesh->vertex_count);
    int *triangles = sn_memdup(mesh->triangles, 3 * (size_t)mesh->triangle_count, sizeof(int));
    sinew_status status = made && part && triangles ? SINEW_OK : sn_no_memory(error);
    if (status == SINEW_OK) status = build(mesh, options, monitor, part, &triangles, made, error);
    sn_free(part);
    sn_free(triangles);
    if (status != SINEW_OK) {
        sinew_cage_destroy(made);
        return status;
    }
    *cage = made;
    return SINEW_OK;
}
