/* Modal dynamics as a model: the scene's keys and parameters in, modes and their motion into the
 * report. */
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/monitor.h"
#include "base/status.h"
#include "modal/frame.h"
#include "session/clip.h"
#include "session/device.h"
#include "session/holds.h"
#include "session/load.h"
#include "session/modal_follow.h"
#include "session/modal_guard.h"
#include "session/modal_holds.h"
#include "session/modal_poses.h"
#include "session/model.h"
#include "session/outputs.h"
#include "session/parameters.h"
#include "session/report.h"
#include "sinew/frames.h"
#include "sinew/modal.h"

typedef struct key_list {
    int count, inner_count;
    double *times, *inner_times;
    double **poses, **inner_poses;
    double **velocities; /* per key, units per second; NULL: free, at rest at the ends */
    bool has_velocities;
} key_list;

static void free_keys(key_list *keys) {
    for (int k = 0; keys->poses && k < keys->count; k++) sn_free(keys->poses[k]);
    for (int k = 0; keys->velocities && k < keys->count; k++) sn_free(keys->velocities[k]);
    sn_free(keys->velocities);
    for (int k = 0; keys->inner_poses && k < keys->inner_count; k++) sn_free(keys->inner_poses[k]);
    sn_free(keys->times), sn_free(keys->inner_times);
    sn_free(keys->poses), sn_free(keys->inner_poses);
}

/* Values per mode, of sinew_modal_parameters; NULL: the scene gives none. */
typedef struct mode_values {
    double *gamma, *kappa, *amplitude, *fit;
} mode_values;

static void free_values(mode_values *own) {
    sn_free(own->gamma), sn_free(own->kappa), sn_free(own->amplitude), sn_free(own->fit);
}

typedef struct modal_model {
    const sinew_rig *rig;
    const sinew_modal *modal;
    sinew_modal_motion *motion;
    sinew_modal_state *state;
    sinew_frames *given; /* the motion that is mixed in, or NULL */
    char *given_file, *path_file;
    sinew_modal_parameters set; /* what the motion was made with, its arrays in set_values */
    mode_values set_values;
    double from, to; /* span of the clip that the guard has seen */
    double mix;
    double damped; /* what the guard multiplied amplitudes by */
    bool fast;     /* frames of the clip in single precision, too */
    sn_modal_holds holds;
    sn_modal_follow follow; /* curves drive instead of keys */
    char *hold;             /* the parameter that the holds were made by */
    key_list keys;          /* their times and poses */
    double *shape;          /* scratch: 3 per vertex */
    double *weights;
    int *listed; /* elements that the last frame turns inside out and no key does */
    int listed_count;
    sn_device device;
    sn_gpu_motion *poses; /* of the motion on the device; NULL: it is not there */
} modal_model;

static sinew_modal_info about_body(const sinew_modal *modal) {
    sinew_modal_info info = {.size = sizeof info};
    sinew_modal_get_info(modal, &info);
    return info;
}

static sinew_modal_motion_info about_motion(const modal_model *m) {
    sinew_modal_motion_info info = {.size = sizeof info};
    sinew_modal_motion_get_info(m->motion, &info);
    return info;
}

