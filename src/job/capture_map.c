#include "job/capture_map.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/memory.h"
#include "base/monitor.h"
#include "base/rotation.h"
#include "base/sort.h"
#include "base/status.h"
#include "io/markers.h"
#include "session/clip.h"
#include "sinew/io.h"
#include "sinew/query.h"

/* Rounds of nearest points and rigid fit, and the change of the distance at which they end. */
enum { ALIGN_ROUNDS = 1000, ALIGN_TRY_ROUNDS = 30, ALIGN_STARTS = 32 };
#define ALIGN_CHANGE 1e-6
/* Markers whose mean distance from the face is below this share of the diagonal stay where they
 * are. */
#define ON_THE_FACE 0.01

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

void sn_capture_add_name(char list[SN_CAPTURE_NAMES_SIZE], const char *name) {
    size_t used = strlen(list), length = strlen(name);
    if (used + length + 7 > SN_CAPTURE_NAMES_SIZE) { /* ", " and the dots of the next */
        if (used >= 3 && strcmp(list + used - 3, "...") != 0 && used + 6 <= SN_CAPTURE_NAMES_SIZE)
            strcat(list, ", ...");
        return;
    }
    if (used) strcat(list, ", ");
    strcat(list, name);
}

sinew_status sn_capture_neutral(const sn_model_setup *setup, const sinew_markers *take, int *sample,
                                sinew_error *error) {
    int given = sn_scene_integer(setup->scene, "neutral_frame"), most = -1;
    *sample = 0;
    if (given >= take->time_count)
        return sn_scene_fail(setup->scene, error, "parameters.neutral_frame",
                             "the take's samples are 0 to %d", take->time_count - 1);
    for (int f = 0; f < take->time_count && most < take->marker_count; f++) {
        const double *row = take->positions + 3 * (size_t)f * (size_t)take->marker_count;
        int seen = 0;
        for (int i = 0; i < take->marker_count; i++) seen += isfinite(row[3 * i]);
        if (seen > most) most = seen, *sample = f;
    }
    if (given >= 0) *sample = given;
    return SINEW_OK;
}

/* Nearest points on the surface; the mean distance. */
static double nearest_points(const sinew_query *query, int count, const double *points,
                             double *near) {
    double sum = 0;
    for (int i = 0; i < count; i++) {
        sinew_closest closest;
        sinew_query_closest(query, points + 3 * (size_t)i, INFINITY, &closest);
        memcpy(near + 3 * (size_t)i, closest.point, sizeof closest.point);
        sum += closest.distance;
    }
    return count ? sum / count : INFINITY;
}

/* Points to be brought onto a surface by a rigid motion. */
typedef struct alignment {
    const sinew_query *query;
    int count;
    const double *from;
    double *now, *near; /* the points as moved, and the nearest to them on the surface */
    sinew_rigid motion;
    double distance; /* mean, as moved */
} alignment;

static void move_points(alignment *a) {
    memcpy(a->now, a->from, 3 * sizeof(double) * (size_t)a->count);
    sinew_rigid_apply(&a->motion, a->count, a->now);
    a->distance = nearest_points(a->query, a->count, a->now, a->near);
}

/* Rounds of nearest points and rigid fit, from where they stand. */
static void refine(alignment *a, int rounds) {
    for (int round = 0; round < rounds; round++) {
        sn_mat3 turn;
        sn_vec3 shift;
        sn_rigid_fit(a->count, a->from, a->near, NULL, &turn, &shift);
        memcpy(a->motion.rotation, &turn, sizeof a->motion.rotation);
        sn_put(a->motion.translation, 0, shift);
        double before = a->distance;
        move_points(a);
        if (fabs(before - a->distance) < ALIGN_CHANGE * before) return;
    }
}

/* Nearest points lead to the nearest valley only. The middle of the markers is therefore put to
 * places all over the face, each the farthest from those before, and the best is refined. */
