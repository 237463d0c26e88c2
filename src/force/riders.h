/* Parts that lie on the skin: brows, lashes, a beard. They follow the skin below them, where the
 * marker layer or contact would leave them behind; teeth, tongue and eyes, which skin
 * glides over, do not. */
#ifndef SN_FORCE_RIDERS_H
#define SN_FORCE_RIDERS_H

#include "force/skin.h"
#include "sinew/anatomy.h"

typedef struct sn_riders {
    int count;
    int *vertex;    /* of the rider */
    int *host;      /* 3 each: vertices of the skin below it */
    double *weight; /* 3 each, sum 1 */
} sn_riders;

/* marked[vertex_count]: parts with one of these vertices are skin. Vertices lie on the skin when
 * they are nearer to it than 0.0075 of the diagonal, or than a mean edge. A part follows the skin
 * when three tenths of it lie on the skin and most targets that move either move both alike; where
 * no target moves them, when three quarters do and its middle is outside. */
sinew_status sn_riders_find(const sn_skin *skin, const sinew_rig *rig, const bool *marked,
                            sn_riders *riders, sinew_error *error);
/* Teeth, tongue and mouth bag lie below the skin, however near, and do not follow it. */
void sn_riders_leave_inner(sn_riders *riders, const sinew_anatomy *anatomy);
void sn_riders_free(sn_riders *riders);

#endif
