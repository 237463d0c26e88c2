#include "session/modal_clip.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/monitor.h"
#include "base/status.h"
#include "modal/motion.h"
#include "session/load.h"
#include "session/modal_guard.h"
#include "session/modal_poses.h"
#include "sinew/rotation.h"

/* ---- parameters --------------------------------------------------------------------------- */

static void free_values(sn_mode_values *own) {
    sn_free(own->gamma), sn_free(own->kappa), sn_free(own->amplitude), sn_free(own->fit);
}

/* Values per mode: a list as it is, or a curve over the mode number. *values stays NULL when the
 * scene gives neither. */
static sinew_status read_mode_values(const sinew_scene *scene, const char *list, const char *curve,
                                     int stride, int offset, double standard, int count,
                                     double **values, sinew_error *error) {
    double *given = NULL, numbers[256], points[256], *own = NULL;
    char where[64];
    snprintf(where, sizeof where, "/parameters/%s", curve);
    int given_count = 0;
    if (list) SN_TRY(sn_scene_numbers(scene, list, &given, &given_count, error));
    bool is_list = given_count > 0;
    if (!is_list) SN_TRY(sn_scene_numbers(scene, curve, &given, &given_count, error));
    if (given_count == 0) return SINEW_OK;
    sinew_status status = SINEW_OK;
    own = SN_NEW(double, count);
    if (!own) status = sn_no_memory(error);
    if (status == SINEW_OK && !*values) {
        *values = SN_NEW(double, (size_t)count *(size_t)stride);
        if (!*values) status = sn_no_memory(error);
        for (int i = 0; *values && i < count * stride; i++) (*values)[i] = standard;
    }
    if (status == SINEW_OK && is_list)
        for (int i = 0; i < count; i++) own[i] = given[i < given_count ? i : given_count - 1];
    if (status == SINEW_OK && !is_list) {
        if (given_count % 2 || given_count > 512) {
            status = sn_scene_fail(scene, error, where, "needs pairs of mode number and value");
        } else {
            for (int i = 0; i < given_count; i++) (i % 2 ? points : numbers)[i / 2] = given[i];
            status = sinew_modal_curve(given_count / 2, numbers, points, count, own, error);
        }
    }
    for (int i = 0; status == SINEW_OK && i < count; i++) (*values)[i * stride + offset] = own[i];
    sn_free(given), sn_free(own);
    return status;
}

static sinew_status read_parameters(const sn_model_setup *setup, const sinew_modal *modal,
                                    sinew_modal_parameters *wanted, sn_mode_values *own,
                                    sinew_error *error) {
    const sinew_scene *scene = setup->scene;
    sinew_modal_parameters_init(wanted);
    wanted->swings = sn_scene_number(scene, "swings");
    wanted->frequency = sn_scene_number(scene, "frequency");
    wanted->physical = sn_scene_flag(scene, "physical");
    wanted->damping = sn_scene_number(scene, "damping");
    wanted->alpha_mass = sn_scene_number(scene, "alpha_mass");
    wanted->alpha_stiffness = sn_scene_number(scene, "alpha_stiffness");
    wanted->rest_offset = sn_scene_number(scene, "rest_offset");
    wanted->stiffness = sn_scene_number(scene, "stiffness");
    wanted->rest = (sinew_modal_rest)sn_scene_choice(scene, "rest");
    wanted->fitting = (sinew_modal_fit)sn_scene_choice(scene, "fit");
    wanted->wiggly = sn_scene_flag(scene, "wiggly");
    wanted->ease = sn_scene_flag(scene, "ease");
    wanted->rate = sn_scene_flag(scene, "fade") ? setup->clip->rate : 0;
    if (sn_scene_flag(scene, "published"))
        wanted->rest = SINEW_MODAL_REST_SHAPE, wanted->fitting = SINEW_MODAL_FIT_PUBLISHED,
        wanted->rate = 0;
    double *gravity = NULL;
    int count = 0, modes = sn_modal_body_info(modal).modes;
    SN_TRY(sn_scene_numbers(scene, "gravity", &gravity, &count, error));
    if (count == 3) memcpy(wanted->gravity, gravity, sizeof wanted->gravity);
    sn_free(gravity);
    if (count != 0 && count != 3)
        return sn_scene_fail(scene, error, "/parameters/gravity", "needs three numbers");
    SN_TRY(read_mode_values(scene, "gamma", "gamma_curve", 1, 0, 1, modes, &own->gamma, error));
    SN_TRY(read_mode_values(scene, "kappa", "kappa_curve", 1, 0, 0, modes, &own->kappa, error));
    SN_TRY(read_mode_values(scene, "amplitude", "amplitude_curve", 1, 0, 1, modes, &own->amplitude,
                            error));
    static const char *const fits[] = {"fit_velocity_curve", "fit_frequency_curve",
                                       "fit_damping_curve"};
    for (int i = 0; i < 3; i++)
        SN_TRY(read_mode_values(scene, NULL, fits[i], 3, i, 0.25, modes, &own->fit, error));
    if (own->fit && !sn_scene_has(scene, fits[0]))
        for (int i = 0; i < modes; i++) own->fit[3 * i] = 0.5;
    wanted->count = modes;
    wanted->gamma = own->gamma, wanted->kappa = own->kappa;
    wanted->amplitude = own->amplitude, wanted->fit = own->fit;
    return SINEW_OK;
}

