/* Spring blendshapes: shapes between poses as the equilibrium of a spring network.
 *
 * Springs lie along the edges of the mesh, across its edges, and through the inside from one side
 * to the other. The rest length of each is blended between the poses, and the shape is where the
 * forces balance:
 *
 *   E(x) = sum_q 1/2 k_q (|d_q| - r_q(w))^2,  d = x_i - x_j           lengths
 *        + sum_q 1/2 beta_q k_q |d_q - m_q(w)|^2                      directions
 *        + sum_t 1/2 c_a kappa / h_t |a_t(x) - m_t(w)|^2              altitudes of triangles
 *        + sum_T 1/2 c_v kappa / l^2 (vol_T(x) - v_T(w))^2 / V_T      signed volumes of tets, if
 * any
 *        + sum_i 1/2 eps k |x_i - x_rot,i(w)|^2                       weak pull to the blend
 *
 * x_rot is the rotation-aware blend of the poses; m_q and m_t are vectors that point as it does and
 * have the blended length. Lengths determine the shape; the weaker terms determine the buckling
 * direction where not all lengths can be met, so that consecutive frames are smooth.
 *
 * Lengths do not shrink when parts rotate, so bends are preserved; and an equilibrium can rest on
 * obstacles, be pinned and be pulled.
 *
 *   rig -> sinew_spring_create     network, rest lengths of every pose, preconditioner: built once,
 *                                  constant, shared between threads
 *       -> sinew_spring_state      positions, history, contacts: one per thread
 *       -> sinew_spring_solve      weights (+ pins, pulls, obstacles) -> positions and info;
 *                                  allocates nothing unless contacts outgrow their room
 *
 * A frame is solved from the rotation-aware blend of the poses (or from the extrapolated frames
 * before it, where that leads to the same equilibrium): the result does not depend on earlier
 * frames. Friction is the only exception. */
#ifndef SINEW_SPRING_H
#define SINEW_SPRING_H

#include <stdbool.h>
#include <stdint.h>

#include "sinew/cache.h"
#include "sinew/monitor.h"
#include "sinew/obstacle.h"
#include "sinew/rig.h"
#include "sinew/tets.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum sinew_spring_kind {
    SINEW_SPRING_KIND_STRUCTURE, /* edges of the surface's triangles */
    SINEW_SPRING_KIND_BENDING,   /* across an edge, or two edges apart */
    SINEW_SPRING_KIND_INTERNAL,  /* struts through the inside, or edges of tetrahedra */
    SINEW_SPRING_KIND_ANCHOR,    /* the anchor rectangle and its ties */
    SINEW_SPRING_KIND_TIE,       /* between components, on request */
    SINEW_SPRING_KIND_COUNT
} sinew_spring_kind;
/* "structure", "bending", "internal", "anchor", "tie" */
SINEW_API const char *sinew_spring_kind_name(int kind);

typedef enum sinew_spring_bending {
    SINEW_SPRING_BENDING_FLAP, /* the two vertices opposite a shared edge */
    SINEW_SPRING_BENDING_RING, /* every pair at graph distance exactly 2 */
    SINEW_SPRING_BENDING_NONE
} sinew_spring_bending;

typedef enum sinew_spring_interior {
    SINEW_SPRING_INTERIOR_STRUTS, /* springs from side to side; for any surface */
    SINEW_SPRING_INTERIOR_TETS,   /* edges of tetrahedra, made by the tetgen program from a closed
                                     surface that does not intersect itself; an error otherwise */
    SINEW_SPRING_INTERIOR_NONE
} sinew_spring_interior;

typedef enum sinew_spring_boundary {
    SINEW_SPRING_BOUNDARY_FREE,   /* nothing is held; the result is aligned with the rotation-aware
                                     blend */
    SINEW_SPRING_BOUNDARY_STATIC, /* vertices that hardly move between the poses are held */
    SINEW_SPRING_BOUNDARY_PINNED, /* marked vertices follow their linear blend, or given positions
                                   */
    SINEW_SPRING_BOUNDARY_ANCHOR  /* a stiff rectangle inside carries the rigid motion */
} sinew_spring_boundary;

