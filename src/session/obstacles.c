#include "session/obstacles.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/rotation.h"
#include "base/status.h"
#include "session/load.h"
#include "sinew/selection.h"

/* ---- shapes ---------------------------------------------------------------------------------- */

static sinew_status missing(const sinew_scene *scene, const json_t *given, const char *location,
                            const char *key, sinew_error *error) {
    return sn_scene_fail(scene, error, location, "a %s needs '%s'",
                         json_string_value(json_object_get(given, "shape")), key);
}

static sinew_status need_point(const sinew_scene *scene, const json_t *given, const char *location,
                               const char *key, double value[3], sinew_error *error) {
    const json_t *found = json_object_get(given, key);
    if (!found) return missing(scene, given, location, key, error);
    sn_json_point(found, value);
    return SINEW_OK;
}

static sinew_status need_number(const sinew_scene *scene, const json_t *given, const char *location,
                                const char *key, double *value, sinew_error *error) {
    const json_t *found = json_object_get(given, key);
    if (!found) return missing(scene, given, location, key, error);
    *value = json_number_value(found);
    return SINEW_OK;
}

static void middle_of(int count, const double *positions, double middle[3]) {
    memset(middle, 0, 3 * sizeof *middle);
    for (int i = 0; i < 3 * count; i++) middle[i % 3] += positions[i] / count;
}

static sinew_status make_mesh(const sinew_scene *scene, const sinew_loader *loader,
                              const json_t *given, const char *location, sn_scene_obstacle *o,
                              sinew_error *error) {
    const char *file = json_string_value(json_object_get(given, "file"));
    const char *frames = json_string_value(json_object_get(given, "frames"));
    if (!file) return sn_scene_fail(scene, error, location, "a mesh needs 'file'");
    sinew_mesh *mesh = NULL;
    sinew_status status = sn_load_mesh(scene, loader, file, &mesh, error);
    if (status == SINEW_OK) {
        o->vertex_count = mesh->vertex_count;
        middle_of(mesh->vertex_count, mesh->positions, o->middle);
        status = sinew_obstacle_create_mesh(mesh, &o->obstacle, error);
    }
    if (status == SINEW_OK && frames)
        status = sn_load_frames(scene, loader, frames, mesh, &o->frames, error);
    if (status == SINEW_OK && frames && o->frames->frame_count < 1)
        status = sn_scene_fail(scene, error, location, "its point cache has no frames");
    sinew_mesh_destroy(mesh);
    return status;
}

/* The faces of one part as a mesh of its own. */
static sinew_status part_mesh(const sinew_mesh *mesh, int part, int count, const int *vertices,
                              sinew_mesh **made, sinew_error *error) {
    int *index = SN_NEW(int, mesh->vertex_count);
    double *positions = SN_NEW(double, 3 * (size_t)count);
    int *start = SN_NEW(int, mesh->face_count + 1);
    int *corners = SN_NEW(int, mesh->face_start[mesh->face_count]);
    sinew_status status = SINEW_OK;
    if (!index || !positions || !start || !corners) status = sn_no_memory(error);
    if (status == SINEW_OK) {
        for (int i = 0; i < count; i++) {
            index[vertices[i]] = i;
            memcpy(positions + 3 * (size_t)i, mesh->positions + 3 * (size_t)vertices[i],
                   3 * sizeof *positions);
        }
        int faces = 0, used = 0;
        start[0] = 0;
        for (int f = 0; f < mesh->face_count; f++) {
            if ((mesh->face_part ? mesh->face_part[f] : 0) != part) continue;
            for (int c = mesh->face_start[f]; c < mesh->face_start[f + 1]; c++)
                corners[used++] = index[mesh->face_vertices[c]];
            start[++faces] = used;
        }
        status = sinew_mesh_create(count, positions, faces, start, corners, made, error);
    }
    sn_free(index);
    sn_free(positions);
    sn_free(start);
    sn_free(corners);
    return status;
}

