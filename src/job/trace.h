/* The path of a few vertices over the clip, as a plot: how far their middle is from its rest, along
 * the direction of its farthest point; in the frames and, where weights drive, in the linear shape.
 */
#ifndef SN_JOB_TRACE_H
#define SN_JOB_TRACE_H

#include "session/session.h"

typedef struct sn_trace sn_trace;

/* For frames first..last. `selection` as in sinew/selection.h. */
sinew_status sn_trace_create(const sinew_scene *scene, const sinew_solver *solver,
                             const char *selection, int first, int last, sn_trace **trace,
                             sinew_error *error);
void sn_trace_destroy(sn_trace *trace);
void sn_trace_add(sn_trace *trace, int frame, const double *positions);
/* PNG. */
sinew_status sn_trace_write(const sn_trace *trace, const char *path, sinew_error *error);

#endif
