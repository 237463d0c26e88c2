#include "sinew/marker_map.h"

#include <math.h>
#include <string.h>
#include <strings.h>

#include "base/memory.h"
#include "base/rotation.h"
#include "base/status.h"
#include "sinew/query.h"

sinew_status sinew_marker_map_create(int count, sinew_marker_map **map, sinew_error *error) {
    SN_REQUIRE(map && count >= 0, error);
    *map = NULL;
    sinew_marker_map *created = SN_NEW0(sinew_marker_map, 1);
    if (!created) return sn_no_memory(error);
    created->count = count;
    created->names = SN_NEW0(char *, count);
    created->vertices = SN_NEW0(int, count);
    created->triangles = SN_NEW(int, count);
    created->barycentric = SN_NEW0(double, 3 * (size_t)count);
    bool complete =
        created->names && created->vertices && created->triangles && created->barycentric;
    for (int i = 0; complete && i < count; i++) {
        created->triangles[i] = -1;
        created->barycentric[3 * i] = 1;
        created->names[i] = sn_strdup("");
        complete = created->names[i] != NULL;
    }
    if (!complete) {
        sinew_marker_map_destroy(created);
        return sn_no_memory(error);
    }
    *map = created;
    return SINEW_OK;
}

void sinew_marker_map_destroy(sinew_marker_map *map) {
    if (!map) return;
    for (int i = 0; map->names && i < map->count; i++) sn_free(map->names[i]);
    sn_free(map->names), sn_free(map->vertices), sn_free(map->triangles);
    sn_free(map->barycentric), sn_free(map->weights);
    sn_free(map);
}

sinew_status sinew_marker_map_set_name(sinew_marker_map *map, int marker, const char *name,
                                       sinew_error *error) {
    SN_REQUIRE(map && name && marker >= 0 && marker < map->count, error);
    char *copy = sn_strdup(name);
    if (!copy) return sn_no_memory(error);
    sn_free(map->names[marker]);
    map->names[marker] = copy;
    return SINEW_OK;
}

sinew_status sinew_marker_map_copy(const sinew_marker_map *map, sinew_marker_map **copy,
                                   sinew_error *error) {
    SN_REQUIRE(map && copy, error);
    sinew_marker_map *made;
    SN_TRY(sinew_marker_map_create(map->count, &made, error));
    size_t n = (size_t)map->count;
    memcpy(made->vertices, map->vertices, n * sizeof(int));
    memcpy(made->triangles, map->triangles, n * sizeof(int));
    memcpy(made->barycentric, map->barycentric, 3 * n * sizeof(double));
    sinew_status status = SINEW_OK;
    if (map->weights) {
        made->weights = SN_NEW(double, n);
        if (made->weights)
            memcpy(made->weights, map->weights, n * sizeof(double));
        else
            status = sn_no_memory(error);
    }
    for (int i = 0; status == SINEW_OK && i < map->count; i++)
        status = sinew_marker_map_set_name(made, i, map->names[i], error);
    if (status != SINEW_OK) sinew_marker_map_destroy(made), made = NULL;
    *copy = made;
    return status;
}

