/* Labels that were exchanged in the middle of a take. */
#ifndef SN_CAPTURE_LABELS_H
#define SN_CAPTURE_LABELS_H

#include "base/status.h"
#include "sinew/curves.h"

/* Gives markers that exchanged their labels for a while their own back. *mended: positions that got
 * another label; touched[marker_count]: the markers concerned. */
sinew_status sn_take_mend_labels(sinew_markers *take, int *mended, bool *touched,
                                 sinew_error *error);

#endif
