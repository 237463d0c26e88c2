/* A smooth displacement of the surface with given values at given coordinates, zero beyond a reach:
 * what locks use to cancel motion that no slider can. */
#ifndef SN_RIG_CORRECTIVE_H
#define SN_RIG_CORRECTIVE_H

#include <stdbool.h>

#include "sinew/mesh.h"

typedef struct sn_corrective sn_corrective;

/* `count` vertices, held[3 per vertex] tells which of their coordinates are given; `reach` is a
 * distance along edges of the neutral. */
sinew_status sn_corrective_create(const sinew_mesh *neutral, int count, const int *vertices,
                                  const bool *held, double reach, sn_corrective **corrective,
                                  sinew_error *error);
void sn_corrective_destroy(sn_corrective *corrective);

/* positions += the field that is values[3 per vertex] at the held coordinates. Returns the largest
 * relative change of an edge's length. */
double sn_corrective_apply(sn_corrective *corrective, const double *values, double *positions);

#endif
