/* Which sliders markers can tell, and how well. */
#ifndef SN_RIG_MARKER_SLIDERS_H
#define SN_RIG_MARKER_SLIDERS_H

#include "sinew/fit.h"

/* held[slider_count] without lists of the caller. */
sinew_status sn_fit_held(const sinew_rig *rig, const sinew_marker_map *map, bool *held,
                         sinew_error *error);
/* targets[target_count]: those that a held slider drives. */
void sn_fit_held_targets(const sinew_rig *rig, const bool *sliders, bool *targets);
/* Fills the figures of a summary. rows: height x target_count, column-major (sn_marker_rows). */
sinew_status sn_fit_condition(const sinew_rig *rig, int height, const double *rows,
                              const bool *held, sinew_fit_summary *summary, sinew_error *error);

#endif
