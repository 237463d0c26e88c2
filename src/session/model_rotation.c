/* The rotation-aware blend as a model. */
#include <math.h>

#include "base/memory.h"
#include "base/monitor.h"
#include "base/status.h"
#include "session/device.h"
#include "session/face_contact.h"
#include "session/holds.h"
#include "session/model.h"
#include "session/parameters.h"
#include "session/report.h"
#include "session/scene.h"
#include "sinew/rotation.h"

static const sinew_parameter parameters[] = {
    TEXT(STRUCTURE, "hold", SN_HOLD_HELP),
    FLAG(STRUCTURE, "published", 0,
         "Blend as first published, for comparison: the shortest rotation of each triangle, no "
         "rotation of the whole taken out, parts not linked."),
    SN_FACE_CONTACT_PARAMETER,
    SN_DEVICE_PARAMETER,
};

/* Of the diagonal: feet that leave the floor by more between poses are worth a word. */
static const double NOTICEABLE = 0.005;

typedef struct rotation_structure {
    sinew_rotation *rotation;
    sinew_skin_contact *contact; /* NULL: none */
} rotation_structure;

typedef struct rotation_model {
    const sinew_rotation *rotation;
    sinew_rotation_state *state;
    sinew_skin_contact_state *contact; /* NULL: none */
    sn_device device;
} rotation_model;

static sinew_status share_device(sn_gpu *gpu, const void *structure, void **frames,
                                 sinew_error *error) {
    return sn_gpu_rotation_share(gpu, structure, (sn_gpu_rotation **)frames, error);
}

static void drop_device(void *frames) {
    sn_gpu_rotation_drop(frames);
}

static void destroy(void *model) {
    rotation_model *m = model;
    if (!m) return;
    sn_device_close(&m->device, drop_device);
    sinew_skin_contact_state_destroy(m->contact);
    sinew_rotation_state_destroy(m->state);
    sn_free(m);
}

/* How far resting vertices leave their linear path along the axis half-way to the first target, of
 * the diagonal. */
static sinew_status half_way_error(const sinew_rig *rig, rotation_model *m, int count,
                                   const int *resting, int axis, double *leaves,
                                   sinew_error *error) {
    const sinew_mesh *mesh = rig->neutral;
    double *weights = SN_NEW(double, rig->slider_count);
    double *activations = SN_NEW(double, rig->target_count);
    double *positions = SN_NEW(double, 3 * (size_t)mesh->vertex_count);
    sinew_status status = weights && activations && positions ? SINEW_OK : sn_no_memory(error);
    *leaves = 0;
    if (status == SINEW_OK) {
        for (int s = 0; s < rig->slider_count; s++) weights[s] = rig->sliders[s].rest;
        weights[0] = 0.5 * (rig->sliders[0].rest + 1);
        sinew_rotation_evaluate(m->rotation, m->state, weights, positions);
        sinew_rig_activations(rig, weights, activations);
        for (int t = 0; t < rig->target_count; t++) /* less the linear blend */
            for (int i = 0; i < rig->targets[t].count; i++)
                positions[3 * (size_t)rig->targets[t].vertices[i] + (size_t)axis] -=
                    activations[t] * rig->targets[t].deltas[3 * (size_t)i + (size_t)axis];
        for (int k = 0; k < count; k++) {
            size_t at = 3 * (size_t)resting[k] + (size_t)axis;
            *leaves = fmax(*leaves, fabs(positions[at] - mesh->positions[at]));
        }
        double diagonal = sinew_diagonal(mesh->vertex_count, mesh->positions);
        if (diagonal > 0) *leaves /= diagonal;
    }
    sn_free(weights), sn_free(activations), sn_free(positions);
    return status;
}

