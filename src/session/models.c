/* The models of this build. */
#include <string.h>

#include "session/model.h"

static const sn_model_kind *const kinds[] = {
    &sn_model_linear, &sn_model_rotation, &sn_model_spring,
    &sn_model_modal,  &sn_model_force,    &sn_model_fit,
};

int sinew_model_count(void) {
    return (int)(sizeof kinds / sizeof *kinds);
}

const sinew_model *sinew_model_at(int index) {
    return index >= 0 && index < sinew_model_count() ? &kinds[index]->about : NULL;
}

/* Updates look up every parameter by its name, so most names are distinguished by their first
 * letter. */
static bool is_named(const char *name, const char *wanted) {
    return name[0] == wanted[0] && !strcmp(name, wanted);
}

const sn_model_kind *sn_model_kind_find(const char *name) {
    for (int i = 0; i < sinew_model_count(); i++)
        if (is_named(kinds[i]->about.name, name)) return kinds[i];
    return NULL;
}

const sinew_model *sinew_model_find(const char *name) {
    const sn_model_kind *kind = name ? sn_model_kind_find(name) : NULL;
    return kind ? &kind->about : NULL;
}

/* Every sinew_model is the first member of its kind. */
static const sn_model_kind *kind_of(const sinew_model *model) {
    return (const sn_model_kind *)model;
}

const char *sinew_model_name(const sinew_model *model) {
    return model ? model->name : NULL;
}

const char *sinew_model_summary(const sinew_model *model) {
    return model ? model->summary : NULL;
}

bool sinew_model_needs_no_weights(const sinew_model *model) {
    return model && kind_of(model)->needs_no_weights;
}

bool sinew_model_uses(const sinew_model *model, const char *key) {
    for (const char *const *used = model ? kind_of(model)->uses : NULL; used && *used; used++)
        if (!strcmp(*used, key)) return true;
    return false;
}

const char *sinew_model_output(const sinew_model *model, int index) {
    const char *const *outputs = model ? kind_of(model)->outputs : NULL;
    for (int i = 0; outputs && outputs[i]; i++)
        if (i == index) return outputs[i];
    return NULL;
}

int sinew_model_parameter_count(const sinew_model *model) {
    return model ? model->parameter_count : 0;
}

const sinew_parameter *sinew_model_parameter(const sinew_model *model, int index) {
    return model && index >= 0 && index < model->parameter_count ? &model->parameters[index] : NULL;
}

const sinew_parameter *sinew_model_find_parameter(const sinew_model *model, const char *name) {
    for (int i = 0; i < sinew_model_parameter_count(model); i++)
        if (is_named(model->parameters[i].name, name)) return &model->parameters[i];
    return NULL;
}

const char *sinew_cost_name(sinew_cost cost) {
    static const char *const names[] = {"nothing", "state", "structure", "rig"};
    return cost <= SINEW_COST_RIG ? names[cost] : "";
}
