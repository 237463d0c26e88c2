#include "session/locks.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/monitor.h"
#include "base/status.h"
#include "session/clip.h"
#include "session/report.h"
#include "sinew/selection.h"

bool sn_scene_has_locks(const sinew_scene *scene) {
    size_t index;
    json_t *lock;
    json_array_foreach((json_t *)sn_scene_at(scene, "locks"), index, lock) {
        if (!json_is_false(json_object_get(lock, "enabled"))) return true;
    }
    return false;
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

static sinew_status pose_at(const sinew_scene *scene, const sn_clip *clip, const sinew_curves *take,
                            const json_t *at, const char *location, double *pose,
                            sinew_error *error) {
    double when = json_number_value(at), first = clip->times[0];
    double last = clip->times[clip->frame_count - 1];
    if (!(when >= first && when <= last))
        return sn_scene_fail(scene, error, location, "%g s: the take lasts from %g to %g s", when,
                             first, last);
    sinew_curves_sample(take, when, pose);
    return SINEW_OK;
}

/* Weights of the pose at the moment of locking. */
static sinew_status lock_pose(const sinew_scene *scene, const sinew_rig *rig, const sn_clip *clip,
                              const sinew_curves *take, double *pose, sinew_error *error) {
    const json_t *given = sn_scene_at(scene, "attenuation");
    const json_t *from = json_object_get(given, "from"), *at = json_object_get(given, "at");
    if (from) return sn_scene_weights(scene, rig, from, "/attenuation/from", pose, error);
    if (at) return pose_at(scene, clip, take, at, "/attenuation/at", pose, error);
    if (clip->frame_count == 1)
        sinew_rig_rest_weights(rig, pose);
    else
        memcpy(pose, clip->asked, sizeof(double) * (size_t)rig->slider_count);
    return SINEW_OK;
}

/* The pose of one lock: its own, or that of all. */
static sinew_status own_pose(const sinew_scene *scene, const sinew_rig *rig, const sn_clip *clip,
                             const sinew_curves *take, const json_t *lock, int index,
                             const double *common, double *pose, sinew_error *error) {
    const json_t *weights = json_object_get(lock, "weights"), *at = json_object_get(lock, "at");
    char location[48];
    snprintf(location, sizeof location, "/locks/%d", index);
    if (weights && at) return sn_scene_fail(scene, error, location, "has both weights and a time");
    if (weights) return sn_scene_weights(scene, rig, weights, location, pose, error);
    if (at) return pose_at(scene, clip, take, at, location, pose, error);
    memcpy(pose, common, sizeof(double) * (size_t)rig->slider_count);
    return SINEW_OK;
}

static sinew_status add_locks(const sinew_scene *scene, const sinew_rig *rig,
                              const sinew_loader *loader, const sn_clip *clip,
                              const sinew_curves *take, double *pose, sn_session_locks *made,
                              sinew_error *error) {
    size_t index;
    json_t *lock;
    json_array_foreach((json_t *)sn_scene_at(scene, "locks"), index, lock) {
        if (json_is_false(json_object_get(lock, "enabled"))) continue;
        sinew_error own = {0};
        SN_TRY(own_pose(scene, rig, clip, take, lock, (int)index, made->pose, pose, error));
        SN_TRY(sn_lock_times_add(&made->times, scene, lock, (int)index, error));
        sinew_status status = sinew_locks_add_selection(
            made->locks, rig, json_string_value(json_object_get(lock, "name")),
            json_string_value(json_object_get(lock, "select")),
            json_string_value(json_object_get(lock, "axes")), scene->folder, loader, pose, NULL,
            &own);
        if (status != SINEW_OK)
            return sn_fail(error, status, "%s: /locks/%zu: %.300s", scene->name, index,
                           own.message);
    }
    if (made->times.timed && made->corrective)
        return sn_scene_fail(scene, error, "/attenuation/corrective",
                             "locks with times cannot be corrected at the vertices");
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
            return sn_scene_fail(scene, error, "/attenuation/keep", "the rig has no slider '%s'",
                                 json_string_value(name));
        for (int i = 0; i < count; i++) (*keep)[sliders[i]] = true;
    }
    return SINEW_OK;
}

static sinew_status make_take(const sinew_rig *rig, const sn_clip *clip, sinew_curves **take,
                              sinew_error *error) {
    SN_TRY(sinew_curves_create(rig->slider_count, clip->frame_count, take, error));
    for (int i = 0; i < rig->slider_count; i++)
        SN_TRY(sinew_curves_set_name(*take, i, rig->sliders[i].name, error));
    memcpy((*take)->times, clip->times, sizeof(double) * (size_t)clip->frame_count);
    memcpy((*take)->values, clip->asked,
           sizeof(double) * (size_t)clip->frame_count * (size_t)rig->slider_count);
    return SINEW_OK;
}