/* Warns when feet leave the floor between poses and no hold is set. */
static sinew_status suggest_hold(const sn_model_setup *setup, rotation_model *m,
                                 sinew_error *error) {
    int *resting = NULL, count = 0, axis = 1;
    double leaves = 0;
    if (setup->rig->slider_count == 0) return SINEW_OK;
    sinew_status status = sinew_find_resting(setup->rig, &resting, &count, &axis, error);
    if (status == SINEW_OK && count > 0)
        status = half_way_error(setup->rig, m, count, resting, axis, &leaves, error);
    if (status == SINEW_OK && leaves > NOTICEABLE) {
        sn_log(setup->monitor, SINEW_LOG_LEVEL_WARNING,
               "%d vertices rest on the floor (lowest %c) in all poses and leave it by %.2g%% of "
               "the diagonal in between; set 'hold' to 'auto' to keep them there",
               count, axis == 1 ? 'y' : 'z', 100 * leaves);
    }
    sn_free(resting);
    return status;
}

static void discard(void *structure) {
    rotation_structure *s = structure;
    if (!s) return;
    sinew_rotation_destroy(s->rotation);
    sinew_skin_contact_destroy(s->contact);
    sn_free(s);
}

static sinew_status build_rotation(const sn_model_setup *setup, rotation_structure *s,
                                   sinew_error *error) {
    sinew_rotation_options options;
    sinew_rotation_options_init(&options);
    options.published = sn_scene_flag(setup->scene, "published");
    options.cache = setup->cache;
    const char *hold = sn_scene_string(setup->scene, "hold");
    int *vertices = NULL;
    sinew_status status = sn_holds_select(setup, &vertices, &options.hold_count, error);
    options.hold = vertices;
    if (status == SINEW_OK)
        status = sinew_rotation_create(setup->rig, &options, setup->monitor, &s->rotation, error);
    sn_free(vertices);
    if (status == SINEW_OK && !hold && !options.published) {
        rotation_model trial = {.rotation = s->rotation};
        status = sinew_rotation_state_create(s->rotation, &trial.state, error);
        if (status == SINEW_OK) status = suggest_hold(setup, &trial, error);
        sinew_rotation_state_destroy(trial.state);
    }
    if (status == SINEW_OK && hold)
        sn_figure_put(setup->report, "held", json_integer(options.hold_count));
    return status;
}

static sinew_status build(const sn_model_setup *setup, void **structure, sinew_error *error) {
    rotation_structure *s = SN_NEW0(rotation_structure, 1);
    if (!s) return sn_no_memory(error);
    sinew_status status = build_rotation(setup, s, error);
    if (status == SINEW_OK) status = sn_face_contact_create(setup, &s->contact, error);
    if (status != SINEW_OK)
        discard(s);
    else
        *structure = s;
    return status;
}

static sinew_status create(const sn_model_setup *setup, const void *structure, void **model,
                           sinew_error *error) {
    const rotation_structure *s = structure;
    rotation_model *m = SN_NEW0(rotation_model, 1);
    if (!m) return sn_no_memory(error);
    m->rotation = s->rotation;
    sinew_status status = sinew_rotation_state_create(s->rotation, &m->state, error);
    if (status == SINEW_OK) status = sn_face_contact_state_create(s->contact, &m->contact, error);
    if (status == SINEW_OK)
        status = sn_device_update(setup, s->rotation, share_device, drop_device, &m->device, error);
    if (status != SINEW_OK)
        destroy(m);
    else
        *model = m;
    return status;
}

static sinew_status solve(void *model, const sn_ask *ask, double *positions, sinew_result *result,
                          json_t *fields, const sinew_monitor *monitor, sinew_error *error) {
    rotation_model *m = model;
    sinew_error why = {0};
    bool on_device = m->device.gpu && sn_gpu_rotation_evaluate(m->device.frames, ask->weights,
                                                               positions, &why) == SINEW_OK;
    if (m->device.gpu && !on_device) sn_device_hand_over(&m->device, why.message, monitor);
    if (!on_device) sinew_rotation_evaluate(m->rotation, m->state, ask->weights, positions);
    if (fields && m->device.choice)
        sn_figure_put(fields, "device", json_string(on_device ? "gpu" : "cpu"));
    return sn_face_contact_apply(m->contact, positions, result, fields, monitor, error);
}

const sn_model_kind sn_model_rotation = {
    SN_MODEL_ABOUT("rotation", "Rotation-aware blend: bends instead of shrinking, without physics"),
    SN_MODEL_FUNCTIONS,
};
