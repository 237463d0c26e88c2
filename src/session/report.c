#include "session/report.h"

#include <math.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/status.h"
#include "session/scene.h"
#include "sinew/report.h"
#include "sinew/version.h"

json_t *sn_report_new(const char *verb) {
    return json_pack("{s:s, s:s, s:[], s:i, s:i, s:[], s:{}, s:[], s:[]}", "verb", verb, "version",
                     sinew_version(), "inputs", "vertices", 0, "triangles", 0, "frames", "totals",
                     "warnings", "fallbacks");
}

sinew_status sinew_report_create(const char *verb, char **json, sinew_error *error) {
    SN_REQUIRE(verb && json, error);
    *json = NULL;
    json_t *report = sn_report_new(verb);
    if (!report) return sn_no_memory(error);
    sinew_status status = sn_json_text(report, JSON_COMPACT, json, error);
    json_decref(report);
    return status;
}

/* Paths and messages may hold bytes that are not UTF-8; jansson refuses those. */
static json_t *text_value(const char *text) {
    json_t *value = json_string(text);
    if (value) return value;
    size_t length = strlen(text);
    char *clean = sn_alloc(length + 1, 1);
    if (!clean) return NULL;
    for (size_t i = 0; i <= length; i++) clean[i] = (text[i] & 0x80) ? '?' : text[i];
    value = json_string(clean);
    sn_free(clean);
    return value;
}

void sn_report_warning(json_t *report, const char *line) {
    json_array_append_new(json_object_get(report, "warnings"), text_value(line));
}

void sn_report_fallback(json_t *report, const char *line) {
    json_array_append_new(json_object_get(report, "fallbacks"), text_value(line));
}

void sn_report_total(json_t *report, const char *name, json_t *value) {
    json_object_set_new(json_object_get(report, "totals"), name, value);
}

void sn_report_frame(json_t *report, json_t *frame) {
    json_array_append_new(json_object_get(report, "frames"), frame);
}

json_t *sn_report_number(double value) {
    return isfinite(value) ? json_real(value) : json_null();
}

json_t *sn_report_numbers(int count, const double *values) {
    json_t *array = json_array();
    for (int i = 0; i < count; i++) json_array_append_new(array, sn_report_number(values[i]));
    return array;
}

sinew_status sn_report_write(json_t *report, const char *path, sinew_error *error) {
    sn_output output;
    SN_TRY(sn_output_open(&output, path, error));
    if (!report || json_dumpf(report, output.stream, JSON_INDENT(1) | JSON_REAL_PRECISION(17))) {
        sinew_status status = sn_output_check(&output, error);
        sn_output_abandon(&output);
        return status == SINEW_OK ? sn_no_memory(error) : status;
    }
    fputc('\n', output.stream);
    return sn_output_commit(&output, error);
}
