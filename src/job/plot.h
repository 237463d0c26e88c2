/* Plots that a scene requests, drawn by the function that the program has set: the libraries for
 * pictures are loaded by programs that want pictures. */
#ifndef SN_JOB_PLOT_H
#define SN_JOB_PLOT_H

#include "sinew/job.h"

/* SINEW_UNAVAILABLE when no function is set. */
sinew_status sn_plot_write(const char *path, const char *title, const char *x_label,
                           const char *y_label, int line_count, const sinew_line *lines,
                           sinew_error *error);

#endif
