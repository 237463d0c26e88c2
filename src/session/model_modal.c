/* Modal dynamics as a model: the scene's keys and parameters in, modes and their motion into the
 * report. */
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/monitor.h"
#include "base/status.h"
#include "modal/frame.h"
#include "session/device.h"
#include "session/holds.h"
#include "session/load.h"
#include "session/modal_clip.h"
#include "session/modal_holds.h"
#include "session/modal_poses.h"
#include "session/model.h"
#include "session/outputs.h"
#include "session/parameters.h"
#include "session/report.h"
#include "sinew/modal.h"

typedef struct modal_model {
    const sinew_rig *rig;
    const sinew_modal *modal;
    const sn_modal_clip *clip; /* shared with other solvers */
    sinew_modal_state *state;
    sinew_rotation_state *blend; /* of the clip's rotation, or NULL */
    double mix;
    bool fast; /* frames of the clip in single precision, too */
    sn_modal_holds holds;
    char *hold;    /* the parameter that the holds were made by */
    double *shape; /* scratch: 3 per vertex */
    double *weights;
    int *listed; /* elements that the last frame turns inside out and no key does */
    int listed_count;
    sn_device device;
    sn_gpu_motion *poses; /* of the motion on the device; NULL: it is not there */
} modal_model;

static sinew_modal_motion_info about_motion(const sn_modal_clip *clip) {
    sinew_modal_motion_info info = {.size = sizeof info};
    sinew_modal_motion_get_info(sn_modal_clip_moves(clip)->motion, &info);
    return info;
}

/* What shapes the motion is of the class "state": the motion through the keys, or the lag of the
 * whole clip, is derived again, and bodies of tetrahedra check 17 frames of it for folds. */
