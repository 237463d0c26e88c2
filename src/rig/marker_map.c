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
    sn_free(map->barycentric);
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
        for (int j = 0; j < i; j++)
            if (strcmp(map->names[i], map->names[j]) == 0)
                return sn_fail(error, SINEW_BAD_INPUT, "marker '%s' stands twice in the map",
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

/* Weighted Kabsch over the markers that are seen; one that lies off by more than the slip is
 * dropped and the rest fitted again, worst first, while at least four are left. */
static bool fit_frame(int count, const double *seen, const double *reference, double slip,
                      double *weights, sn_mat3 *rotation, sn_vec3 *translation) {
    int used = 0;
    for (int i = 0; i < count; i++) used += weights[i] > 0;
    while (used >= 3) {
        sn_rigid_fit(count, seen, reference, weights, rotation, translation);
        int worst = -1;
        double distance = slip;
        for (int i = 0; i < count; i++) {
            if (!(weights[i] > 0)) continue;
            sn_vec3 image = sn_add(sn_mat3_apply(*rotation, sn_at(seen, i)), *translation);
            double off = sn_distance(image, sn_at(reference, i));
            if (off > distance) distance = off, worst = i;
        }
        if (worst < 0 || used == 3) return true;
        weights[worst] = 0;
        used--;
    }
    return false;
}

sinew_status sinew_markers_stabilise(sinew_markers *markers, int stable_count, const int *stable,
                                     const double *reference, sinew_rigid *motion, int *held_frames,
                                     sinew_error *error) {
    SN_REQUIRE(markers && stable && reference, error);
    if (stable_count < 3)
        return sn_fail(error, SINEW_BAD_INPUT,
                       "stabilise: %d stable markers, at least 3 are needed", stable_count);
    for (int i = 0; i < stable_count; i++)
        if (stable[i] < 0 || stable[i] >= markers->marker_count)
            return sn_fail(error, SINEW_BAD_INPUT, "stabilise: there is no marker %d", stable[i]);
    double *seen = SN_NEW(double, 3 * (size_t)stable_count);
    double *weights = SN_NEW(double, stable_count);
    if (!seen || !weights) {
        sn_free(seen), sn_free(weights);
        return sn_no_memory(error);
    }
    double slip = SINEW_STABILISE_SLIP * sinew_diagonal(stable_count, reference);
    sn_mat3 rotation = sn_mat3_identity();
    sn_vec3 translation = {0, 0, 0};
    int held = 0;
    for (int f = 0; f < markers->time_count; f++) {
        double *row = markers->positions + 3 * (size_t)f * (size_t)markers->marker_count;
        for (int i = 0; i < stable_count; i++) {
            sn_vec3 p = sn_at(row, stable[i]);
            bool there = isfinite(p.x) && isfinite(p.y) && isfinite(p.z);
            weights[i] = there;
            sn_put(seen, i, there ? p : sn_v3(0, 0, 0));
        }
        sn_mat3 r;
        sn_vec3 t;
        if (fit_frame(stable_count, seen, reference, slip, weights, &r, &t))
            rotation = r, translation = t;
        else
            held++;
        sinew_rigid forward;
        memcpy(forward.rotation, &rotation, sizeof forward.rotation);
        forward.translation[0] = translation.x;
        forward.translation[1] = translation.y;
        forward.translation[2] = translation.z;
        sinew_rigid_apply(&forward, markers->marker_count, row);
        if (motion) {
            sn_mat3 back = sn_mat3_transpose(rotation);
            sn_vec3 shift = sn_scale(-1, sn_mat3_apply(back, translation));
            memcpy(motion[f].rotation, &back, sizeof motion[f].rotation);
            motion[f].translation[0] = shift.x;
            motion[f].translation[1] = shift.y;
            motion[f].translation[2] = shift.z;
        }
    }
    if (held_frames) *held_frames = held;
    sn_free(seen), sn_free(weights);
    return SINEW_OK;
}
