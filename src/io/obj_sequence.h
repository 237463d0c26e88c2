/* Frames as numbered OBJ files. */
#ifndef SN_IO_OBJ_SEQUENCE_H
#define SN_IO_OBJ_SEQUENCE_H

#include "io/frames.h"

extern const sn_frame_sink sn_obj_sequence_sink;
/* `path` as for writing: NAME.%04d.obj, NAME.####.obj, or NAME.obj for NAME.0000.obj and so on. A
 * file that is there under that very name is one frame. */
sinew_status sn_obj_sequence_read(const char *path, sinew_frames **frames, sinew_error *error);

#endif
