/* Up axis and residuals of a recording. */
#ifndef SN_CAPTURE_RECORDING_H
#define SN_CAPTURE_RECORDING_H

#include "capture/take.h"

/* A take with a map whose file states its up axis, and which lies on its side against the face, is
 * turned to the face's. */
sinew_status sn_capture_turn_up(sinew_capture *capture, sinew_error *error);
/* capture->trust falls where residuals are large, or 0: such positions were made up. */
sinew_status sn_capture_weigh_residuals(sinew_capture *capture, sinew_error *error);

#endif
