/* Locks: parts of the face that stay where they are while sliders move (motion attenuation).
 *
 * A lock stores the pose at the moment of locking. Requested weights w1, of a user or a curve, are
 * replaced by the weights w2 that
 *
 *   minimize alpha |S (f(w2) - f_lock) - slack|^2 + |S' (f(w2) - f(w1))|^2
 *             + ridge mean(diag D^T D) |w2 - w1|^2
 *
 * S picks the locked coordinates, S' all others, slack is the part of the requested motion that
 * lies within the dead zone. On a linear rig without limits this is the closed form of Lewis,
 * Mooser, Deng and Neumann ("Reducing blendshape interference by selected motion attenuation",
 * 2005), with the change of weights regularized:
 *
 *   w2 = w1 - alpha (D^T D + (alpha - 1) Q + ridge W)^-1 S^T soft(S (f(w1) - f_lock)),   Q = S^T S
 *
 * A pipeline:  slider space (once per rig) -> sinew_locks_create -> sinew_locks_add, ..._switch
 *              -> sinew_locks_apply per edit, or sinew_locks_filter for whole curves.
 * docs/locks.md describes the method, its measured effect, and when not to use it. */
#ifndef SINEW_LOCK_H
#define SINEW_LOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "sinew/monitor.h"
#include "sinew/slider_space.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { SINEW_AXIS_X = 1, SINEW_AXIS_Y = 2, SINEW_AXIS_Z = 4, SINEW_AXIS_ALL = 7 };

typedef enum sinew_lock_mode {
    SINEW_LOCK_MODE_KEEP, /* sliders that the user moves keep the requested value; the others
                             respond */
    SINEW_LOCK_MODE_TRADE /* every slider may change: more reduction, less of the edit */
} sinew_lock_mode;

#define SINEW_LOCK_ALPHA           1.0
#define SINEW_LOCK_ALPHA_LIMIT     1e9
#define SINEW_LOCK_RIDGE           1e-3
#define SINEW_LOCK_DEAD_ZONE       5e-4
#define SINEW_LOCK_TOLERANCE       1e-7
#define SINEW_LOCK_ITERATION_LIMIT 50
#define SINEW_LOCK_FALLOFF         0.1

typedef struct sinew_lock_options {
    uint32_t size; /* of this structure in bytes; set by sinew_lock_options_init */
    /* How strongly the lock holds against the rest of the edit, 0 to infinity: 0 lets everything
     * move, infinity (taken as SINEW_LOCK_ALPHA_LIMIT) holds the locked coordinates. */
    double alpha;
    /* alpha counts in units of (unlocked / locked coordinates), at least 1, among the coordinates
     * that some slider moves; false: alpha is absolute. */
    bool alpha_relative;
    double ridge; /* weight of the change of sliders, >= 0, relative to the mean square motion
                     of a target; more for hundreds of shapes */
    double
        dead_zone; /* invisible motion of a locked coordinate, >= 0, as a fraction of the
                      bounding-box diagonal of the moving vertices; only the excess is cancelled */
    sinew_lock_mode mode;
    bool bounded; /* keep sliders within their limits in the solve itself; sliders requested outside
                     may stay there */
    double few;   /* prefer few responding sliders, 0 (no) to 1 (none responds): an L1 term, as a
                     fraction of the value at which no slider responds */
    double tolerance; /* largest change of a weight in the last iteration, rigs with in-betweens or
                         combinations */
    int iteration_limit;
    double falloff; /* reach of the vertex corrective, fraction of the diagonal, > 0 */
} sinew_lock_options;

SINEW_API void sinew_lock_options_init(sinew_lock_options *options);
/* The method as published: no ridge, no dead zone, no limits, trade, and alpha counted over all
 * coordinates of the mesh. Nearly dependent targets can then lead to extreme weights. */
SINEW_API void sinew_lock_options_set_published(sinew_lock_options *options,
                                                const sinew_slider_space *space,
                                                int locked_coordinates);

/* The locks on one rig. A state: do not share it between threads. */
typedef struct sinew_locks sinew_locks;

/* options NULL: the defaults. */
SINEW_API sinew_status sinew_locks_create(const sinew_slider_space *space,
                                          const sinew_lock_options *options, sinew_locks **locks,
                                          sinew_error *error);
SINEW_API void sinew_locks_destroy(sinew_locks *locks);
/* Returns SINEW_BAD_INPUT when alpha, ridge or dead_zone is negative or NaN, or few is outside [0,
 * 1]. */
SINEW_API sinew_status sinew_locks_set_options(sinew_locks *locks,
                                               const sinew_lock_options *options,
                                               sinew_error *error);

