/* From tracks at a time to positions. */
#ifndef SN_MODAL_FRAME_H
#define SN_MODAL_FRAME_H

#include <stdbool.h>

#include "modal/fast.h"
#include "modal/motion.h"

/* Rebuilds the body elsewhere, from state->tracks and the residual: state->positions, and for a
 * cage state->carried. False: this frame is not for it. */
typedef bool sn_frame_rebuild(void *user, sinew_modal_state *state,
                              const sn_residual_sum *residual);

struct sinew_modal_state {
    sn_rotation_strain_work *work;
    double *tracks;
    double *displacement; /* 3 per body vertex */
    double *coordinates;  /* SN_RS_SIZE per element */
    double *positions;    /* 3 per body vertex: the last frame's body */
    double *turns;        /* 9 per component: matrices of the last frame */
    sn_fast_state *fast;  /* NULL: double precision */
    bool exact;           /* double precision all the same */
    bool was_fast;        /* the last frame was in single precision */

    sn_frame_rebuild *rebuild; /* NULL: here */
    void *rebuilder;
    bool rebuilt;          /* the last frame was rebuilt elsewhere, */
    const double *carried; /* where these are the rotations of the elements that carry the artist's
                            * vertices in a cage, 9 each */
};

/* state->tracks and residuals to state->positions and to the artist's vertices, leftovers of the
 * residual's poses added. */
void sn_frame_shape(const sinew_modal *modal, sinew_modal_state *state,
                    const sn_residual_sum *residual, double *positions);
/* The same with regions led to orientations. */
void sn_frame_oriented(const sinew_modal *modal, sinew_modal_state *state,
                       const sn_residual_sum *residual, int count,
                       const sinew_modal_orientation *orientations, double *positions);

/* After a frame: positions += leftovers of the residual's poses, each turned with the element that
 * carries its vertex. */
void sn_add_leftovers(const sinew_modal *modal, const sinew_modal_state *state,
                      const sn_residual_sum *residual, double *positions);
/* leftover += what it takes to go from the last frame's `positions` to `wanted`, in the frames of
 * the elements that carry the vertices. */
void sn_correct_leftover(const sinew_modal *modal, const sinew_modal_state *state,
                         const double *wanted, const double *positions, double *leftover);

/* Moves the last frame's body and the artist's positions so that pins are at their targets. */
void sn_pins_apply(sinew_modal_pins *pins, sinew_modal_state *state, const double *targets,
                   double *positions);

#endif
