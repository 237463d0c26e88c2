/* What a glTF file holds of ours. */
#ifndef SN_IO_GLTF_READ_H
#define SN_IO_GLTF_READ_H

#include "io/format.h"

sinew_status sn_gltf_read_rig(const sn_source *source, sinew_rig **rig, sinew_error *error);
sinew_status sn_gltf_read_mesh(const sn_source *source, sinew_mesh **mesh, sinew_error *error);
/* Weights of the first animation that has any. */
sinew_status sn_gltf_read_curves(const sn_source *source, sinew_curves **curves,
                                 sinew_error *error);
/* The same, played on the rig: a frame per key. */
sinew_status sn_gltf_read_frames(const sn_source *source, sinew_frames **frames,
                                 sinew_error *error);
/* As of sn_format: a pose of an animation, and a whole animation. */
sinew_status sn_gltf_read_pose(const sn_source *source, const char *clip, double time,
                               sinew_mesh **mesh, sinew_error *error);
sinew_status sn_gltf_read_clip(const sn_source *source, const char *clip, double rate,
                               sinew_frames **frames, sinew_error *error);

#endif
