/* Bodies for the tests of this room. */
#ifndef TESTS_MODAL_BODIES_H
#define TESTS_MODAL_BODIES_H

#include "mesh/rotation_strain.h"
#include "sinew/tets.h"

/* A bar of nx x ny x nz boxes of six tetrahedra, from x = 0 to `length`, centerd on the x axis,
 * `height` along y and `width` along z. Release with sinew_tets_destroy. */
sinew_tets *test_bar(int nx, int ny, int nz, double length, double height, double width);
/* Turned about the x axis by `turns` at the far end, evenly; positions[3 * vertex_count]. */
void test_twist(const sinew_tets *bar, double length, double turns, double *positions);
/* Bent in the xy plane by `radians` at the far end, evenly. */
void test_bend(const sinew_tets *bar, double length, double radians, double *positions);
/* Tets of no or negative volume; *volume: the sum. */
int test_flipped(const sinew_tets *tets, const double *positions, double *volume);

sn_rotation_strain *test_structure(const sinew_tets *tets);

#endif