static sinew_status make_part(const sinew_scene *scene, const json_t *given, const char *location,
                              const sinew_rig *rig, sn_scene_obstacle *o, sinew_error *error) {
    const char *name = json_string_value(json_object_get(given, "name"));
    if (!name) return sn_scene_fail(scene, error, location, "a part needs 'name'");
    const sinew_mesh *mesh = rig->neutral;
    char selection[256];
    snprintf(selection, sizeof selection, "part:%s", name);
    SN_TRY(
        sinew_select(rig, selection, NULL, NULL, NULL, &o->part_vertices, &o->vertex_count, error));
    o->part = 0;
    while (strcmp(mesh->part_names[o->part], name)) o->part++;
    sinew_mesh *surface;
    SN_TRY(part_mesh(mesh, o->part, o->vertex_count, o->part_vertices, &surface, error));
    middle_of(surface->vertex_count, surface->positions, o->middle);
    sinew_status status = sinew_obstacle_create_mesh(surface, &o->obstacle, error);
    sinew_mesh_destroy(surface);
    return status;
}

static sinew_status make_capsule(const sinew_scene *scene, const json_t *given,
                                 const char *location, bool flat, sn_scene_obstacle *o,
                                 sinew_error *error) {
    double a[3], b[3], radius = 0;
    SN_TRY(need_point(scene, given, location, "from", a, error));
    SN_TRY(need_point(scene, given, location, "to", b, error));
    SN_TRY(need_number(scene, given, location, "radius", &radius, error));
    for (int c = 0; c < 3; c++) o->middle[c] = 0.5 * (a[c] + b[c]);
    return flat ? sinew_obstacle_create_cylinder(a, b, radius, &o->obstacle, error)
                : sinew_obstacle_create_capsule(a, b, radius, &o->obstacle, error);
}

static sinew_status make_shape(const sinew_scene *scene, const sinew_loader *loader,
                               const json_t *given, const char *location, const sinew_rig *rig,
                               sn_scene_obstacle *o, sinew_error *error) {
    const char *shape = json_string_value(json_object_get(given, "shape"));
    double p[3], q[3];
    o->part = -1;
    if (!strcmp(shape, "mesh")) return make_mesh(scene, loader, given, location, o, error);
    if (!strcmp(shape, "part")) return make_part(scene, given, location, rig, o, error);
    if (!strcmp(shape, "capsule") || !strcmp(shape, "cylinder"))
        return make_capsule(scene, given, location, !strcmp(shape, "cylinder"), o, error);
    bool plane = !strcmp(shape, "plane");
    SN_TRY(need_point(scene, given, location, plane ? "point" : "center", p, error));
    memcpy(o->middle, p, sizeof p);
    if (!strcmp(shape, "sphere")) {
        double radius = 0;
        SN_TRY(need_number(scene, given, location, "radius", &radius, error));
        return sinew_obstacle_create_sphere(p, radius, &o->obstacle, error);
    }
    SN_TRY(need_point(scene, given, location, plane ? "normal" : "half", q, error));
    return plane ? sinew_obstacle_create_plane(p, q, &o->obstacle, error)
                 : sinew_obstacle_create_box(p, q, &o->obstacle, error);
}

/* ---- the list -------------------------------------------------------------------------------- */

static void free_obstacle(sn_scene_obstacle *o) {
    json_decref(o->given);
    sinew_obstacle_destroy(o->obstacle);
    sinew_frames_destroy(o->frames);
    sn_free(o->part_vertices);
}

/* The obstacle before of the same shape whose shape was not taken yet, or NULL. */
static sn_scene_obstacle *find_same(sn_obstacles *before, const json_t *given, const bool *taken) {
    for (int k = 0; k < before->count; k++)
        if (!taken[k] && json_equal(before->list[k].given, given)) return &before->list[k];
    return NULL;
}