static const sinew_parameter parameters[] = {
    INTEGER(STRUCTURE, "modes", SINEW_MODAL_MODES_DEFAULT, 1, 10000, "Number of vibration modes."),
    CHOICE(STRUCTURE, "body", 0, "auto|tets|cage|shell",
           "What vibrates: the interior as tetrahedra, a cage around the mesh, or the "
           "surface as a thick shell."),
    CHOICE(STRUCTURE, "basis", 0, "vibrations|targets",
           "Use vibration modes, or the rig's own targets instead."),
    NUMBER(STATE, "swings", SINEW_MODAL_SWINGS_DEFAULT, 1e-6, 1e6, "",
           "Oscillations of the slowest mode per mean key interval."),
    NUMBER(STATE, "frequency", 0, 0, 1e6, "Hz",
           "Frequency of the slowest mode; 0: derived from swings."),
    FLAG(STATE, "physical", 0,
         "Derive the frequencies from young, density and the size in meters."),
    NUMBER(STATE, "damping", SINEW_MODAL_DAMPING_DEFAULT, 0, 1e6, "",
           "Damping ratio; 1 is critical."),
    NUMBER(STATE, "alpha_mass", -1, -1, 1e9, "1/s",
           "Rayleigh damping coefficient; negative: derived from damping."),
    NUMBER(STATE, "alpha_stiffness", -1, -1, 1e9, "s",
           "Rayleigh damping coefficient; negative: derived from damping."),
    NUMBER(STATE, "rest_offset", SINEW_MODAL_REST_OFFSET_DEFAULT, 0, 1, "",
           "Two keys: 1 settles into the second key, 0 swings about the first."),
    NUMBER(STATE, "stiffness", 1, 1e-9, 1e9, "", "Stiffness of the whole body."),
    CHOICE(STATE, "rest", 0, "line|next|shape",
           "What modes vibrate about. Three or more keys: the line between keys, or the "
           "next key. shape: the rest shape, as published, for any number of keys."),
    TEXT(STATE, "hold", SN_HOLD_HELP),
    CHOICE(STATE, "fit", 0, "gentle|published|none",
           "How frequency and damping of a mode are adjusted between two keys, so that the motion "
           "starts gently."),
    FLAG(STATE, "published", 0,
         "Move as first published, for comparison: about the rest shape, with the published fit, "
         "and fast modes not faded."),
    FLAG(STATE, "wiggly", 0, "Use wiggly splines for two keys as well."),
    FLAG(STATE, "ease", 0, "Two keys: ease the rigid motion of parts in and out."),
    FLAG(STATE, "fade", 1, "Fade out modes that are too fast for the frame rate."),
    NUMBERS(STATE, "gravity", "", "Acceleration of parts that fly between keys: 3 numbers."),
    NUMBERS(STATE, "gamma", "", "Damping of each mode, -1 to 1."),
    NUMBERS(STATE, "kappa", "", "Stiffness of each mode, -1 to below 1."),
    NUMBERS(STATE, "amplitude", "", "Amplitude of each mode."),
    NUMBERS(STATE, "gamma_curve", "",
            "Gamma as a curve over the mode number: number, value, number, value ..."),
    NUMBERS(STATE, "kappa_curve", "", "Kappa as a curve over the mode number."),
    NUMBERS(STATE, "amplitude_curve", "", "Amplitude as a curve over the mode number."),
    NUMBERS(STATE, "fit_velocity_curve", "",
            "Weight of a gentle start as a curve over the mode number; applies if "
            "rest_offset < 1."),
    NUMBERS(STATE, "fit_frequency_curve", "",
            "Weight of the frequency in the fit as a curve over the mode number."),
    NUMBERS(STATE, "fit_damping_curve", "",
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
    PATH(STATE, "path", "Marker file whose first marker guides the whole shape between keys."),
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

static void describe(const void *model, json_t *report) {
    static const char *const bodies[] = {"auto", "tets", "cage", "shell"};
    const modal_model *m = model;
    json_t *modes = json_array(), *keys = json_array();
    sinew_modal_info info = sn_modal_body_info(m->modal);
    sinew_modal_motion_info motion = about_motion(m->clip);
    const sn_modal_keys *list = sn_modal_clip_keys(m->clip);
    for (int i = 0; i < info.modes; i++)
        sn_figure_append(
            modes, sn_figure_pack("{s:f,s:[f,f],s:f,s:f,s:f}", "frequency_hz", motion.frequency[i],
                                  "moving_hz", motion.moving[2 * i], motion.moving[2 * i + 1],
                                  "moving_share", motion.moving_share[i], "damping_ratio",
                                  motion.damping[i], "lambda", info.lambda[i]));
    for (int k = 0; !list->at_rest && k < list->count; k++)
        sn_figure_append(keys, sn_figure_pack("{s:f,s:f,s:i}", "time", list->times[k], "captured",
                                              motion.captured[k], "inverted", motion.inverted[k]));
    sn_figure_put(report, "body",
                  sn_figure_pack("{s:s,s:s,s:s,s:i,s:i,s:i,s:i,s:f,s:f,s:b,s:f}", "kind",
                                 bodies[info.body], "why", info.why, "choice", info.choice, "links",
                                 info.links, "vertices", info.body_vertices, "elements",
                                 info.elements, "parts", info.components, "mode_residual",
                                 info.residual, "mode_seconds", info.seconds, "from_cache",
                                 info.from_cache, "leftover", motion.leftover));
    sn_figure_put(report, "amplitude_scale",
                  sn_report_number(sn_modal_clip_moves(m->clip)->damped));
    sn_figure_put(report, "modes", modes);
    sn_figure_put(report, "keys", keys);
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
    sinew_rotation_state_destroy(m->blend);
    sn_free(m->hold);
    sn_free(m->shape), sn_free(m->weights), sn_free(m->listed);
    sn_free(m);
}

/* The poses of the motion go to the device again when it has changed. */
static sinew_status update_device(modal_model *m, const sn_model_setup *setup,
                                  const sn_modal_clip *clip, sinew_error *error) {
    bool moved = !m->clip || m->clip->moves != clip->moves;
    if (moved || sn_scene_choice(setup->scene, "device") != m->device.choice) leave_device(m);
    SN_TRY(sn_device_update(setup, m->modal, share_device, drop_device, &m->device, error));
    if (!m->device.gpu || m->poses) return SINEW_OK;
    sinew_error why = {0};
    sinew_status status =
        sn_gpu_motion_create(m->device.frames, sn_modal_clip_moves(clip)->motion, &m->poses, &why);
    if (status != SINEW_UNAVAILABLE)
        return status == SINEW_OK ? status : sn_fail(error, status, "%s", why.message);
    sn_device_hand_over(&m->device, why.message, setup->monitor);
    return SINEW_OK;
}

static sinew_status update_holds(modal_model *m, const sn_model_setup *setup,
                                 const sn_modal_clip *clip, uint32_t changed, sinew_error *error) {
    const char *hold = sn_scene_string(setup->scene, "hold");
    bool held = sn_has_changed(changed, "pins") || sn_has_changed(changed, "orientations");
    if (!held && !sn_has_changed(changed, "keys") && sn_same_name(hold, m->hold)) return SINEW_OK;
    const sn_modal_keys *keys = sn_modal_clip_keys(clip);
    sn_modal_key_poses poses = {keys->count, keys->times, keys->poses};
    sn_modal_holds holds;
    SN_TRY(sn_modal_holds_create(setup, m->modal, &poses, &holds, error));
    sn_modal_holds_free(&m->holds);
    m->holds = holds;
    return sn_keep_name(&m->hold, hold, error);
}

/* Another clip may have another blend. */
static sinew_status update_blend(modal_model *m, const sn_modal_clip *clip, sinew_error *error) {
    const sn_shared *blend = clip->follow.rotation;
    if (m->clip && m->clip->follow.rotation == blend) return SINEW_OK;
    sinew_rotation_state *state = NULL;
    if (blend) SN_TRY(sinew_rotation_state_create(blend->object, &state, error));
    sinew_rotation_state_destroy(m->blend);
    m->blend = state;
    return SINEW_OK;
}

/* The clip before is used until everything is there that fits the new one. */
static sinew_status update(void *model, const sn_model_setup *setup, uint32_t changed,
                           sinew_error *error) {
    modal_model *m = model;
    const sn_modal_clip *clip = setup->derived;
    SN_TRY(update_holds(m, setup, clip, changed, error));
    SN_TRY(update_device(m, setup, clip, error));
    sinew_status status = update_blend(m, clip, error);
    if (status != SINEW_OK) {
        leave_device(m);
        return status;
    }
    m->mix = sn_scene_number(setup->scene, "mix");
    m->fast = sn_scene_flag(setup->scene, "fast");
    m->clip = clip;
    return SINEW_OK;
}

static sinew_status create(const sn_model_setup *setup, const void *structure, void **model,
                           sinew_error *error) {
    modal_model *m = SN_NEW0(modal_model, 1);
    if (!m) return sn_no_memory(error);
    m->rig = setup->rig, m->modal = structure;
    m->shape = SN_NEW(double, (size_t)3 * (size_t)setup->rig->neutral->vertex_count);
    m->listed = SN_NEW(int, sn_modal_body_info(structure).elements);
    m->weights = SN_NEW(double, about_motion(setup->derived).columns);
    sinew_status status = m->shape && m->listed && m->weights ? SINEW_OK : sn_no_memory(error);
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
    const sn_modal_clip *clip = m->clip;
    const sinew_modal_motion *motion = sn_modal_clip_moves(clip)->motion;
    sinew_modal_constraints constraints = {.size = sizeof constraints};
    sn_modal_holds_at(&m->holds, ask->sample, ask->time, &constraints);
    if (clip->given) {
        const sinew_frames *frames = clip->given->object;
        size_t size = (size_t)3 * (size_t)frames->vertex_count;
        const float *given = frames->positions + size * (size_t)ask->sample;
        for (size_t i = 0; i < size; i++) m->shape[i] = given[i];
        constraints.given = m->shape, constraints.share = m->mix;
    }
    m->state->exact = ask->frame >= 0 && !m->fast;
    if (m->blend && !clip->given && ask->weights)
        sn_modal_follow_at(&clip->follow, m->blend, ask->weights, ask->sample, m->shape,
                           &constraints);
    if (m->poses) sn_gpu_motion_attach(m->poses, m->state);
    sinew_status status =
        sinew_modal_frame_constrained(motion, m->state, &constraints, ask->time, positions, error);
    if (m->poses) {
        sn_gpu_motion_attach(NULL, m->state); /* other frames, as the guard's, are the CPU's */
        if (status == SINEW_OK && !m->state->rebuilt)
            sn_device_hand_over(&m->device, sn_gpu_motion_why(m->poses), monitor);
    }
    if (status != SINEW_OK) return status;
    if (fields && m->device.choice)
        sn_figure_put(fields, "device", json_string(m->state->rebuilt ? "gpu" : "cpu"));
    sinew_modal_info body = sn_modal_body_info(m->modal);
    result->inverted = sinew_modal_inverted(motion, m->state);
    m->listed_count = result->inverted == 0
                          ? 0
                          : sinew_modal_new_inverted(motion, m->state, body.elements, m->listed);
    if (fields) {
        sn_figure_put(fields, "new_inverted", json_integer(m->listed_count));
        sinew_modal_motion_weights(motion, ask->time, m->weights);
        sn_figure_put(fields, "z", sn_report_numbers(body.modes, m->weights));
    }
    return SINEW_OK;
}

const int *sn_model_modal_inverted(const void *model, int *count) {
    const modal_model *m = model;
    *count = m->listed_count;
    return m->listed;
}

const sinew_modal_motion *sn_model_modal_motion(const void *model) {
    return sn_modal_clip_moves(((const modal_model *)model)->clip)->motion;
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
    .derive = sn_modal_clip_derive,
    .forget = sn_modal_clip_forget,
    .update = update,
    .describe = describe,
};
