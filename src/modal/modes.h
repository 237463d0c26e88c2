/* Vibration modes of a body, and poses read in them.
 *
 *   K y = lambda^2 M y
 *
 * the smallest after the rigid motions, M-orthonormal. Behind them are the three rotations of
 * each connected component as fields of their own with lambda = 0: a pose that turns a part as a
 * whole is missed without them. A basis of given displacement fields (expression targets, say) may
 * replace the vibrations; its frequencies are the Rayleigh quotients of its principal
 * axes. */
#ifndef SN_MODAL_MODES_H
#define SN_MODAL_MODES_H

#include "algebra/sparse.h"
#include "mesh/rotation_strain.h"
#include "sinew/monitor.h"

typedef struct sn_modes {
    int vertex_count;
    int mode_count;   /* vibrations */
    int column_count; /* and rotations: mode_count + 3 per component */
    double *lambda;   /* per column, radians per unit of time, increasing; 0 for rotations */
    double *shapes;   /* 3 * vertex_count x column_count, column-major */
    double *gram;     /* Cholesky factor of the Gram matrix of the scaled columns */
    double *scale;    /* per column: what makes its Gram entry 1 */
    double worst_residual;
} sn_modes;

/* `count` vibrations of K and the diagonal mass (3 * vertex_count each). */
sinew_status sn_modes_create(const sn_rotation_strain *rs, const double *rest,
                             const sn_sparse *stiffness, const double *mass, int count,
                             const sinew_monitor *monitor, sn_modes **modes, sinew_error *error);
/* From `count` displacement fields, column-major. */
sinew_status sn_modes_create_basis(const sn_rotation_strain *rs, const double *rest,
                                   const sn_sparse *stiffness, const double *mass, int count,
                                   const double *fields, sn_modes **modes, sinew_error *error);
/* From shapes and frequencies known already (a cache); takes ownership of both arrays. */
sinew_status sn_modes_restore(const sn_rotation_strain *rs, int mode_count, int column_count,
                              double *lambda, double *shapes, sn_modes **modes, sinew_error *error);
void sn_modes_destroy(sn_modes *modes);

/* Weights z[column_count] of the coordinates' best fit in the metric of modal/field.h.
 * scratch[3 * vertex_count]. */
void sn_modes_project(const sn_modes *modes, const sn_rotation_strain *rs,
                      const double *coordinates, double *scratch, double *weights);

/* displacement[3 * vertex_count] = sum of weighted shapes. */
void sn_modes_displace(const sn_modes *modes, const double *weights, double *displacement);

#endif