/* ---- keys --------------------------------------------------------------------------------- */

static void release_keys(void *object) {
    sn_modal_keys *keys = object;
    for (int k = 0; keys->poses && k < keys->count; k++) sn_free(keys->poses[k]);
    for (int k = 0; keys->velocities && k < keys->count; k++) sn_free(keys->velocities[k]);
    sn_free(keys->velocities);
    for (int k = 0; keys->inner_poses && k < keys->inner_count; k++) sn_free(keys->inner_poses[k]);
    sn_free(keys->times), sn_free(keys->inner_times);
    sn_free(keys->poses), sn_free(keys->inner_poses);
    sn_free(keys->path_file);
    sn_free(keys);
}

/* Slider weights of a key: {"weights": ...}, or those of the target "pose". */
static sinew_status key_weights(const sn_model_setup *setup, const json_t *key, int index,
                                double *weights, sinew_error *error) {
    const sinew_rig *rig = setup->rig;
    char location[64];
    snprintf(location, sizeof location, "/keys/%d", index);
    const json_t *map = json_object_get(key, "weights");
    const char *pose = json_string_value(json_object_get(key, "pose"));
    if (map && pose)
        return sn_scene_fail(setup->scene, error, location, "has both a pose and weights");
    if (map) return sn_scene_weights(setup->scene, rig, map, location, weights, error);
    for (int s = 0; s < rig->slider_count; s++) weights[s] = rig->sliders[s].rest;
    if (!pose || !strcmp(pose, "neutral") ||
        (rig->neutral->name && !strcmp(pose, rig->neutral->name)))
        return SINEW_OK;
    int target = sinew_rig_find_target(rig, pose);
    if (target < 0)
        return sn_scene_fail(setup->scene, error, location, "there is no pose '%s'", pose);
    sn_modal_pose_weights(rig, target, weights);
    return SINEW_OK;
}

/* The velocity of a key's pose: that of the rotation-aware blend while its slider weights change.
 * That of the linear blend would shrink what turns. */
