/* Modal dynamics: motion through key poses with physically based vibration.
 *
 *   z'' + 2 zeta z' + lambda^2 (z - rest) = 0   for every vibration mode, in closed form
 *
 * The body is the inside of the artist's mesh (tetrahedra), a cage around it when it is open or
 * messy, or a thin shell. Its vibration modes give independent motions in time. Each mode is
 * interpreted as a rate of rotation and strain of every element, so that large swings bend instead
 * of shearing: the rotations are exponentiated, and one linear solve assembles the shape. The part
 * of a key pose that the modes cannot express is blended in the same coordinates, so key poses are
 * met exactly.
 *
 *   setup     sinew_modal_create          body, factor, modes; cacheable        once per mesh
 *             sinew_modal_motion_create   key poses in terms of modes           once per clip
 *             sinew_modal_state_create    scratch memory                        once per thread
 *   solve     sinew_modal_frame           positions at a time, no allocation    per frame
 *   update    sinew_modal_motion_update   frequency, damping, control per mode  milliseconds
 *   cleanup   the three destroy functions
 *
 * Frames do not depend on each other: any order, any thread, the same bits. A motion must not be
 * updated while frames of it are computed.
 *
 * Two keys move by the closed form above; three and more by wiggly splines, the least force that
 * leads a damped spring through all its keys. Past the last key the motion rings out. */
#ifndef SINEW_MODAL_H
#define SINEW_MODAL_H

#include <stdint.h>

#include "sinew/cache.h"
#include "sinew/mesh.h"
#include "sinew/monitor.h"
#include "sinew/tets.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- the body and its modes ---- */

typedef enum sinew_modal_body {
    SINEW_MODAL_BODY_AUTO,  /* by how well each reproduces `poses`; without poses, tetrahedra inside
                               when the surface is closed and clean, otherwise a cage */
    SINEW_MODAL_BODY_TETS,  /* tetrahedra inside */
    SINEW_MODAL_BODY_CAGE,  /* a lattice of tetrahedra around the surface */
    SINEW_MODAL_BODY_SHELL, /* the surface itself, of some thickness */
} sinew_modal_body;

#define SINEW_MODAL_MODES_DEFAULT     80
#define SINEW_MODAL_YOUNG_DEFAULT     1e5    /* pascal: soft rubber, flesh */
#define SINEW_MODAL_POISSON_DEFAULT   0.3    /* linear tetrahedra lock when it comes near 1/2 */
#define SINEW_MODAL_DENSITY_DEFAULT   1000.0 /* kilograms per cubic meter */
#define SINEW_MODAL_THICKNESS_DEFAULT 0.05
#define SINEW_MODAL_CELLS_DEFAULT     50

typedef struct sinew_modal_options {
    uint32_t size; /* of this structure in bytes; set by sinew_modal_options_init */
    int modes;     /* >= 1 */
    sinew_modal_body body;
    /* With the default units of time only the ratio of parts of different stiffness matters. */
    double young;     /* > 0, pascal */
    double poisson;   /* in (-1, 1/2) */
    double density;   /* > 0, kilograms per cubic meter */
    double thickness; /* of a shell, > 0, fraction of the bounding-box diagonal */
    int cells;        /* of a cage, 4 to 400: along the diagonal of its box */
    bool fine_inside; /* tetrahedra: points inside for better modes (default true) */
    bool fast; /* frames in single precision: about five times faster, exact at keys, between them
                  1e-6 of the diagonal off, 1e-5 for 200k tets (default false). Shells stay in
                  double. */
    /* Painted stiffness, > 0 and at most 1e9, per vertex of the mesh (per tet with
     * sinew_modal_create_tets): a factor on `young`. NULL: 1. */
    const double *stiffness;
    /* Custom basis instead of vibration modes: `basis_count` displacement fields of 3 per vertex
     * of the mesh, one after the other. */
    int basis_count;
    const double *basis;
    /* Use this tetrahedral mesh instead of generating one. Overrides `body`. Read during the call
     * only. When their first vertices are the mesh's, key poses move those and points inside
     * follow; otherwise the mesh follows the tets that contain its vertices. NULL: generated. */
    const sinew_tets *tets;
    sinew_cache *cache; /* stores tets and modes; NULL: no cache */
    /* Poses that key poses will be like: 3 * vertex_count each, in the order of the clip where
     * there is one. AUTO chooses the body by them, and parts of the mesh that stay close in all of
     * them are linked. Optional; read during the call only, ignored by sinew_modal_create_tets. */
    int pose_count;
    const double *const *poses;
} sinew_modal_options;
SINEW_API void sinew_modal_options_init(sinew_modal_options *options);

