#include "session/locks.h"

#include <math.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/monitor.h"
#include "base/status.h"
#include "session/clip.h"
#include "session/report.h"
#include "sinew/io.h"
#include "sinew/selection.h"

static sinew_status parse_axes(const char *text, unsigned *axes, sinew_error *error) {
    *axes = text ? 0 : SINEW_AXIS_ALL;
    for (const char *c = text; c && *c; c++) {
        const char *known = strchr("xyz", *c);
        if (!known)
            return sn_fail(error, SINEW_BAD_INPUT, "'%.40s' is no choice of the axes x, y, z",
                           text);
        *axes |= 1u << (known - "xyz");
    }
    return *axes ? SINEW_OK : sn_fail(error, SINEW_BAD_INPUT, "no axis of x, y, z is locked");
}

/* Vertices of positive value, with the value as strength. */
static sinew_status read_mask(const sinew_rig *rig, const char *path, const char *folder,
                              int **vertices, double **strengths, int *count, sinew_error *error) {
    int n = rig->neutral->vertex_count;
    char *joined = folder && *folder && *path != '/' ? sn_path_join(folder, path) : sn_strdup(path);
    double *values = SN_NEW0(double, n);
    *vertices = SN_NEW(int, n);
    *strengths = SN_NEW(double, n);
    *count = 0;
    sinew_status status =
        joined && values && *vertices && *strengths ? SINEW_OK : sn_no_memory(error);
    if (status == SINEW_OK) status = sinew_vertex_values_read(joined, n, values, error);
    for (int v = 0; status == SINEW_OK && v < n; v++)
        if (values[v] != 0) {
            (*vertices)[*count] = v;
            (*strengths)[(*count)++] = values[v];
        }
    sn_free(joined);
    sn_free(values);
    return status;
}

sinew_status sn_locks_select(sinew_locks *locks, const sinew_rig *rig, const char *name,
                             const char *select, const char *axes, const char *folder,
                             const double *weights, sinew_error *error) {
    unsigned mask;
    int *vertices = NULL, count = 0;
    double *strengths = NULL;
    SN_TRY(parse_axes(axes, &mask, error));
    sinew_status status =
        strncmp(select, "mask:", 5) == 0
            ? read_mask(rig, select + 5, folder, &vertices, &strengths, &count, error)
            : sinew_select(rig, select, folder, &vertices, &count, error);
    if (status == SINEW_OK)
        status = sinew_locks_add(locks, name, count, vertices, mask, strengths, weights, error);
    sn_free(vertices);
    sn_free(strengths);
    return status;
}

/* ---- the scene's locks ----------------------------------------------------------------------- */

static int enabled_locks(const sinew_scene *scene) {
    int count = 0;
    size_t index;
    json_t *lock;
    json_array_foreach((json_t *)sn_scene_at(scene, "locks"), index, lock) count +=
        !json_is_false(json_object_get(lock, "enabled"));
    return count;
}

static void read_options(const json_t *given, sinew_lock_options *options) {
    const json_t *value;
    if ((value = json_object_get(given, "alpha"))) {
        options->alpha = json_number_value(value);
        options->alpha_relative = false;
    }
    if ((value = json_object_get(given, "strength"))) {
        options->alpha = json_number_value(value);
        options->alpha_relative = true;
    }
    if ((value = json_object_get(given, "ridge"))) options->ridge = json_number_value(value);
    if ((value = json_object_get(given, "dead_zone")))
        options->dead_zone = json_number_value(value);
    if ((value = json_object_get(given, "few"))) options->few = json_number_value(value);
    if (json_is_true(json_object_get(given, "trade"))) options->mode = SINEW_LOCK_MODE_TRADE;
    if (json_is_true(json_object_get(given, "unbounded"))) options->bounded = false;
}

/* Weights of the pose at the moment of locking. */
static sinew_status lock_pose(const sinew_scene *scene, const sinew_rig *rig, const sn_clip *clip,
                              const sinew_curves *take, double *pose, sinew_error *error) {
    const json_t *given = sn_scene_at(scene, "attenuation");
    const json_t *from = json_object_get(given, "from"), *at = json_object_get(given, "at");
    if (from) return sn_scene_weights(scene, rig, from, "attenuation.from", pose, error);
    double when = json_number_value(at), first = clip->times[0];
    double last = clip->times[clip->frame_count - 1];
    if (at && !(when >= first && when <= last))
        return sn_scene_fail(scene, error, "attenuation.at", "%g s: the take lasts from %g to %g s",
                             when, first, last);
    if (at)
        sinew_curves_sample(take, when, pose);
    else if (clip->frame_count == 1)
        sinew_rig_rest_weights(rig, pose);
    else
        memcpy(pose, clip->weights, sizeof(double) * (size_t)rig->slider_count);
    return SINEW_OK;
}

static sinew_status add_locks(const sinew_scene *scene, const sinew_rig *rig, const double *pose,
                              sinew_locks *locks, sinew_error *error) {
    size_t index;
    json_t *lock;
    json_array_foreach((json_t *)sn_scene_at(scene, "locks"), index, lock) {
        if (json_is_false(json_object_get(lock, "enabled"))) continue;
        sinew_error own = {0};
        sinew_status status = sn_locks_select(
            locks, rig, json_string_value(json_object_get(lock, "name")),
            json_string_value(json_object_get(lock, "select")),
            json_string_value(json_object_get(lock, "axes")), scene->folder, pose, &own);
        if (status != SINEW_OK)
            return sn_fail(error, status, "%s: locks[%zu]: %.300s", scene->name, index,
                           own.message);
    }
    return SINEW_OK;
}