static sinew_status read_velocity(const sn_model_setup *setup, const json_t *key, int index,
                                  const double *weights, sinew_rotation **rotation,
                                  double **velocity, sinew_error *error) {
    const sinew_rig *rig = setup->rig;
    const json_t *map = json_object_get(key, "velocity");
    size_t size = (size_t)3 * (size_t)rig->neutral->vertex_count;
    char location[64];
    if (!map) return SINEW_OK;
    snprintf(location, sizeof location, "/keys/%d/velocity", index);
    double *moved = SN_NEW(double, rig->slider_count), *pose = SN_NEW(double, size);
    sinew_rotation_state *state = NULL;
    *velocity = SN_NEW(double, size);
    sinew_status status = moved && pose && *velocity ? SINEW_OK : sn_no_memory(error);
    const double step = 1e-4;
    if (status == SINEW_OK)
        status = sn_scene_weights(setup->scene, rig, map, location, moved, error);
    bool moves = json_object_size(map) > 0;
    if (status == SINEW_OK && !moves) memset(*velocity, 0, size * sizeof **velocity);
    if (status == SINEW_OK && moves && !*rotation) {
        sinew_rotation_options options;
        sinew_rotation_options_init(&options);
        options.cache = setup->cache;
        status = sinew_rotation_create(rig, &options, setup->monitor, rotation, error);
    }
    if (status == SINEW_OK && moves) status = sinew_rotation_state_create(*rotation, &state, error);
    if (status == SINEW_OK && moves) {
        memcpy(moved, weights, (size_t)rig->slider_count * sizeof *moved);
        for (void *at = json_object_iter((json_t *)map); at;
             at = json_object_iter_next((json_t *)map, at)) {
            int sliders[2], count = sinew_rig_match(rig, json_object_iter_key(at), sliders);
            for (int i = 0; i < count; i++)
                moved[sliders[i]] += step * json_number_value(json_object_iter_value(at));
        }
        sinew_rotation_evaluate(*rotation, state, weights, pose);
        sinew_rotation_evaluate(*rotation, state, moved, *velocity);
        for (size_t i = 0; i < size; i++) (*velocity)[i] = ((*velocity)[i] - pose[i]) / step;
    }
    sinew_rotation_state_destroy(state);
    sn_free(moved), sn_free(pose);
    return status;
}

static sinew_status read_keys(const sn_model_setup *setup, sn_modal_keys *keys,
                              sinew_error *error) {
    const json_t *list = sn_scene_at(setup->scene, "keys");
    size_t count = json_array_size(list),
           size = (size_t)3 * (size_t)setup->rig->neutral->vertex_count;
    bool follows = sn_modal_follows(setup);
    if (count < 2 && !follows)
        return sn_scene_fail(setup->scene, error, "/keys",
                             "two or more are needed, or curves or steps that drive the rig");
    if (follows && sn_scene_has(setup->scene, "hold"))
        return sn_scene_fail(setup->scene, error, "/parameters/hold",
                             "is for keys; curves move all vertices");
    if (follows) count = 2; /* at rest: the motion has the parameters alone */
    keys->times = SN_NEW(double, count), keys->inner_times = SN_NEW(double, count);
    keys->poses = SN_NEW0(double *, count), keys->inner_poses = SN_NEW0(double *, count);
    keys->velocities = SN_NEW0(double *, count);
    double *weights = SN_NEW(double, setup->rig->slider_count);
    sinew_linear *linear = NULL;
    sinew_rotation *rotation = NULL; /* for velocities */
    sinew_status status = keys->times && keys->inner_times && keys->poses && keys->inner_poses &&
                                  keys->velocities && weights
                              ? sinew_linear_create(setup->rig, &linear, error)
                              : sn_no_memory(error);
    for (size_t k = 0; status == SINEW_OK && k < count; k++) {
        const json_t *key = json_array_get(list, k);
        bool inner = json_is_true(json_object_get(key, "inner"));
        double time = follows ? (double)k : json_number_value(json_object_get(key, "time"));
        status = key_weights(setup, key, (int)k, weights, error);
        double *pose = SN_NEW(double, size);
        if (!pose) status = sn_no_memory(error);
        if (status == SINEW_OK) sinew_linear_evaluate(linear, weights, pose);
        if (inner)
            keys->inner_times[keys->inner_count] = time,
            keys->inner_poses[keys->inner_count++] = pose;
        else
            keys->times[keys->count] = time, keys->poses[keys->count++] = pose;
        if (status != SINEW_OK || !json_object_get(key, "velocity")) continue;
        keys->has_velocities = true;
        if (inner)
            status = sn_scene_fail(setup->scene, error, "/keys", "an inner key has no velocity");
        else
            status = read_velocity(setup, key, (int)k, weights, &rotation,
                                   &keys->velocities[keys->count - 1], error);
    }
    sinew_rotation_destroy(rotation);
    sinew_linear_destroy(linear);
    sn_free(weights);
    return status;
}