static const sinew_parameter parameters[] = {
    INTEGER(STRUCTURE, "modes", SINEW_MODAL_MODES_DEFAULT, 1, 10000, "Number of vibration modes."),
    CHOICE(STRUCTURE, "body", 0, "auto|tets|cage|shell",
           "What vibrates: the interior as tetrahedra, a cage around the mesh, or the "
           "surface as a thick shell."),
    CHOICE(STRUCTURE, "basis", 0, "vibrations|targets",
           "Use vibration modes, or the rig's own targets instead."),
    NUMBER(NOTHING, "swings", SINEW_MODAL_SWINGS_DEFAULT, 1e-6, 1e6, "",
           "Oscillations of the slowest mode per mean key interval."),
    NUMBER(NOTHING, "frequency", 0, 0, 1e6, "Hz",
           "Frequency of the slowest mode; 0: derived from swings."),
    FLAG(NOTHING, "physical", 0,
         "Derive the frequencies from young, density and the size in meters."),
    NUMBER(NOTHING, "damping", SINEW_MODAL_DAMPING_DEFAULT, 0, 1e6, "",
           "Damping ratio; 1 is critical."),
    NUMBER(NOTHING, "alpha_mass", -1, -1, 1e9, "1/s",
           "Rayleigh damping coefficient; negative: derived from damping."),
    NUMBER(NOTHING, "alpha_stiffness", -1, -1, 1e9, "s",
           "Rayleigh damping coefficient; negative: derived from damping."),
    NUMBER(NOTHING, "rest_offset", SINEW_MODAL_REST_OFFSET_DEFAULT, 0, 1, "",
           "Two keys: 1 settles into the second key, 0 swings about the first."),
    NUMBER(NOTHING, "stiffness", 1, 1e-9, 1e9, "", "Stiffness of the whole body."),
    CHOICE(NOTHING, "rest", 0, "line|next|shape",
           "What modes vibrate about. Three or more keys: the line between keys, or the "
           "next key. shape: the rest shape, as published, for any number of keys."),
    TEXT(NOTHING, "hold", SN_HOLD_HELP),
    CHOICE(NOTHING, "fit", 0, "gentle|published|none",
           "How frequency and damping of a mode are adjusted between two keys, so that the motion "
           "starts gently."),
    FLAG(NOTHING, "published", 0,
         "Move as first published, for comparison: about the rest shape, with the published fit, "
         "and fast modes not faded."),
    FLAG(NOTHING, "wiggly", 0, "Use wiggly splines for two keys as well."),
    FLAG(NOTHING, "ease", 0, "Two keys: ease the rigid motion of parts in and out."),
    FLAG(NOTHING, "fade", 1, "Fade out modes that are too fast for the frame rate."),
    NUMBERS(NOTHING, "gravity", "", "Acceleration of parts that fly between keys: 3 numbers."),
    NUMBERS(NOTHING, "gamma", "", "Damping of each mode, -1 to 1."),
    NUMBERS(NOTHING, "kappa", "", "Stiffness of each mode, -1 to below 1."),
    NUMBERS(NOTHING, "amplitude", "", "Amplitude of each mode."),
    NUMBERS(NOTHING, "gamma_curve", "",
            "Gamma as a curve over the mode number: number, value, number, value ..."),
    NUMBERS(NOTHING, "kappa_curve", "", "Kappa as a curve over the mode number."),
    NUMBERS(NOTHING, "amplitude_curve", "", "Amplitude as a curve over the mode number."),
    NUMBERS(NOTHING, "fit_velocity_curve", "",
            "Weight of a gentle start as a curve over the mode number; applies if "
            "rest_offset < 1."),
    NUMBERS(NOTHING, "fit_frequency_curve", "",
            "Weight of the frequency in the fit as a curve over the mode number."),
    NUMBERS(NOTHING, "fit_damping_curve", "",
            "Weight of the damping in the fit as a curve over the mode number."),
    NUMBER(STRUCTURE, "young", SINEW_MODAL_YOUNG_DEFAULT, 1e-30, 1e30, "Pa",
           "Young's modulus of the material."),
    NUMBER(STRUCTURE, "poisson", SINEW_MODAL_POISSON_DEFAULT, -0.99, 0.499, "",
           "Poisson ratio of the material."),
    NUMBER(STRUCTURE, "density", SINEW_MODAL_DENSITY_DEFAULT, 1e-30, 1e30, "kg/m^3",
           "Density of the material."),
    NUMBER(STRUCTURE, "thickness", SINEW_MODAL_THICKNESS_DEFAULT, 1e-6, 1,
           "fraction of the diagonal", "Thickness of a shell."),
    INTEGER(STRUCTURE, "cells", SINEW_MODAL_CELLS_DEFAULT, 4, 400,
            "Cells of a cage along the bounding-box diagonal."),
    FLAG(NOTHING, "fast", 0,
         "Compute frames of the clip in single precision; live times always are."),
    FLAG(STRUCTURE, "fine_inside", 1, "Add interior points to improve the modes."),
    PATH(STRUCTURE, "tets",
         "Use this tetrahedral mesh instead of generating one (default: the tetrahedra of "
         "the rig file, if it has any)."),
    PATH(NOTHING, "path", "Marker file whose first marker guides the whole shape between keys."),
    PATH(STRUCTURE, "stiffness_map", "Painted stiffness factors: CSV vertex,value."),
    PATH(NOTHING, "mix_frames", "Point cache of the same clip to blend the modal motion with."),
    NUMBER(NOTHING, "mix", 1, 0, 1, "", "Weight of the modal motion in that blend."),
    SN_DEVICE_PARAMETER,
};

