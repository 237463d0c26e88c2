/* A blendshape rig: a neutral mesh, sliders, and targets that the sliders drive.
 *
 *   f(w) = f0 + sum_k a_k(w) d_k
 *
 * w are slider weights, a_k the activation of target k, d_k its displacement from the neutral.
 *   plain        a_k = w of its slider
 *   in-between   hat function along its slider, between the neighboring values `at`; the plain
 *                target of that slider is one of the knots. Beyond the last knot the last segment
 *                goes on (overdrive), so the shape never jumps
 *   combination  product, lowest or smooth lowest of its driving sliders, off while a driver is at
 *                or below its rest; or a polynomial or hinge of them, as sinew_bake makes. d_k is
 *                the increment that is added on top of what the drivers give by themselves
 *
 * This is the delta form. The whole-face form f = sum_k v_k b_k with weights that sum to one is the
 * same rig: b_0 = f0 with v_0 = 1 - sum a_k, and b_k = f0 + d_k with v_k = a_k. sinew_rig_add_pose
 * accepts a b_k, sinew_rig_shape returns it, sinew_rig_whole_face_weights converts the weights.
 *
 * Targets are sparse: only moved vertices are stored. Names are unique among targets and among
 * sliders. A rig has at most 16,384 targets. */
#ifndef SINEW_RIG_H
#define SINEW_RIG_H

#include "sinew/curves.h"
#include "sinew/mesh.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum sinew_target_kind {
    SINEW_TARGET_KIND_PLAIN,
    SINEW_TARGET_KIND_INBETWEEN,
    SINEW_TARGET_KIND_COMBINATION
} sinew_target_kind;

typedef enum sinew_combine {
    SINEW_COMBINE_MULTIPLY,
    SINEW_COMBINE_LOWEST,
    SINEW_COMBINE_SMOOTH_LOWEST,
    SINEW_COMBINE_POLYNOMIAL,
    SINEW_COMBINE_HINGE /* by how much a polynomial exceeds 1; 0 up to there */
} sinew_combine;

/* One term of a polynomial or hinge: coefficient * product of u^power over its factors. u is the
 * weight of a driver, 0 at its rest and 1 at its full shape, and does not leave [0, 1]. */
enum { SINEW_TERM_FACTORS = 3, SINEW_MAX_POWER = 8 };
typedef struct sinew_term {
    double coefficient;
    int driver[SINEW_TERM_FACTORS]; /* index into the drivers of the target */
    int power[SINEW_TERM_FACTORS];  /* 1 to SINEW_MAX_POWER; 0: no such factor */
} sinew_term;

typedef struct sinew_target {
    char *name;
    sinew_target_kind kind;

    int slider; /* plain and in-between: index of the slider; -1 for combinations */
    double at;  /* slider value of full activation: 1 for plain, elsewhere for in-betweens */

    sinew_combine combine; /* combinations only */
    int driver_count;
    int *drivers; /* slider indices */

    int count;      /* moved vertices */
    int *vertices;  /* increasing */
    double *deltas; /* 3 per moved vertex */

    int term_count; /* polynomials and hinges only */
    sinew_term *terms;
} sinew_target;

typedef struct sinew_slider {
    char *name;
    double minimum, maximum; /* limits; -INFINITY and INFINITY when the rig has none */
    double rest;             /* value of the neutral, usually 0 */
    char *group;             /* "mouth", or NULL */
    int mirror;              /* slider of the other side, or -1 */
} sinew_slider;

typedef struct sinew_region {
    char *name;
    int count;
    int *vertices; /* increasing */
} sinew_region;

typedef struct sinew_rig {
    sinew_mesh *neutral;
    int slider_count;
    sinew_slider *sliders;
    int target_count;
    sinew_target *targets;
    int region_count;
    sinew_region *regions;
} sinew_rig;

/* An empty rig that takes ownership of the neutral (also on failure). */
SINEW_API sinew_status sinew_rig_create(sinew_mesh *neutral, sinew_rig **rig, sinew_error *error);
SINEW_API sinew_status sinew_rig_copy(const sinew_rig *rig, sinew_rig **copy, sinew_error *error);
SINEW_API void sinew_rig_destroy(sinew_rig *rig);

/* Default limits of a slider. */
#define SINEW_SLIDER_MINIMUM 0.0
#define SINEW_SLIDER_MAXIMUM 1.0

/* Add a plain target and the slider of the same name, limits [0, 1]. From dense positions of the
 * posed mesh (whole-face form); vertices that did not move are dropped. sinew_rig_shape reproduces
 * the shape exactly when its coordinates came from floats, and to one rounding otherwise. */
SINEW_API sinew_status sinew_rig_add_pose(sinew_rig *rig, const char *name, const double *positions,
                                          sinew_error *error);
