/* Any file the library can read, whatever is in it. */
#ifndef CLI_FILES_H
#define CLI_FILES_H

#include "verb.h"

/* Exactly one of them is not NULL. */
typedef struct cli_file {
    const char *format; /* "OBJ", "folder", ... */
    sinew_mesh *mesh;
    sinew_rig *rig;
    sinew_curves *curves;
    sinew_markers *markers;
    sinew_frames *frames;
    sinew_frame_reader *reader; /* frames that can be read one by one */
    sinew_tets *tets;
} cli_file;

sinew_status cli_file_read(const char *path, cli_file *file, sinew_error *error);
/* Whether a rig can be written to a file of this ending, or to this folder. */
bool cli_holds_rig(const char *path);
/* Whether files of this ending hold a mesh but no rig. */
bool cli_holds_mesh_only(const char *path);
/* The same, choosing of what the file holds the kind of thing that `out` can hold too: a rig, a
 * mesh, frames, curves, markers or tets, in this order. A plain mesh is read as the file shows it,
 * with `cage` without its subdivision. */
sinew_status cli_file_read_for(const char *path, const char *out, bool cage, cli_file *file,
                               sinew_error *error);
void cli_file_free(cli_file *file);

/* Reads curves that drive the sliders of a rig, and adds the file to the report's inputs. Warns of
 * each curve that drives no slider, and fails when none does. bound (may be NULL): one channel per
 * slider, in their order; curves (may be NULL): as they are in the file. */
sinew_status cli_read_curves(cli_call *call, const char *path, const sinew_rig *rig,
                             sinew_curves **curves, sinew_curves **bound);

/* Whether a rig from `in` (NULL: from elsewhere) is written to `out` together with everything else
 * that `in` holds. */
bool cli_keeps(const char *in, const char *out);
/* Writes the rig, with a clip (NULL: without), into a copy of `original` where cli_keeps. */
sinew_status cli_write_rig(cli_call *call, const char *original, const sinew_rig *rig,
                           const sinew_curves *curves, const char *out);

#endif
