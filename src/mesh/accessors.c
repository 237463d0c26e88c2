/* Fields of meshes one by one, for callers that do not know the layout of the structures. */
#include <math.h>

#include "base/memory.h"
#include "base/status.h"
#include "base/vec3.h"
#include "sinew/tets.h"

const char *sinew_mesh_name(const sinew_mesh *mesh) {
    return mesh ? mesh->name : NULL;
}
int sinew_mesh_vertex_count(const sinew_mesh *mesh) {
    return mesh ? mesh->vertex_count : 0;
}
const double *sinew_mesh_positions(const sinew_mesh *mesh) {
    return mesh ? mesh->positions : NULL;
}
int sinew_mesh_face_count(const sinew_mesh *mesh) {
    return mesh ? mesh->face_count : 0;
}
const int *sinew_mesh_face_starts(const sinew_mesh *mesh) {
    return mesh ? mesh->face_start : NULL;
}
const int *sinew_mesh_face_vertices(const sinew_mesh *mesh) {
    return mesh ? mesh->face_vertices : NULL;
}
int sinew_mesh_triangle_count(const sinew_mesh *mesh) {
    return mesh ? mesh->triangle_count : 0;
}
const int *sinew_mesh_triangles(const sinew_mesh *mesh) {
    return mesh ? mesh->triangles : NULL;
}
const int *sinew_mesh_triangle_faces(const sinew_mesh *mesh) {
    return mesh ? mesh->triangle_face : NULL;
}
int sinew_mesh_uv_count(const sinew_mesh *mesh) {
    return mesh ? mesh->uv_count : 0;
}
const double *sinew_mesh_uvs(const sinew_mesh *mesh) {
    return mesh ? mesh->uvs : NULL;
}
const int *sinew_mesh_corner_uvs(const sinew_mesh *mesh) {
    return mesh ? mesh->corner_uv : NULL;
}
int sinew_mesh_normal_count(const sinew_mesh *mesh) {
    return mesh ? mesh->normal_count : 0;
}
const double *sinew_mesh_normals(const sinew_mesh *mesh) {
    return mesh ? mesh->normals : NULL;
}
const int *sinew_mesh_corner_normals(const sinew_mesh *mesh) {
    return mesh ? mesh->corner_normal : NULL;
}
int sinew_mesh_part_count(const sinew_mesh *mesh) {
    return mesh ? mesh->part_count : 0;
}
const char *sinew_mesh_part_name(const sinew_mesh *mesh, int part) {
    return mesh && part >= 0 && part < mesh->part_count ? mesh->part_names[part] : NULL;
}
const int *sinew_mesh_face_parts(const sinew_mesh *mesh) {
    return mesh ? mesh->face_part : NULL;
}

int sinew_tets_vertex_count(const sinew_tets *tets) {
    return tets ? tets->vertex_count : 0;
}
int sinew_tets_surface_count(const sinew_tets *tets) {
    return tets ? tets->surface_count : 0;
}
const double *sinew_tets_positions(const sinew_tets *tets) {
    return tets ? tets->positions : NULL;
}
int sinew_tets_count(const sinew_tets *tets) {
    return tets ? tets->tet_count : 0;
}
const int *sinew_tets_corners(const sinew_tets *tets) {
    return tets ? tets->tets : NULL;
}

static sinew_status check_tets(int vertex_count, const double *positions, int tet_count,
                               const int *corners, sinew_error *error) {
    for (int v = 0; v < vertex_count; v++)
        for (int k = 0; k < 3; k++)
            if (!isfinite(positions[3 * (size_t)v + (size_t)k]))
                return sn_fail(error, SINEW_BAD_INPUT, "vertex %d is not finite", v);
    for (int t = 0; t < tet_count; t++) {
        const int *c = corners + 4 * (size_t)t;
        for (int k = 0; k < 4; k++)
            if (c[k] < 0 || c[k] >= vertex_count)
                return sn_fail(error, SINEW_BAD_INPUT,
                               "tet %d refers to vertex %d, but there are %d vertices", t, c[k],
                               vertex_count);
        sn_vec3 a = sn_at(positions, c[0]);
        sn_vec3 u = sn_sub(sn_at(positions, c[1]), a), v = sn_sub(sn_at(positions, c[2]), a);
        if (!(sn_dot(sn_cross(u, v), sn_sub(sn_at(positions, c[3]), a)) > 0))
            return sn_fail(error, SINEW_BAD_INPUT, "tet %d is flat or inverted", t);
    }
    return SINEW_OK;
}

sinew_status sinew_tets_create(int vertex_count, const double *positions, int surface_count,
                               int tet_count, const int *corners, sinew_tets **tets,
                               sinew_error *error) {
    SN_REQUIRE(tets, error);
    *tets = NULL;
    SN_REQUIRE(vertex_count >= 0 && (positions || vertex_count == 0), error);
    SN_REQUIRE(tet_count >= 0 && (corners || tet_count == 0), error);
    SN_REQUIRE(surface_count >= 0 && surface_count <= vertex_count, error);
    SN_TRY(check_tets(vertex_count, positions, tet_count, corners, error));
    sinew_tets *made = SN_NEW0(sinew_tets, 1);
    if (!made) return sn_no_memory(error);
    made->vertex_count = vertex_count;
    made->surface_count = surface_count;
    made->tet_count = tet_count;
    made->positions = sn_memdup(positions, 3 * (size_t)vertex_count, sizeof(double));
    made->tets = sn_memdup(corners, 4 * (size_t)tet_count, sizeof(int));
    if (!made->positions || !made->tets) {
        sinew_tets_destroy(made);
        return sn_no_memory(error);
    }
    *tets = made;
    return SINEW_OK;
}
