/* Reports: the machine-readable account of a run.
 *
 *   {"verb", "version", "inputs": [...], "vertices", "triangles",
 *    "frames": [{"time", "status", "iterations", "residual", "energy", "ms", "inverted",
 *                "contacts", ...}],
 *    "totals": {...}, "warnings": [...], "fallbacks": [...]}
 *
 * Jobs (sinew_job_report) and the command write this form; a program that adds its own figures can
 * start from it. Models and verbs add fields and never rename these. Numbers that are not finite
 * are null. */
#ifndef SINEW_REPORT_H
#define SINEW_REPORT_H

#include "sinew/memory.h"
#include "sinew/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A report with empty lists, as JSON text; `verb` names what was run. Release with sinew_free. */
SINEW_API sinew_status sinew_report_create(const char *verb, char **json, sinew_error *error);

#ifdef __cplusplus
}
#endif
#endif
