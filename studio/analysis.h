/* Questions that pages ask: which sliders disturb which, how the modes of a modal scene move. */
#ifndef STUDIO_ANALYSIS_H
#define STUDIO_ANALYSIS_H

#include "solver.h"

/* Sends the interference matrix of the rig to the page that asked. */
void analysis_interference(solver *s, int client);
/* Slider weights over the clip, however it is driven. */
void analysis_curves(solver *s, int client);
/* Sends frequency, damping and weight over the clip of every mode; the model must be modal. */
void analysis_modes(solver *s, int client);
/* The rest shape displaced by each of the slowest modes. */
void analysis_mode_shapes(solver *s, int client);

#endif