static sinew_status derive_keys(const sn_model_setup *setup, sn_shared **made, sinew_error *error) {
    sn_modal_keys *keys = SN_NEW0(sn_modal_keys, 1);
    if (!keys) return sn_no_memory(error);
    keys->at_rest = sn_modal_follows(setup);
    sinew_status status = read_keys(setup, keys, error);
    if (status == SINEW_OK)
        status = sn_keep_name(&keys->path_file, sn_scene_string(setup->scene, "path"), error);
    if (status != SINEW_OK) {
        release_keys(keys);
        return status;
    }
    *made = sn_shared_new(keys, release_keys);
    return *made ? SINEW_OK : sn_no_memory(error);
}

/* Times and positions of the path's first marker. */
static sinew_status read_path(const sn_model_setup *setup, sinew_markers **path,
                              sinew_error *error) {
    const char *file = sn_scene_string(setup->scene, "path");
    if (!file) return SINEW_OK;
    SN_TRY(sn_load_markers(setup->scene, setup->loader, file, path, error));
    if ((*path)->marker_count < 1 || (*path)->time_count < 1)
        return sn_fail(error, SINEW_BAD_INPUT, "%s: no marker to follow", file);
    for (int k = 0; k < (*path)->time_count; k++) /* the first marker's rows close up */
        memmove((*path)->positions + 3 * (size_t)k,
                (*path)->positions + 3 * (size_t)k * (size_t)(*path)->marker_count,
                3 * sizeof *(*path)->positions);
    return SINEW_OK;
}

/* ---- the motion --------------------------------------------------------------------------- */

static void release_moves(void *object) {
    sn_modal_moves *moves = object;
    sinew_modal_motion_destroy(moves->motion);
    free_values(&moves->values);
    sn_free(moves);
}

/* A new motion through keys. */
static sinew_status make_motion(const sn_model_setup *setup, const sinew_modal *modal,
                                const sn_modal_keys *list, const sinew_modal_parameters *wanted,
                                sinew_modal_motion **motion, sinew_error *error) {
    sinew_markers *path = NULL;
    sinew_status status = read_path(setup, &path, error);
    if (status == SINEW_OK) {
        sinew_modal_keys keys = {.size = sizeof keys,
                                 .count = list->count,
                                 .times = list->times,
                                 .positions = (const double *const *)list->poses,
                                 .inner_count = list->inner_count,
                                 .inner_times = list->inner_times,
                                 .inner_positions = (const double *const *)list->inner_poses};
        if (list->has_velocities) keys.velocities = (const double *const *)list->velocities;
        if (path)
            keys.path_count = path->time_count, keys.path_times = path->times,
            keys.path = path->positions;
        status = sinew_modal_motion_create(modal, &keys, wanted, setup->monitor, motion, error);
    }
    sinew_markers_destroy(path);
    return status;
}

/* A body that a key wrecks, and what to do about it. */
static void warn_about_keys(const sn_model_setup *setup, const sinew_modal *modal,
                            const sinew_modal_motion *moving) {
    const double folded = 0.02, far = 0.1; /* of the tets; of the diagonal */
    sinew_modal_info body = sn_modal_body_info(modal);
    sinew_modal_motion_info motion = {.size = sizeof motion};
    sinew_modal_motion_get_info(moving, &motion);
    int worst = 0, count = 0;
    size_t key_count = json_array_size(sn_scene_at(setup->scene, "keys"));
    for (size_t k = 0; k < key_count; k++) {
        const json_t *key = json_array_get(sn_scene_at(setup->scene, "keys"), k);
        if (json_is_true(json_object_get(key, "inner"))) continue;
        if (motion.inverted[count] > motion.inverted[worst]) worst = count;
        count++;
    }
    if (count > 0 && motion.inverted[worst] > folded * body.elements)
        sn_log(setup->monitor, SINEW_LOG_LEVEL_WARNING,
               "key %d turns %d of the body's %d tets inside out, so in-betweens may be torn; set "
               "'body' to 'shell'%s",
               worst, motion.inverted[worst], body.elements,
               body.body == SINEW_MODAL_BODY_CAGE ? ", or raise 'cells'" : "");
    else if (motion.leftover > far)
        sn_log(setup->monitor, SINEW_LOG_LEVEL_WARNING,
               "the cage leaves vertices up to %.2g%% of the diagonal from their key pose, so "
               "in-betweens may be torn; raise 'cells', or set 'body' to 'shell'",
               100 * motion.leftover);
}

