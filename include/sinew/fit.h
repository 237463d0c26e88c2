/* Static fits: slider weights from captured markers, frame by frame.
 *
 *   min_w  sum_i c_i |d_i - x_i(w)|^2 + l1 s |w|_1 + l2 s |w|^2 + smooth s |w - w_last|^2
 *          + symmetry s sum_pairs (w_left - w_right)^2,      lower <= w <= upper
 *
 * d_i are the markers, x_i(w) their positions on the posed rig, c_i weights, and s the mean square
 * marker motion of one slider, which makes the parameters independent of the rig.
 *
 *   SBS   w >= 0, nothing else                       (simple blendshape solve)
 *   RSBS  w >= 0 with l1 and l2                      (regularised)
 *   ULS   w of any sign with l2                      (unconstrained least squares)
 *
 * By default every weight also stays in the range of its slider, for ULS in that range widened by
 * its width on both sides: otherwise least squares drives sliders that the markers barely observe
 * to extreme values. Sliders that the markers do not observe (gaze, tongue, pupils) are held, see
 * sinew_fit_choose_sliders.
 *
 * Rigs with in-betweens and combinations are fitted by Gauss-Newton on their Jacobian. Missing
 * markers (NaN) are ignored, outliers lose their weight, and a frame without markers keeps the
 * previous weights. */
#ifndef SINEW_FIT_H
#define SINEW_FIT_H

#include <stdint.h>

#include "sinew/marker_map.h"
#include "sinew/monitor.h"
#include "sinew/rig.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum sinew_fit_method {
    SINEW_FIT_METHOD_SBS,
    SINEW_FIT_METHOD_RSBS,
    SINEW_FIT_METHOD_ULS
} sinew_fit_method;

#define SINEW_FIT_RSBS_L1 0.002
#define SINEW_FIT_RSBS_L2 0.005
#define SINEW_FIT_ULS_L2  0.01
/* A slider is observed when it moves some marker by this fraction of its largest motion. */
#define SINEW_FIT_OBSERVED 0.05
/* Distance up to which a marker keeps its full weight, as a fraction of the bounding-box diagonal.
 * On the sample face without a third of its targets, good markers are off by up to 0.027. */
#define SINEW_FIT_OUTLIER 0.025
/* Where the whole face fits badly, a marker keeps its weight up to this multiple of the median
 * distance. */
#define SINEW_FIT_OUTLIER_SPREAD 6.0
enum { SINEW_FIT_ITERATIONS = 20 };

typedef struct sinew_fit_options {
    uint32_t size;      /* of this structure in bytes; set by sinew_fit_options_init */
    double l1, l2;      /* >= 0, dimensionless */
    double smooth;      /* >= 0: pull to the last frame's weights */
    double symmetry;    /* >= 0: pull of declared pairs to each other */
    bool bounded_below; /* w >= the slider's minimum (0 where it has none) */
    bool bounded_above; /* w <= the slider's maximum (1 where it has none) */
    double outlier; /* > 0, fraction of the bounding-box diagonal: a marker farther away than this
                       and SINEW_FIT_OUTLIER_SPREAD medians loses weight, and has none at twice that
                       distance; INFINITY trusts every marker */
    int iterations; /* of Gauss-Newton and of re-weighting, >= 1 */
    /* How far a weight may leave the bounds above, as a fraction of the slider's range, >= 0. */
    double undershoot, overshoot;
    /* slider_count flags: sliders that keep the weight they enter a frame with. NULL: those that
     * sinew_fit_choose_sliders holds without lists. Copied. */
    const bool *held;
} sinew_fit_options;

/* Defaults of SINEW_FIT_METHOD_RSBS. */
SINEW_API void sinew_fit_options_init(sinew_fit_options *options);
/* Sets l1, l2 and the bounds to those of a method; other options are unchanged. */
SINEW_API void sinew_fit_options_set_method(sinew_fit_options *options, sinew_fit_method method);

