/* An FBX file with the targets and positions of a rig, and everything else as it was. */
#ifndef SN_IO_FBX_KEEP_H
#define SN_IO_FBX_KEEP_H

#include "io/format.h"

/* As of sn_format: write_into. A rig that did not change gives the same bytes for every file. Other
 * positions and shapes, and new channels with one shape, can be written into binary files from
 * version 7.0; anything else returns SINEW_UNAVAILABLE. */
sinew_status sn_fbx_write_into(const sn_source *original, const sinew_rig *rig,
                               const sn_keyed_clip *clip, sn_buffer *out, sinew_error *error);

#endif