/* ---- set-up ------------------------------------------------------------------------------- */

static sinew_status read_options(const sn_model_setup *setup, sinew_modal_options *options,
                                 double **map, double **basis, sinew_error *error) {
    const sinew_scene *scene = setup->scene;
    sinew_modal_options_init(options);
    options->modes = sn_scene_integer(scene, "modes");
    options->body = (sinew_modal_body)sn_scene_choice(scene, "body");
    options->young = sn_scene_number(scene, "young");
    options->poisson = sn_scene_number(scene, "poisson");
    options->density = sn_scene_number(scene, "density");
    options->thickness = sn_scene_number(scene, "thickness");
    options->cells = sn_scene_integer(scene, "cells");
    options->fine_inside = sn_scene_flag(scene, "fine_inside");
    options->fast = true; /* for live times, if for nothing else */
    options->cache = setup->cache;
    SN_TRY(sn_load_vertex_map(scene, setup->loader, "stiffness_map", setup->rig, map, error));
    options->stiffness = *map;
    if (sn_scene_choice(scene, "basis") == 1) {
        const sinew_rig *rig = setup->rig;
        size_t size = (size_t)3 * (size_t)rig->neutral->vertex_count;
        *basis = SN_NEW0(double, size *(size_t)rig->target_count);
        if (!*basis) return sn_no_memory(error);
        for (int k = 0; k < rig->target_count; k++)
            for (int i = 0; i < 3 * rig->targets[k].count; i++)
                (*basis)[size * (size_t)k + 3 * (size_t)rig->targets[k].vertices[i / 3] +
                         (size_t)(i % 3)] = rig->targets[k].deltas[i];
        options->basis = *basis;
        options->basis_count = rig->target_count;
    }
    return SINEW_OK;
}

/* The tets of the scene, or those that the rig's own file has; *tets stays NULL without any. */
static sinew_status read_tets(const sn_model_setup *setup, sinew_tets **tets, sinew_error *error) {
    const char *given = sn_scene_string(setup->scene, "tets");
    const json_t *files = json_object_get(sn_scene_at(setup->scene, "rig"), "files");
    const char *own = json_string_value(json_array_get(files, 0));
    bool from_rig =
        !given && sn_scene_choice(setup->scene, "body") <= 1 && own &&
        (sn_has_ending(own, "mesh") || sn_has_ending(own, "node") || sn_has_ending(own, "ele"));
    if (!given && !from_rig) return SINEW_OK;
    sinew_status status =
        sn_load_tets(setup->scene, setup->loader, given ? given : own, tets, given ? error : NULL);
    if (status == SINEW_NO_MEMORY) return sn_no_memory(error);
    return given ? status : SINEW_OK; /* a rig's file need not have tets */
}

static sinew_status build(const sn_model_setup *setup, void **structure, sinew_error *error) {
    sinew_modal_options options;
    double *map = NULL, *basis = NULL;
    sinew_tets *tets = NULL;
    sn_modal_poses poses = {0};
    sinew_status status = read_options(setup, &options, &map, &basis, error);
    if (status == SINEW_OK) status = read_tets(setup, &tets, error);
    if (status == SINEW_OK) status = sn_modal_poses_create(setup->rig, &poses, error);
    options.tets = tets;
    options.pose_count = poses.count, options.poses = (const double *const *)poses.positions;
    if (status == SINEW_OK)
        status = sinew_modal_create(setup->rig->neutral, &options, setup->monitor,
                                    (sinew_modal **)structure, error);
    sn_free(map), sn_free(basis);
    sn_modal_poses_free(&poses);
    sinew_tets_destroy(tets);
    return status;
}

static void discard(void *structure) {
    sinew_modal_destroy(structure);
}

/* Values per mode: a list as it is, or a curve over the mode number. *values stays NULL when the
 * scene gives neither. */
static sinew_status read_mode_values(const sinew_scene *scene, const char *list, const char *curve,
                                     int stride, int place, double standard, int count,
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
    for (int i = 0; status == SINEW_OK && i < count; i++) (*values)[i * stride + place] = own[i];
    sn_free(given), sn_free(own);
    return status;
}