sinew_status sinew_marker_map_check(const sinew_marker_map *map, const sinew_mesh *mesh,
                                    sinew_error *error) {
    SN_REQUIRE(map && mesh, error);
    for (int i = 0; i < map->count; i++) {
        const double *b = map->barycentric + 3 * (size_t)i;
        bool on_triangle = map->triangles[i] >= 0;
        if (on_triangle ? map->triangles[i] >= mesh->triangle_count
                        : map->vertices[i] < 0 || map->vertices[i] >= mesh->vertex_count)
            return sn_fail(error, SINEW_BAD_INPUT, "marker '%s': %s %d is not on the mesh",
                           map->names[i], on_triangle ? "triangle" : "vertex",
                           on_triangle ? map->triangles[i] : map->vertices[i]);
        if (on_triangle && !(fabs(b[0] + b[1] + b[2] - 1) < 1e-6))
            return sn_fail(error, SINEW_BAD_INPUT, "marker '%s': its weights do not sum to 1",
                           map->names[i]);
        for (int k = 0; on_triangle && k < 3; k++)
            if (!(fabs(b[k] - 0.5) <= 0.5 + SINEW_MARKER_OFF_TRIANGLE))
                return sn_fail(
                    error, SINEW_BAD_INPUT,
                    "marker '%s': its weight %g is not in 0 to 1, it lies off the triangle",
                    map->names[i], b[k]);
        if (map->weights && !(map->weights[i] >= 0 && isfinite(map->weights[i])))
            return sn_fail(error, SINEW_BAD_INPUT, "marker '%s': its weight %g is not 0 or more",
                           map->names[i], map->weights[i]);
        for (int j = 0; j < i; j++)
            if (strcasecmp(map->names[i], map->names[j]) == 0)
                return sn_fail(error, SINEW_BAD_INPUT, "marker '%s' appears twice in the map",
                               map->names[i]);
    }
    return SINEW_OK;
}

void sinew_marker_map_points(const sinew_marker_map *map, const sinew_mesh *mesh,
                             const double *positions, double *points) {
    for (int i = 0; i < map->count; i++) {
        sn_vec3 p = {0, 0, 0};
        if (map->triangles[i] < 0)
            p = sn_at(positions, map->vertices[i]);
        else
            for (int k = 0; k < 3; k++)
                p = sn_add_scaled(
                    p, map->barycentric[3 * (size_t)i + (size_t)k],
                    sn_at(positions, mesh->triangles[3 * (size_t)map->triangles[i] + (size_t)k]));
        sn_put(points, i, p);
    }
}

sinew_status sinew_marker_map_nearest(const sinew_mesh *mesh, int count, const char *const *names,
                                      const double *points, double reach, sinew_marker_map **map,
                                      sinew_error *error) {
    SN_REQUIRE(mesh && names && points && map && count >= 0, error);
    *map = NULL;
    sinew_query *query = NULL;
    sinew_marker_map *created = NULL;
    SN_TRY(sinew_query_create(mesh->vertex_count, mesh->positions, mesh->triangle_count,
                              mesh->triangles, &query, error));
    sinew_status status = sinew_marker_map_create(count, &created, error);
    for (int i = 0; status == SINEW_OK && i < count; i++) {
        sinew_closest closest;
        status = sinew_marker_map_set_name(created, i, names[i], error);
        if (status != SINEW_OK) break;
        if (!sinew_query_closest(query, points + 3 * (size_t)i, reach, &closest)) {
            status = sn_fail(error, SINEW_BAD_INPUT, "marker '%s' is off the mesh", names[i]);
            break;
        }
        created->vertices[i] = -1;
        created->triangles[i] = closest.triangle;
        memcpy(created->barycentric + 3 * (size_t)i, closest.barycentric,
               sizeof closest.barycentric);
    }
    sinew_query_destroy(query);
    if (status != SINEW_OK) {
        sinew_marker_map_destroy(created);
        return status;
    }
    *map = created;
    return SINEW_OK;
}

int sinew_marker_map_bind(const sinew_marker_map *map, const sinew_markers *markers, int *index) {
    int found = 0;
    for (int i = 0; i < map->count; i++) {
        index[i] = -1;
        for (int j = 0; index[i] < 0 && j < markers->marker_count; j++)
            if (strcasecmp(map->names[i], markers->names[j]) == 0) index[i] = j;
        found += index[i] >= 0;
    }
    return found;
}

void sinew_rigid_apply(const sinew_rigid *motion, int count, double *positions) {
    sn_mat3 rotation;
    memcpy(&rotation, motion->rotation, sizeof rotation);
    sn_vec3 shift = sn_v3(motion->translation[0], motion->translation[1], motion->translation[2]);
    for (int i = 0; i < count; i++)
        sn_put(positions, i, sn_add(sn_mat3_apply(rotation, sn_at(positions, i)), shift));
}
