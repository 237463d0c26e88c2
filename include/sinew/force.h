/* Blendforces: captured markers steer a simulated skin.
 *
 * The columns of a blendshape basis B act as forces on a sheet with inertia, elasticity and
 * contact. One number per target, the command u, drives it:
 *
 *   N x = M/h^2 (x_last + a h v_last) + B u + sum_k k F^T p(x),     N = M/h^2 + sum_k k F^T F
 *
 * an implicit step of length h, a = velocity_kept^(h / SINEW_FORCE_DAMPING_TIME); F x - p(x) are
 * the strains of the skin: position, edge lengths, and curvature rotated with the skin. N does not
 * change, so it is factored once, and
 *
 *   x = Phi u + y,     Phi = N^-1 B (once),     y = N^-1 (everything but the command)
 *   u = argmin sum_i c_i |d_i - x_i|^2 + ridge s |u|^2 + smooth s |u - u_last|^2
 *
 * steers the marker positions x_i to the captured ones. The skin may leave the span of B
 * where elasticity, inertia or contact require it.
 *
 *   rig, map -> sinew_force_create      areas, stiffness, N and its factor, Phi: built once,
 *                                       constant, shared between threads
 *            -> sinew_force_state       positions, velocities, command: one per thread
 *            -> sinew_force_frame       markers of one frame -> positions and info
 *               sinew_force_command     the same for a given command: any weight curves (u = w)
 *                                       act as if every vertex was drawn to its linear shape
 *
 * inside one frame, for every substep:
 *   predict -> { project p -> y -> command -> x } x relinearisations -> velocity
 * and once for the frame: marker layer (sinew/marker_layer.h) -> flesh that lags behind the head ->
 * obstacles -> contact -> positions; what obstacles and contact change, the motion feels.
 *
 * The first frame after a reset is a static solve: the clip starts at rest in its first pose.
 * Frames must come in order; the past is in the state. A frame allocates nothing. */
#ifndef SINEW_FORCE_H
#define SINEW_FORCE_H

#include <stdbool.h>
#include <stdint.h>

#include "sinew/cache.h"
#include "sinew/marker_layer.h"
#include "sinew/marker_map.h"
#include "sinew/monitor.h"
#include "sinew/obstacle.h"
#include "sinew/rig.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Defaults. The lengths and times were chosen on captured and synthetic clips (docs/force.md). */
#define SINEW_FORCE_STRETCH_LENGTH   0.005
#define SINEW_FORCE_BEND_LENGTH      0.005
#define SINEW_FORCE_OVERSTRETCH      0.1
#define SINEW_FORCE_OVERSTRETCH_FROM 1.1
#define SINEW_FORCE_MASS_TIME        0.03
#define SINEW_FORCE_FRAME_TIME       (1.0 / 30)
#define SINEW_FORCE_VELOCITY_KEPT    0.5
#define SINEW_FORCE_RIDGE            0.02
#define SINEW_FORCE_SMOOTH           0.0
#define SINEW_FORCE_LOWER            (-0.05)
#define SINEW_FORCE_UPPER            3.0
#define SINEW_FORCE_OUTLIER          0.05
#define SINEW_FORCE_CONTACT_GAP      2e-5
#define SINEW_FORCE_CONTACT_MARGIN   0.1
#define SINEW_FORCE_CONTACT_LENGTH   0.02
#define SINEW_FORCE_FRICTION         0.3
/* Seconds over which velocity_kept counts, whatever the frame rate. */
#define SINEW_FORCE_DAMPING_TIME (1.0 / 60)
/* Longest bends; stiffer skins do not come to rest on coarse meshes. Fraction of the bounding-box
 * diagonal. */
#define SINEW_FORCE_MOST_BEND 0.1
/* A boundary vertex that no target moves by more than this fraction of the rig's largest
 * displacement is held.
 */
#define SINEW_FORCE_FIXED_SHARE 0.005
/* Lower bound on vertex areas, as a fraction of the mean, for slivers and isolated vertices. */
#define SINEW_FORCE_LEAST_AREA      1e-3
#define SINEW_FORCE_FLESH_FREQUENCY 7.0
#define SINEW_FORCE_FLESH_DAMPING   0.2
#define SINEW_FORCE_FLESH_LENGTH    0.03
enum {
    SINEW_FORCE_SUBSTEPS = 1,
    SINEW_FORCE_RELINEARISATIONS = 3,
    SINEW_FORCE_STATIC_ITERATIONS = 300
};

