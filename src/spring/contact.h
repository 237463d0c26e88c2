/* What touches what during one frame; shared by the files about contact.
 *
 *   contact.c   rounds: look, push, solve, until gaps and forces agree
 *   way.c       leading the shape to obstacles that lie in its way
 *   self.c      the surface against itself; self_release.c: never worse than without contact
 *   touch.c     looking: which points of the surface are near or inside obstacles, which way is out
 *
 * A touch is one point of the surface (a vertex, or a point of an edge or triangle) against one
 * obstacle. It keeps the direction in which it yields from look to look, so that a point that is
 * pressed past an obstacle's middle does not change its mind and leave by the far side. */
#ifndef SN_SPRING_CONTACT_H
#define SN_SPRING_CONTACT_H

#include "contact/obstacle.h"
#include "spring/structure.h"

/* Points of one triangle that are watched at once: an edge that lies across needs two, a corner
 * of a box three. */
enum { SN_TRIANGLE_POINTS = 6 };

typedef struct sn_touch {
    int count;     /* 1: a vertex, 3: a point of a triangle, 4: a pair of the surface itself */
    int vertex[4]; /* network */
    double weight[4];
    int obstacle;   /* -1: the surface itself */
    bool behind;    /* it has gone through the obstacle and must come back */
    bool edges;     /* pairs: edge and edge, else vertex and triangle */
    double wanted;  /* pairs: the distance to keep */
    sn_vec3 normal; /* the way out */
    double gap;     /* signed distance plus what is allowed */
    double force;   /* along the normal, >= 0 */
    double limit;   /* of friction */
    sn_vec3 drag;   /* tangential force, against the slip */
    sn_vec3 place;  /* friction: where it touched first */
    int term;       /* of the load, or -1 */
} sn_touch;

/* Position of a vertex, also relative to an obstacle. */
typedef struct sn_place {
    sn_vec3 at, out;
    double distance; /* plus what is allowed; NAN: not known */
} sn_place;

typedef struct sn_self sn_self;

struct sn_contacts {
    int count;
    size_t capacity;
    sn_touch *list;
    bool still;       /* points of triangles that push stay where they are */
    int *of_vertex;   /* per obstacle and surface vertex: touch, or -1 */
    int *of_triangle; /* per obstacle and triangle: SN_TRIANGLE_POINTS */
    int obstacle_room;
    sn_self *self;     /* the surface against itself, when asked for */
    int released;      /* vertices that self-contact gave their shape without contact */
    double *distance;  /* per surface vertex: to the present obstacle */
    sn_place *before;  /* per obstacle and surface vertex: at the last look */
    bool *swallowed;   /* per obstacle and component of the network: all of it is inside */
    double *stiffness; /* per surface vertex: sum of its springs' */
    size_t term_capacity;
    sn_contact_term *terms;
    /* friction's past: what touched in the frame before, per obstacle and surface vertex */
    int past_room;
    bool *touched;
    sn_obstacle_anchor *anchor;
};

static inline sn_vec3 sn_contact_position(const sinew_spring *spring,
                                          const sinew_spring_state *state, int v) {
    const double *at = state->x + SN_PAD * (size_t)spring->system->place[v];
    return sn_v3(at[0], at[1], at[2]);
}

/* False for vertices that are held or dragged to a position. */
static inline bool sn_contact_movable(const sinew_spring *spring, const sinew_spring_state *state,
                                      int v) {
    int at = spring->system->place[v];
    return at < spring->system->free_count && !state->solver->constraints.frozen[at];
}

/* False for what has nowhere to go as well: parts that lie in an obstacle as a whole. */
static inline bool sn_contact_watched(const sinew_spring *spring, const sinew_spring_state *state,
                                      int obstacle, int v) {
    const sn_network *network = spring->network;
    int part = network->component[v];
    return sn_contact_movable(spring, state, v) &&
           !(part >= 0 && state->contacts->swallowed[obstacle * network->component_count + part]);
}

static inline double sn_contact_allowed(const sinew_spring_frame *frame, int obstacle, int v) {
    if (obstacle < 0 || !frame->allowed_depth || !frame->allowed_depth[obstacle]) return 0;
    double depth = frame->allowed_depth[obstacle][v];
    return depth > 0 ? depth : 0;
}

static inline double sn_contact_allowed_triangle(const sinew_spring_frame *frame, int obstacle,
                                                 int triangle) {
    if (!frame->allowed_triangle_depth || !frame->allowed_triangle_depth[obstacle]) return 0;
    double depth = frame->allowed_triangle_depth[obstacle][triangle];
    return depth > 0 ? depth : 0;
}

/* Where poses sink in, a thousand flat triangles are a little deeper on the way between them than
 * the blend of their depths. What is well within the contact depth is left alone. */
#define SN_TRIANGLE_SLACK 0.8
static inline double sn_contact_slack(const sinew_spring *spring, const sinew_spring_frame *frame,
                                      int obstacle) {
    bool sinks = frame->allowed_depth && frame->allowed_depth[obstacle];
    return sinks ? SN_TRIANGLE_SLACK * spring->options.contact_depth * spring->network->diagonal
                 : 0;
}

