/* The report of a run (sinew/report.h) while it is being made: a jansson object, so that models can
 * add anything. A NULL report is ignored by every call here and refused by the writer, as is one
 * that has lost a warning because memory ran out.
 */
#ifndef SN_SESSION_REPORT_H
#define SN_SESSION_REPORT_H

#include <jansson.h>
#include <stdbool.h>

#include "sinew/status.h"

json_t *sn_report_new(const char *verb);
void sn_report_warning(json_t *report, const char *line);
/* Something that was missing, so that the result differs. */
void sn_report_fallback(json_t *report, const char *line);
/* Takes the reference to `value`. What frames and totals lose, sn_figures_lost says. */
void sn_report_total(json_t *report, const char *name, json_t *value);
/* Appends to "frames"; takes the reference. */
void sn_report_frame(json_t *report, json_t *frame);
/* False: no memory for the report or for a warning. */
bool sn_report_complete(const json_t *report);

/* Figures of a frame or of a structure: adds one to an object and takes the reference to `value`.
 * Does nothing with a NULL object. If memory runs out, the figure is missing and sn_figures_lost
 * says so. */
void sn_figure_put(json_t *object, const char *name, json_t *value);
/* The same, at the end of an array. */
void sn_figure_append(json_t *array, json_t *value);
/* json_pack for such a figure; null where a number in it is not finite. */
json_t *sn_figure_pack(const char *format, ...);
/* Whether a figure or a part of a report was lost on this thread since the last call. */
bool sn_figures_lost(void);
/* JSON has no NaN and no infinity: those become null. */
json_t *sn_report_number(double value);
json_t *sn_report_numbers(int count, const double *values); /* NULL: no memory */

/* Appears under its name only when complete. */
sinew_status sn_report_write(json_t *report, const char *path, sinew_error *error);

#endif
