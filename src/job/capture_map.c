#include "job/capture_map.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/memory.h"
#include "base/monitor.h"
#include "base/rotation.h"
#include "base/status.h"
#include "io/markers.h"
#include "job/clip.h"
#include "sinew/io.h"
#include "sinew/query.h"

/* Rounds of nearest points and rigid fit. */
enum { ALIGN_ROUNDS = 40 };

/* ---- a map without a file -------------------------------------------------------------------- */

/* The vertex nearest to the middle of a region. */
static int middle_of(const sinew_rig *rig, const sinew_region *region) {
    sn_vec3 sum = {0, 0, 0};
    for (int i = 0; i < region->count; i++)
        sum = sn_add(sum, sn_at(rig->neutral->positions, region->vertices[i]));
    sum = sn_scale(1.0 / region->count, sum);
    int best = region->vertices[0];
    double least = INFINITY;
    for (int i = 0; i < region->count; i++) {
        double d = sn_distance(sum, sn_at(rig->neutral->positions, region->vertices[i]));
        if (d < least) least = d, best = region->vertices[i];
    }
    return best;
}

/* "v12", "vertex12", "12" or the name of a region; -1: none of them. */
static int vertex_by_name(const sinew_rig *rig, const char *name) {
    int region = sinew_rig_find_region(rig, name);
    if (region >= 0 && rig->regions[region].count > 0) return middle_of(rig, &rig->regions[region]);
    int vertex, used = 0;
    const char *digits = strncasecmp(name, "vertex", 6) == 0 ? name + 6
                         : *name == 'v' || *name == 'V'      ? name + 1
                                                             : name;
    if (sscanf(digits, "%9d%n", &vertex, &used) == 1 && digits[used] == '\0' && vertex >= 0 &&
        vertex < rig->neutral->vertex_count)
        return vertex;
    return -1;
}

static sinew_status map_by_name(const sinew_rig *rig, const sinew_markers *take,
                                sinew_marker_map **map, sinew_error *error) {
    int known = 0;
    for (int i = 0; i < take->marker_count; i++) known += vertex_by_name(rig, take->names[i]) >= 0;
    if (known < 4 || 2 * known < take->marker_count) return SINEW_OK;
    SN_TRY(sinew_marker_map_create(known, map, error));
    for (int i = 0, j = 0; i < take->marker_count; i++) {
        int vertex = vertex_by_name(rig, take->names[i]);
        if (vertex < 0) continue;
        SN_TRY(sinew_marker_map_set_name(*map, j, take->names[i], error));
        (*map)->vertices[j++] = vertex;
    }
    return SINEW_OK;
}

int sn_take_neutral(const sinew_markers *take) {
    int best = 0, most = -1;
    for (int f = 0; f < take->time_count; f++) {
        int seen = 0;
        for (int i = 0; i < take->marker_count; i++)
            seen +=
                isfinite(take->positions[3 * ((size_t)f * (size_t)take->marker_count + (size_t)i)]);
        if (seen > most) most = seen, best = f;
        if (seen == take->marker_count) break;
    }
    return best;
}

/* Places of the seen markers on the neutral by nearest points, after the rigid motion that brings
 * them closest. Returns the mean distance as a share of the diagonal. */
static sinew_status map_by_place(const sinew_rig *rig, const sinew_markers *take,
                                 sinew_marker_map **map, double *distance, sinew_error *error) {
    int count = take->marker_count, seen = 0;
    double *from = SN_NEW(double, 3 * (size_t)count), *now = SN_NEW(double, 3 * (size_t)count);
    double *near = SN_NEW(double, 3 * (size_t)count);
    const char **names = SN_NEW(const char *, count);
    sinew_query *query = NULL;
    const sinew_mesh *mesh = rig->neutral;
    sinew_status status = from && now && near && names ? SINEW_OK : sn_no_memory(error);
    if (status == SINEW_OK)
        status = sinew_query_create(mesh->vertex_count, mesh->positions, mesh->triangle_count,
                                    mesh->triangles, &query, error);
    if (status == SINEW_OK) {
        const double *frame =
            take->positions + 3 * (size_t)sn_take_neutral(take) * (size_t)take->marker_count;
        for (int i = 0; i < count; i++) {
            if (!isfinite(frame[3 * i])) continue;
            memcpy(from + 3 * (size_t)seen, frame + 3 * (size_t)i, 3 * sizeof(double));
            names[seen++] = take->names[i];
        }
        memcpy(now, from, 3 * sizeof(double) * (size_t)seen);
        double sum = 0;
        for (int round = 0; round < ALIGN_ROUNDS && seen > 0; round++) {
            sum = 0;
            for (int i = 0; i < seen; i++) {
                sinew_closest closest;
                sinew_query_closest(query, now + 3 * (size_t)i, INFINITY, &closest);
                memcpy(near + 3 * (size_t)i, closest.point, sizeof closest.point);
                sum += closest.distance;
            }
            if (round == 0 &&
                sum / seen < 0.01 * sinew_diagonal(mesh->vertex_count, mesh->positions))
                break; /* they lie on the face as they are */
            sn_mat3 turn;
            sn_vec3 shift;
            sn_rigid_fit(seen, from, near, NULL, &turn, &shift);
            for (int i = 0; i < seen; i++)
                sn_put(now, i, sn_add(sn_mat3_apply(turn, sn_at(from, i)), shift));
        }
        *distance = seen ? sum / seen / sinew_diagonal(mesh->vertex_count, mesh->positions) : 1;
        if (*distance < SN_CAPTURE_REACH)
            status = sinew_marker_map_nearest(mesh, seen, names, now, INFINITY, map, error);
        else
            status = sn_fail(error, SINEW_BAD_INPUT,
                             "the markers do not lie on the face, nor are they named after its "
                             "regions or vertices: give a map (NAME,vertex)");
    }
    sinew_query_destroy(query);
    sn_free(from), sn_free(now), sn_free(near), sn_free(names);
    return status;
}

