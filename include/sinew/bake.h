/* Baking: correctives that make a plain blendshape rig approximate a physical model, for playback
 * in any engine.
 *
 * Engines do not run the solvers, but they play morph targets. Baking samples a model (any function
 * from slider weights to positions) and fits the difference to the rig's linear blend:
 *
 *   f(w) = f0 + sum_k a_k(w) d_k + sum_j phi_j(w) c_j
 *
 * phi_j is a polynomial in the slider weights. A driver table exports it to an engine; a baked clip
 * does not need one. A few shapes span what the samples have in common, and their terms are chosen
 * greedily: each step adds the term that removes most of the remaining error. A single slider at
 * full weight still reproduces the artist's shape exactly.
 *
 * For programs that support only in-betweens and products, choose the other style: phi_j is then
 * the hat function of an in-between on one slider, or a product such as jawOpen^2 * smile. Reaching
 * the same error then requires several times as many targets.
 *
 * Contact sets in suddenly, and neither polynomials nor products follow it. For a model with
 * self-contact, sinew_bake looks for the sliders that bring two surfaces together, and adds a
 * corrective for each such site. Its phi_j is a hinge: 0 up to where the linear blend begins to
 * intersect, and linear in the weights beyond.
 *
 *   sinew_bake          fit                                  once
 *   sinew_bake_measure  compare with the model on poses that were not used to fit
 *
 * When not to use it: for models whose frames depend on earlier ones (inertia, friction). No
 * function of the weights can reproduce those; write the frames of the clip instead. */
#ifndef SINEW_BAKE_H
#define SINEW_BAKE_H

#include <stdbool.h>
#include <stdint.h>

#include "sinew/monitor.h"
#include "sinew/rig.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SINEW_BAKE_TARGETS         40
#define SINEW_BAKE_TOLERANCE       1e-3
#define SINEW_BAKE_SAMPLES         2400
#define SINEW_BAKE_CONTACT_SAMPLES 600

/* The model: positions[3 * vertex_count] of weights[slider_count]. Called from one thread.
 * Unconverged results are used as they are. */
typedef sinew_status sinew_bake_model(const double *weights, double *positions, void *user,
                                      const sinew_monitor *monitor, sinew_error *error);

typedef enum sinew_bake_style {
    SINEW_BAKE_STYLE_POLYNOMIALS, /* combinations with SINEW_COMBINE_POLYNOMIAL */
    SINEW_BAKE_STYLE_INBETWEENS   /* in-betweens and products */
} sinew_bake_style;

typedef struct sinew_bake_options {
    uint32_t size;    /* of this structure in bytes; set by sinew_bake_options_init */
    int max_targets;  /* most targets to add, >= 1 */
    double tolerance; /* stop when no vertex of any sample is farther off, fraction of the
                         bounding-box diagonal, >= 0 */
    int max_samples;  /* most evaluations of the model, 10 to 5000 */
    int row_count;    /* poses of the clips that the rig is going to play: rows of slider weights */
    const double *rows; /* row_count * slider_count, or NULL */
    sinew_bake_style style;
    bool self_contact; /* the model keeps the surface from intersecting itself: place samples where
                          the linear blend of two sliders intersects, and add hinges */
    /* With self_contact: the same model without it, or NULL. Contact costs a model several times as
     * much as everything else, and moves little: with this, only samples where surfaces meet ask
     * for contact. */
    sinew_bake_model *without_contact;
    void *without_contact_user;
    int max_contact_samples; /* most samples where surfaces meet, >= 0 */
} sinew_bake_options;

SINEW_API void sinew_bake_options_init(sinew_bake_options *options);

typedef struct sinew_bake_info {
    uint32_t size;                /* of this structure in bytes; set by the caller */
    int samples;                  /* evaluations of the model */
    int inbetweens, combinations; /* targets added */
    double linear_error; /* root mean square over the samples, fraction of the diagonal … */
    double fitted_error; /* … before and after; on the samples themselves: see sinew_bake_measure */
    double fitted_worst; /* largest error of a vertex in a sample, fraction of the diagonal */
    double seconds;
} sinew_bake_info;

/* Returns the rig with its correctives; the given rig is not changed. info may be NULL. */
SINEW_API sinew_status sinew_bake(const sinew_rig *rig, const sinew_bake_options *options,
                                  sinew_bake_model *model, void *user, const sinew_monitor *monitor,
                                  sinew_rig **baked, sinew_bake_info *info, sinew_error *error);

/* Distance between a rig's linear blend and the model. */
typedef struct sinew_bake_error {
    uint32_t size; /* of this structure in bytes; set by the caller */
    int poses;
    double mean;  /* distance of a vertex, fraction of the diagonal */
    double rms;   /* root mean square */
    double p95;   /* 95th percentile over the moving vertices of all poses */
    double worst; /* largest */
} sinew_bake_error;

/* Measures over row_count rows of slider weights, which should differ from those of the fit. */
SINEW_API sinew_status sinew_bake_measure(const sinew_rig *rig, int row_count, const double *rows,
                                          sinew_bake_model *model, void *user,
                                          const sinew_monitor *monitor, sinew_bake_error *measured,
                                          sinew_error *error);

/* Poses for measuring: rows[count * slider_count] of two to four sliders that move the same skin,
 * at random weights. The same seed gives the same rows. */
SINEW_API sinew_status sinew_bake_poses(const sinew_rig *rig, uint64_t seed, int count,
                                        double *rows, sinew_error *error);

#ifdef __cplusplus
}
#endif
#endif