/* Locks coordinates of vertices at the pose of the given weights. `axes`: SINEW_AXIS_*. strengths
 * (may be NULL: all 1) in [0, 1] per vertex, for painted masks. Where locks overlap, the stronger
 * one applies, at its own pose. Returns SINEW_BAD_INPUT for a duplicate name, no vertices, or a
 * vertex out of range. The time depends on the changed coordinates only. */
SINEW_API sinew_status sinew_locks_add(sinew_locks *locks, const char *name, int count,
                                       const int *vertices, unsigned axes, const double *strengths,
                                       const double *weights, sinew_error *error);
/* Returns SINEW_BAD_INPUT when no lock has that name. */
SINEW_API sinew_status sinew_locks_remove(sinew_locks *locks, const char *name, sinew_error *error);
/* A lock that is off keeps its pose but has no effect. */
SINEW_API sinew_status sinew_locks_switch(sinew_locks *locks, const char *name, bool on,
                                          sinew_error *error);
SINEW_API int sinew_locks_count(const sinew_locks *locks);
SINEW_API const char *sinew_locks_name(const sinew_locks *locks, int index);
SINEW_API bool sinew_locks_is_on(const sinew_locks *locks, int index);

/* Locked coordinates that some slider moves (masks count with their strength), and the alpha that
 * the options come to with them. */
SINEW_API double sinew_locks_coordinates(const sinew_locks *locks);
SINEW_API double sinew_locks_alpha(const sinew_locks *locks);

/* Locked motion below this fraction of the bounding-box diagonal is invisible: 0.1 mm on a head. */
#define SINEW_LOCK_VISIBLE 5e-4

typedef struct sinew_lock_info {
    uint32_t size;                     /* of this structure in bytes; set by the caller */
    double asked_motion, given_motion; /* RMS distance of the locked coordinates from their lock
                                          pose, requested and returned, length units */
    double reduction;                  /* their ratio; 1 when nothing moves */
    double kept;                       /* size of the unlocked motion, returned over requested */
    double cosine;                     /* between the two unlocked motions */
    double share;                      /* fraction of the requested slider change that was kept */
    double lowest, highest;            /* of the given weights */
    int changed;                       /* sliders that moved by over 0.05 without being edited */
    bool conflict; /* the edit conflicts with the lock: it moves locked vertices visibly, and less
                      than a quarter of that could be cancelled */
    int iterations;
    double residual; /* largest weight change of the last iteration */
} sinew_lock_info;

/* asked[slider_count] -> given[slider_count] (may be the same array). `from` is the pose before the
 * edit: sliders that differ from it are the ones the user moves; NULL: none, so that all may
 * respond. Motions in `info` (may be NULL: faster) are those of the rig itself, in-betweens and
 * combinations included. With nothing locked given = asked exactly. Never moves the locked
 * coordinates further (RMS) than `asked` does. Allocates nothing. */
SINEW_API sinew_status sinew_locks_apply(sinew_locks *locks, const double *from,
                                         const double *asked, double *given, sinew_lock_info *info,
                                         sinew_error *error);

typedef struct sinew_lock_filter_info {
    uint32_t size;                     /* of this structure in bytes; set by the caller */
    double asked_motion, given_motion; /* RMS over all times */
    double worst_given;                /* largest RMS of one time */
    double lowest, highest;            /* of the given weights */
    int not_converged;                 /* times */
} sinew_lock_filter_info;

/* A whole take: `curves` has the rig's sliders as channels (sinew_rig_bind_curves). keep
 * [slider_count] marks sliders that stay as they are; NULL: every slider may respond (trade), since
 * in a take all of them move. Limits are widened to the range that a slider has in the take, so the
 * weights of a time do not depend on earlier times. The mapping from requested to returned weights
 * does not increase distances (docs/locks.md), so it adds no jumps to curves. */
SINEW_API sinew_status sinew_locks_filter(sinew_locks *locks, const sinew_curves *curves,
                                          const bool *keep, sinew_curves **filtered,
                                          sinew_lock_filter_info *info,
                                          const sinew_monitor *monitor, sinew_error *error);

/* Cancels by vertices what sliders cannot cancel: moves the locked coordinates of positions
 * [3 * vertex_count] back to their lock pose and lets the displacement fall off smoothly over the
 * surface around. `strain` (may be NULL): largest relative change of an edge's length that this
 * makes. The first call after a change of the locks factors a matrix. */
SINEW_API sinew_status sinew_locks_correct(sinew_locks *locks, double *positions, double *strain,
                                           const sinew_monitor *monitor, sinew_error *error);

#ifdef __cplusplus
}
#endif
#endif
