#include "sinew/mesh.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "base/vec3.h"
#include "mesh/polygon.h"
#include "sinew/tets.h"

void sinew_mesh_destroy(sinew_mesh *mesh) {
    if (!mesh) return;
    sn_free(mesh->name);
    sn_free(mesh->positions);
    sn_free(mesh->face_start);
    sn_free(mesh->face_vertices);
    sn_free(mesh->triangles);
    sn_free(mesh->triangle_face);
    sn_free(mesh->uvs);
    sn_free(mesh->corner_uv);
    sn_free(mesh->normals);
    sn_free(mesh->corner_normal);
    if (mesh->part_names)
        for (int i = 0; i < mesh->part_count; i++) sn_free(mesh->part_names[i]);
    sn_free(mesh->part_names);
    sn_free(mesh->face_part);
    sn_free(mesh->file_vertices);
    sn_free(mesh);
}

void sinew_tets_destroy(sinew_tets *tets) {
    if (!tets) return;
    sn_free(tets->positions);
    sn_free(tets->tets);
    sn_free(tets);
}

static sinew_status check_polygons(int vertex_count, const double *positions, int face_count,
                                   const int *face_start, const int *face_vertices,
                                   sinew_error *error) {
    for (size_t i = 0; i < 3 * (size_t)vertex_count; i++)
        if (!isfinite(positions[i]))
            return sn_fail(error, SINEW_BAD_INPUT, "vertex %zu: coordinate is not finite", i / 3);
    if (face_start && face_start[0] != 0)
        return sn_fail(error, SINEW_BAD_INPUT, "face offsets start at %d, not 0", face_start[0]);
    for (int f = 0; f < face_count; f++) {
        int begin = face_start ? face_start[f] : 3 * f;
        int end = face_start ? face_start[f + 1] : 3 * f + 3;
        if (end < begin || end - begin < 3)
            return sn_fail(error, SINEW_BAD_INPUT, "face %d: fewer than 3 corners", f);
        for (int c = begin; c < end; c++)
            if (face_vertices[c] < 0 || face_vertices[c] >= vertex_count)
                return sn_fail(error, SINEW_BAD_INPUT,
                               "face %d: refers to vertex %d, the mesh has %d", f, face_vertices[c],
                               vertex_count);
    }
    return SINEW_OK;
}

sinew_status sinew_mesh_create(int vertex_count, const double *positions, int face_count,
                               const int *face_start, const int *face_vertices, sinew_mesh **mesh,
                               sinew_error *error) {
    SN_REQUIRE(mesh, error);
    *mesh = NULL;
    SN_REQUIRE(vertex_count >= 0 && face_count >= 0, error);
    SN_REQUIRE(positions || vertex_count == 0, error);
    SN_REQUIRE(face_vertices || face_count == 0, error);
    if (face_count > INT_MAX / 3)
        return sn_fail(error, SINEW_BAD_INPUT, "%d faces are more than can be indexed", face_count);
    SN_TRY(check_polygons(vertex_count, positions, face_count, face_start, face_vertices, error));

    sinew_mesh *made = SN_NEW0(sinew_mesh, 1);
    if (!made) return sn_no_memory(error);
    int corners = face_start ? face_start[face_count] : 3 * face_count;
    made->vertex_count = vertex_count;
    made->face_count = face_count;
    made->positions = sn_memdup(positions, 3 * (size_t)vertex_count, sizeof(double));
    made->face_vertices = sn_memdup(face_vertices, (size_t)corners, sizeof(int));
    made->face_start = SN_NEW(int, (size_t)face_count + 1);
    if (!made->positions || !made->face_vertices || !made->face_start) {
        sinew_mesh_destroy(made);
        return sn_no_memory(error);
    }
    for (int f = 0; f <= face_count; f++) made->face_start[f] = face_start ? face_start[f] : 3 * f;
    sinew_status status = sinew_mesh_triangulate(made, error);
    if (status != SINEW_OK) {
        sinew_mesh_destroy(made);
        return status;
    }
    *mesh = made;
    return SINEW_OK;
}

/* Copies an optional array; false: no memory. */
static bool copy_array(void **copy, const void *source, size_t count, size_t size) {
    if (!source) return true;
    *copy = sn_memdup(source, count, size);
    return *copy != NULL;
}
#define COPY(field, count)                                                                         \
    copy_array((void **)&made->field, mesh->field, (size_t)(count), sizeof *mesh->field)