static void align(alignment *a, const sinew_mesh *mesh, double *farness) {
    static const sinew_rigid none = {{1, 0, 0, 0, 1, 0, 0, 0, 1}, {0, 0, 0}};
    a->motion = none;
    move_points(a);
    sn_vec3 middle = {0, 0, 0};
    for (int i = 0; i < a->count; i++)
        middle = sn_add_scaled(middle, 1.0 / a->count, sn_at(a->from, i));
    refine(a, ALIGN_TRY_ROUNDS);
    sinew_rigid best = a->motion;
    double least = a->distance;
    for (int v = 0; v < mesh->vertex_count; v++) farness[v] = INFINITY;
    for (int start = 0, at = 0; start < ALIGN_STARTS; start++) {
        sn_vec3 place = sn_at(mesh->positions, at);
        a->motion = none;
        sn_put(a->motion.translation, 0, sn_sub(place, middle));
        move_points(a);
        refine(a, ALIGN_TRY_ROUNDS);
        if (a->distance < least) least = a->distance, best = a->motion;
        for (int v = 0; v < mesh->vertex_count; v++) {
            farness[v] = fmin(farness[v], sn_distance(place, sn_at(mesh->positions, v)));
            if (farness[v] > farness[at]) at = v;
        }
    }
    a->motion = best;
    move_points(a);
    refine(a, ALIGN_ROUNDS);
}

/* Places of the seen markers on the neutral by nearest points, after the rigid motion that brings
 * them closest unless they lie there as they are. */
static sinew_status map_by_place(const sn_model_setup *setup, const sinew_markers *take, int sample,
                                 sinew_marker_map **map, sinew_rigid *motion, bool *moved,
                                 sinew_error *error) {
    int count = take->marker_count, seen = 0;
    const sinew_mesh *mesh = setup->rig->neutral;
    double *from = SN_NEW(double, 3 * (size_t)count), *now = SN_NEW(double, 3 * (size_t)count);
    double *near = SN_NEW(double, 3 * (size_t)count), *room = SN_NEW(double, mesh->vertex_count);
    const char **names = SN_NEW(const char *, count);
    sinew_query *query = NULL;
    sinew_status status = from && now && near && room && names ? SINEW_OK : sn_no_memory(error);
    if (status == SINEW_OK)
        status = sinew_query_create(mesh->vertex_count, mesh->positions, mesh->triangle_count,
                                    mesh->triangles, &query, error);
    if (status == SINEW_OK) {
        const double *frame = take->positions + 3 * (size_t)sample * (size_t)count;
        for (int i = 0; i < count; i++) {
            if (!isfinite(frame[3 * i])) continue;
            sn_put(from, seen, sn_at(frame, i));
            sn_put(now, seen, sn_at(frame, i));
            names[seen++] = take->names[i];
        }
        double diagonal = sinew_diagonal(mesh->vertex_count, mesh->positions);
        alignment a = {.query = query, .count = seen, .from = from, .now = now, .near = near};
        a.distance = nearest_points(query, seen, now, near);
        *moved = seen > 0 && a.distance > ON_THE_FACE * diagonal;
        if (*moved) align(&a, mesh, room);
        *motion = a.motion;
        if (a.distance < SN_CAPTURE_REACH * diagonal)
            status = sinew_marker_map_nearest(mesh, seen, names, now, INFINITY, map, error);
        else
            status = sn_fail(error, SINEW_BAD_INPUT,
                             "the markers, %.3g diagonals of the face wide, do not lie on it, nor "
                             "are they named after its regions or vertices: give their unit "
                             "(--marker-unit) or a map (NAME,vertex)",
                             diagonal > 0 ? sinew_diagonal(seen, from) / diagonal : 0);
        if (status == SINEW_OK)
            sn_log(setup->monitor, SINEW_LOG_WARNING,
                   "no map: %d of %d markers are tied to the nearest points of the face, %.2g%% of "
                   "its diagonal away on average%s",
                   seen, count, 100 * a.distance / diagonal,
                   *moved ? ", after a rigid motion onto it" : "");
    }
    sinew_query_destroy(query);
    sn_free(from), sn_free(now), sn_free(near), sn_free(room), sn_free(names);
    return status;
}

sinew_status sn_capture_map(const sn_model_setup *setup, const sinew_markers *take,
                            sn_capture *capture, sinew_rigid *motion, bool *moved,
                            sinew_error *error) {
    sinew_marker_map **map = &capture->map;
    *moved = false;
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
    return map_by_place(setup, take, capture->neutral, map, motion, moved, error);
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
                                     const sn_capture *capture, sinew_error *error) {
    const sinew_mesh *mesh = setup->rig->neutral;
    const sinew_marker_map *map = capture->map;
    const int *index = capture->index;
    int count = map->count, seen = 0, sample = capture->neutral;
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
        sn_sort_doubles((size_t)seen, distances);
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
