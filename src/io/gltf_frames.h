/* Frames as GLB: morph targets and weight curves, compressed to a tolerance. */
#ifndef SN_IO_GLTF_FRAMES_H
#define SN_IO_GLTF_FRAMES_H

#include "io/frames.h"

extern const sn_frame_sink sn_gltf_frame_sink;

#endif
