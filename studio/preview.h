/* Small moving pictures of the examples: what a tile of the start screen shows. */
#ifndef STUDIO_PREVIEW_H
#define STUDIO_PREVIEW_H

#include "solver.h"

/* Solves an example on a light rig and sends the page that asked a "preview_rig" and a "preview":
 * the linear and the physical shape in a few frames. */
void preview_example(solver *s, const char *example, int client);

#endif