typedef struct sinew_modal sinew_modal;

SINEW_API sinew_status sinew_modal_create(const sinew_mesh *mesh,
                                          const sinew_modal_options *options,
                                          const sinew_monitor *monitor, sinew_modal **modal,
                                          sinew_error *error);
/* The body is given; key poses have all its vertices. Returns SINEW_BAD_INPUT for flat and inverted
 * tets. */
SINEW_API sinew_status sinew_modal_create_tets(const sinew_tets *tets,
                                               const sinew_modal_options *options,
                                               const sinew_monitor *monitor, sinew_modal **modal,
                                               sinew_error *error);
SINEW_API void sinew_modal_destroy(sinew_modal *modal);

typedef struct sinew_modal_info {
    uint32_t size;         /* of this structure in bytes; set by the caller */
    sinew_modal_body body; /* what AUTO became */
    char why[192];         /* why it is not made of tetrahedra inside, or "" */
    int vertex_count;      /* of a key pose and a frame */
    int body_vertices;
    int elements;
    int components;       /* parts that are not connected */
    int modes;            /* vibrations; rotations of parts come on top */
    const double *lambda; /* per mode, radians per second with the material's units; increasing */
    double residual;      /* worst |K y - lambda^2 M y|, relative */
    double seconds;       /* spent on modes; 0 when they came from the cache */
    bool from_cache;
    char choice[256]; /* what AUTO chose by the poses, and why; "" when it did not choose */
    int links;        /* between parts that stay close in all poses */
} sinew_modal_info;
SINEW_API sinew_status sinew_modal_get_info(const sinew_modal *modal, sinew_modal_info *info);

/* The rest shape displaced by a mode: positions[3 * vertex_count]. `amount`: the largest
 * displacement, as a fraction of the bounding-box diagonal. Large amounts bend as frames do. */
SINEW_API sinew_status sinew_modal_shape(const sinew_modal *modal, int mode, double amount,
                                         double *positions, sinew_error *error);

/* ---- parameters ---- */

#define SINEW_MODAL_SWINGS_DEFAULT      1.5
#define SINEW_MODAL_DAMPING_DEFAULT     0.1
#define SINEW_MODAL_REST_OFFSET_DEFAULT 1.0
#define SINEW_MODAL_RATE_DEFAULT        30.0

typedef enum sinew_modal_rest {
    SINEW_MODAL_REST_LINE,  /* wiggly splines rest on the line between keys: a held pose is held */
    SINEW_MODAL_REST_NEXT,  /* or on the next key: each pose is a pull that sets in at its key */
    SINEW_MODAL_REST_SHAPE, /* modes vibrate about the rest shape, as published; also with two keys,
                               where rest_offset then means nothing */
} sinew_modal_rest;

/* How frequency and damping are adjusted between two keys, so that the motion starts gently. */
typedef enum sinew_modal_fit {
    SINEW_MODAL_FIT_GENTLE, /* to the nearest that starts at rest; for rest_offset < 1, to the least
                               of velocity and change in units of the interval */
    SINEW_MODAL_FIT_PUBLISHED, /* min 1/2 z'(0)^2 + 1/4 (w' - w)^2 + 1/4 (zeta' - zeta)^2 in SI
                                  units by Levenberg-Marquardt from w and zeta */
    SINEW_MODAL_FIT_NONE,
} sinew_modal_fit;

