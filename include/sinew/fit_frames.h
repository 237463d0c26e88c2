/* Slider curves from a point cache: the weights whose shapes come closest to every frame.
 *
 *   min_w  sum_t |x_t - f(w_t)|^2 / s + sparse sum |w_t - rest| + smooth sum |w_t - w_(t-1)|^2
 *
 * within the limits of the sliders. s is the mean squared motion of one slider at full weight,
 * which makes `sparse` and `smooth` independent of the rig. Rigs with in-betweens and combinations
 * are solved by Gauss-Newton. New targets can then be added for the motion that the rig cannot
 * make: the principal components of what is left, with their own sliders and curves. */
#ifndef SINEW_FIT_FRAMES_H
#define SINEW_FIT_FRAMES_H

#include "sinew/frames.h"
#include "sinew/monitor.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SINEW_FIT_FRAMES_SMOOTH 1e-5
#define SINEW_FIT_FRAMES_SPARSE 1e-6

typedef struct sinew_fit_frames_options {
    uint32_t size;   /* of this structure in bytes; set by sinew_fit_frames_options_init */
    double smooth;   /* >= 0, dimensionless */
    double sparse;   /* >= 0, dimensionless */
    bool bounded;    /* keep weights within the limits of their sliders (default) */
    int correctives; /* most new targets, >= 0 */
} sinew_fit_frames_options;
SINEW_API void sinew_fit_frames_options_init(sinew_fit_frames_options *options);

typedef struct sinew_fit_frames_info {
    uint32_t size; /* of this structure in bytes; set by the caller */
    int frames;
    int correctives; /* targets that were added */
    /* Distances of vertices to the frames, in units of length: of the neutral, of the rig as it
     * was, and with the new targets. */
    double neutral_mean, neutral_worst;
    double fitted_mean, fitted_worst;
    double corrected_mean, corrected_worst;
} sinew_fit_frames_info;

/* The frames must have the vertices of the rig (sinew_frames_match). *curves: a channel per slider
 * at the times of the frames. *corrected (may be NULL when no correctives are wanted): a copy of
 * the rig with the new targets, whose sliders have limits of -1 and 1; the curves then have their
 * channels too. options and info may be NULL. */
SINEW_API sinew_status sinew_fit_frames(const sinew_rig *rig, const sinew_frames *frames,
                                        const sinew_fit_frames_options *options,
                                        const sinew_monitor *monitor, sinew_curves **curves,
                                        sinew_rig **corrected, sinew_fit_frames_info *info,
                                        sinew_error *error);

#ifdef __cplusplus
}
#endif
#endif
