/* Vertices that a Newton step must not move: hard pulls. The residual and every search direction
 * are projected, d_v = 0. */
#ifndef SN_SPRING_CONSTRAINTS_H
#define SN_SPRING_CONSTRAINTS_H

#include <stdbool.h>

#include "base/status.h"

typedef struct sn_constraints {
    bool *frozen; /* per free vertex */
    int *frozen_list;
    int frozen_count;
} sn_constraints;

sinew_status sn_constraints_create(int vertex_count, sn_constraints *constraints,
                                   sinew_error *error);
void sn_constraints_free(sn_constraints *constraints);
void sn_constraints_clear(sn_constraints *constraints);
void sn_constraints_freeze(sn_constraints *constraints, int vertex);

static inline bool sn_constraints_empty(const sn_constraints *constraints) {
    return constraints->frozen_count == 0;
}

/* v := P v, SN_PAD per vertex. */
void sn_constraints_project(const sn_constraints *constraints, double *v);
void sn_constraints_project_f32(const sn_constraints *constraints, float *v);

#endif
