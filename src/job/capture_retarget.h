/* Markers of an actor whose face is not the rig's. */
#ifndef SN_JOB_CAPTURE_RETARGET_H
#define SN_JOB_CAPTURE_RETARGET_H

#include "job/capture.h"

/* Moves the take's markers to where they would sit on the rig's face. Those that the neutral sample
 * does not show are named in a warning. */
sinew_status sn_capture_retarget(const sn_model_setup *setup, sinew_markers *take,
                                 sn_capture *capture, sinew_error *error);

#endif
