/* The rotation-aware blend as a model. */
#include "base/memory.h"
#include "base/status.h"
#include "session/model.h"
#include "sinew/rotation.h"

typedef struct rotation_model {
    sinew_rotation *rotation;
    sinew_rotation_state *state;
    const sn_clip *clip;
    int slider_count;
} rotation_model;

static void destroy(void *model) {
    rotation_model *m = model;
    if (!m) return;
    sinew_rotation_state_destroy(m->state);
    sinew_rotation_destroy(m->rotation);
    sn_free(m);
}

static sinew_status create(const sn_model_setup *setup, void **model, sinew_error *error) {
    rotation_model *m = SN_NEW0(rotation_model, 1);
    if (!m) return sn_no_memory(error);
    m->clip = setup->clip;
    m->slider_count = setup->rig->slider_count;
    sinew_status status = sinew_rotation_create(setup->rig, setup->monitor, &m->rotation, error);
    if (status == SINEW_OK) status = sinew_rotation_state_create(m->rotation, &m->state, error);
    if (status != SINEW_OK)
        destroy(m);
    else
        *model = m;
    return status;
}

static sinew_status frame(void *model, int index, double *positions, sinew_frame_info *info,
                          json_t *fields, const sinew_monitor *monitor, sinew_error *error) {
    (void)info, (void)fields, (void)monitor, (void)error;
    rotation_model *m = model;
    sinew_rotation_evaluate(m->rotation, m->state,
                            m->clip->weights + (size_t)index * (size_t)m->slider_count, positions);
    return SINEW_OK;
}

const sn_model_kind sn_model_rotation = {
    .about = {.name = "rotation",
              .summary = "rotation-aware blend: bends instead of shrinking, no physics"},
    .create = create,
    .destroy = destroy,
    .frame = frame,
};
