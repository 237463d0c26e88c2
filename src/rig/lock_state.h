/* Inside of sinew_locks. */
#ifndef SN_RIG_LOCK_STATE_H
#define SN_RIG_LOCK_STATE_H

#include "rig/corrective.h"
#include "rig/row_blocks.h"
#include "rig/slider_solve.h"
#include "rig/slider_space.h"
#include "sinew/lock.h"

typedef struct sn_lock {
    char *name;
    bool on;
    int count;
    int *vertices;     /* increasing */
    double *strengths; /* 3 per vertex */
    double *reference; /* 3 per vertex: displacement from the neutral at the lock pose */
} sn_lock;

/* What all locks that are on hold together: the vertices, and for each coordinate its strength and
 * the displacement it should keep. */
typedef struct sn_held {
    int count;
    int *vertices;
    double *strengths, *reference; /* 3 per vertex */
    double coordinates;            /* sum of the strengths */
    sn_row_blocks rows;
} sn_held;

struct sinew_locks {
    const sinew_slider_space *space;
    sinew_lock_options options;
    int lock_count;
    sn_lock *locks;

    sn_held held;
    double *held_gram; /* Q, target_count squared */
    double *matrix;    /* T^T T + (alpha - 1) Q */
    double alpha;
    long version; /* of matrix and ridge */

    sn_row_pack pack;
    sn_slider_work *work;
    sn_corrective *corrective; /* NULL until asked for; dropped when the held set changes */

    /* scratch of an edit */
    double *activations, *gradient, *scratch; /* target_count each */
    double *pull;                             /* target_count: S^T H m1 */
    double *excess_pulls, *motion_pulls;      /* one per column of the held rows */
    double *lower, *upper, *solution;         /* slider_count each */
    bool *fixed;                              /* slider_count */
    double *asked_motion, *given_motion;      /* 3 per held vertex, weighted by root of strength */
};

/* One solve between given limits; `fixed` sliders keep their value. Not through `from`. Leaves
 * asked_motion, and given_motion when `measured`. */
sn_slider_solution sn_locks_solve(sinew_locks *locks, const double *asked, const double *lower,
                                  const double *upper, const bool *fixed, bool measured,
                                  double *given);
/* RMS of the motion of the held coordinates from their lock pose. */
double sn_locks_rms(const sinew_locks *locks, const double *motion);

#endif
