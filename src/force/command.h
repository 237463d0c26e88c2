/* The command: least squares from marker residuals to one number per target.
 *
 *   u = argmin sum_i c_i |r_i - (R u)_i|^2 + ridge sum_k s_k u_k^2 + smooth s |u - u_last|^2
 *
 * R = S Phi are the responses at the markers, s the mean of their squared column lengths, so that
 * ridge and smooth mean the same on any rig. s_k is s, or more for targets that the markers hardly
 * see: what moves the face a lot and the markers a little is no way to meet them. The normal matrix
 * is factored again only when the weights c change: never, while all markers are seen. */
#ifndef SN_FORCE_COMMAND_H
#define SN_FORCE_COMMAND_H

#include <stdbool.h>

#include "algebra/box_qp.h"
#include "base/status.h"
#include "sinew/force.h"

typedef struct sn_command {
    int markers, columns;
    const double *rows; /* 3 markers x columns, column-major; borrowed */
    double scale, smooth;
    const bool *held; /* columns that get no command; NULL: none; borrowed */
    double *pull;     /* ridge s_k */
    double *weights;  /* of the factored matrix; weights[0] < 0 before the first */
    double *scaled;   /* rows times the square roots of the weights */
    double *matrix, *factor, *right, *residual;
    bool bounded;
    double *lower, *upper;
    sn_box_qp *qp;
} sn_command;

/* effect[columns]: typical squared response of the skin that each column moves. */
sinew_status sn_command_create(int markers, int columns, const double *rows, const double *effect,
                               const sinew_force_options *options, sn_command **command,
                               sinew_error *error);
void sn_command_destroy(sn_command *command);
/* The next solve factors its matrix anew, as the first did. */
void sn_command_forget(sn_command *command);
/* Drops the factor of the free variables that earlier frames left: a frame that starts from a saved
 * state has the same bits as one that follows them. The matrix is kept. */
void sn_command_start_frame(sn_command *command);
/* residual[3 * markers], zero where a marker is missing; weights[markers] >= 0; last[columns]; u:
 * warm start in, command out. SINEW_NOT_CONVERGED: within the bounds, but not the best. No
 * allocation. */
sinew_status sn_command_solve(sn_command *command, const double *residual, const double *weights,
                              const double *last, double *u, sinew_error *error);

#endif