typedef enum sinew_spring_solver {
    SINEW_SPRING_SOLVER_DEFAULT,  /* two-level preconditioned Newton-CG */
    SINEW_SPRING_SOLVER_NEWTON,   /* projected Newton from the last frame, a factorization per
                                     iteration */
    SINEW_SPRING_SOLVER_PUBLISHED /* plain Newton from the source shape, full steps */
} sinew_spring_solver;

/* Defaults. */
#define SINEW_SPRING_KAPPA          1.0
#define SINEW_SPRING_ANCHOR_KAPPA   100.0
#define SINEW_SPRING_TIE_KAPPA      0.02
#define SINEW_SPRING_VOLUME         1.0
#define SINEW_SPRING_GUIDE          0.1
#define SINEW_SPRING_ALTITUDE       1.0
#define SINEW_SPRING_PULL_TO_BLEND  1e-3
#define SINEW_SPRING_TOLERANCE      1e-6
#define SINEW_SPRING_MAX_ITERATIONS 300
#define SINEW_SPRING_TIME_LIMIT     60.0
#define SINEW_SPRING_STATIC_SHARE   0.01
#define SINEW_SPRING_FRICTION       0.0
#define SINEW_SPRING_CONTACT_DEPTH  1e-4
#define SINEW_SPRING_MAX_ROUNDS     40

typedef struct sinew_spring_options {
    uint32_t size;                /* of this structure in bytes; set by sinew_spring_options_init */
    sinew_spring_bending bending; /* default flap */
    double kappa[SINEW_SPRING_KIND_COUNT]; /* force per relative stretch, > 0; a spring's k is kappa
                                         over its mean length; default 1, anchor 100, tie 0.02 */
    const double *stiffness_map;           /* per surface vertex, >= 0, or NULL for 1 everywhere */

    sinew_spring_interior interior; /* default struts */
    bool interior_points; /* tets: add points inside where they give better tets (default false) */
    const sinew_tets *tets; /* use these tetrahedra; overrides `interior`; default NULL */
    double tie_distance;    /* > 0: springs up to this length between parts that stay close in all
                               poses, so that they also hold together under loads; a fraction of the
                               box diagonal; default 0 */

    double volume;   /* c_v >= 0, weight of the signed volumes of tets; 0 turns them off */
    double guide;    /* beta >= 0, stiffness of a spring's direction relative to its length; raised
                        where the start compresses the spring; 0 turns it off */
    double altitude; /* c_a >= 0, weight of the altitudes of triangles; 0 turns them off */
    double pull_to_blend; /* epsilon >= 0, relative to the mean spring stiffness; 0 turns it off */

    sinew_spring_boundary boundary; /* default free */
    int pin_count;                  /* pinned: the marked vertices */
    const int *pins;
    double static_share;  /* static: fraction of the largest displacement below which a vertex is
                             held */
    const double *anchor; /* 4 x 3 doubles inside the neutral, or NULL: at the center of mass */

    sinew_spring_solver solver;
    double tolerance;   /* largest force over sum k r around its vertex; in (0, 1) */
    int max_iterations; /* Newton steps per frame, >= 1 */
    double time_limit;  /* seconds of CPU time per frame, of all threads together, > 0 */
    bool independent;   /* never start from earlier frames */

    double friction;      /* Coulomb's mu >= 0 against obstacles */
    double contact_depth; /* allowed penetration, fraction of the bounding-box diagonal, > 0 */
    int max_rounds;       /* contact rounds per frame, >= 1 */
    bool sample_edges;    /* also test points inside edges and triangles against obstacles, so that
                             thin obstacles are not missed (default true) */
    bool self_contact;    /* keep the surface from crossing itself (default false) */

    const double *fibers; /* 3 per surface vertex, or NULL: the length of a vertex's vector
                             multiplies the stiffness of springs along it; springs across it, and
                             springs where the vector is zero, keep their stiffness */
    sinew_cache *cache;   /* stores the measured blend; default NULL: no cache */
} sinew_spring_options;