static sinew_status read_one(const sinew_scene *scene, const sinew_rig *rig,
                             const sinew_loader *loader, size_t index, const json_t *entry,
                             sn_obstacles *before, bool *taken, sn_scene_obstacle *o,
                             sinew_error *error) {
    char location[64];
    snprintf(location, sizeof location, "/obstacles/%zu", index);
    json_t *given = sn_json_deep_copy(entry);
    if (!given) return sn_no_memory(error);
    json_object_del(given, "motion");
    sn_scene_obstacle *same = find_same(before, given, taken);
    sinew_error why = {SINEW_OK, ""};
    sinew_status status = SINEW_OK;
    if (same) {
        *o = *same;
        o->motion = (sn_motion){0};
        o->fresh = false;
        taken[same - before->list] = true;
        json_decref(given);
    } else {
        o->given = given;
        o->fresh = true;
        status = make_shape(scene, loader, given, location, rig, o, &why);
    }
    o->index = (int)index;
    if (status == SINEW_OK)
        status =
            sn_motion_read(scene, json_object_get(entry, "motion"), location, &o->motion, &why);
    /* Failures of the scene already name their location; those of shapes and files do not. */
    if (status != SINEW_OK && strstr(why.message, location))
        sn_fail(error, status, "%s", why.message);
    else if (status != SINEW_OK)
        sn_fail(error, status, "%.90s: %s: %.400s", scene->name, location, why.message);
    return status;
}

sinew_status sn_obstacles_update(const sinew_scene *scene, const sinew_rig *rig,
                                 const sinew_loader *loader, sn_obstacles *obstacles,
                                 sinew_error *error) {
    json_t *given = (json_t *)sn_scene_at(scene, "obstacles"), *entry;
    size_t total = json_array_size(given), index;
    sn_obstacles made = {.list = SN_NEW0(sn_scene_obstacle, total),
                         .pointers = SN_NEW0(sinew_obstacle *, total)};
    bool *taken = SN_NEW0(bool, obstacles->count + 1);
    sinew_status status = made.list && made.pointers && taken ? SINEW_OK : sn_no_memory(error);
    int largest = 0;
    json_array_foreach(given, index, entry) {
        if (status != SINEW_OK) break;
        if (json_is_false(json_object_get(entry, "enabled"))) continue;
        sn_scene_obstacle *o = &made.list[made.count++];
        status = read_one(scene, rig, loader, index, entry, obstacles, taken, o, error);
        made.pointers[made.count - 1] = o->obstacle;
        if (o->vertex_count > largest) largest = o->vertex_count;
    }
    if (status == SINEW_OK && !(made.positions = SN_NEW(double, 3 * (size_t)largest)))
        status = sn_no_memory(error);
    /* What was taken over belongs to the one that stays. */
    sn_obstacles *leaving = status == SINEW_OK ? obstacles : &made;
    for (int k = 0; leaving->list && k < leaving->count; k++) {
        sn_motion_free(&leaving->list[k].motion);
        if (status == SINEW_OK ? !taken[k] : leaving->list[k].fresh)
            free_obstacle(&leaving->list[k]);
    }
    sn_free(leaving->list), sn_free(leaving->pointers), sn_free(leaving->positions);
    sn_free(taken);
    if (status == SINEW_OK) *obstacles = made;
    return status;
}

void sn_obstacles_free(sn_obstacles *obstacles) {
    for (int i = 0; obstacles->list && i < obstacles->count; i++) {
        sn_motion_free(&obstacles->list[i].motion);
        free_obstacle(&obstacles->list[i]);
    }
    sn_free(obstacles->list);
    sn_free(obstacles->pointers);
    sn_free(obstacles->positions);
    memset(obstacles, 0, sizeof *obstacles);
}

/* ---- motion ---------------------------------------------------------------------------------- */

static sn_vec3 key_vector(const json_t *key, const char *name) {
    const json_t *value = json_object_get(key, name);
    double p[3] = {0, 0, 0};
    if (value) sn_json_point(value, p);
    return sn_v3(p[0], p[1], p[2]);
}