static bool same_values(const double *a, const double *b, int count) {
    return (!a && !b) || (a && b && !memcmp(a, b, sizeof *a * (size_t)count));
}

/* NaN differs from itself: then the motion is made again. */
static bool same_parameters(const sinew_modal_parameters *a, const sinew_modal_parameters *b) {
    bool same = a->swings == b->swings && a->frequency == b->frequency &&
                a->physical == b->physical && a->damping == b->damping &&
                a->alpha_mass == b->alpha_mass && a->alpha_stiffness == b->alpha_stiffness &&
                a->rest_offset == b->rest_offset && a->stiffness == b->stiffness &&
                a->rest == b->rest && a->fitting == b->fitting && a->wiggly == b->wiggly &&
                a->ease == b->ease && a->rate == b->rate && a->count == b->count;
    for (int c = 0; c < 3; c++) same = same && a->gravity[c] == b->gravity[c];
    return same && same_values(a->gamma, b->gamma, a->count) &&
           same_values(a->kappa, b->kappa, a->count) &&
           same_values(a->amplitude, b->amplitude, a->count) &&
           same_values(a->fit, b->fit, 3 * a->count);
}

/* before: a motion through the same keys, or NULL. moves->set, from and to specify what is wanted.
 */
static sinew_status fill_moves(const sn_model_setup *setup, const sinew_modal *modal,
                               const sn_modal_keys *keys, const sn_modal_moves *before,
                               sn_modal_moves *moves, sinew_error *error) {
    if (before) {
        SN_TRY(sn_motion_copy(before->motion, &moves->set, &moves->motion, error));
    } else {
        SN_TRY(make_motion(setup, modal, keys, &moves->set, &moves->motion, error));
        warn_about_keys(setup, modal, moves->motion);
    }
    if (setup->clip->frame_count == 0) return SINEW_OK;
    sinew_modal_state *state; /* in single precision, whatever the frames of the clip are in */
    SN_TRY(sinew_modal_state_create(modal, &state, error));
    sinew_status status = sn_modal_guard(modal, moves->motion, state, &moves->set, moves->from,
                                         moves->to, setup->monitor, &moves->damped, error);
    sinew_modal_state_destroy(state);
    return status;
}

/* The motion that the scene wants: the one before if nothing differs. Takes `wanted` over. */
static sinew_status derive_moves(const sn_model_setup *setup, const sinew_modal *modal,
                                 const sn_modal_keys *keys, sn_shared *before,
                                 sn_modal_moves wanted, sn_shared **made, sinew_error *error) {
    const sn_clip *clip = setup->clip;
    const sn_modal_moves *now = before ? before->object : NULL;
    wanted.set.wiggly = wanted.set.wiggly || keys->has_velocities; /* only a spline has them */
    wanted.from = clip->frame_count > 0 ? clip->times[0] : 0;
    wanted.to = clip->frame_count > 0 ? clip->times[clip->frame_count - 1] : 0;
    if (now && now->from == wanted.from && now->to == wanted.to &&
        same_parameters(&now->set, &wanted.set)) {
        free_values(&wanted.values);
        *made = sn_shared_hold(before);
        return SINEW_OK;
    }
    sn_modal_moves *moves = SN_NEW0(sn_modal_moves, 1);
    if (!moves) {
        free_values(&wanted.values);
        return sn_no_memory(error);
    }
    *moves = wanted;
    sinew_status status = fill_moves(setup, modal, keys, now, moves, error);
    if (status != SINEW_OK) {
        release_moves(moves);
        return status;
    }
    *made = sn_shared_new(moves, release_moves);
    return *made ? SINEW_OK : sn_no_memory(error);
}