typedef struct sinew_modal_parameters {
    uint32_t size; /* of this structure in bytes; set by sinew_modal_parameters_init */
    /* Time. The slowest mode swings `swings` times in a mean key interval, or `frequency` times a
     * second when that is > 0, or as the material determines when `physical`. */
    double swings;    /* > 0 */
    double frequency; /* hertz; 0: by swings */
    bool physical;    /* the mesh is in meters, E and density are real */
    /* Damping as a ratio of critical: zeta_i = (alpha_mass + alpha_stiffness lambda_i^2)/2 with
     * alpha_mass = damping lambda_1, alpha_stiffness = damping/lambda_1. Both can be given instead;
     * negative: from the ratio. */
    double damping;         /* >= 0 */
    double alpha_mass;      /* 1/s */
    double alpha_stiffness; /* s */
    double rest_offset;     /* two keys: 1 settles into the second, 0 swings about the first */
    double stiffness;       /* > 0: scale of the whole body, frequencies go with its root */
    sinew_modal_rest rest;  /* three and more keys; REST_SHAPE for two, too */
    bool wiggly;            /* wiggly spline for two keys, too */
    bool ease;              /* two keys: parts as a whole start and stop gently (default false) */
    double rate; /* playback rate, frames per second: modes with fewer than 6 frames per period fade
                    out, with fewer than 3 they are off; 0: none */
    double gravity[3]; /* of parts that fly between keys, units of the mesh per s^2 */
    /* Per mode, `count` of them (further modes as the last); NULL: the default. */
    int count;
    const double *gamma; /* [-1, 1], damping times (gamma + 1)/2; default 1 */
    const double *kappa; /* [-1, 1), lambda^2 times exp(kappa/(1 - |kappa|)); -1: none; default 0 */
    const double *amplitude; /* of what differs from the straight path; default 1 */
    const double *fit; /* 3 each, >= 0: weights of initial velocity, frequency and damping in the
                          fit for rest_offset < 1; default 1/2, 1/4, 1/4 */
    sinew_modal_fit fitting; /* two keys without `wiggly`; default GENTLE */
} sinew_modal_parameters;
SINEW_API void sinew_modal_parameters_init(sinew_modal_parameters *parameters);

/* Values per mode from a curve over the mode number: a monotone cubic through `point_count` points
 * (number >= 0, increasing; value), constant outside. */
SINEW_API sinew_status sinew_modal_curve(int point_count, const double *numbers,
                                         const double *points, int count, double *values,
                                         sinew_error *error);

/* ---- motion ---- */

typedef struct sinew_modal_keys {
    uint32_t size;                  /* of this structure in bytes; set by the caller */
    int count;                      /* >= 2 */
    const double *times;            /* seconds, increasing */
    const double *const *positions; /* count poses of 3 * vertex_count */
    /* Optional, with three and more keys or `wiggly`: velocities of the pose, units per second; an
     * entry may be NULL: free (inside) or at rest (ends). */
    const double *const *velocities;
    /* Corrections inside: shapes that the motion passes through without changing its modes. */
    int inner_count;
    const double *inner_times; /* increasing, strictly between keys */
    const double *const *inner_positions;
    /* Path of the whole body between keys: a smooth curve through path_count points, 3 each. Key
     * poses stay where they are: the difference at them is blended in. 0: straight lines, splines
     * through three and more keys, or free fall. */
    int path_count;
    const double *path_times; /* seconds, increasing */
    const double *path;
} sinew_modal_keys;

typedef struct sinew_modal_motion sinew_modal_motion;
typedef struct sinew_modal_state sinew_modal_state;

/* parameters may be NULL. The modal must outlive the motion. */
SINEW_API sinew_status sinew_modal_motion_create(const sinew_modal *modal,
                                                 const sinew_modal_keys *keys,
                                                 const sinew_modal_parameters *parameters,
                                                 const sinew_monitor *monitor,
                                                 sinew_modal_motion **motion, sinew_error *error);
SINEW_API void sinew_modal_motion_destroy(sinew_modal_motion *motion);
SINEW_API sinew_status sinew_modal_motion_update(sinew_modal_motion *motion,
                                                 const sinew_modal_parameters *parameters,
                                                 sinew_error *error);

typedef struct sinew_modal_motion_info {
    uint32_t size;           /* of this structure in bytes; set by the caller */
    int columns;             /* modes, then three rotations per part */
    const double *frequency; /* hertz, per mode, as set by the parameters */
    const double *damping;   /* ratio of critical, per mode */
    const double *captured;  /* per key: fraction of the pose that the modes express, [0, 1] */
    double leftover; /* largest distance of a vertex from key to body, fraction of the diagonal */
    const int *inverted; /* per key: tets of the body that the pose turns inside out */
    /* What moves: the damped frequencies after the fit, two per mode, and how much of the second is
     * in the blend of both, [0, 1]. Over-damped: 0. */
    const double *moving; /* hertz, 2 per mode */
    const double *moving_share;
} sinew_modal_motion_info;
SINEW_API sinew_status sinew_modal_motion_get_info(const sinew_modal_motion *motion,
                                                   sinew_modal_motion_info *info);
/* weights[columns] of the modes at a time. */
SINEW_API void sinew_modal_motion_weights(const sinew_modal_motion *motion, double time,
                                          double *weights);

