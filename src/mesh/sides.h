/* The sides of tets, sorted so that equal ones are adjacent. */
#ifndef SN_MESH_SIDES_H
#define SN_MESH_SIDES_H

#include <stddef.h>

#include "base/status.h"

typedef struct sn_side {
    int v[3]; /* increasing */
    int tet;  /* -1: a triangle of a surface */
} sn_side;

/* All sides of the tets and, with tet -1, the given triangles; equal sides in the order of their
 * tets. Release with sn_free. */
sinew_status sn_sides_create(int tet_count, const int *tets, int triangle_count,
                             const int *triangles, sn_side **sides, size_t *count,
                             sinew_error *error);
/* First index after `at` whose side is another one. */
size_t sn_sides_next(const sn_side *sides, size_t count, size_t at);

#endif