static sinew_status read_parameters(const sn_model_setup *setup, const sinew_modal *modal,
                                    sinew_modal_parameters *wanted, mode_values *own,
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
    int count = 0, modes = about_body(modal).modes;
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

/* Slider weights of a key: {"weights": ...}, or those of the target "pose". */
static sinew_status key_weights(const sn_model_setup *setup, const json_t *key, int index,
                                double *weights, sinew_error *error) {
    const sinew_rig *rig = setup->rig;
    char place[64];
    snprintf(place, sizeof place, "/keys/%d", index);
    const json_t *map = json_object_get(key, "weights");
    const char *pose = json_string_value(json_object_get(key, "pose"));
    if (map && pose)
        return sn_scene_fail(setup->scene, error, place, "has both a pose and weights");
    if (map) return sn_scene_weights(setup->scene, rig, map, place, weights, error);
    for (int s = 0; s < rig->slider_count; s++) weights[s] = rig->sliders[s].rest;
    if (!pose || !strcmp(pose, "neutral") ||
        (rig->neutral->name && !strcmp(pose, rig->neutral->name)))
        return SINEW_OK;
    int target = sinew_rig_find_target(rig, pose);
    if (target < 0) return sn_scene_fail(setup->scene, error, place, "there is no pose '%s'", pose);
    sn_modal_pose_weights(rig, target, weights);
    return SINEW_OK;
}

/* The velocity of a key's pose: how its slider weights change, times what they move. */
static sinew_status read_velocity(const sn_model_setup *setup, const json_t *key, int index,
                                  const sinew_linear *linear, const double *weights,
                                  const double *pose, double **velocity, sinew_error *error) {
    const sinew_rig *rig = setup->rig;
    const json_t *map = json_object_get(key, "velocity");
    size_t size = (size_t)3 * (size_t)rig->neutral->vertex_count;
    char place[64];
    if (!map) return SINEW_OK;
    snprintf(place, sizeof place, "/keys/%d/velocity", index);
    double *moved = SN_NEW(double, rig->slider_count);
    *velocity = SN_NEW(double, size);
    sinew_status status = moved && *velocity ? SINEW_OK : sn_no_memory(error);
    const double step = 1e-4; /* in-betweens and combinations are not linear in their weights */
    if (status == SINEW_OK) status = sn_scene_weights(setup->scene, rig, map, place, moved, error);
    if (status == SINEW_OK) {
        memcpy(moved, weights, (size_t)rig->slider_count * sizeof *moved);
        for (void *at = json_object_iter((json_t *)map); at;
             at = json_object_iter_next((json_t *)map, at)) {
            int sliders[2], count = sinew_rig_match(rig, json_object_iter_key(at), sliders);
            for (int i = 0; i < count; i++)
                moved[sliders[i]] += step * json_number_value(json_object_iter_value(at));
        }
        sinew_linear_evaluate(linear, moved, *velocity);
        for (size_t i = 0; i < size; i++) (*velocity)[i] = ((*velocity)[i] - pose[i]) / step;
    }
    sn_free(moved);
    return status;
}

static sinew_status read_keys(const sn_model_setup *setup, key_list *keys, sinew_error *error) {
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
            status = read_velocity(setup, key, (int)k, linear, weights, pose,
                                   &keys->velocities[keys->count - 1], error);
    }
    sinew_linear_destroy(linear);
    sn_free(weights);
    return status;
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

/* A new motion through the scene's keys, and the keys. */
static sinew_status make_motion(const sn_model_setup *setup, const sinew_modal *modal,
                                sinew_modal_motion **motion, key_list *made, sinew_error *error) {
    sinew_modal_parameters wanted;
    mode_values own = {0};
    key_list list = {0};
    sinew_markers *path = NULL;
    sinew_status status = read_parameters(setup, modal, &wanted, &own, error);
    if (status == SINEW_OK) status = read_keys(setup, &list, error);
    if (status == SINEW_OK) status = read_path(setup, &path, error);
    if (status == SINEW_OK) {
        sinew_modal_keys keys = {.size = sizeof keys,
                                 .count = list.count,
                                 .times = list.times,
                                 .positions = (const double *const *)list.poses,
                                 .inner_count = list.inner_count,
                                 .inner_times = list.inner_times,
                                 .inner_positions = (const double *const *)list.inner_poses};
        if (list.has_velocities) {
            keys.velocities = (const double *const *)list.velocities;
            wanted.wiggly = true; /* two keys have velocities in a spline only */
        }
        if (path)
            keys.path_count = path->time_count, keys.path_times = path->times,
            keys.path = path->positions;
        status = sinew_modal_motion_create(modal, &keys, &wanted, setup->monitor, motion, error);
    }
    if (status == SINEW_OK)
        *made = list;
    else
        free_keys(&list);
    sinew_markers_destroy(path);
    free_values(&own);
    return status;
}

static sinew_status read_given(const sn_model_setup *setup, sinew_frames **given,
                               sinew_error *error) {
    const char *file = sn_scene_string(setup->scene, "mix_frames");
    *given = NULL;
    if (!file) return SINEW_OK;
    SN_TRY(sn_load_frames(setup->scene, setup->loader, file, setup->rig->neutral, given, error));
    if ((*given)->frame_count >= setup->clip->frame_count) return SINEW_OK;
    return sn_fail(error, SINEW_BAD_INPUT, "%s: %d frames, the clip has %d", file,
                   (*given)->frame_count, setup->clip->frame_count);
}

static void describe(const void *model, json_t *report) {
    static const char *const bodies[] = {"auto", "tets", "cage", "shell"};
    const modal_model *m = model;
    json_t *modes = json_array(), *keys = json_array();
    sinew_modal_info info = about_body(m->modal);
    sinew_modal_motion_info motion = about_motion(m);
    for (int i = 0; i < info.modes; i++)
        json_array_append_new(
            modes, json_pack("{s:f,s:[f,f],s:f,s:f,s:f}", "frequency_hz", motion.frequency[i],
                             "moving_hz", motion.moving[2 * i], motion.moving[2 * i + 1],
                             "moving_share", motion.moving_share[i], "damping_ratio",
                             motion.damping[i], "lambda", info.lambda[i]));
    for (int k = 0; !m->follow.rotation && k < m->keys.count; k++)
        json_array_append_new(keys, json_pack("{s:f,s:f,s:i}", "time", m->keys.times[k], "captured",
                                              motion.captured[k], "inverted", motion.inverted[k]));
    json_object_set_new(report, "body",
                        json_pack("{s:s,s:s,s:s,s:i,s:i,s:i,s:i,s:f,s:f,s:b,s:f}", "kind",
                                  bodies[info.body], "why", info.why, "choice", info.choice,
                                  "links", info.links, "vertices", info.body_vertices, "elements",
                                  info.elements, "parts", info.components, "mode_residual",
                                  info.residual, "mode_seconds", info.seconds, "from_cache",
                                  info.from_cache, "leftover", motion.leftover));
    json_object_set_new(report, "amplitude_scale", json_real(m->damped));
    json_object_set_new(report, "modes", modes);
    json_object_set_new(report, "keys", keys);
}

static sinew_status share_device(sn_gpu *gpu, const void *structure, void **frames,
                                 sinew_error *error) {
    return sn_gpu_modal_share(gpu, structure, (sn_gpu_modal **)frames, error);
}

static void drop_device(void *frames) {
    sn_gpu_modal_drop(frames);
}

static void leave_device(modal_model *m) {
    sn_gpu_motion_destroy(m->poses);
    m->poses = NULL;
}

static void destroy(void *model) {
    modal_model *m = model;
    if (!m) return;
    leave_device(m);
    sn_device_close(&m->device, drop_device);
    sinew_modal_state_destroy(m->state);
    sn_modal_holds_free(&m->holds);
    sn_modal_follow_free(&m->follow);
    sinew_modal_motion_destroy(m->motion);
    sinew_frames_destroy(m->given);
    sn_free(m->given_file), sn_free(m->path_file), sn_free(m->hold);
    free_keys(&m->keys), free_values(&m->set_values);
    sn_free(m->shape), sn_free(m->weights), sn_free(m->listed);
    sn_free(m);
}

/* A body that a key wrecks, and what to do about it. */
static void warn_about_keys(const modal_model *m, const sn_model_setup *setup) {
    const double folded = 0.02, far = 0.1; /* of the tets; of the diagonal */
    sinew_modal_info body = about_body(m->modal);
    sinew_modal_motion_info motion = about_motion(m);
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

/* After the motion: its poses go to the device again when it has changed. */
static sinew_status update_device(modal_model *m, const sn_model_setup *setup, bool moved,
                                  sinew_error *error) {
    if (moved || sn_scene_choice(setup->scene, "device") != m->device.choice) leave_device(m);
    SN_TRY(sn_device_update(setup, m->modal, share_device, drop_device, &m->device, error));
    if (!m->device.gpu || m->poses) return SINEW_OK;
    sinew_error why = {0};
    sinew_status status = sn_gpu_motion_create(m->device.frames, m->motion, &m->poses, &why);
    if (status != SINEW_UNAVAILABLE)
        return status == SINEW_OK ? status : sn_fail(error, status, "%s", why.message);
    sn_device_hand_over(&m->device, why.message, setup->monitor);
    return SINEW_OK;
}

/* A new motion where the keys, or the path between them, are new, or where curves take their place.
 */
static sinew_status update_keys(modal_model *m, const sn_model_setup *setup, bool keys,
                                sinew_error *error) {
    const char *path = sn_scene_string(setup->scene, "path");
    bool followed = m->follow.rotation != NULL;
    if (!keys && m->motion && sn_same_name(path, m->path_file) &&
        followed == sn_modal_follows(setup))
        return SINEW_OK;
    sinew_modal_motion *motion = NULL;
    key_list made = {0};
    SN_TRY(make_motion(setup, m->modal, &motion, &made, error));
    leave_device(m);
    sinew_modal_motion_destroy(m->motion);
    free_keys(&m->keys), sn_free(m->weights);
    m->motion = motion, m->keys = made;
    m->set.size = 0; /* parameters are read again */
    m->weights = SN_NEW(double, about_motion(m).columns);
    if (!m->weights) return sn_no_memory(error);
    warn_about_keys(m, setup);
    return sn_keep_name(&m->path_file, path, error);
}

/* Parameters change a motion as it is, if they differ from those that it has. */
static sinew_status update_motion(modal_model *m, const sn_model_setup *setup, bool *moved,
                                  sinew_error *error) {
    sinew_modal_parameters wanted;
    mode_values own = {0};
    sinew_status status = read_parameters(setup, m->modal, &wanted, &own, error);
    wanted.wiggly = wanted.wiggly || m->keys.has_velocities;
    const sn_clip *clip = setup->clip;
    double from = clip->frame_count > 0 ? clip->times[0] : 0;
    double to = clip->frame_count > 0 ? clip->times[clip->frame_count - 1] : 0;
    *moved = status == SINEW_OK &&
             !(m->set.size && m->from == from && m->to == to && same_parameters(&wanted, &m->set));
    if (*moved) {
        m->set.size = 0; /* until all of it is done */
        status = sinew_modal_motion_update(m->motion, &wanted, error);
        m->state->exact = false; /* whatever was solved last: the guard counts the same folds */
        if (status == SINEW_OK && clip->frame_count > 0)
            status = sn_modal_guard(m->modal, m->motion, m->state, &wanted, from, to,
                                    setup->monitor, &m->damped, error);
    }
    if (*moved && status == SINEW_OK) {
        free_values(&m->set_values);
        m->set = wanted, m->set_values = own;
        m->from = from, m->to = to;
    } else {
        free_values(&own);
    }
    return status;
}

static sinew_status update_given(modal_model *m, const sn_model_setup *setup, sinew_error *error) {
    const char *file = sn_scene_string(setup->scene, "mix_frames");
    m->mix = sn_scene_number(setup->scene, "mix");
    if (sn_same_name(file, m->given_file) &&
        (!m->given || m->given->frame_count >= setup->clip->frame_count))
        return SINEW_OK;
    sinew_frames *given;
    sinew_status status = read_given(setup, &given, error);
    if (status != SINEW_OK) {
        sinew_frames_destroy(given);
        return status;
    }
    sinew_frames_destroy(m->given);
    m->given = given;
    return sn_keep_name(&m->given_file, file, error);
}

static sinew_status update(void *model, const sn_model_setup *setup, uint32_t changed,
                           sinew_error *error) {
    modal_model *m = model;
    bool keys = sn_has_changed(changed, "keys"), moved;
    bool held = sn_has_changed(changed, "pins") || sn_has_changed(changed, "orientations");
    const char *hold = sn_scene_string(setup->scene, "hold");
    SN_TRY(update_keys(m, setup, keys, error));
    SN_TRY(update_motion(m, setup, &moved, error));
    SN_TRY(update_device(m, setup, moved, error));
    if (keys || held || !sn_same_name(hold, m->hold)) {
        sn_modal_key_poses poses = {m->keys.count, m->keys.times, m->keys.poses};
        sn_modal_holds holds;
        SN_TRY(sn_modal_holds_create(setup, m->modal, &poses, &holds, error));
        sn_modal_holds_free(&m->holds);
        m->holds = holds;
        SN_TRY(sn_keep_name(&m->hold, hold, error));
    }
    SN_TRY(update_given(m, setup, error));
    m->fast = sn_scene_flag(setup->scene, "fast");
    bool clip = changed & ~(1u << sn_scene_key_bit("parameters"));
    if (!clip && !moved) return SINEW_OK;
    return sn_modal_follow_update(setup, m->modal, m->motion, clip, &m->follow, error);
}

static sinew_status create(const sn_model_setup *setup, const void *structure, void **model,
                           sinew_error *error) {
    modal_model *m = SN_NEW0(modal_model, 1);
    if (!m) return sn_no_memory(error);
    m->rig = setup->rig, m->modal = structure;
    m->shape = SN_NEW(double, (size_t)3 * (size_t)setup->rig->neutral->vertex_count);
    m->listed = SN_NEW(int, about_body(structure).elements);
    sinew_status status = m->shape && m->listed ? SINEW_OK : sn_no_memory(error);
    if (status == SINEW_OK) status = sinew_modal_state_create(structure, &m->state, error);
    if (status == SINEW_OK) status = update(m, setup, UINT32_MAX, error);
    if (status != SINEW_OK)
        destroy(m);
    else
        *model = m;
    return status;
}

/* ---- frames ------------------------------------------------------------------------------- */

static sinew_status solve(void *model, const sn_ask *ask, double *positions, sinew_result *result,
                          json_t *fields, const sinew_monitor *monitor, sinew_error *error) {
    modal_model *m = model;
    sinew_modal_constraints constraints = {.size = sizeof constraints};
    sn_modal_holds_at(&m->holds, ask->sample, ask->time, &constraints);
    if (m->given) {
        size_t size = (size_t)3 * (size_t)m->given->vertex_count;
        const float *given = m->given->positions + size * (size_t)ask->sample;
        for (size_t i = 0; i < size; i++) m->shape[i] = given[i];
        constraints.given = m->shape, constraints.share = m->mix;
    }
    m->state->exact = ask->frame >= 0 && !m->fast;
    if (m->follow.rotation && !m->given && ask->weights)
        sn_modal_follow_at(&m->follow, ask->weights, ask->sample, m->shape, &constraints);
    if (m->poses) sn_gpu_motion_attach(m->poses, m->state);
    sinew_status status = sinew_modal_frame_constrained(m->motion, m->state, &constraints,
                                                        ask->time, positions, error);
    if (m->poses) {
        sn_gpu_motion_attach(NULL, m->state); /* other frames, as the guard's, are the CPU's */
        if (status == SINEW_OK && !m->state->rebuilt)
            sn_device_hand_over(&m->device, sn_gpu_motion_why(m->poses), monitor);
    }
    if (status != SINEW_OK) return status;
    if (fields && m->device.choice)
        json_object_set_new(fields, "device", json_string(m->state->rebuilt ? "gpu" : "cpu"));
    sinew_modal_info body = about_body(m->modal);
    result->inverted = sinew_modal_inverted(m->motion, m->state);
    m->listed_count = result->inverted == 0
                          ? 0
                          : sinew_modal_new_inverted(m->motion, m->state, body.elements, m->listed);
    if (fields) {
        json_object_set_new(fields, "new_inverted", json_integer(m->listed_count));
        sinew_modal_motion_weights(m->motion, ask->time, m->weights);
        json_object_set_new(fields, "z", sn_report_numbers(body.modes, m->weights));
    }
    return SINEW_OK;
}

const int *sn_model_modal_inverted(const void *model, int *count) {
    const modal_model *m = model;
    *count = m->listed_count;
    return m->listed;
}

const sinew_modal_motion *sn_model_modal_motion(const void *model) {
    return ((const modal_model *)model)->motion;
}

static const char *const outputs[] = {"modes", "shapes", NULL};
static const char *const uses[] = {"keys", "pins", "orientations", NULL};

const sn_model_kind sn_model_modal = {
    SN_MODEL_ABOUT("modal", "Motion through key poses that swings and settles"),
    .outputs = outputs,
    .uses = uses,
    .needs_no_weights = true,
    .ignores_weights = true,
    SN_MODEL_FUNCTIONS,
    .update = update,
    .describe = describe,
};
