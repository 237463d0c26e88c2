/* The capture bench: markers of a take on the face, and how well a model meets them. */
#ifndef STUDIO_TAKE_H
#define STUDIO_TAKE_H

#include "solver.h"

/* Sends where the markers sit on the face and where the take has them in every frame. */
void take_markers(solver *s, int client);
/* Solves the clip and sends the marker error of each frame. */
void take_errors(solver *s, int client);

#endif
