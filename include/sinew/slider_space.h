/* The space of shapes that the sliders of a rig span: the basis of locks, direct manipulation, fits
 * and interference.
 *
 * T holds a target's displacement in each column, 3n x m; it is kept by vertex, so that a few
 * coordinates can be picked out, together with its Gram matrix T^T T, which is computed once.
 * Where shapes follow sliders through in-betweens and combinations, D = T da/dw is the Jacobian at
 * the current weights, and every quadratic form in D is one in T carried through da/dw. */
#ifndef SINEW_SLIDER_SPACE_H
#define SINEW_SLIDER_SPACE_H

#include "sinew/rig.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Built once per rig (which must outlive it), constant, shared between threads. */
typedef struct sinew_slider_space sinew_slider_space;

SINEW_API sinew_status sinew_slider_space_create(const sinew_rig *rig, sinew_slider_space **space,
                                                 sinew_error *error);
SINEW_API void sinew_slider_space_destroy(sinew_slider_space *space);

/* Coordinates (3 per vertex) that some target moves, and the bounding-box diagonal of their
 * vertices. */
SINEW_API int sinew_slider_space_moved(const sinew_slider_space *space);
SINEW_API double sinew_slider_space_diagonal(const sinew_slider_space *space);

#ifdef __cplusplus
}
#endif
#endif
