/* From tracks at a time to positions. */
#ifndef SN_MODAL_FRAME_H
#define SN_MODAL_FRAME_H

#include "modal/fast.h"
#include "modal/motion.h"

struct sinew_modal_state {
    sn_rotation_strain_work *work;
    double *tracks;
    double *displacement; /* 3 per body vertex */
    double *coordinates;  /* SN_RS_SIZE per element */
    double *positions;    /* 3 per body vertex: the last frame's body */
    sn_fast_state *fast;  /* NULL: double precision */
};

/* state->tracks and residuals to state->positions and to the artist's vertices, leftovers of the
 * residual's poses added. */
void sn_frame_shape(const sinew_modal *modal, sinew_modal_state *state,
                    const sn_residual_sum *residual, double *positions);
/* The same with regions led to orientations. */
void sn_frame_oriented(const sinew_modal *modal, sinew_modal_state *state,
                       const sn_residual_sum *residual, int count,
                       const sinew_modal_orientation *orientations, double *positions);

/* Moves the last frame's body and the artist's positions so that pins are at their targets. */
void sn_pins_apply(sinew_modal_pins *pins, sinew_modal_state *state, const double *targets,
                   double *positions);

#endif
