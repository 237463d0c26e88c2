/* Interference between targets: which targets move the same vertices, how similarly, where, and
 * which lock helps.
 *
 * Two matrices over the targets of a rig, for the whole face or a region of it:
 *
 *   cosine(i, j)       of the two displacements over the vertices they share, -1 to 1: near 1 they
 *                      do the same, near -1 they undo each other, near 0 they mix motions that no
 *                      single slider repairs;
 *   disturbance(i, j)  of i by j, directed, 0 to infinity: the RMS motion of j on the vertices of i
 *                      (weighted by |d_i|^2, so by where i matters) over that of i itself. 1: at
 * full weight j moves the vertices of i as much as i does. */
#ifndef SINEW_INTERFERENCE_H
#define SINEW_INTERFERENCE_H

#include <stdint.h>

#include "sinew/lock.h"
#include "sinew/slider_space.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A vertex belongs to a target that moves it by more than this fraction of its largest motion. */
#define SINEW_INTERFERENCE_VISIBLE 1e-3
/* The vertices that a suggested lock holds move by at least this fraction of the target's largest
 * motion. */
#define SINEW_INTERFERENCE_CORE 0.5
/* Tolerance within which mirrored pairs count as one, as a fraction. */
#define SINEW_INTERFERENCE_ALIKE 0.2

typedef struct sinew_interference {
    int target_count;
    double *cosine;      /* row i, column j; 0 where they share nothing; symmetric, diagonal 1 */
    double *disturbance; /* row i (disturbed), column j (disturber); 0 where nothing; diagonal 1 */
    double *motion;      /* per target: RMS motion, weighted by its square, length units */
} sinew_interference;

/* Over the given vertices, or over all of them: vertices NULL. */
SINEW_API sinew_status sinew_interference_create(const sinew_slider_space *space, int count,
                                                 const int *vertices,
                                                 sinew_interference **interference,
                                                 sinew_error *error);
SINEW_API void sinew_interference_destroy(sinew_interference *interference);

typedef struct sinew_interference_pair {
    int disturbed, disturber; /* targets */
    double disturbance;       /* of the first by the second */
    double reverse;           /* of the second by the first */
    double cosine;
    int vertex;  /* where they overlap most: largest |d_i| |d_j| */
    int region;  /* of the rig that holds that vertex, the smallest; -1: none */
    double rank; /* the disturbance weighted by what is seen: the order of the list */
} sinew_interference_pair;

/* Returns up to `limit` directed pairs, worst first. Pairs are ranked by what is seen: the
 * disturbance of a target that moves less than half of what targets typically move (the median)
 * counts in proportion to its motion, so that pupils do not top the list. Two targets of sliders
 * that are declared a pair (sinew_slider.mirror) and a combination with its drivers are left out,
 * and of two pairs that are mirror images only one is listed. Returns how many. */
SINEW_API int sinew_interference_worst(const sinew_slider_space *space,
                                       const sinew_interference *interference, int limit,
                                       sinew_interference_pair *pairs);

/* heat[vertex_count]: how far j moves each vertex at full weight, times how much the vertex matters
 * to i (its motion over i's largest), length units. */
SINEW_API void sinew_interference_heat(const sinew_slider_space *space, int disturbed,
                                       int disturber, double *heat);

typedef struct sinew_interference_advice {
    uint32_t size;    /* of this structure in bytes; set by the caller */
    int vertex_count; /* of the core of the disturbed target, which the lock would hold */
    double reduction; /* of the core's motion when the disturber goes to 1 with the lock on */
    double kept;      /* of the disturber's motion elsewhere */
    bool helps;       /* reduced by half or more, and at least half of the edit is kept */
} sinew_interference_advice;

/* Tries the lock: the core of the disturbed target, held at the neutral, while the disturber's
 * slider goes to 1. vertices (may be NULL) receives the core; room for vertex_count of the rig.
 * options NULL: the defaults. Returns SINEW_BAD_INPUT for combinations, which have no slider to
 * try. */
SINEW_API sinew_status sinew_interference_advise(const sinew_slider_space *space, int disturbed,
                                                 int disturber, const sinew_lock_options *options,
                                                 sinew_interference_advice *advice, int *vertices,
                                                 sinew_error *error);

#ifdef __cplusplus
}
#endif
#endif