typedef struct sinew_force_options {
    uint32_t size; /* of this structure in bytes; set by sinew_force_options_init */
    /* The skin. A length l means: bumps and stretches narrower than l are smoothed out, wider ones
     * pass. Fraction of the bounding-box diagonal, >= 0; 0 turns the term off. */
    double stretch_length, bend_length;
    double overstretch; /* extra stiffness of edges stretched beyond 110%, as a fraction of their
                           own, 0 to 1 */
    double position;    /* positional stiffness per area, >= 0; 1 balances u = w at the target */
    double mass_time;   /* seconds, > 0: response time of the skin */
    const double *position_map; /* per vertex factors of the stiffness, > 0; NULL: 1 */
    const double *stretch_map;  /* the same; an edge uses the mean of its ends */
    const double *bend_map;

    /* The jaw: how much each vertex moves with it, 0 to 1 (sinew_jaw_shares computes it). The rest
     * shape of such a vertex follows the rigid motion of the jaw, so that the chin moves on an arc
     * and does not get shorter. Every target alone keeps its shape. NULL: no jaw. */
    const double *jaw;

    /* Time. */
    double frame_time;    /* seconds between frames, > 0 */
    int substeps;         /* per frame, >= 1 */
    double velocity_kept; /* in [0, 1], over SINEW_FORCE_DAMPING_TIME: 1 keeps all velocity, 0 is
                             overdamped; damping per second does not depend on frame_time */
    int relinearisations; /* per substep, >= 1 */

    /* The command. */
    double ridge;  /* pull to no command, >= 0, relative to the mean effect of a target */
    double smooth; /* pull to the last command, >= 0, same scale */
    /* lower <= u <= upper. Muscles pull in one direction only: without a lower bound the
     * command overfits. The defaults leave a little room for braking, and twice the command that
     * reaches a target within one frame. */
    bool bounded;
    double lower, upper;
    double outlier; /* markers farther away than this fraction of the bounding-box diagonal lose
                       weight; INFINITY trusts every marker */

    /* The marker layer on top (sinew/marker_layer.h). */
    bool layer;
    double layer_smoothing; /* mu in [1e-12, 1] */
    bool layer_contact;     /* the layer crosses nothing that the shape below it does not cross */
    bool layer_feeds;       /* the corrected shape is what the next frame starts from */
    /* Factors of the markers' weights in the layer, 0 to 1 (sinew_marker_layer_limit); NULL: 1.
     * Copied. */
    const double *layer_trust;

    /* Contact of the skin with itself: pairs of a vertex and a triangle, or of two edges, whose
     * corners are all among contact_vertices (NULL: the whole surface) or near them at rest, as
     * teeth are behind lips. The written frame never crosses itself there where the one before did
     * not. Left out: triangles that cross others at rest and their neighbors, pieces of which a
     * fifth does, and pairs that touch there. Contact never makes a frame worse: skin that it would
     * leave as a spike keeps its shape without contact (released in the frame's info). */
    bool contact;
    const int *contact_vertices;
    int contact_count;
    double contact_margin; /* distance that counts as near: fraction of the bounding-box diagonal,
                              >= 0 */
    double contact_gap;    /* fraction of the bounding-box diagonal, > 0 */
    /* Length over which pressed skin bends, as a fraction of the bounding-box diagonal, >= 0; at
     * least bend_length. */
    double contact_length;
    double friction; /* Coulomb's mu >= 0 */

    /* Held vertices. NULL: the boundary vertices that no target moves. An empty list: none. */
    const int *fixed;
    int fixed_count;

    /* target_count flags: targets that get no command. NULL: those of sliders that markers do not
     * determine (sinew_fit_choose_sliders). Explicit commands are not affected. Copied. */
    const bool *held;

    /* Flesh that lags behind a moving head (sinew_force_set_head): inertia and gravity. */
    bool flesh;
    const double *softness; /* per vertex, 0 (bone) to 1 (the softest flesh); NULL: by
                               sinew_force_softness */
    double flesh_frequency; /* Hz, > 0, of the softest flesh */
    double flesh_damping;   /* ratio, >= 0: 1 does not swing */
    double flesh_length;    /* fraction of the bounding-box diagonal, >= 0, over which flesh moves
                               together */
    double gravity[3];      /* length units per s^2; counts against the pose of the neutral */

    /* Obstacles may press into the skin (sinew_force_set_obstacles). They meet the bending of
     * contact_length, keep contact_gap, and rub with friction. */
    bool obstacles;

    /* Per vertex factors of the mass, > 0; NULL: 1. Twice the mass follows as slowly as sqrt(2)
     * times mass_time. */
    const double *mass_map;

    /* Moist lips: skin that touched stays together until, without sticking, it would be apart by
     * this fraction of the bounding-box diagonal, in [0, 1], and is free from twice that on. 0: it
     * parts at once. */
    double stick;

    /* Vertices of a skull that no target moves: the outer skin above it, up to 6% of the
     * bounding-box diagonal away, slides over it and keeps at least 0.6 of its thickness. */
    int skull_count;
    const int *skull;
} sinew_force_options;

