/* Nearest points on one lid or lip: across a narrow eye or closed lips the nearest skin is often
 * that of the other one. */
#ifndef SN_CAPTURE_OWN_SIDE_H
#define SN_CAPTURE_OWN_SIDE_H

#include "capture/anatomy_state.h"
#include "capture/marker_names.h"
#include "sinew/query.h"

typedef struct sn_own_side {
    const sinew_mesh *mesh;
    const sinew_anatomy *anatomy;
    sinew_query *query[SN_OPENINGS][2]; /* above and below the opening; made when needed */
    int *triangles[SN_OPENINGS][2];
} sn_own_side;

/* The opening at which a marker sits; NULL when it sits at none, or the face does not show it.
 * `side`: that of the face. */
const sn_opening *sn_own_opening(const sinew_anatomy *anatomy, sn_margin margin, sinew_side side);
static inline bool sn_is_upper(sn_margin margin) {
    return margin == SN_MARGIN_LID_UPPER || margin == SN_MARGIN_LIP_UPPER;
}

/* triangle -1: there is no such skin. Triangles are those of the mesh. */
sinew_status sn_own_side_closest(sn_own_side *own, sn_margin margin, sinew_side side,
                                 const double point[3], sinew_closest *closest, sinew_error *error);
void sn_own_side_free(sn_own_side *own);

#endif