SINEW_API void sinew_spring_options_init(sinew_spring_options *options);
/* The choices of the published method: bending springs between all vertices two edges apart,
 * tetrahedra inside, lengths as the only energy, and plain Newton from the source shape. Parameters
 * that the paper leaves open (boundary, tolerance, stiffness) keep their defaults. */
SINEW_API void sinew_spring_options_published(sinew_spring_options *options);

typedef struct sinew_spring sinew_spring;
typedef struct sinew_spring_state sinew_spring_state;

/* What was built. */
typedef struct sinew_spring_info {
    uint32_t size;    /* of this structure in bytes; set by the caller */
    int vertex_count; /* of the network: surface, interior, anchor */
    int surface_count;
    int spring_count;
    int kind_count[SINEW_SPRING_KIND_COUNT];
    int tet_count;
    int component_count;
    int isolated_count;             /* vertices without springs: they follow the linear blend */
    int fixed_count;                /* held vertices */
    int pose_inverted;              /* most tets inverted in one pose */
    sinew_spring_boundary boundary; /* in force: static may fall back to free */
    char interior[160];             /* "struts", "tets" or "none" */
    char note[160];                 /* why a boundary fell back, or "" */
    double pull_stiffness;          /* epsilon k: force per length of the pull to the blend */
    double volume_stiffness;        /* c_v kappa / l^2; 0: there are no tets */
    double altitude_stiffness;      /* c_a kappa */
    double bytes_per_vertex;        /* of structure and one state */
    double seconds;                 /* to build */
    double mean_edge;               /* mean length of structure springs in the neutral */
} sinew_spring_info;

SINEW_API sinew_status sinew_spring_create(const sinew_rig *rig,
                                           const sinew_spring_options *options,
                                           const sinew_monitor *monitor, sinew_spring **spring,
                                           sinew_error *error);
SINEW_API void sinew_spring_destroy(sinew_spring *spring);
SINEW_API sinew_status sinew_spring_get_info(const sinew_spring *spring, sinew_spring_info *info);
/* CSV of the network: i,j,kind,k and a rest_POSE column per pose. For a combination the column
 * holds neutral + increment. */
SINEW_API sinew_status sinew_spring_write_network(const sinew_spring *spring, const char *path,
                                                  sinew_error *error);

/* A vertex pulled to a position. */
typedef struct sinew_spring_pull {
    int vertex;         /* surface vertex */
    double position[3]; /* where to */
    double stiffness;   /* force per length relative to the mean spring stiffness; INFINITY holds
                           the vertex there */
} sinew_spring_pull;

/* A region that is guided to an orientation. The blend that springs are guided by is turned there;
 * their lengths remain those of the poses, and the shape around the region follows. */
typedef struct sinew_spring_orientation {
    int vertex_count;
    const int *vertices; /* surface vertices; triangles and tets at them belong to the region */
    double turn[3];      /* axis times radians, from the rest shape */
    double weight;       /* [0, 1]: from the blend's own orientation to this one */
} sinew_spring_orientation;

