/* A map without a file: by the names of the markers, or by the nearest points of the face after a
 * rigid alignment. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/memory.h"
#include "base/monitor.h"
#include "base/rotation.h"
#include "base/status.h"
#include "capture/take.h"
#include "sinew/query.h"

/* Rounds of nearest points and rigid fit, and the change of the distance at which they end. */
enum { ALIGN_ROUNDS = 1000, ALIGN_TRY_ROUNDS = 30, ALIGN_STARTS = 32 };
#define ALIGN_CHANGE 1e-6
/* Markers whose mean distance from the face is below this share of the diagonal stay where they
 * are. */
#define ON_THE_FACE 0.01

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
static sinew_status map_by_place(sinew_capture *c, const sinew_monitor *monitor,
                                 sinew_rigid *motion, bool *moved, sinew_error *error) {
    const sinew_markers *take = c->take;
    int count = take->marker_count, seen = 0;
    const sinew_mesh *mesh = c->rig->neutral;
    double *from = SN_NEW(double, 3 * (size_t)count), *now = SN_NEW(double, 3 * (size_t)count);
    double *near = SN_NEW(double, 3 * (size_t)count), *room = SN_NEW(double, mesh->vertex_count);
    const char **names = SN_NEW(const char *, count);
    sinew_query *query = NULL;
    sinew_status status = from && now && near && room && names ? SINEW_OK : sn_no_memory(error);
    if (status == SINEW_OK)
        status = sinew_query_create(mesh->vertex_count, mesh->positions, mesh->triangle_count,
                                    mesh->triangles, &query, error);
    if (status == SINEW_OK) {
        const double *frame = sn_take_at(take, c->info.neutral_sample, 0);
        for (int i = 0; i < count; i++) {
            if (!isfinite(frame[3 * i])) continue;
            sn_put(from, seen, sn_at(frame, i));
            sn_put(now, seen, sn_at(frame, i));
            names[seen++] = take->names[i];
        }
        alignment a = {.query = query, .count = seen, .from = from, .now = now, .near = near};
        a.distance = nearest_points(query, seen, now, near);
        *moved = seen > 0 && a.distance > ON_THE_FACE * c->diagonal;
        if (*moved) align(&a, mesh, room);
        *motion = a.motion;
        if (a.distance < SINEW_CAPTURE_REACH * c->diagonal)
            status = sinew_marker_map_nearest(mesh, seen, names, now, INFINITY, &c->map, error);
        else
            status = sn_fail(error, SINEW_BAD_INPUT,
                             "the markers, %.3g diagonals of the face wide, do not lie on it, nor "
                             "are they named after its regions or vertices: check their unit of "
                             "length, or give a map (NAME,vertex)",
                             c->diagonal > 0 ? sinew_diagonal(seen, from) / c->diagonal : 0);
        if (status == SINEW_OK)
            sn_log(monitor, SINEW_LOG_LEVEL_WARNING,
                   "no map: %d of %d markers are tied to the nearest points of the face, %.2g%% of "
                   "its diagonal away on average%s",
                   seen, count, 100 * a.distance / c->diagonal,
                   *moved ? ", after a rigid motion onto it" : "");
    }
    sinew_query_destroy(query);
    sn_free(from), sn_free(now), sn_free(near), sn_free(room), sn_free(names);
    return status;
}

sinew_status sn_capture_find_map(sinew_capture *c, const sinew_monitor *monitor,
                                 sinew_rigid *motion, bool *moved, sinew_error *error) {
    *moved = false;
    SN_TRY(map_by_name(c->rig, c->take, &c->map, error));
    if (!c->map) return map_by_place(c, monitor, motion, moved, error);
    sn_log(monitor, SINEW_LOG_LEVEL_WARNING,
           "no map: %d of %d markers are tied by their names to regions or vertices", c->map->count,
           c->take->marker_count);
    return SINEW_OK;
}
