/* Vertices that follow their linear path: the parameter "hold" of the blending models. */
#ifndef SN_SESSION_HOLDS_H
#define SN_SESSION_HOLDS_H

#include "rig/floor.h"
#include "session/model.h"

#define SN_HOLD_HELP                                                                               \
    "Vertices that follow their linear path exactly, while the rest follows smoothly: "            \
    "a selection, or 'auto' for those that rest on the floor in all poses. With 'auto', the rest " \
    "does not pass below the floor."

/* The vertices of the parameter; none without it. *vertices: sn_free. */
sinew_status sn_holds_select(const sn_model_setup *setup, int **vertices, int *count,
                             sinew_error *error);

/* Whether frames of the model are kept above the floor of the poses: its parameter "hold" is
 * "auto". */
bool sn_holds_floor(const sn_model_kind *kind, const sn_model_setup *setup);
/* *floor is NULL when nothing rests in all poses, so that the floor is unknown. */
sinew_status sn_holds_make_floor(const sn_model_setup *setup, sn_floor **floor, sinew_error *error);

#endif
