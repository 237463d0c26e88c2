#include "spring/interior.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/monitor.h"
#include "base/status.h"
#include "rig/tets_store.h"

sinew_status sn_interior_make(const sinew_mesh *mesh, const sinew_spring_options *options,
                              const sinew_monitor *monitor, sinew_tets **tets, char *note,
                              int note_size, sinew_error *error) {
    *tets = NULL;
    if (options->tets) {
        if (options->tets->surface_count != mesh->vertex_count)
            return sn_fail(error, SINEW_BAD_INPUT,
                           "spring: tets have %d surface vertices, the neutral %d",
                           options->tets->surface_count, mesh->vertex_count);
        snprintf(note, (size_t)note_size, "tets");
        return sn_tets_copy(options->tets, tets, error);
    }
    if (options->interior != SINEW_SPRING_INTERIOR_TETS) {
        bool struts = options->interior == SINEW_SPRING_INTERIOR_STRUTS;
        snprintf(note, (size_t)note_size, struts ? "struts" : "none");
        return SINEW_OK;
    }
    sinew_tets_options make;
    sinew_tets_options_init(&make);
    make.interior_points = options->interior_points;
    snprintf(note, (size_t)note_size, "tets");
    return sn_tets_make(mesh, &make, options->cache, monitor, tets, error);
}

sinew_status sn_interior_carry(const sinew_tets *tets, int pose_count, double **poses,
                               const sinew_monitor *monitor, sinew_error *error) {
    if (tets->vertex_count == tets->surface_count) return SINEW_OK;
    sinew_carry *carry = NULL;
    double *all = SN_NEW(double, 3 * (size_t)tets->vertex_count);
    if (!all) return sn_no_memory(error);
    sinew_status status = sinew_carry_create(tets, &carry, error);
    for (int p = 0; p < pose_count && status == SINEW_OK; p++) {
        if (sn_cancelled(monitor)) {
            status = sn_fail(error, SINEW_CANCELLED, "cancelled");
            break;
        }
        status =
            sinew_carry_pose(carry, poses[p], SINEW_CARRY_ITERATIONS_DEFAULT, all, NULL, error);
        if (status == SINEW_OK) memcpy(poses[p], all, 3 * (size_t)tets->vertex_count * sizeof *all);
    }
    sinew_carry_destroy(carry);
    sn_free(all);
    return status;
}
