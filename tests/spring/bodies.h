/* Small bodies for the spring tests, made here so that the tests rest on nothing but the mesh. */
#ifndef TESTS_SPRING_BODIES_H
#define TESTS_SPRING_BODIES_H

#include "sinew/rig.h"
#include "sinew/tets.h"

/* A block of nx x ny x nz unit cells, five tets a cell, all vertices in the mesh (those inside are
 * in no face), triangles on the outside. */
typedef struct test_block {
    sinew_mesh *mesh;
    sinew_tets tets;
} test_block;

void test_block_create(int nx, int ny, int nz, test_block *block);
void test_block_free(test_block *block);

/* Two triangles over one edge. */
sinew_mesh *test_flap(void);

/* positions bent around y: the axis x in [0, length] becomes an arc of `angle` radians. */
void test_bend(int count, const double *from, double length, double angle, double *to);

#endif
