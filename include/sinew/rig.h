/* A blendshape rig: a neutral mesh, sliders, and targets that the sliders drive.
 *
 *   f(w) = f0 + sum_k a_k(w) d_k
 *
 * w are slider weights, a_k the activation of target k, d_k its displacement from the neutral.
 *   plain        a_k = w of its slider
 *   in-between   hat function along its slider, between the neighbouring values `at`
 *   combination  product, lowest or smooth lowest of its driving sliders; d_k is the increment that
 *                is added on top of what the drivers give by themselves
 *
 * Targets are sparse: only moved vertices are stored. */
#ifndef SINEW_RIG_H
#define SINEW_RIG_H

#include "sinew/mesh.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum sinew_target_kind {
    SINEW_TARGET_PLAIN,
    SINEW_TARGET_INBETWEEN,
    SINEW_TARGET_COMBINATION
} sinew_target_kind;

typedef enum sinew_combine {
    SINEW_COMBINE_MULTIPLY,
    SINEW_COMBINE_LOWEST,
    SINEW_COMBINE_SMOOTH_LOWEST
} sinew_combine;

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
SINEW_API void sinew_rig_destroy(sinew_rig *rig);

/* Add a plain target and the slider of the same name, limits [0, 1]. From dense positions of the
 * posed mesh (whole-face form); vertices that did not move are dropped. */
SINEW_API sinew_status sinew_rig_add_pose(sinew_rig *rig, const char *name, const double *positions,
                                          sinew_error *error);
/* The same from sparse displacements (delta form). */
SINEW_API sinew_status sinew_rig_add_target(sinew_rig *rig, const char *name, int count,
                                            const int *vertices, const double *deltas,
                                            sinew_error *error);
/* An in-between of an existing slider at value `at` (displacement from the neutral). */
SINEW_API sinew_status sinew_rig_add_inbetween(sinew_rig *rig, const char *name, int slider,
                                               double at, int count, const int *vertices,
                                               const double *deltas, sinew_error *error);
/* A corrective driven by existing sliders. */
SINEW_API sinew_status sinew_rig_add_combination(sinew_rig *rig, const char *name,
                                                 sinew_combine combine, int driver_count,
                                                 const int *drivers, int count, const int *vertices,
                                                 const double *deltas, sinew_error *error);

/* Index of a slider by name: exact first, then case-insensitive, then through the ARKit, ICT and
 * Left/_L aliases; -1 when there is none. */
SINEW_API int sinew_rig_find_slider(const sinew_rig *rig, const char *name);
SINEW_API int sinew_rig_find_target(const sinew_rig *rig, const char *name);
SINEW_API int sinew_rig_find_region(const sinew_rig *rig, const char *name);

/* activations[target_count] from weights[slider_count]. */
SINEW_API void sinew_rig_activations(const sinew_rig *rig, const double *weights,
                                     double *activations);

/* Linear evaluation, built once per rig and shared between threads. */
typedef struct sinew_linear sinew_linear;
SINEW_API sinew_status sinew_linear_create(const sinew_rig *rig, sinew_linear **linear,
                                           sinew_error *error);
SINEW_API void sinew_linear_destroy(sinew_linear *linear);
/* positions[3 * vertex_count] from slider weights; allocates nothing. */
SINEW_API void sinew_linear_evaluate(const sinew_linear *linear, const double *weights,
                                     double *positions);

#ifdef __cplusplus
}
#endif
#endif
