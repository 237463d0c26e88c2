/* Faces that are left out of pictures. */
#ifndef CLI_HIDDEN_H
#define CLI_HIDDEN_H

#include "frame.h"

/* Removes the faces that are marked. option: what to name when none is left. */
sinew_status cli_remove_faces(cli_call *call, sinew_mesh *mesh, const bool *removed,
                              const char *option);
/* Removes the faces with all corners in one of the selections from the rig's neutral, and helper
 * geometry, whose parts the report lists; not that when "none" is among the selections. */
sinew_status cli_hide(cli_call *call, const sinew_rig *rig, int count,
                      const char *const *selections);
/* Prints what was left out without being selected, once for all shapes. */
void cli_tell_helpers(cli_call *call);
/* Whether a selection is a part that cli_hide leaves out anyway. */
bool cli_is_helper(const char *selection);

#endif