/* The same from sparse displacements (delta form), vertices in any order. Returns SINEW_BAD_INPUT
 * for an empty or duplicate name, a vertex that is out of range or duplicated, and a displacement
 * that is not finite. */
SINEW_API sinew_status sinew_rig_add_target(sinew_rig *rig, const char *name, int count,
                                            const int *vertices, const double *deltas,
                                            sinew_error *error);
/* An in-between of an existing slider at value `at` (displacement from the neutral). `at` must
 * differ from the slider's rest and from its other shapes. */
SINEW_API sinew_status sinew_rig_add_inbetween(sinew_rig *rig, const char *name, int slider,
                                               double at, int count, const int *vertices,
                                               const double *deltas, sinew_error *error);
/* A corrective driven by existing sliders, 1 <= driver_count <= SINEW_MAX_DRIVERS. In a product a
 * slider may appear more than once: it counts as a power. */
enum { SINEW_MAX_DRIVERS = 16 };
SINEW_API sinew_status sinew_rig_add_combination(sinew_rig *rig, const char *name,
                                                 sinew_combine combine, int driver_count,
                                                 const int *drivers, int count, const int *vertices,
                                                 const double *deltas, sinew_error *error);
/* A corrective whose activation is a polynomial of 1 to slider_count different sliders. Every term
 * has at least one factor, so that it vanishes at rest. */
SINEW_API sinew_status sinew_rig_add_polynomial(sinew_rig *rig, const char *name, int driver_count,
                                                const int *drivers, int term_count,
                                                const sinew_term *terms, int count,
                                                const int *vertices, const double *deltas,
                                                sinew_error *error);
/* A corrective for what sets in suddenly, as contact does: its activation is max(0, p - 1), where p
 * is such a polynomial. */
SINEW_API sinew_status sinew_rig_add_hinge(sinew_rig *rig, const char *name, int driver_count,
                                           const int *drivers, int term_count,
                                           const sinew_term *terms, int count, const int *vertices,
                                           const double *deltas, sinew_error *error);
/* A named set of vertices, in any order; duplicates are ignored. */
SINEW_API sinew_status sinew_rig_add_region(sinew_rig *rig, const char *name, int count,
                                            const int *vertices, sinew_error *error);

/* -INFINITY and INFINITY: no limit. Returns SINEW_BAD_INPUT for NaN and for minimum > maximum. */
SINEW_API sinew_status sinew_rig_set_limits(sinew_rig *rig, int slider, double minimum,
                                            double maximum, sinew_error *error);
/* The name is copied; NULL removes the slider from its group. */
SINEW_API sinew_status sinew_rig_set_group(sinew_rig *rig, int slider, const char *group,
                                           sinew_error *error);
/* Declares two sliders a left/right pair; -1 removes the pair. */
SINEW_API sinew_status sinew_rig_set_mirror(sinew_rig *rig, int slider, int mirror,
                                            sinew_error *error);
/* Fills groups ("brow", "eyes", "nose", "cheeks", "mouth", "jaw", "tongue", "head") and mirrors
 * that are not set, from the sliders' names. */
SINEW_API sinew_status sinew_rig_deduce_from_names(sinew_rig *rig, sinew_error *error);

/* Index of a slider by name: exact first, then case-insensitive, then through the ARKit, ICT and
 * Left/_L aliases, then with action units of FACS ("AU12_L", "lipCornerPuller") read as ARKit's
 * motions; -1 when there is none. "_r" is the right side, also where a tracker means a value. */
SINEW_API int sinew_rig_find_slider(const sinew_rig *rig, const char *name);
SINEW_API int sinew_rig_find_target(const sinew_rig *rig, const char *name);
SINEW_API int sinew_rig_find_region(const sinew_rig *rig, const char *name);
/* Like sinew_rig_find_slider, but a name without a side ("browInnerUp") also finds the left and
 * right slider of a rig that has the two, and a sided name the only slider of a rig without sides.
 * Returns how many of `sliders` were filled: 0, 1 or 2. */
SINEW_API int sinew_rig_match(const sinew_rig *rig, const char *name, int sliders[2]);

/* The rest weights of the neutral. */
SINEW_API void sinew_rig_rest_weights(const sinew_rig *rig, double *weights);
/* Sets weights[slider_count] from text such as "smile=0.5,jawOpen=1"; sliders that are not named
 * keep their value. Returns SINEW_BAD_INPUT and quotes the entry that is malformed, unknown, beyond
 * -1e6 to 1e6, or sets a slider twice. */
SINEW_API sinew_status sinew_rig_parse_weights(const sinew_rig *rig, const char *text,
                                               double *weights, sinew_error *error);
/* Curves with exactly the rig's sliders as channels, in their order: channels are matched with
 * sinew_rig_match; a slider without a channel stays at its rest. `unmatched` (may be NULL): how
 * many channels found no slider. SINEW_BAD_INPUT when two channels drive one slider. */
