/* Questions about the rig that pages ask: which sliders disturb which. */
#ifndef STUDIO_ANALYSIS_H
#define STUDIO_ANALYSIS_H

#include "solver.h"

/* Sends the interference matrix of the rig to the page that asked. */
void analysis_interference(solver *s, int client);

#endif