sinew_status sn_motion_read(const sinew_scene *scene, const json_t *list, const char *location,
                            sn_motion *motion, sinew_error *error) {
    size_t count = json_array_size(list);
    *motion = (sn_motion){0};
    if (count == 0) return SINEW_OK;
    motion->times = SN_NEW(double, count);
    motion->move = SN_NEW(sn_vec3, count), motion->turn = SN_NEW(sn_vec3, count);
    sinew_status status =
        motion->times && motion->move && motion->turn ? SINEW_OK : sn_no_memory(error);
    for (size_t i = 0; status == SINEW_OK && i < count; i++) {
        const json_t *key = json_array_get(list, i);
        motion->times[i] = json_number_value(json_object_get(key, "time"));
        motion->move[i] = key_vector(key, "move"), motion->turn[i] = key_vector(key, "turn");
        if (i > 0 && !(motion->times[i] > motion->times[i - 1])) {
            char here[128];
            snprintf(here, sizeof here, "%.80s/motion/%zu/time", location, i);
            status = sn_scene_fail(scene, error, here, "times must increase");
        }
    }
    motion->count = (int)count;
    if (status != SINEW_OK) sn_motion_free(motion);
    return status;
}

void sn_motion_free(sn_motion *motion) {
    sn_free(motion->times), sn_free(motion->move), sn_free(motion->turn);
    *motion = (sn_motion){0};
}

void sn_motion_at(const sn_motion *motion, double time, sn_vec3 *move, sn_vec3 *turn) {
    int next = 0, last = motion->count - 1;
    while (next <= last && motion->times[next] <= time) next++;
    int a = next > 0 ? next - 1 : 0, b = next <= last ? next : last;
    double start = motion->times[a], end = motion->times[b];
    double t = end > start ? fmin(fmax((time - start) / (end - start), 0), 1) : 0;
    *move = sn_lerp(motion->move[a], motion->move[b], t);
    *turn = sn_lerp(motion->turn[a], motion->turn[b], t);
}

static void move_rigidly(const sn_scene_obstacle *o, double time) {
    sn_vec3 move, turn, middle = sn_v3(o->middle[0], o->middle[1], o->middle[2]);
    sn_motion_at(&o->motion, time, &move, &turn);
    sn_mat3 rotation = sn_rotation_exp(sn_scale(acos(-1.0) / 180, turn));
    sn_vec3 shift = sn_add(sn_sub(middle, sn_mat3_apply(rotation, middle)), move);
    double rows[9], translation[3] = {shift.x, shift.y, shift.z};
    memcpy(rows, rotation.m, sizeof rows);
    sinew_obstacle_move(o->obstacle, rows, translation);
}

/* Frames of a mesh, linear in between. */
static sinew_status follow_frames(const sn_scene_obstacle *o, double time, double *positions,
                                  sinew_error *error) {
    const sinew_frames *f = o->frames;
    double at = fmin(fmax((time - f->start) * f->rate, 0), f->frame_count - 1);
    int k = (int)at, next = k + 1 < f->frame_count ? k + 1 : k;
    size_t stride = 3 * (size_t)f->vertex_count;
    for (size_t i = 0; i < stride; i++)
        positions[i] = (1 - (at - k)) * f->positions[(size_t)k * stride + i] +
                       (at - k) * f->positions[(size_t)next * stride + i];
    return sinew_obstacle_set_positions(o->obstacle, positions, error);
}

static sinew_status follow_part(const sn_scene_obstacle *o, const double *shape, double *positions,
                                sinew_error *error) {
    for (int i = 0; i < o->vertex_count; i++)
        memcpy(positions + 3 * (size_t)i, shape + 3 * (size_t)o->part_vertices[i],
               3 * sizeof *positions);
    return sinew_obstacle_set_positions(o->obstacle, positions, error);
}

sinew_status sn_obstacles_move(sn_obstacles *obstacles, double time, const double *shape,
                               sinew_error *error) {
    for (int i = 0; i < obstacles->count; i++) {
        const sn_scene_obstacle *o = &obstacles->list[i];
        if (o->frames) SN_TRY(follow_frames(o, time, obstacles->positions, error));
        if (o->part >= 0 && shape) SN_TRY(follow_part(o, shape, obstacles->positions, error));
        if (o->motion.count) move_rigidly(o, time);
    }
    return SINEW_OK;
}
