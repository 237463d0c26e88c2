/* Swings that would turn the body inside out are damped. */
#ifndef SN_SESSION_MODAL_GUARD_H
#define SN_SESSION_MODAL_GUARD_H

#include "sinew/modal.h"
#include "sinew/monitor.h"

/* Samples a few times of the motion, from `from` to `to` seconds. While they turn more than a few
 * tets inside out that no key does, and the straight path does not, amplitudes are halved, and the
 * motion updated. *factor: what they were multiplied by. A warning names it. */
sinew_status sn_modal_guard(const sinew_modal *modal, sinew_modal_motion *motion,
                            sinew_modal_state *state, const sinew_modal_parameters *parameters,
                            double from, double to, const sinew_monitor *monitor, double *factor,
                            sinew_error *error);

#endif
