/* Markers as small balls on a mesh, for pictures. */
#ifndef CLI_BALLS_H
#define CLI_BALLS_H

#include "verb.h"

/* A copy of the mesh at `positions` (NULL: its own) with a ball of the radius around each point.
 * heat[count], 0 to 1, colors the balls from green to red. colors: 3 per vertex of the new mesh,
 * with those of the old one (NULL: white) first; release with sinew_free. */
sinew_status cli_add_balls(cli_call *call, const sinew_mesh *mesh, const double *positions,
                           const float *old_colors, int count, const double *points,
                           const double *heat, double radius, sinew_mesh **with, float **colors);

#endif