typedef struct sinew_spring_frame {
    uint32_t size;               /* of this structure in bytes; set by the caller */
    const double *weights;       /* per slider */
    int index;                   /* of the frame in its clip, for the history; -1: no history */
    const double *pin_positions; /* 3 per pin, or NULL: the linear blend */
    int pull_count;
    const sinew_spring_pull *pulls;
    int obstacle_count;
    const sinew_obstacle *const *obstacles;
    /* Per obstacle NULL, or how deep each surface vertex may be in it (>= 0): the blend of its
     * depths in the poses, where those already penetrate. NULL: nothing is allowed. */
    const double *const *allowed_depth;
    /* Likewise how deep each triangle of the rig's mesh may be (sinew_obstacle_triangle_depth in
     * the poses); INFINITY: the triangle is not tested. Triangles are not tested against obstacles
     * that have an entry in allowed_depth but none here. */
    const double *const *allowed_triangle_depth;
    /* Per obstacle whether it moves with the weights, as parts of the rig do; NULL: none does. The
     * others are fixed during a solve. */
    const bool *carried;
    /* 3 per surface vertex, or NULL: force on each vertex (gravity, wind), in lengths by which it
     * would stretch a spring of the mean stiffness. */
    const double *forces;
    int orientation_count;
    const sinew_spring_orientation *orientations;
} sinew_spring_frame;

typedef struct sinew_spring_frame_info {
    uint32_t size;        /* of this structure in bytes; set by the caller */
    sinew_status status;  /* SINEW_OK, SINEW_NOT_CONVERGED or SINEW_CANCELLED */
    int iterations;       /* Newton steps */
    int inner_iterations; /* conjugate-gradient steps */
    int factorizations;   /* direct solvers */
    bool extrapolated;    /* started from earlier frames */
    double residual;      /* largest force over sum k r around its vertex */
    double energy;        /* all terms */
    double seconds;
    int clamped;      /* rest lengths raised to the floor */
    int inverted;     /* tets whose volume has the wrong sign against the blend */
    int new_inverted; /* of these, tets that no pose inverts */
    int flipped;   /* triangles rotated by over 90 degrees relative to the rotation-aware blend */
    int contacts;  /* points that push at the end */
    int rounds;    /* contact rounds */
    int swallowed; /* obstacle that contains every vertex, plus 1; 0: none. The frame is then not
                      converged and shows the shape without contact */
    double
        depth; /* deepest point beyond the allowed depth, fraction of the bounding-box diagonal */
    double pose_depth; /* deepest allowed depth in use, fraction of the bounding-box diagonal */
    double adhesion; /* strongest remaining force across an open gap, relative to the force scale */
    bool time_limited; /* not converged because time_limit was reached */
} sinew_spring_frame_info;

SINEW_API sinew_status sinew_spring_state_create(const sinew_spring *spring,
                                                 sinew_spring_state **state, sinew_error *error);
SINEW_API void sinew_spring_state_destroy(sinew_spring_state *state);
/* Forgets earlier frames. */
SINEW_API void sinew_spring_state_reset(sinew_spring_state *state);
/* Settings of later solves with this state, taken from the options: tolerance, max_iterations,
 * time_limit, independent, friction, max_rounds and sample_edges. Other options belong to the
 * structure and are ignored. Returns SINEW_BAD_INPUT when one of them is out of range. */
SINEW_API sinew_status sinew_spring_state_set(sinew_spring_state *state,
                                              const sinew_spring_options *options,
                                              sinew_error *error);

/* positions: 3 per surface vertex. Not converged: positions hold the best shape reached. */
SINEW_API sinew_status sinew_spring_solve(const sinew_spring *spring, sinew_spring_state *state,
                                          const sinew_spring_frame *frame, double *positions,
                                          sinew_spring_frame_info *info,
                                          const sinew_monitor *monitor, sinew_error *error);
/* Tets of the last solved frame that are inverted although no pose inverts them, in increasing
 * order: for each its index among the network's tets and its four network vertices. Fills up to
 * `capacity` of them (5 numbers each; may be 0) and returns how many there are. */
SINEW_API int sinew_spring_new_inverted(const sinew_spring_state *state, int capacity, int *tets);
/* All network vertices of the last solved frame, 3 per vertex; valid until the next solve. */
SINEW_API const double *sinew_spring_network_positions(const sinew_spring_state *state);

#ifdef __cplusplus
}
#endif
#endif