SINEW_API sinew_status sinew_rig_bind_curves(const sinew_rig *rig, const sinew_curves *curves,
                                             sinew_curves **bound, int *unmatched,
                                             sinew_error *error);

/* The 52 ARKit names ("browDownLeft" ...); NULL outside 0 <= index < SINEW_ARKIT_COUNT. */
enum { SINEW_ARKIT_COUNT = 52 };
SINEW_API const char *sinew_arkit_name(int index);

/* positions[3 * vertex_count] of target k alone at full activation: b_k = f0 + d_k. */
SINEW_API void sinew_rig_shape(const sinew_rig *rig, int target, double *positions);
/* whole[1 + target_count] = (1 - sum a, a_1, a_2 ...). Drop the first entry to convert back. */
SINEW_API void sinew_rig_whole_face_weights(const sinew_rig *rig, const double *activations,
                                            double *whole);

/* Sharpness p of the smooth lowest: (mean of u^-p)^(-1/p), between the lowest and the mean. */
#define SINEW_SMOOTH_LOWEST_POWER 4.0

/* activations[target_count] from weights[slider_count]. */
SINEW_API void sinew_rig_activations(const sinew_rig *rig, const double *weights,
                                     double *activations);

/* Linear evaluation, built once per rig (which must outlive it) and shared between threads.
 * Displacements are kept as floats: a shape is exact to float32 (relative error below 6e-8 of its
 * displacement), and a weight of zero costs nothing. */
typedef struct sinew_linear sinew_linear;
SINEW_API sinew_status sinew_linear_create(const sinew_rig *rig, sinew_linear **linear,
                                           sinew_error *error);
SINEW_API void sinew_linear_destroy(sinew_linear *linear);
/* positions[3 * vertex_count] from slider weights; allocates nothing. */
SINEW_API void sinew_linear_evaluate(const sinew_linear *linear, const double *weights,
                                     double *positions);

/* ---- accessors, for bindings that do not mirror the structure ---- */

/* Names and arrays belong to the rig. For an index out of range, pointers are NULL, indices and
 * counts -1, and numbers NaN. */
SINEW_API const sinew_mesh *sinew_rig_neutral(const sinew_rig *rig);
SINEW_API int sinew_rig_slider_count(const sinew_rig *rig);
SINEW_API const char *sinew_rig_slider_name(const sinew_rig *rig, int slider);
/* -INFINITY: no limit. */
SINEW_API double sinew_rig_slider_minimum(const sinew_rig *rig, int slider);
/* INFINITY: no limit. */
SINEW_API double sinew_rig_slider_maximum(const sinew_rig *rig, int slider);
/* Value of the neutral. */
SINEW_API double sinew_rig_slider_rest(const sinew_rig *rig, int slider);
/* NULL: in no group. */
SINEW_API const char *sinew_rig_slider_group(const sinew_rig *rig, int slider);
/* Slider of the other side, or -1. */
SINEW_API int sinew_rig_slider_mirror(const sinew_rig *rig, int slider);
SINEW_API int sinew_rig_target_count(const sinew_rig *rig);
SINEW_API const char *sinew_rig_target_name(const sinew_rig *rig, int target);
/* A sinew_target_kind. */
SINEW_API int sinew_rig_target_kind(const sinew_rig *rig, int target);
/* -1 for combinations. */
SINEW_API int sinew_rig_target_slider(const sinew_rig *rig, int target);
/* Slider value of full activation. */
SINEW_API double sinew_rig_target_at(const sinew_rig *rig, int target);
/* A sinew_combine. */
SINEW_API int sinew_rig_target_combine(const sinew_rig *rig, int target);
/* 0 unless a combination. */
SINEW_API int sinew_rig_target_driver_count(const sinew_rig *rig, int target);
/* Slider indices. */
SINEW_API const int *sinew_rig_target_drivers(const sinew_rig *rig, int target);
/* Terms of a polynomial or hinge; 0 and NULL for other targets. */
SINEW_API int sinew_rig_target_term_count(const sinew_rig *rig, int target);
SINEW_API const sinew_term *sinew_rig_target_terms(const sinew_rig *rig, int target);
/* Moved vertices. */
SINEW_API int sinew_rig_target_vertex_count(const sinew_rig *rig, int target);
/* Increasing. */
SINEW_API const int *sinew_rig_target_vertices(const sinew_rig *rig, int target);
/* 3 per moved vertex. */
SINEW_API const double *sinew_rig_target_deltas(const sinew_rig *rig, int target);
SINEW_API int sinew_rig_region_count(const sinew_rig *rig);
SINEW_API const char *sinew_rig_region_name(const sinew_rig *rig, int region);
SINEW_API int sinew_rig_region_vertex_count(const sinew_rig *rig, int region);
/* Increasing. */
SINEW_API const int *sinew_rig_region_vertices(const sinew_rig *rig, int region);

#ifdef __cplusplus
}
#endif
#endif
