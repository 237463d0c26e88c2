#include "spring/constraints.h"

#include <string.h>

#include "base/memory.h"
#include "spring/system.h"

sinew_status sn_constraints_create(int vertex_count, sn_constraints *constraints,
                                   sinew_error *error) {
    *constraints = (sn_constraints){0};
    constraints->frozen = SN_NEW0(bool, vertex_count);
    constraints->frozen_list = SN_NEW(int, vertex_count);
    if (constraints->frozen && constraints->frozen_list) return SINEW_OK;
    sn_constraints_free(constraints);
    return sn_no_memory(error);
}

void sn_constraints_free(sn_constraints *constraints) {
    sn_free(constraints->frozen), sn_free(constraints->frozen_list);
    *constraints = (sn_constraints){0};
}

void sn_constraints_clear(sn_constraints *constraints) {
    for (int k = 0; k < constraints->frozen_count; k++)
        constraints->frozen[constraints->frozen_list[k]] = false;
    constraints->frozen_count = 0;
}

void sn_constraints_freeze(sn_constraints *constraints, int vertex) {
    if (constraints->frozen[vertex]) return;
    constraints->frozen[vertex] = true;
    constraints->frozen_list[constraints->frozen_count++] = vertex;
}

void sn_constraints_project(const sn_constraints *constraints, double *v) {
    for (int k = 0; k < constraints->frozen_count; k++)
        memset(v + SN_PAD * (size_t)constraints->frozen_list[k], 0, 3 * sizeof *v);
}

void sn_constraints_project_f32(const sn_constraints *constraints, float *v) {
    for (int k = 0; k < constraints->frozen_count; k++)
        memset(v + SN_PAD * (size_t)constraints->frozen_list[k], 0, 3 * sizeof *v);
}
