/* Rigs as binary FBX 7.4. */
#ifndef SN_IO_FBX_WRITE_H
#define SN_IO_FBX_WRITE_H

#include "io/format.h"

sinew_status sn_fbx_write_rig(const sinew_rig *rig, const sn_keyed_clip *clip, sn_buffer *out,
                              sinew_error *error);
sinew_status sn_fbx_write_mesh(const sinew_mesh *mesh, sn_buffer *out, sinew_error *error);

#endif
