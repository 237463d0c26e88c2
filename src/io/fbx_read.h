/* What an FBX file holds of ours. */
#ifndef SN_IO_FBX_READ_H
#define SN_IO_FBX_READ_H

#include "io/format.h"

/* The mesh as the file shows it: with the weights that are set in it. */
sinew_status sn_fbx_read_mesh(const sn_source *source, sinew_mesh **mesh, sinew_error *error);
/* The same, subdivided where the file shows it so. */
sinew_status sn_fbx_read_shown(const sn_source *source, sinew_mesh **mesh, sinew_error *error);
/* The unposed mesh as the neutral, a slider per blend-shape channel. */
sinew_status sn_fbx_read_rig(const sn_source *source, sinew_rig **rig, sinew_error *error);
/* Slider weights of the first animation that has any. */
sinew_status sn_fbx_read_curves(const sn_source *source, sinew_curves **curves, sinew_error *error);

/* The mesh at a time of a clip (NULL: the first that moves anything), skin and weights applied. */
sinew_status sn_fbx_read_pose(const sn_source *source, const char *clip, double time,
                              sinew_mesh **mesh, sinew_error *error);
/* The whole clip; rate 0: the file's own. */
sinew_status sn_fbx_read_clip(const sn_source *source, const char *clip, double rate,
                              sinew_frames **frames, sinew_error *error);
sinew_status sn_fbx_read_frames(const sn_source *source, sinew_frames **frames, sinew_error *error);

#endif
