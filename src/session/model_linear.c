/* The linear model: what every tool has, the baseline of all comparisons. */
#include "base/memory.h"
#include "base/monitor.h"
#include "base/status.h"
#include "session/face_contact.h"
#include "session/model.h"
#include "session/parameters.h"

static const sinew_parameter parameters[] = {
    SN_FACE_CONTACT_PARAMETER,
};

typedef struct linear_structure {
    sinew_linear *linear;
    sinew_skin_contact *contact; /* NULL: none */
} linear_structure;

static void discard(void *structure) {
    linear_structure *s = structure;
    if (!s) return;
    sinew_linear_destroy(s->linear);
    sinew_skin_contact_destroy(s->contact);
    sn_free(s);
}

static sinew_status build(const sn_model_setup *setup, void **structure, sinew_error *error) {
    linear_structure *s = SN_NEW0(linear_structure, 1);
    if (!s) return sn_no_memory(error);
    sinew_status status = sinew_linear_create(setup->rig, &s->linear, error);
    if (status == SINEW_OK) status = sn_face_contact_create(setup, &s->contact, error);
    if (status != SINEW_OK)
        discard(s);
    else
        *structure = s;
    return status;
}

typedef struct linear_model {
    const linear_structure *structure;
    sinew_skin_contact_state *contact; /* NULL: none */
} linear_model;

static void destroy(void *model) {
    linear_model *m = model;
    if (!m) return;
    sinew_skin_contact_state_destroy(m->contact);
    sn_free(m);
}

static sinew_status create(const sn_model_setup *setup, const void *structure, void **model,
                           sinew_error *error) {
    (void)setup;
    const linear_structure *s = structure;
    linear_model *m = SN_NEW0(linear_model, 1);
    if (!m) return sn_no_memory(error);
    m->structure = s;
    sinew_status status = sn_face_contact_state_create(s->contact, &m->contact, error);
    if (status != SINEW_OK)
        destroy(m);
    else
        *model = m;
    return status;
}

static sinew_status solve(void *model, const sn_ask *ask, double *positions, sinew_result *result,
                          json_t *fields, const sinew_monitor *monitor, sinew_error *error) {
    linear_model *m = model;
    sinew_linear_evaluate(m->structure->linear, ask->weights, positions);
    return sn_face_contact_apply(m->contact, positions, result, fields, monitor, error);
}

const sn_model_kind sn_model_linear = {
    SN_MODEL_ABOUT("linear", "Linear blend of vertex positions"),
    SN_MODEL_FUNCTIONS,
};
