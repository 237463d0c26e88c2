#include "session/report.h"

#include <math.h>
#include <stdarg.h>
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

static _Thread_local bool lost; /* a figure, or part of a report */

/* A warning that is lost empties the report, so that nobody takes the rest for the whole. */
static void keep(json_t *report, int failed) {
    if (!failed || !report) return;
    json_object_clear(report);
    lost = true;
}

void sn_report_warning(json_t *report, const char *line) {
    keep(report, json_array_append_new(json_object_get(report, "warnings"), text_value(line)));
}

void sn_report_fallback(json_t *report, const char *line) {
    keep(report, json_array_append_new(json_object_get(report, "fallbacks"), text_value(line)));
}

void sn_report_total(json_t *report, const char *name, json_t *value) {
    if (report)
        sn_figure_put(json_object_get(report, "totals"), name, value);
    else
        json_decref(value);
}

void sn_report_frame(json_t *report, json_t *frame) {
    if (report)
        sn_figure_append(json_object_get(report, "frames"), frame);
    else
        json_decref(frame);
}

bool sn_report_complete(const json_t *report) {
    return json_object_get(report, "verb") != NULL;
}

/* ---- figures --------------------------------------------------------------------------------- */

void sn_figure_put(json_t *object, const char *name, json_t *value) {
    if (!object)
        json_decref(value);
    else if (json_object_set_new(object, name, value))
        lost = true;
}

void sn_figure_append(json_t *array, json_t *value) {
    if (json_array_append_new(array, value)) lost = true;
}

json_t *sn_figure_pack(const char *format, ...) {
    json_error_t error;
    va_list list;
    va_start(list, format);
    json_t *value = json_vpack_ex(&error, 0, format, list);
    va_end(list);
    if (value) return value;
    return json_error_code(&error) == json_error_numeric_overflow ? json_null() : NULL;
}

bool sn_figures_lost(void) {
    bool was = lost;
    lost = false;
    return was;
}

json_t *sn_report_number(double value) {
    return isfinite(value) ? json_real(value) : json_null();
}

json_t *sn_report_numbers(int count, const double *values) {
    json_t *array = json_array();
    for (int i = 0; i < count; i++)
        if (json_array_append_new(array, sn_report_number(values[i]))) {
            json_decref(array);
            return NULL;
        }
    return array;
}

sinew_status sn_report_write(json_t *report, const char *path, sinew_error *error) {
    sn_output output;
    SN_TRY(sn_output_open(&output, path, error));
    if (!sn_report_complete(report) ||
        json_dumpf(report, output.stream, JSON_INDENT(1) | JSON_REAL_PRECISION(17))) {
        sinew_status status = sn_output_check(&output, error);
        sn_output_abandon(&output);
        return status == SINEW_OK ? sn_no_memory(error) : status;
    }
    fputc('\n', output.stream);
    return sn_output_commit(&output, error);
}