/* Whether a fit solves for a slider, and why not. */
typedef enum sinew_fit_slider {
    SINEW_FIT_SLIDER_SOLVED,
    SINEW_FIT_SLIDER_GAZE, /* directions of the eyes: markers on lids would rotate them */
    SINEW_FIT_SLIDER_PUPIL,
    SINEW_FIT_SLIDER_TONGUE,
    SINEW_FIT_SLIDER_IDENTITY,   /* another person, not an expression */
    SINEW_FIT_SLIDER_UNOBSERVED, /* no marker moves by SINEW_FIT_OBSERVED of its motion */
    SINEW_FIT_SLIDER_EXCLUDED,   /* by the caller's lists */
} sinew_fit_slider;

/* choice[slider_count]: which sliders can be determined from markers at the points of the map. The
 * lists hold names of sliders separated by commas, in any spelling that sinew_rig_match knows, with
 * * for any end; NULL or "": no list. `only`: solve for these and no others, observed or not.
 * `also`: solve for these, although they would be held; "all": for every slider. `without`: hold
 * these. Returns SINEW_BAD_INPUT for a name that the rig does not have, and when the lists leave no
 * slider. */
SINEW_API sinew_status sinew_fit_choose_sliders(const sinew_rig *rig, const sinew_marker_map *map,
                                                const char *only, const char *also,
                                                const char *without, sinew_fit_slider *choice,
                                                sinew_error *error);
/* "gaze" and so on. */
SINEW_API const char *sinew_fit_slider_reason(sinew_fit_slider choice);

typedef struct sinew_fit_summary {
    uint32_t size; /* of this structure in bytes; set by the caller */
    int solved;    /* sliders */
    int held;
    /* Largest over smallest singular value of the marker motion of the solved sliders, each scaled
     * to length 1: 1 when all move the markers differently, INFINITY when one of them follows from
     * others. Values over 100 mean that markers leave combinations of sliders open. */
    double condition;
    int weakest[4]; /* sliders that the markers determine least, -1 where there are fewer */
} sinew_fit_summary;

typedef struct sinew_fit_info {
    uint32_t size; /* of this structure in bytes; set by the caller */
    int seen;      /* markers */
    int outliers;  /* markers that kept less than half their weight */
    int iterations;
    double marker_error; /* RMS distance of the visible markers to their positions, length units */
} sinew_fit_info;

/* Owns scratch memory: one per thread. */
typedef struct sinew_fit sinew_fit;

/* The rig must outlive the fit; the map is copied. */
SINEW_API sinew_status sinew_fit_create(const sinew_rig *rig, const sinew_marker_map *map,
                                        const sinew_fit_options *options, sinew_fit **fit,
                                        sinew_error *error);
SINEW_API void sinew_fit_destroy(sinew_fit *fit);

/* How well the markers of the map determine the sliders when all are visible. */
SINEW_API sinew_status sinew_fit_get_summary(const sinew_fit *fit, sinew_fit_summary *summary,
                                             sinew_error *error);

/* markers[3 * map->count] in the map's order, NaN where missing; marker_weights (>= 0) may be NULL.
 * weights[slider_count]: the last frame's in, this frame's out. Allocates nothing. info may be
 * NULL.
 */
SINEW_API sinew_status sinew_fit_frame(sinew_fit *fit, const double *markers,
                                       const double *marker_weights, double *weights,
                                       sinew_fit_info *info, sinew_error *error);

/* Marker weights of the last frame, map->count values: those given to it, 0 where a marker was
 * missing or an outlier. Pass them to the marker layer, which would otherwise follow every jump.
 * Valid until the next frame. */
SINEW_API const double *sinew_fit_trusted(const sinew_fit *fit);

/* A whole take, bound by the map's names; curves at the take's times. infos[time_count] may be
 * NULL.
 */
SINEW_API sinew_status sinew_fit_take(sinew_fit *fit, const sinew_markers *markers,
                                      const sinew_monitor *monitor, sinew_curves **curves,
                                      sinew_fit_info *infos, sinew_error *error);

#ifdef __cplusplus
}
#endif
#endif