SINEW_API void sinew_force_options_init(sinew_force_options *options);

typedef struct sinew_force sinew_force;
typedef struct sinew_force_state sinew_force_state;

/* What was built. */
typedef struct sinew_force_info {
    uint32_t size; /* of this structure in bytes; set by the caller */
    int vertex_count, edge_count, fixed_count;
    int target_count; /* columns of B */
    int empty_count;  /* targets that move nothing: they get no command */
    int marker_count;
    int contact_triangles, contact_dropped; /* that take part; left out at crossings at rest */
    double diagonal;                        /* of the neutral */
    double seconds;                         /* to build */
    int over_skull;                         /* vertices of the skin with a skull below */
} sinew_force_info;

typedef struct sinew_force_frame_info {
    uint32_t size; /* of this structure in bytes; set by the caller */
    /* SINEW_NOT_CONVERGED: the first frame is still moving, see residual; or a command is within
     * its bounds, but not the best. */
    sinew_status status;
    int iterations;      /* relinearisations in all */
    double residual;     /* last change of a vertex, fraction of the bounding-box diagonal */
    int seen, outliers;  /* markers used; of these, with less than half their weight */
    double marker_error; /* RMS distance of the visible markers to their positions, length units */
    double marker_error_layer; /* the same after the layer; equal without one */
    /* RMS over the area of the displacement from the neutral, split into the nearest combination of
     * targets and the rest. */
    double in_span, out_of_span;
    int contacts; /* pairs that press or stick */
    double cut;   /* smallest fraction of a vertex's last step that contact allowed; 1: all of it */
    double seconds;
    /* Vertices that contact would have left as spikes: they have their shape without contact. */
    int released;
    int pressed; /* vertices that obstacles press */
    int slid;    /* vertices that the skull holds off */
} sinew_force_frame_info;

/* Every target of the rig is a column of B, combinations and in-betweens too. `map` may be NULL
 * when only commands drive. The rig must outlive the structure; map and options are copied. Returns
 * SINEW_BAD_INPUT for a map that does not fit, values out of range, and rigs without targets. */
SINEW_API sinew_status sinew_force_create(const sinew_rig *rig, const sinew_marker_map *map,
                                          const sinew_force_options *options,
                                          const sinew_monitor *monitor, sinew_force **force,
                                          sinew_error *error);
SINEW_API void sinew_force_destroy(sinew_force *force);
SINEW_API sinew_status sinew_force_get_info(const sinew_force *force, sinew_force_info *info);

SINEW_API sinew_status sinew_force_state_create(const sinew_force *force, sinew_force_state **state,
                                                sinew_error *error);
SINEW_API void sinew_force_state_destroy(sinew_force_state *state);
/* Back to the neutral at rest; the next frame is a static solve again. */
SINEW_API void sinew_force_reset(sinew_force_state *state);
/* Settings of later frames with this state, taken from the options: ridge, smooth, bounded, lower,
 * upper, outlier, velocity_kept, relinearisations, friction and layer_feeds. Other options belong
 * to the structure and are ignored. Returns SINEW_BAD_INPUT when one of them is out of range. */
SINEW_API sinew_status sinew_force_state_set(sinew_force_state *state,
                                             const sinew_force_options *options,
                                             sinew_error *error);
/* Starts from given positions and velocities (3 per vertex; NULL: the neutral, at rest): the next
 * frame is a step, not a static solve. Held vertices stay where they are. */
SINEW_API sinew_status sinew_force_start(sinew_force_state *state, const double *positions,
                                         const double *velocities, sinew_error *error);

/* markers[3 * map->count] in the map's order, NaN where missing; marker_weights (>= 0) may be NULL.
 * A frame without markers coasts on the last command. positions[3 * vertex_count]. info and monitor
 * may be NULL. */
SINEW_API sinew_status sinew_force_frame(const sinew_force *force, sinew_force_state *state,
                                         const double *markers, const double *marker_weights,
                                         double *positions, sinew_force_frame_info *info,
                                         const sinew_monitor *monitor, sinew_error *error);
/* command[target_count], for instance the activations of a clip's weights. */
SINEW_API sinew_status sinew_force_command(const sinew_force *force, sinew_force_state *state,
                                           const double *command, double *positions,
                                           sinew_force_frame_info *info,
                                           const sinew_monitor *monitor, sinew_error *error);

/* Where the head is in the next frame: the motion from the neutral to space; results stay relative
 * to the head. Flesh lags behind it; obstacles are fixed in space. NULL, the default: the head does
 * not move. */
