/* The capture bench: markers of a take on the face, and how well a model meets them. */
#ifndef STUDIO_TAKE_H
#define STUDIO_TAKE_H

#include <jansson.h>

#include "solver.h"

/* Sends where the markers sit on the face and where the take has them in every frame. */
void take_markers(solver *s, int client);
/* Solves the clip and sends the marker error and the shape of each frame. name: what the answer is
 * called. model, parameters: solve by these, beside the scene; NULL: the scene as it is. */
void take_errors(solver *s, const char *name, const char *model, const json_t *parameters,
                 int client);

#endif