SINEW_API sinew_status sinew_modal_state_create(const sinew_modal *modal, sinew_modal_state **state,
                                                sinew_error *error);
SINEW_API void sinew_modal_state_destroy(sinew_modal_state *state);

/* positions[3 * vertex_count] at a time in seconds; before the first key it is that pose. */
SINEW_API void sinew_modal_frame(const sinew_modal_motion *motion, sinew_modal_state *state,
                                 double time, double *positions);
/* The same, blended with a shape of another motion in rotation and strain: share 0 gives `given`,
 * 1 the modal frame. Vibration on an existing cache: keys taken from it, mixed with its frames. */
SINEW_API sinew_status sinew_modal_frame_mixed(const sinew_modal_motion *motion,
                                               sinew_modal_state *state, double time,
                                               const double *given, double share, double *positions,
                                               sinew_error *error);
/* Elements of the body that are inside out in the last frame of this state. */
SINEW_API int sinew_modal_inverted(const sinew_modal_motion *motion,
                                   const sinew_modal_state *state);
/* Of these the ones that no key pose turns inside out: how many, and the first `capacity` of them
 * in elements[] (may be NULL), increasing. */
SINEW_API int sinew_modal_new_inverted(const sinew_modal_motion *motion,
                                       const sinew_modal_state *state, int capacity, int *elements);

/* ---- secondary motion ---- */

/* Weights of the modes in a shape: weights[columns] of sinew_modal_motion_info. */
SINEW_API sinew_status sinew_modal_project(const sinew_modal *modal, const double *positions,
                                           double *weights, sinew_error *error);
/* How far modes lag behind shapes that something else moves, by their inertia: weights and lag have
 * `columns` per time. Frequencies, damping and amplitudes are those of the motion, its keys do not
 * matter. Frames: sinew_modal_frame_constrained with the shape as `given`, share 0 and the time's
 * row of `lag`. */
SINEW_API sinew_status sinew_modal_lag(const sinew_modal_motion *motion, int count,
                                       const double *times, const double *weights, double *lag,
                                       sinew_error *error);

/* ---- constraints ---- */

/* Vertices held or led along paths: the frame changes as little as possible, measured in strain, so
 * that they reach their positions. stiffness, per vertex: 0 exactly; otherwise by a spring of that
 * stiffness, a multiple of the body's own; NULL: all exactly. Pins hold scratch memory: one per
 * thread. The modal must outlive them. */
typedef struct sinew_modal_pins sinew_modal_pins;
SINEW_API sinew_status sinew_modal_pins_create(const sinew_modal *modal, int count,
                                               const int *vertices, const double *stiffness,
                                               sinew_modal_pins **pins, sinew_error *error);
SINEW_API void sinew_modal_pins_destroy(sinew_modal_pins *pins);

/* Elements of the body at the given vertices of the mesh: those that have one of them as a corner,
 * or carry one in a cage, and those inside that are nearest to them. Increasing; release with
 * sinew_free. */
SINEW_API sinew_status sinew_modal_elements_at(const sinew_modal *modal, int vertex_count,
                                               const int *vertices, int **elements, int *count,
                                               sinew_error *error);

/* A region that is rotated to an orientation; its strain and its position remain those of the
 * motion. */
typedef struct sinew_modal_orientation {
    int element_count;
    const int *elements; /* of sinew_modal_elements_at */
    double turn[3];      /* axis times radians, from the rest shape */
    double weight;       /* [0, 1]: blend from the motion's own orientation to this one */
} sinew_modal_orientation;

/* All are optional. */
typedef struct sinew_modal_constraints {
    uint32_t size; /* of this structure in bytes; set by the caller */
    sinew_modal_pins *pins;
    const double *targets; /* 3 per pin: where its vertex should be at this time */
    int orientation_count; /* frames with some are computed in double precision */
    const sinew_modal_orientation *orientations;
    const double *given; /* 3 * vertex_count: mixed in as by sinew_modal_frame_mixed */
    double share;        /* of the modal frame in the mix */
    const double *lag;   /* added to the weights of the modes: sinew_modal_lag; NULL: nothing */
} sinew_modal_constraints;
SINEW_API sinew_status sinew_modal_frame_constrained(const sinew_modal_motion *motion,
                                                     sinew_modal_state *state,
                                                     const sinew_modal_constraints *constraints,
                                                     double time, double *positions,
                                                     sinew_error *error);

#ifdef __cplusplus
}
#endif
#endif
