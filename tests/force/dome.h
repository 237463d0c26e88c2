/* A small face-like rig for the tests of this room: a dome with smooth, overlapping targets. */
#ifndef TESTS_FORCE_DOME_H
#define TESTS_FORCE_DOME_H

#include "sinew/marker_map.h"
#include "sinew/rig.h"

/* side x side vertices, `targets` bumps that reach to the middle of the border at most, so that the
 * border is still. */
sinew_rig *dome_rig(int side, int targets);
/* Every `stride`-th inner vertex; every third marker inside a triangle instead. */
sinew_marker_map *dome_markers(const sinew_rig *rig, int side, int stride);
/* rest + sum of weights times targets. */
void dome_blend(const sinew_rig *rig, const double *weights, double *positions);
/* Pairs of triangles that intersect with the vertices at x. */
int crossings(const sinew_rig *rig, const double *x);
double root_mean_square(const double *a, const double *b, int count);

/* Triangles of grids of side x side vertices, one grid after the other. Returns how many. */
int grid_triangles(int grids, int side, int *triangles);

#endif
