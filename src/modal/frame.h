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

#endif