SINEW_API void sinew_force_set_head(sinew_force_state *state, const sinew_rigid *head);
/* Obstacles of later frames, in a fixed order so that friction can identify them; borrowed. Needs a
 * structure made with options.obstacles, else SINEW_MISUSE. */
SINEW_API sinew_status sinew_force_set_obstacles(sinew_force_state *state, int count,
                                                 const sinew_obstacle *const *obstacles,
                                                 sinew_error *error);
/* softness[vertex_count] of a face, by its derived regions: cheeks 1, chin 0.8, lips 0.3, lids,
 * eyes and teeth 0, soft in between. */
SINEW_API sinew_status sinew_force_softness(const sinew_rig *rig, double *softness,
                                            const sinew_monitor *monitor, sinew_error *error);

/* Of the last frame: command[target_count], velocity 3 per vertex; valid until the next. */
SINEW_API const double *sinew_force_last_command(const sinew_force_state *state);
SINEW_API const double *sinew_force_velocities(const sinew_force_state *state);

/* Jaw weights: shares[vertex_count], near 1 where the target (jawOpen) moves the face rigidly, 0
 * where vertices stay behind. Returns SINEW_BAD_INPUT for a target that moves nothing. */
SINEW_API sinew_status sinew_jaw_shares(const sinew_rig *rig, int target, double *shares,
                                        sinew_error *error);

/* ---- stiffness from shapes -------------------------------------------------------------------
 *
 * A rig should be able to rest at each of its own expressions. Shapes (by default every target at
 * weight 1) and the commands that hold them determine where the skin is soft:
 *
 *   min over f > 0 of  R(f) / R(1) + prior sum_i a_i (f_i - 1 - log f_i)
 *
 * f are factors of the stretch and of the bending per vertex, R(f) the squared distance of all
 * shapes from balance, measured as displacement, a_i fractions of the area. It is convex with one
 * solution. The positional stiffness is prescribed. Without strain the softest skin always fits
 * best, so the prior keeps factors about 1, and vertices that no shape strains keep 1.
 *
 * The map is validated on shapes it has not seen: it is estimated from each half of the shapes and
 * compared with a single factor on the other half. Where it does not improve on that, the single
 * factor is used. */
#define SINEW_STIFFNESS_PRIOR     1.0
#define SINEW_STIFFNESS_TOLERANCE 1e-5
enum { SINEW_STIFFNESS_ITERATIONS = 50 };

typedef struct sinew_stiffness_example {
    const double *command;   /* target_count */
    const double *positions; /* 3 per vertex: where the face rests under it */
} sinew_stiffness_example;

typedef struct sinew_stiffness_options {
    uint32_t size;    /* of this structure in bytes; set by sinew_stiffness_options_init */
    double prior;     /* > 0; 1e-6 when shapes were measured under known commands */
    double tolerance; /* relative change of a factor that ends the iteration, > 0 */
    int iterations;   /* at most, >= 1 */
    const sinew_stiffness_example *examples; /* NULL: every target at weight 1 */
    int example_count;
    sinew_cache *cache; /* keeps the result; may be NULL */
} sinew_stiffness_options;

SINEW_API void sinew_stiffness_options_init(sinew_stiffness_options *options);

typedef struct sinew_stiffness_info {
    uint32_t size;       /* of this structure in bytes; set by the caller */
    sinew_status status; /* SINEW_NOT_CONVERGED: the maps are the last iterate */
    int iterations, examples;
    double residual; /* last relative change of a factor */
    /* RMS distance, over shapes and area, from a shape to the rest shape of the skin under its
     * command, length units: with factors 1, and with the maps; and the worst shape's RMS. */
    double rest_error_default, rest_error, rest_error_worst;
    /* RMS distance from balance of shapes that were not used, length units: with factors 1, with
     * one factor for the whole face, with the map. 0 for fewer than four shapes. */
    double unseen_default, unseen_uniform, unseen_map;
    bool uniform; /* the map gained nothing: one factor for the whole face */
    double stretch_least, stretch_most, bend_least, bend_most;
    bool from_cache;
    double seconds;
} sinew_stiffness_info;

/* stretch_map and bend_map, vertex_count each: for sinew_force_options. Maps in `force` other than
 * position_map do not count. options, monitor and info may be NULL. */
SINEW_API sinew_status sinew_stiffness_estimate(const sinew_rig *rig,
                                                const sinew_force_options *force,
                                                const sinew_stiffness_options *options,
                                                const sinew_monitor *monitor, double *stretch_map,
                                                double *bend_map, sinew_stiffness_info *info,
                                                sinew_error *error);

#ifdef __cplusplus
}
#endif
#endif
