/* The linear model: what every tool has, the baseline of all comparisons. */
#include "base/memory.h"
#include "base/monitor.h"
#include "base/status.h"
#include "session/model.h"
#include "session/parameters.h"
#include "session/report.h"
#include "sinew/skin_contact.h"

static const sinew_parameter parameters[] = {
    FLAG(STRUCTURE, "self_contact", 0,
         "Keep the parts of a face from passing through each other: lids and eyeballs, lips, "
         "teeth."),
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
    if (status == SINEW_OK && sn_scene_flag(setup->scene, "self_contact"))
        status = sinew_skin_contact_create(setup->rig, NULL, setup->monitor, &s->contact, error);
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
    linear_model *m = SN_NEW0(linear_model, 1);
    if (!m) return sn_no_memory(error);
    m->structure = structure;
    sinew_status status =
        m->structure->contact
            ? sinew_skin_contact_state_create(m->structure->contact, &m->contact, error)
            : SINEW_OK;
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
    if (!m->contact) return SINEW_OK;
    sinew_skin_contact_info info = {.size = sizeof info};
    SN_TRY(sinew_skin_contact_apply(m->contact, positions, monitor, error));
    sinew_skin_contact_get_info(m->contact, &info);
    result->contact_count = info.contacts;
    if (!fields) return SINEW_OK;
    sn_figure_put(fields, "contact_steps", json_integer(info.steps));
    sn_figure_put(fields, "contact_released", json_integer(info.released));
    sn_figure_put(fields, "contact_restored", json_integer(info.restored));
    sn_figure_put(fields, "contact_unchanged", json_boolean(info.unchanged));
    return SINEW_OK;
}

const sn_model_kind sn_model_linear = {
    SN_MODEL_ABOUT("linear", "Linear blend of vertex positions"),
    SN_MODEL_FUNCTIONS,
};
