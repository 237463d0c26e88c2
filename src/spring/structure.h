/* What a spring structure and a state hold; the files of this room share it.
 *
 *   structure.c   building: poses, network, boundary, system, preconditioner
 *   network_store.c  the network in the cache
 *   boundary.c    which vertices are held, the anchor, placing
 *   frame.c       one frame: rest lengths, start, equilibrium, info
 *   history.c     the start that earlier frames predict
 *   contact.c     rounds of contact; contact.h names the rest */
#ifndef SN_SPRING_STRUCTURE_H
#define SN_SPRING_STRUCTURE_H

#include "base/rotation.h"
#include "cache/pack.h"
#include "contact/pairs.h"
#include "rig/rotation_blend.h"
#include "rig/seams.h"
#include "sinew/model.h"
#include "spring/equilibrium.h"
#include "spring/network.h"

/* Frames of a clip share their history in runs of this length. */
enum { SN_HISTORY_RUN = 16, SN_HISTORY = 3 };
/* Weights beyond this are refused: lengths would lose all precision. */
#define SN_WEIGHT_LIMIT 1000.0

/* The rectangle inside, its rigid motion into each pose. */
typedef struct sn_anchor {
    bool used;
    double rest[12]; /* in the neutral */
    int tie_count;
    int *ties;         /* springs between a corner and the body */
    sn_vec3 center;    /* of the four */
    sn_vec3 *rotation; /* per target: rotation vector, an increment as rest lengths are */
    sn_vec3 *shift;    /* per target: move of the center */
} sn_anchor;

struct sinew_spring {
    const sinew_rig *rig; /* the caller's, or `own`, or that of `seams` */
    sinew_rig *own;       /* with stretched pairs (rig/stretched_pairs.h), or NULL */
    sn_seams *seams;      /* NULL: no vertices coincide in all poses */
    sinew_spring_options options;
    sinew_spring_info info;
    sinew_tets *tets; /* own, or NULL */
    sn_network *network;
    bool *held; /* per network vertex */
    int *pins;  /* copy of the options' */
    int pin_count;
    sn_anchor anchor;
    sn_system *system;
    sn_preconditioner *preconditioner;
    sinew_linear *linear;
    sinew_rotation *rotation; /* over surface and interior vertices */
    sn_contact_surface *self; /* what may touch itself; NULL: not asked for */
    bool *crosses_at_rest;    /* per surface vertex: of a triangle that crosses in the neutral */
    bool *pose_inverts;       /* per tet: inverted in some pose */
    double pull;              /* epsilon k */
    double volume_stiffness;
};

struct sinew_spring_state {
    const sinew_spring *spring;
    sinew_spring_options settings; /* of solves: sinew_spring_state_set */
    sn_pack kept;                  /* the past before a solve that may fail */
    sn_solver *solver;
    sinew_rotation_state *rotation;
    double *weights, *activations;    /* of the last blend */
    double *rest, *volume, *altitude; /* network order */
    double *linear;                   /* 3 per surface vertex */
    double *blend;                    /* 3 per network vertex: rotation-aware blend */
    double *positions;                /* 3 per network vertex: the result */
    double *x, *start;                /* SN_PAD per vertex, solver order */
    const double *off; /* of a region: the frame's shape without contact less its blend, or NULL */
    double *history[SN_HISTORY]; /* result minus blend, solver order, newest first */
    double *history_weights[SN_HISTORY];
    int history_count, history_index, last_index;
    bool live; /* frames are steps of a slider, not of time: see history.c */
    bool tame; /* the last solve from the blend was easy: history leads to the same equilibrium */
    sn_soft_pull *soft;
    int soft_capacity;
    sn_rotation_region *regions; /* of the frame's orientations */
    bool *marked;                /* per region and network vertex */
    int region_count, region_capacity;
    struct sn_contacts *contacts; /* made when obstacles first appear */
    size_t bytes;
};

/* ---- boundary.c ---- */

/* held[vertex_count] for the boundary in force, which may fall back to free: summary says why. */
sinew_status sn_boundary_find(sinew_spring *spring, const double *const *poses, sinew_error *error);
/* Place the anchor: rest, from the user's corners or at the center of mass. */
sinew_status sn_anchor_start(sinew_spring *spring, const double *positions, sinew_error *error);
/* Where the anchor is in a pose: a rigid motion of its rest. corners: 12 doubles out. */
void sn_anchor_find(const sinew_spring *spring, const double *positions, double *corners,
                    sn_vec3 *rotation, sn_vec3 *shift);