static bool copy_fields(const sinew_mesh *mesh, sinew_mesh *made) {
    size_t corners = mesh->face_start ? (size_t)mesh->face_start[mesh->face_count] : 0;
    made->vertex_count = mesh->vertex_count;
    made->face_count = mesh->face_count;
    made->triangle_count = mesh->triangle_count;
    made->uv_count = mesh->uv_count;
    made->normal_count = mesh->normal_count;
    made->file_vertex_count = mesh->file_vertex_count;
    bool ok = COPY(positions, 3 * (size_t)mesh->vertex_count) &&
              COPY(face_start, (size_t)mesh->face_count + 1) && COPY(face_vertices, corners) &&
              COPY(triangles, 3 * (size_t)mesh->triangle_count) &&
              COPY(triangle_face, mesh->triangle_count) && COPY(uvs, 2 * (size_t)mesh->uv_count) &&
              COPY(corner_uv, corners) && COPY(normals, 3 * (size_t)mesh->normal_count) &&
              COPY(corner_normal, corners) && COPY(face_part, mesh->face_count) &&
              COPY(file_vertices, mesh->file_vertex_count);
    if (ok && mesh->name) ok = (made->name = sn_strdup(mesh->name)) != NULL;
    if (ok && mesh->part_names) {
        made->part_names = SN_NEW0(char *, mesh->part_count);
        ok = made->part_names != NULL;
        made->part_count = ok ? mesh->part_count : 0;
        for (int i = 0; ok && i < mesh->part_count; i++)
            if (mesh->part_names[i])
                ok = (made->part_names[i] = sn_strdup(mesh->part_names[i])) != NULL;
    }
    return ok;
}

sinew_status sinew_mesh_copy(const sinew_mesh *mesh, sinew_mesh **copy, sinew_error *error) {
    SN_REQUIRE(copy, error);
    *copy = NULL;
    SN_REQUIRE(mesh, error);
    sinew_mesh *made = SN_NEW0(sinew_mesh, 1);
    if (!made) return sn_no_memory(error);
    if (!copy_fields(mesh, made)) {
        sinew_mesh_destroy(made);
        return sn_no_memory(error);
    }
    *copy = made;
    return SINEW_OK;
}

sinew_status sinew_mesh_triangulate(sinew_mesh *mesh, sinew_error *error) {
    SN_REQUIRE(mesh, error);
    SN_REQUIRE(mesh->face_count == 0 || mesh->face_start, error);
    SN_TRY(check_polygons(mesh->vertex_count, mesh->positions, mesh->face_count, mesh->face_start,
                          mesh->face_vertices, error));
    long long count = 0;
    int largest = 0;
    for (int f = 0; f < mesh->face_count; f++) {
        int corners = mesh->face_start[f + 1] - mesh->face_start[f];
        count += corners - 2;
        if (corners > largest) largest = corners;
    }
    if (count > INT_MAX / 3)
        return sn_fail(error, SINEW_BAD_INPUT, "%lld triangles are more than can be indexed",
                       count);
    int *triangles = SN_NEW(int, 3 * (size_t)count);
    int *triangle_face = SN_NEW(int, (size_t)count);
    sn_polygon_work work = {0};
    bool ok =
        triangles && triangle_face && (largest <= 4 || sn_polygon_work_create(&work, largest));
    if (!ok) {
        sn_free(triangles);
        sn_free(triangle_face);
        return sn_no_memory(error);
    }
    int made = 0;
    for (int f = 0; f < mesh->face_count; f++) {
        int corners = mesh->face_start[f + 1] - mesh->face_start[f];
        sn_polygon_triangulate(corners, mesh->face_vertices + mesh->face_start[f], mesh->positions,
                               &work, triangles + 3 * (size_t)made);
        for (int k = 0; k < corners - 2; k++) triangle_face[made++] = f;
    }
    sn_polygon_work_free(&work);
    sn_free(mesh->triangles);
    sn_free(mesh->triangle_face);
    mesh->triangle_count = made;
    mesh->triangles = triangles;
    mesh->triangle_face = triangle_face;
    return SINEW_OK;
}

double sinew_diagonal(int vertex_count, const double *positions) {
    if (vertex_count <= 0 || !positions) return 0;
    sn_vec3 low = sn_at(positions, 0), high = low;
    for (int i = 1; i < vertex_count; i++) {
        sn_vec3 p = sn_at(positions, i);
        low = sn_v3(fmin(low.x, p.x), fmin(low.y, p.y), fmin(low.z, p.z));
        high = sn_v3(fmax(high.x, p.x), fmax(high.y, p.y), fmax(high.z, p.z));
    }
    return sn_distance(low, high);
}
