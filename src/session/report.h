/* The report of a run (sinew/report.h) while it is being made: a jansson object, so that models can
 * add anything. A NULL report (no memory) is ignored by every call here and refused by the writer.
 */
#ifndef SN_SESSION_REPORT_H
#define SN_SESSION_REPORT_H

#include <jansson.h>

#include "sinew/status.h"

json_t *sn_report_new(const char *verb);
void sn_report_warning(json_t *report, const char *line);
/* Something that was missing, so that the result differs. */
void sn_report_fallback(json_t *report, const char *line);
/* Takes the reference to `value`. */
void sn_report_total(json_t *report, const char *name, json_t *value);
/* Appends to "frames"; takes the reference. */
void sn_report_frame(json_t *report, json_t *frame);
/* JSON has no NaN and no infinity: those become null. */
json_t *sn_report_number(double value);
json_t *sn_report_numbers(int count, const double *values);

/* Appears under its name only when complete. */
sinew_status sn_report_write(json_t *report, const char *path, sinew_error *error);

#endif