/* After the ties were added to the network. */
sinew_status sn_anchor_list_ties(sinew_spring *spring, sinew_error *error);
/* The anchor's corners for the activations; the blended body before them is moved rigidly onto
 * them, so that the pull to the blend does not work against the anchor. */
void sn_anchor_blend(const sinew_spring *spring, const double *activations, double *blend);
/* Move every component of x rigidly onto the blend, or without rotation. */
void sn_boundary_place(const sinew_spring *spring, bool rotate, const double *blend,
                       double *positions);

/* ---- frame.c ---- */

/* Weights, pins, pulls and forces that cannot be used are bad input. */
sinew_status sn_frame_check(const sinew_spring *spring, const sinew_spring_frame *frame,
                            sinew_error *error);
/* The frame's orientations into state->regions. */
sinew_status sn_frame_orient(const sinew_spring *spring, sinew_spring_state *state,
                             const sinew_spring_frame *frame, sinew_error *error);
/* Rest lengths, volumes and the rotation-aware blend at a fraction of the frame's weights, into the
 * load; returns how many rest lengths were clamped, or -1: the call was cancelled. */
int sn_frame_blend(const sinew_spring *spring, sinew_spring_state *state,
                   const sinew_spring_frame *frame, double share);
/* Vertices that hard pulls hold, put into x at a fraction of the path from the blend. */
void sn_frame_place(const sinew_spring *spring, const sinew_spring_state *state,
                    const sinew_spring_frame *frame, double share, double *x);
/* The frame's pulls, a fraction of the way from the blend; hard ones move their vertex of state->x.
 */
sinew_status sn_frame_pull(const sinew_spring *spring, sinew_spring_state *state,
                           const sinew_spring_frame *frame, double share, sinew_error *error);

/* ---- history.c ---- */

void sn_history_forget(sinew_spring_state *state);
/* state->x := where the frame starts, after sn_frame_blend and sn_frame_pull; true: from earlier
 * frames. */
bool sn_history_start(const sinew_spring *spring, sinew_spring_state *state,
                      const sinew_spring_frame *frame);
/* The shape in state->x is the equilibrium of frame `index`. */
void sn_history_remember(const sinew_spring *spring, sinew_spring_state *state, int index);

/* ---- guide.c ---- */

/* Every spring's vector in the rotation-aware blend that was evaluated last, into the load. */
void sn_guide_set(const sinew_spring *spring, sinew_spring_state *state);
/* The altitude of the system's triangle t points as between the blend's vertices, not as the
 * gradient of its element does. */
bool sn_guide_by_vertices(const sinew_spring *spring, int t);

/* ---- state.c ---- */

/* The past of a state, for saving it and for the way back from a solve that failed. */
typedef struct sn_spring_past {
    double *history[SN_HISTORY], *history_weights[SN_HISTORY];
    int history_count, history_index, last_index;
    bool tame, packed;
} sn_spring_past;
sinew_status sn_spring_keep(sinew_spring_state *state, sn_spring_past *past, sinew_error *error);
void sn_spring_restore(sinew_spring_state *state, const sn_spring_past *past);
void sn_spring_pack(const sinew_spring_state *state, sn_pack *pack);
sinew_status sn_spring_unpack(sinew_spring_state *state, sn_unpack *unpack, sinew_error *error);

/* ---- self.c ---- */

/* Which triangles take part: those that do not cross in the neutral. */
sinew_status sn_self_create(sinew_spring *spring, const sinew_monitor *monitor, sinew_error *error);
/* How many take no part; 0 without self-contact. */
int sn_self_leaves_out(const sinew_spring *spring);

/* ---- contact.c ---- */

/* Points that pushed at the end of the last solve, which had contacts: fills up to `capacity` of
 * them and returns how many it filled. Obstacles are counted as the frame gave them. */
int sn_spring_list_contacts(const sinew_spring_state *state, int capacity, sinew_contact *contacts);
/* Vertices that self-contact gave their shape without contact in the last solve. */
int sn_spring_released(const sinew_spring_state *state);

typedef struct sn_contacts sn_contacts;
void sn_contacts_destroy(sn_contacts *contacts);
/* Friction starts anew. */
void sn_contacts_forget(sn_contacts *contacts, int surface_count);
/* Rounds of look and solve until nothing penetrates and nothing pulls. */
sinew_status sn_contact_solve(const sinew_spring *spring, sinew_spring_state *state,
                              const sinew_spring_frame *frame,
                              const sn_equilibrium_options *options, sn_equilibrium_info *counts,
                              sinew_spring_frame_info *info, sinew_error *error);

#endif