static inline bool sn_contact_carried(const sinew_spring_frame *frame, int obstacle) {
    return frame->carried && frame->carried[obstacle];
}

/* Does the straight path from a to b enter the obstacle? Both are outside; entry: where. Balls of
 * their distances around places are free; what they leave open is halved. */
bool sn_contact_enters(const sinew_obstacle *obstacle, const sn_place *a, const sn_place *b,
                       double allowed, sn_place *entry);
/* Nothing is known of where vertices were. */
void sn_contacts_lose_sight(const sinew_spring *spring, sn_contacts *contacts, int obstacles);

/* Refresh gaps and ways out of the known touches at state->x and add points that are nearer than
 * `margin`. Touches are found to `tolerance`. on_the_way: obstacles that move with the weights are
 * not where they are going to be, and are left out. */
sinew_status sn_contacts_look(const sinew_spring *spring, sinew_spring_state *state,
                              const sinew_spring_frame *frame, double tolerance, double margin,
                              bool on_the_way, sinew_error *error);

/* ---- way.c ---- */

/* How the shape gets to its obstacles: in equal steps of the weights. */
typedef struct sn_way {
    int steps;     /* of the whole path */
    int first;     /* the last step before anything touches */
    bool straight; /* the nearest way out is the way in: there is no need to go it */
    bool crosses;  /* the shape crosses itself: it must be led, and kept from crossing */
} sn_way;

/* state->x: the frame's shape without contact; crosses: it is known to cross itself. Leaves the
 * load as it was. What has gone right through an obstacle is found as well. */
sinew_status sn_way_find(const sinew_spring *spring, sinew_spring_state *state,
                         const sinew_spring_frame *frame, bool crosses, sn_way *way,
                         sinew_error *error);
/* Load and state->x for one step; previous < 0: from the blend, else from state->x at that step. */
sinew_status sn_way_step(const sinew_spring *spring, sinew_spring_state *state,
                         const sinew_spring_frame *frame, const sn_way *way, int previous, int step,
                         sinew_error *error);

/* ---- self.c ---- */

void sn_self_destroy(sn_self *self);
/* A new frame: no pairs yet. */
sinew_status sn_self_begin(const sinew_spring *spring, sinew_spring_state *state,
                           sinew_error *error);
/* Do triangles that take part cross? positions: 3 per surface vertex; or the shape in state->x. */
sinew_status sn_self_crosses(const sinew_spring *spring, sinew_spring_state *state,
                             const double *positions, bool *crosses, sinew_error *error);
/* Per surface vertex: corners of triangles that were found to cross in this frame. */
const bool *sn_self_meets(const sinew_spring_state *state);
sinew_status sn_self_shape_crosses(const sinew_spring *spring, sinew_spring_state *state,
                                   bool *crosses, sinew_error *error);
/* state->x does not cross: it is the safe shape now. */
void sn_self_start(const sinew_spring *spring, sinew_spring_state *state);
/* state->x cut back to what can be reached from the safe shape, which it becomes. */
sinew_status sn_self_cut_back(const sinew_spring *spring, sinew_spring_state *state, bool *cut,
                              sinew_error *error);
/* Refresh the known pairs at the safe shape and add those nearer than the gap and `margin`. */
sinew_status sn_self_look(const sinew_spring *spring, sinew_spring_state *state, double margin,
                          bool settling, sinew_error *error);
/* state->x is the shape without contact, for sn_self_compare; nothing was found to cross yet. */
void sn_self_keep(const sinew_spring *spring, sinew_spring_state *state);
/* Gives regions of state->x the shape that was kept where contact made them worse. */
sinew_status sn_self_compare(const sinew_spring *spring, sinew_spring_state *state,
                             sinew_error *error);

/* ---- self_region.c ---- */

/* A solver for what self-contact moves: spring and state of a frame in which everything else is
 * held to the shape without contact. Borrows all but its solver from them. */
typedef struct sn_self_region {
    sinew_spring spring;
    sinew_spring_state state;
    double *off;
} sn_self_region;

/* Around what was found to cross; state->x: the shape without contact. NULL: it would be most of
 * the network. */
sinew_status sn_self_region_create(const sinew_spring *spring, sinew_spring_state *state,
                                   const sinew_spring_frame *frame, sn_self_region **region,
                                   sinew_error *error);
void sn_self_region_destroy(sn_self_region *region);
/* The region's shape := state->x, and back. */
void sn_self_region_enter(sn_self_region *region, const sinew_spring *spring,
                          const sinew_spring_state *state);
void sn_self_region_leave(const sn_self_region *region, const sinew_spring *spring,
                          sinew_spring_state *state);

/* ---- self_release.c ---- */

/* The same for the shape x, 3 per surface vertex; *released: vertices that were given back. */
sinew_status sn_self_release(const sinew_spring *spring, const double *plain, double *x,
                             int *released, sinew_error *error);

#endif
