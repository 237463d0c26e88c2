/* A weight animation that goes into a rig file. */
#ifndef SN_IO_KEYED_CLIP_H
#define SN_IO_KEYED_CLIP_H

#include "sinew/curves.h"
#include "sinew/rig.h"

/* Where targets do not follow their sliders linearly (in-betweens, combinations), keys stand no
 * further apart than this, as the file's reader will join them by straight lines. */
#define SN_KEYED_CLIP_LARGEST_GAP (1.0 / 60)

typedef struct sn_keyed_clip {
    int time_count;
    double *times;       /* seconds, increasing, also as floats */
    double *weights;     /* time_count rows of slider_count */
    double *activations; /* time_count rows of target_count */
} sn_keyed_clip;

/* The curves at their own times and, where it matters, between; channels are matched by
 * sinew_rig_bind_curves. Bad input: curves that fail sinew_curves_check, or none of whose channels
 * the rig knows. */
sinew_status sn_keyed_clip_create(const sinew_rig *rig, const sinew_curves *curves,
                                  sn_keyed_clip *clip, sinew_error *error);
void sn_keyed_clip_free(sn_keyed_clip *clip);

#endif
