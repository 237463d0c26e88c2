/* Vertices that follow their linear path: the parameter "hold" of the blending models. */
#ifndef SN_SESSION_HOLDS_H
#define SN_SESSION_HOLDS_H

#include "session/model.h"

#define SN_HOLD_HELP                                                                               \
    "Vertices that follow their linear path exactly, while the rest follows smoothly: "            \
    "a selection, or 'auto' for those that rest on the floor in all poses."

/* The vertices of the parameter; none without it. *vertices: sn_free. */
sinew_status sn_holds_select(const sn_model_setup *setup, int **vertices, int *count,
                             sinew_error *error);

#endif
