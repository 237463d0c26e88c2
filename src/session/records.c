/* Input and result records: their defaults, and figures by name. */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_text.h"
#include "base/memory.h"
#include "base/status.h"
#include "session/records.h"
#include "sinew/loader.h"
#include "sinew/model.h"
#include "sinew/session.h"

void sinew_input_init(sinew_input *input) {
    *input = (sinew_input){.size = sizeof *input, .time = NAN};
}

void sinew_result_init(sinew_result *result) {
    *result = (sinew_result){.size = sizeof *result, .frame = -1};
}

void sinew_loader_init(sinew_loader *loader) {
    *loader = (sinew_loader){.size = sizeof *loader};
}

void sinew_session_options_init(sinew_session_options *options) {
    *options = (sinew_session_options){.size = sizeof *options};
}

void sinew_session_change_init(sinew_session_change *change) {
    *change = (sinew_session_change){.size = sizeof *change};
}

void sinew_clip_info_init(sinew_clip_info *info) {
    *info = (sinew_clip_info){.size = sizeof *info};
}

/* ---- figures --------------------------------------------------------------------------------- */

sinew_status sinew_figures_create(sinew_figures **figures, sinew_error *error) {
    SN_REQUIRE(figures, error);
    *figures = SN_NEW0(sinew_figures, 1);
    if (!*figures) return sn_no_memory(error);
    (*figures)->fields = json_object();
    if ((*figures)->fields) return SINEW_OK;
    sn_free(*figures);
    *figures = NULL;
    return sn_no_memory(error);
}

void sinew_figures_destroy(sinew_figures *figures) {
    if (!figures) return;
    json_decref(figures->fields);
    sn_free(figures);
}

static const char *number_at(const sinew_figures *figures, int index, int *count) {
    const char *name;
    json_t *value;
    int at = 0;
    json_object_foreach(figures->fields, name, value) {
        if (!json_is_number(value) && !json_is_boolean(value)) continue;
        if (at++ == index) return name;
    }
    if (count) *count = at;
    return NULL;
}

int sinew_figures_count(const sinew_figures *figures) {
    int count = 0;
    if (figures) number_at(figures, -1, &count);
    return count;
}

const char *sinew_figures_name(const sinew_figures *figures, int index) {
    return !figures || index < 0 ? NULL : number_at(figures, index, NULL);
}

bool sinew_figures_get(const sinew_figures *figures, const char *name, double *value) {
    const json_t *found = json_object_get(figures->fields, name);
    bool number = json_is_number(found) || json_is_boolean(found);
    *value = json_is_boolean(found) ? json_is_true(found) : number ? json_number_value(found) : NAN;
    return number;
}

sinew_status sinew_figures_text(const sinew_figures *figures, char **json, sinew_error *error) {
    SN_REQUIRE(figures && json, error);
    if (figures->incomplete) return sn_no_memory(error);
    *json = sn_json_dump(figures->fields, JSON_COMPACT | JSON_REAL_PRECISION(17));
    return *json ? SINEW_OK : sn_no_memory(error);
}
