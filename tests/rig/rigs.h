/* Small rigs for the tests of this room. */
#ifndef TESTS_RIG_RIGS_H
#define TESTS_RIG_RIGS_H

#include <stdint.h>

#include "sinew/rig.h"

/* A strip of `vertex_count` vertices near the unit square, no targets. */
sinew_rig *strip_rig(int vertex_count);
/* The same with `target_count` plain targets t0, t1 ... of random displacements; each touches a
 * share in (0, 1] of the vertices, in a run with holes. */
sinew_rig *random_rig(int vertex_count, int target_count, double share, uint64_t seed);
/* f0 + sum a_k d_k, added up one by one in doubles. */
void plain_evaluate(const sinew_rig *rig, const double *activations, double *positions);
/* Pairs of triangles of the linear blend that intersect. */
int count_crossings(const sinew_rig *rig, const double *weights);

#endif
