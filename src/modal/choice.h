/* Which body a mesh gets when the caller leaves it open. */
#ifndef SN_MODAL_CHOICE_H
#define SN_MODAL_CHOICE_H

#include "modal/body.h"

/* Cells along the diagonal. A cage that is much finer than the mesh costs gigabytes and shows
 * nothing: unless the caller has chosen, a cell is no smaller than a quarter of the mean edge. */
int sn_body_cage_cells(const sinew_mesh *mesh, int wanted);

/* With poses: the first of tets, repaired tets, a cage and a finer cage whose in-betweens are about
 * as good as those of a shell, or else the shell. Without: tets, or a cage where there are none. */
sinew_status sn_body_choose(const sinew_mesh *mesh, const sinew_modal_options *options,
                            const sinew_monitor *monitor, sn_body **body, sinew_error *error);

#endif