sinew_status sn_locks_create(const sinew_scene *scene, const sinew_rig *rig,
                             const sinew_loader *loader, const sn_clip *clip,
                             sn_session_locks *locks, sinew_error *error) {
    *locks = (sn_session_locks){0};
    const json_t *given = sn_scene_at(scene, "attenuation");
    sn_session_locks made = {.corrective = json_is_true(json_object_get(given, "corrective"))};
    sinew_curves *take = NULL;
    made.pose = SN_NEW(double, rig->slider_count);
    double *own = SN_NEW(double, rig->slider_count);
    sinew_status status = made.pose && own ? SINEW_OK : sn_no_memory(error);
    if (status == SINEW_OK) status = make_take(rig, clip, &take, error);
    if (status == SINEW_OK) status = lock_pose(scene, rig, clip, take, made.pose, error);
    if (status == SINEW_OK) status = sinew_slider_space_create(rig, &made.space, error);
    sinew_lock_options options;
    sinew_lock_options_init(&options);
    if (status == SINEW_OK) status = sinew_locks_create(made.space, &options, &made.locks, error);
    if (status == SINEW_OK) status = add_locks(scene, rig, loader, clip, take, own, &made, error);
    sinew_curves_destroy(take);
    sn_free(own);
    if (status == SINEW_OK) {
        if (json_is_true(json_object_get(given, "published")))
            sinew_lock_options_set_published(&options, made.space,
                                             (int)sinew_locks_coordinates(made.locks));
        read_options(given, &options);
        status = sinew_locks_set_options(made.locks, &options, error);
    }
    if (status == SINEW_OK) status = read_keep(scene, rig, &made.keep, error);
    if (status != SINEW_OK) {
        sn_locks_free(&made);
        return status;
    }
    *locks = made;
    return SINEW_OK;
}

static sinew_status filter_take(const sn_session_locks *locks, const sinew_rig *rig, sn_clip *clip,
                                double *asked, double *given, const sinew_monitor *monitor,
                                sinew_error *error) {
    sinew_lock_filter_info info = {.size = sizeof info};
    sinew_curves *take = NULL, *filtered;
    sinew_status status = make_take(rig, clip, &take, error);
    if (status == SINEW_OK)
        status = sn_lock_times_filter(&locks->times, locks->locks, take, locks->keep, &filtered,
                                      &info, monitor, error);
    sinew_curves_destroy(take);
    if (status != SINEW_OK && status != SINEW_NOT_CONVERGED) return status;
    memcpy(clip->weights, filtered->values,
           sizeof(double) * (size_t)clip->frame_count * (size_t)rig->slider_count);
    sinew_curves_destroy(filtered);
    *asked = info.asked_motion, *given = info.given_motion;
    return status;
}

sinew_status sn_locks_filter(const sn_session_locks *locks, const sinew_rig *rig, sn_clip *clip,
                             const sinew_monitor *monitor, sinew_error *error) {
    double asked = 0, given = 0;
    sinew_status status;
    if (clip->frame_count == 1) {
        sinew_lock_info info = {.size = sizeof info};
        status =
            sinew_locks_apply(locks->locks, locks->pose, clip->asked, clip->weights, &info, error);
        asked = info.asked_motion, given = info.given_motion;
        if (info.conflict)
            sn_log(monitor, SINEW_LOG_LEVEL_WARNING,
                   "the edit is the very motion that is locked: little of it could be cancelled");
    } else {
        status = filter_take(locks, rig, clip, &asked, &given, monitor, error);
    }
    if (status == SINEW_NOT_CONVERGED) {
        sn_log(monitor, SINEW_LOG_LEVEL_WARNING, "some frames of the locks did not converge");
        status = SINEW_OK;
    }
    if (status == SINEW_OK)
        sn_log(monitor, SINEW_LOG_LEVEL_INFO, "locked motion (RMS) %.4g, without locks %.4g", given,
               asked);
    return status;
}

sinew_status sn_locks_edit(const sn_session_locks *locks, double *weights, sinew_error *error) {
    if (!locks->locks) return SINEW_OK;
    sinew_status status =
        sinew_locks_apply(locks->locks, locks->pose, weights, weights, NULL, error);
    return status == SINEW_NOT_CONVERGED ? SINEW_OK : status;
}

sinew_status sn_locks_correct(const sn_session_locks *locks, double *positions, json_t *fields,
                              sinew_error *error) {
    double strain;
    if (!locks->locks || !locks->corrective) return SINEW_OK;
    SN_TRY(sinew_locks_correct(locks->locks, positions, &strain, NULL, error));
    if (fields) sn_figure_put(fields, "corrective_strain", sn_report_number(strain));
    return SINEW_OK;
}

void sn_locks_free(sn_session_locks *locks) {
    sinew_locks_destroy(locks->locks);
    sinew_slider_space_destroy(locks->space);
    sn_lock_times_free(&locks->times);
    sn_free(locks->pose), sn_free(locks->keep);
    *locks = (sn_session_locks){0};
}