/* ---- frames that are mixed in -------------------------------------------------------------- */

static void release_given(void *object) {
    sinew_frames_destroy(object);
}

static sinew_status derive_given(const sn_model_setup *setup, const sn_modal_clip *before,
                                 sn_modal_clip *clip, sinew_error *error) {
    const char *file = sn_scene_string(setup->scene, "mix_frames");
    int wanted = setup->clip->frame_count;
    if (!file) return SINEW_OK;
    SN_TRY(sn_keep_name(&clip->given_file, file, error));
    const sinew_frames *now = before && before->given ? before->given->object : NULL;
    if (now && now->frame_count >= wanted && sn_same_name(file, before->given_file)) {
        clip->given = sn_shared_hold(before->given);
        return SINEW_OK;
    }
    sinew_frames *given = NULL;
    SN_TRY(sn_load_frames(setup->scene, setup->loader, file, setup->rig->neutral, &given, error));
    int count = given->frame_count;
    clip->given = sn_shared_new(given, release_given);
    if (!clip->given) return sn_no_memory(error);
    if (count >= wanted) return SINEW_OK;
    return sn_fail(error, SINEW_BAD_INPUT, "%s: %d frames, the clip has %d", file, count, wanted);
}

/* ---- all of it ---------------------------------------------------------------------------- */

void sn_modal_clip_forget(void *object) {
    sn_modal_clip *clip = object;
    if (!clip) return;
    sn_modal_follow_free(&clip->follow);
    sn_shared_drop(clip->given), sn_shared_drop(clip->moves), sn_shared_drop(clip->keys);
    sn_free(clip->given_file);
    sn_free(clip);
}

static sinew_status derive(const sn_model_setup *setup, const sinew_modal *modal,
                           const sn_modal_clip *before, uint32_t changed, sn_modal_clip *clip,
                           sinew_error *error) {
    sn_modal_moves wanted = {.damped = 1};
    sinew_status status = read_parameters(setup, modal, &wanted.set, &wanted.values, error);
    const sn_modal_keys *now = before ? sn_modal_clip_keys(before) : NULL;
    bool same_keys = now && !sn_has_changed(changed, "keys") &&
                     sn_same_name(sn_scene_string(setup->scene, "path"), now->path_file) &&
                     sn_modal_follows(setup) == now->at_rest;
    if (same_keys)
        clip->keys = sn_shared_hold(before->keys);
    else if (status == SINEW_OK)
        status = derive_keys(setup, &clip->keys, error);
    if (status != SINEW_OK) {
        free_values(&wanted.values);
        return status;
    }
    SN_TRY(derive_moves(setup, modal, sn_modal_clip_keys(clip), same_keys ? before->moves : NULL,
                        wanted, &clip->moves, error));
    SN_TRY(derive_given(setup, before, clip, error));
    bool same_clip = !(changed & ~(1u << sn_scene_key_bit("parameters")));
    return sn_modal_follow_create(setup, modal, sn_modal_clip_moves(clip)->motion,
                                  before ? &before->follow : NULL, same_clip,
                                  before && before->moves == clip->moves, &clip->follow, error);
}

sinew_status sn_modal_clip_derive(const sn_model_setup *setup, const void *structure,
                                  const void *before, uint32_t changed, void **clip,
                                  sinew_error *error) {
    sn_modal_clip *made = SN_NEW0(sn_modal_clip, 1);
    if (!made) return sn_no_memory(error);
    sinew_status status = derive(setup, structure, before, changed, made, error);
    if (status != SINEW_OK)
        sn_modal_clip_forget(made);
    else
        *clip = made;
    return status;
}
