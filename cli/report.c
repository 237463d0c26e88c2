#include "report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "tools.h"

json_t *cli_report_new(const char *verb) {
    char *text = NULL;
    json_t *report = NULL;
    if (sinew_report_create(verb, &text, NULL) == SINEW_OK) report = cli_json_loads(text, 0, NULL);
    sinew_free(text);
    return report;
}

/* Paths and messages may hold bytes that are not UTF-8, which jansson rejects. */
static json_t *text_value(const char *text) {
    size_t size = strlen(text) + 1;
    char *clean = CLI_NEW(char, size);
    if (!clean) return NULL;
    memcpy(clean, text, size);
    sinew_text_make_printable(clean);
    json_t *value = json_string(clean);
    sinew_free(clean);
    return value;
}

void cli_report_input(json_t *report, const char *path) {
    json_array_append_new(json_object_get(report, "inputs"), text_value(path));
}

void cli_report_sizes(json_t *report, int vertices, int triangles) {
    json_object_set_new(report, "vertices", json_integer(vertices));
    json_object_set_new(report, "triangles", json_integer(triangles));
}

void cli_report_warning(json_t *report, const char *line) {
    json_array_append_new(json_object_get(report, "warnings"), text_value(line));
}

void cli_report_fallback(json_t *report, const char *line) {
    json_array_append_new(json_object_get(report, "fallbacks"), text_value(line));
}

void cli_report_total(json_t *report, const char *name, json_t *value) {
    json_object_set_new(json_object_get(report, "totals"), name, value);
}

void cli_report_frame(json_t *report, json_t *frame) {
    json_array_append_new(json_object_get(report, "frames"), frame);
}

json_t *cli_report_number(double value) {
    return isfinite(value) ? json_real(value) : json_null();
}

json_t *cli_report_numbers(int count, const double *values) {
    json_t *array = json_array();
    for (int i = 0; i < count; i++) json_array_append_new(array, cli_report_number(values[i]));
    return array;
}

sinew_status cli_report_write(json_t *report, const char *path, sinew_error *error) {
    char *text = report ? json_dumps(report, JSON_INDENT(1) | JSON_REAL_PRECISION(17)) : NULL;
    size_t length = text ? strlen(text) : 0;
    if (!text) return cli_no_memory(error);
    text[length] = '\n'; /* instead of the zero byte */
    sinew_status status = sinew_file_write(path, text, length + 1, error);
    free(text);
    return status;
}
