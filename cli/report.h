/* The report of --report: the fields of sinew/report.h, "status" and "message", and what each verb
 * adds. A NULL report (no memory) is ignored by every call here and refused by the writer. */
#ifndef CLI_REPORT_H
#define CLI_REPORT_H

#include <jansson.h>

#include "sinew/status.h"

json_t *cli_report_new(const char *verb);
void cli_report_input(json_t *report, const char *path);
void cli_report_sizes(json_t *report, int vertices, int triangles);
void cli_report_warning(json_t *report, const char *line);
/* Something that was missing, so that the result differs. */
void cli_report_fallback(json_t *report, const char *line);
/* Takes the reference to `value`. */
void cli_report_total(json_t *report, const char *name, json_t *value);
/* Appends to "frames"; takes the reference. */
void cli_report_frame(json_t *report, json_t *frame);
/* JSON has no NaN and no infinity: those become null. */
json_t *cli_report_number(double value);
json_t *cli_report_numbers(int count, const double *values);

/* Appears under its name only when complete. */
sinew_status cli_report_write(json_t *report, const char *path, sinew_error *error);

#endif
