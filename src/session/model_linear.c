/* The linear model: what every tool has, the baseline of all comparisons. */
#include "base/status.h"
#include "session/model.h"

static sinew_status build(const sn_model_setup *setup, void **structure, sinew_error *error) {
    return sinew_linear_create(setup->rig, (sinew_linear **)structure, error);
}

static void discard(void *structure) {
    sinew_linear_destroy(structure);
}

/* The model is its structure: there is no state. */
static sinew_status create(const sn_model_setup *setup, const void *structure, void **model,
                           sinew_error *error) {
    (void)setup, (void)error;
    *model = (void *)structure;
    return SINEW_OK;
}

static void destroy(void *model) {
    (void)model;
}

static sinew_status solve(void *model, const sn_ask *ask, double *positions, sinew_result *result,
                          json_t *fields, const sinew_monitor *monitor, sinew_error *error) {
    (void)result, (void)fields, (void)monitor, (void)error;
    sinew_linear_evaluate(model, ask->weights, positions);
    return SINEW_OK;
}

const sn_model_kind sn_model_linear = {
    .about = {.name = "linear", .summary = "Linear blend of vertex positions"},
    SN_MODEL_FUNCTIONS,
};