sinew_status sn_capture_map(const sn_model_setup *setup, const sinew_markers *take,
                            sinew_marker_map **map, sinew_error *error) {
    const json_t *given = sn_scene_at(setup->scene, "markers");
    const char *file = json_string_value(json_object_get(given, "map"));
    if (file) {
        char *path = sn_scene_path(setup->scene, file);
        sinew_status status = path ? sinew_marker_map_read(path, setup->rig->neutral, map, error)
                                   : sn_no_memory(error);
        sn_free(path);
        return status;
    }
    SN_TRY(map_by_name(setup->rig, take, map, error));
    if (*map) {
        sn_log(setup->monitor, SINEW_LOG_WARNING,
               "no map: %d of %d markers are tied by their names to regions or vertices",
               (*map)->count, take->marker_count);
        return SINEW_OK;
    }
    double distance = 0;
    SN_TRY(map_by_place(setup->rig, take, map, &distance, error));
    sn_log(setup->monitor, SINEW_LOG_WARNING,
           "no map: %d of %d markers are tied to the nearest points of the face, %.2g%% of its "
           "diagonal away on average",
           (*map)->count, take->marker_count, 100 * distance);
    return SINEW_OK;
}

/* ---- does the take lie on the face? ---------------------------------------------------------- */

static double spread(int count, const double *points) {
    sn_vec3 middle = {0, 0, 0};
    double sum = 0;
    for (int i = 0; i < count; i++) middle = sn_add_scaled(middle, 1.0 / count, sn_at(points, i));
    for (int i = 0; i < count; i++) {
        double d = sn_distance(middle, sn_at(points, i));
        sum += d * d;
    }
    return sqrt(sum);
}

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* What a take whose markers spread `ratio` times as far as their places most likely wants. A rig in
 * units of u metres whose markers look r times too large has markers in units of u / r, or, when
 * their file says their unit, is itself in units of u r. */
static void advise(const sn_model_setup *setup, const sinew_markers *take, double ratio, char *text,
                   size_t size) {
    const char *rig = json_string_value(json_object_get(sn_scene_at(setup->scene, "rig"), "unit"));
    double metres = sn_unit_metres(rig ? rig : SN_RIG_UNIT);
    bool known = sn_unit_metres(take->unit) > 0;
    const char *unit = sn_unit_near(known ? metres * ratio : metres / ratio);
    if (ratio > 1 / 1.5 && ratio < 1.5)
        snprintf(text, size, "they are of its size but elsewhere: give --stable, or --retarget");
    else if (unit)
        snprintf(text, size, "they spread %.4g times as far, as if %s were in %s: give %s %s",
                 ratio, known ? "the rig" : "they", unit, known ? "--unit" : "--marker-unit", unit);
    else
        snprintf(text, size, "they spread %.4g times as far: give --marker-unit, or --retarget",
                 ratio);
}

sinew_status sn_capture_check_places(const sn_model_setup *setup, const sinew_markers *take,
                                     const sinew_marker_map *map, const int *index,
                                     sinew_error *error) {
    const sinew_mesh *mesh = setup->rig->neutral;
    int count = map->count, seen = 0, sample = sn_take_neutral(take);
    const double *row = take->positions + 3 * (size_t)sample * (size_t)take->marker_count;
    double *places = SN_NEW(double, 3 * (size_t)count), *there = SN_NEW(double, 3 * (size_t)count);
    double *distances = SN_NEW(double, count);
    sinew_status status = places && there && distances ? SINEW_OK : sn_no_memory(error);
    if (status == SINEW_OK) {
        sinew_marker_map_points(map, mesh, mesh->positions, places);
        for (int i = 0; i < count; i++) {
            if (index[i] < 0 || !isfinite(row[3 * index[i]])) continue;
            sn_put(there, seen, sn_at(row, index[i]));
            sn_put(places, seen, sn_at(places, i));
            distances[seen] = sn_distance(sn_at(there, seen), sn_at(places, seen));
            seen++;
        }
    }
    double diagonal = sinew_diagonal(mesh->vertex_count, mesh->positions);
    if (status == SINEW_OK && seen > 0 && diagonal > 0) {
        qsort(distances, (size_t)seen, sizeof(double), by_size);
        double off = distances[seen / 2] / diagonal, size = spread(seen, places);
        char advice[200];
        advise(setup, take, size > 0 ? spread(seen, there) / size : 1, advice, sizeof advice);
        if (off > SN_CAPTURE_LOST)
            status = sn_fail(error, SINEW_BAD_INPUT,
                             "the markers are %.3g of the face's diagonals off their places "
                             "(median, sample %d); %s",
                             off, sample, advice);
        else if (off > SN_CAPTURE_FAR)
            sn_log(setup->monitor, SINEW_LOG_WARNING,
                   "the markers are %.3g%% of the face's diagonal off their places (median, sample "
                   "%d); %s",
                   100 * off, sample, advice);
    }
    sn_free(places), sn_free(there), sn_free(distances);
    return status;
}
