/* One vibration mode through any number of key values: a wiggly spline.
 *
 * The curve z(t) through all keys that minimises
 *
 *   integral of (y'' + 2 zeta y' + lambda^2 y)^2 dt,   y = z - r(t),
 *
 * the least extra force that a damped spring needs to hit its keys; r is the straight line between
 * neighboring keys, so that a held pose is held, or the next key, into which the mode then
 * settles. A cubic spline for lambda = zeta = 0. */
#ifndef SN_MODAL_WIGGLY_H
#define SN_MODAL_WIGGLY_H

#include "base/status.h"

typedef enum sn_wiggly_rest { SN_WIGGLY_LINE, SN_WIGGLY_NEXT, SN_WIGGLY_ZERO } sn_wiggly_rest;

/* One interval between keys, ready to evaluate. */
typedef struct sn_wiggly_piece {
    double y, y_rate;       /* at its start, relative to r */
    double push[2];         /* W^-1 epsilon */
    double weight[3];       /* W^-1: xx, xy, yy */
    double rest, rest_rate; /* r at its start, and its slope */
} sn_wiggly_piece;

/* pieces[count - 1] for `count` >= 2 keys at increasing `times`. velocities[count]: prescribed, NaN
 * where free; NULL: zero at both ends, free inside. scratch[3 * count]. */
void sn_wiggly_solve(int count, const double *times, const double *values, const double *velocities,
                     double lambda, double zeta, sn_wiggly_rest rest, double *scratch,
                     sn_wiggly_piece *pieces);

/* What time t without a force does to (y, y'): a matrix by rows. */
void sn_wiggly_step(double lambda, double zeta, double t, double matrix[4]);

/* The curve at time t; past the last key it goes on without force. */
double sn_wiggly_at(int count, const double *times, const sn_wiggly_piece *pieces, double lambda,
                    double zeta, double t);

/* What the curve pays: integral of the squared force over [times[0], times[count - 1]]. */
double sn_wiggly_energy(int count, const double *times, const sn_wiggly_piece *pieces,
                        double lambda, double zeta);

#endif
