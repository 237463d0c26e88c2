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

const sn_model_kind *sn_model_kind_find(const char *name) {
    for (int i = 0; i < sinew_model_count(); i++)
        if (!strcmp(kinds[i]->about.name, name)) return kinds[i];
    return NULL;
}

const sinew_model *sinew_model_find(const char *name) {
    const sn_model_kind *kind = name ? sn_model_kind_find(name) : NULL;
    return kind ? &kind->about : NULL;
}

bool sn_model_uses(const sn_model_kind *kind, const char *key) {
    for (const char *const *used = kind->uses; used && *used; used++)
        if (!strcmp(*used, key)) return true;
    return false;
}