/* Sliders of "keep", or NULL when the scene names none. */
static sinew_status read_keep(const sinew_scene *scene, const sinew_rig *rig, bool **keep,
                              sinew_error *error) {
    const json_t *names = json_object_get(sn_scene_at(scene, "attenuation"), "keep");
    *keep = NULL;
    if (!names) return SINEW_OK;
    *keep = SN_NEW0(bool, rig->slider_count);
    if (!*keep) return sn_no_memory(error);
    size_t index;
    json_t *name;
    json_array_foreach((json_t *)names, index, name) {
        int sliders[2], count = sinew_rig_match(rig, json_string_value(name), sliders);
        if (count == 0)
            return sn_scene_fail(scene, error, "attenuation.keep", "the rig has no slider '%s'",
                                 json_string_value(name));
        for (int i = 0; i < count; i++) (*keep)[sliders[i]] = true;
    }
    return SINEW_OK;
}

static sinew_status attenuate(sinew_locks *locks, const sinew_rig *rig, const sinew_curves *take,
                              const double *pose, const bool *keep, sn_clip *clip,
                              const sinew_monitor *monitor, sinew_error *error) {
    double asked, given;
    sinew_status status;
    if (clip->frame_count == 1) {
        sinew_lock_info info = {.size = sizeof info};
        status = sinew_locks_apply(locks, pose, clip->weights, clip->weights, &info, error);
        asked = info.asked_motion, given = info.given_motion;
        if (info.conflict)
            sn_log(monitor, SINEW_LOG_LEVEL_WARNING,
                   "the edit is the very motion that is locked: little of it could be cancelled");
    } else {
        sinew_lock_filter_info info = {.size = sizeof info};
        sinew_curves *filtered;
        status = sinew_locks_filter(locks, take, keep, &filtered, &info, monitor, error);
        if (status != SINEW_OK && status != SINEW_NOT_CONVERGED) return status;
        memcpy(clip->weights, filtered->values,
               sizeof(double) * (size_t)clip->frame_count * (size_t)rig->slider_count);
        sinew_curves_destroy(filtered);
        asked = info.asked_motion, given = info.given_motion;
    }
    if (status == SINEW_NOT_CONVERGED) {
        sn_log(monitor, SINEW_LOG_LEVEL_WARNING, "some frames of the locks did not converge");
        status = SINEW_OK;
    }
    sn_log(monitor, SINEW_LOG_LEVEL_INFO, "locked motion (RMS) %.4g, without locks %.4g", given,
           asked);
    return status;
}

sinew_status sn_locks_apply(const sinew_scene *scene, const sinew_rig *rig, sn_clip *clip,
                            const sinew_monitor *monitor, sn_job_locks *held, sinew_error *error) {
    *held = (sn_job_locks){0};
    if (enabled_locks(scene) == 0 || !clip->weights) return SINEW_OK;
    const json_t *given = sn_scene_at(scene, "attenuation");
    sinew_curves *take = NULL;
    sn_job_locks made = {0};
    bool *keep = NULL;
    double *pose = SN_NEW(double, rig->slider_count);
    sinew_status status = pose ? SINEW_OK : sn_no_memory(error);
    if (status == SINEW_OK)
        status = sinew_curves_create(rig->slider_count, clip->frame_count, &take, error);
    for (int i = 0; status == SINEW_OK && i < rig->slider_count; i++)
        status = sinew_curves_set_name(take, i, rig->sliders[i].name, error);
    if (status == SINEW_OK) {
        memcpy(take->times, clip->times, sizeof(double) * (size_t)clip->frame_count);
        memcpy(take->values, clip->weights,
               sizeof(double) * (size_t)clip->frame_count * (size_t)rig->slider_count);
        status = lock_pose(scene, rig, clip, take, pose, error);
    }
    if (status == SINEW_OK) status = sinew_slider_space_create(rig, &made.space, error);
    sinew_lock_options options;
    sinew_lock_options_init(&options);
    if (status == SINEW_OK) status = sinew_locks_create(made.space, &options, &made.locks, error);
    if (status == SINEW_OK) status = add_locks(scene, rig, pose, made.locks, error);
    if (status == SINEW_OK) {
        if (json_is_true(json_object_get(given, "published")))
            sinew_lock_options_set_published(&options, made.space,
                                             (int)sinew_locks_coordinates(made.locks));
        read_options(given, &options);
        status = sinew_locks_set_options(made.locks, &options, error);
    }
    if (status == SINEW_OK) status = read_keep(scene, rig, &keep, error);
    if (status == SINEW_OK)
        status = attenuate(made.locks, rig, take, pose, keep, clip, monitor, error);
    sn_free(pose);
    sn_free(keep);
    sinew_curves_destroy(take);
    if (status == SINEW_OK && json_is_true(json_object_get(given, "corrective")))
        *held = made;
    else
        sn_job_locks_free(&made);
    return status;
}

sinew_status sn_locks_correct(const sn_job_locks *held, double *positions, json_t *fields,
                              sinew_error *error) {
    double strain;
    if (!held->locks) return SINEW_OK;
    SN_TRY(sinew_locks_correct(held->locks, positions, &strain, error));
    if (fields) json_object_set_new(fields, "corrective_strain", sn_report_number(strain));
    return SINEW_OK;
}

void sn_job_locks_free(sn_job_locks *held) {
    sinew_locks_destroy(held->locks);
    sinew_slider_space_destroy(held->space);
    *held = (sn_job_locks){0};
}
