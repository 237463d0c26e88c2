/* Direct manipulation: drag points of the face, and the sliders follow.
 *
 *   min over w of  |S (f(w) - targets)|^2 + hold |L (f(w) - f_lock)|^2 + ridge m |w - now|^2
 *
 * S picks the dragged coordinates, L the locked ones, m is the mean square motion that a slider
 * gives the dragged points, so that ridge has no unit. Limits hold inside the solve.
 *
 * Based on: Lewis, Anjyo, "Direct manipulation blendshapes", IEEE CG&A 2010. */
#ifndef SINEW_MANIPULATE_H
#define SINEW_MANIPULATE_H

#include <stdint.h>

#include "sinew/lock.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SINEW_MANIPULATE_RIDGE           1e-2
#define SINEW_MANIPULATE_HOLD            1.0
#define SINEW_MANIPULATE_TOLERANCE       1e-7
#define SINEW_MANIPULATE_ITERATION_LIMIT 50

typedef struct sinew_manipulate_options {
    uint32_t size; /* of this structure in bytes; set by sinew_manipulate_options_init */
    double ridge;  /* resistance of sliders against moving, >= 0; smaller values reach further */
    double hold;   /* weight of a locked coordinate against a dragged one, >= 0; times the relative
                      alpha of the locks */
    bool bounded;  /* keep sliders within their limits */
    double few;    /* prefer few sliders, 0 to 1, as sinew_lock_options.few */
    double tolerance;
    int iteration_limit;
} sinew_manipulate_options;

SINEW_API void sinew_manipulate_options_init(sinew_manipulate_options *options);

typedef struct sinew_drag {
    int vertex;
    unsigned axes;    /* SINEW_AXIS_*: which coordinates are dragged */
    double target[3]; /* where to, in the coordinates of the neutral */
    double weight;    /* > 0, against other drags */
} sinew_drag;

typedef struct sinew_manipulate_info {
    uint32_t size;        /* of this structure in bytes; set by the caller */
    double distance;      /* RMS distance of the dragged coordinates from their targets, before */
    double left;          /* and after */
    double locked_motion; /* RMS of the locked coordinates from their lock pose, after */
    int iterations;
    double residual;
} sinew_manipulate_info;

/* A state for one thread. `locks` may be NULL; it is read at each solve and must outlive this. */
typedef struct sinew_manipulator sinew_manipulator;
SINEW_API sinew_status sinew_manipulator_create(const sinew_slider_space *space,
                                                const sinew_manipulate_options *options,
                                                const sinew_locks *locks,
                                                sinew_manipulator **manipulator,
                                                sinew_error *error);
SINEW_API void sinew_manipulator_destroy(sinew_manipulator *manipulator);

/* Weights from `now` [slider_count] to `weights` (may be the same). Returns SINEW_BAD_INPUT for a
 * vertex out of range, a target that is not finite, and an empty list of drags. */
SINEW_API sinew_status sinew_manipulate(sinew_manipulator *manipulator, int drag_count,
                                        const sinew_drag *drags, const double *now, double *weights,
                                        sinew_manipulate_info *info, sinew_error *error);

#ifdef __cplusplus
}
#endif
#endif
