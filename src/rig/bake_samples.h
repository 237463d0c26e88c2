/* The poses that a bake learns from and is measured on. */
#ifndef SN_RIG_BAKE_SAMPLES_H
#define SN_RIG_BAKE_SAMPLES_H

#include <stdbool.h>
#include <stdint.h>

#include "sinew/rig.h"

/* Two sliders that move the same vertices, and how much: the sum of |d_a| |d_b|. */
typedef struct sn_slider_pair {
    int a, b;
    double overlap;
    double interaction; /* how much the two together differ from each alone; set by samples */
    /* They move the skin they share in the same direction, as elbow45 and elbow90 do: alternatives
     * that an animator fades between and never adds up. */
    bool alike;
    bool meets; /* their linear blend intersects itself, though each alone does not */
} sn_slider_pair;

/* Pairs of sliders that meet, strongest first; release with sn_free. */
sinew_status sn_bake_pairs(const sinew_rig *rig, sn_slider_pair **pairs, int *count,
                           sinew_error *error);

/* Rigs with more sliders are faces: a performer moves many at once, left and right together, and
 * some of them to full weight. Limbs have fewer, of which few act at a time. */
enum { SN_BAKE_MANY_SLIDERS = 24 };

/* Rows of many sliders at once; `from` (per slider, or NULL): expressions of two to six of these.
 */
sinew_status sn_bake_crowded_poses(const sinew_rig *rig, uint64_t seed, const bool *from, int count,
                                   double *rows, sinew_error *error);

/* The weight of a slider at u, 0 at rest and 1 at its full shape. */
static inline double sn_bake_weight(const sinew_slider *slider, double u) {
    return slider->rest + u * (1 - slider->rest);
}
/* The inverse, for combinations: never below 0. */
static inline double sn_bake_unit(const sinew_slider *slider, double weight) {
    double range = 1 - slider->rest, u = range != 0 ? (weight - slider->rest) / range : 0;
    return u > 0 ? u : 0;
}

/* Uniform in [0, 1). */
static inline double sn_bake_random(uint64_t *state) {
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(*state >> 11) / 9007199254740992.0;
}

#endif
