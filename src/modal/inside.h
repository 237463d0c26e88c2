/* Tetrahedra inside a surface, kept in the cache: meshing takes longer than all else but modes. */
#ifndef SN_MODAL_INSIDE_H
#define SN_MODAL_INSIDE_H

#include "sinew/modal.h"

sinew_status sn_inside_tets(const sinew_mesh *mesh, const sinew_modal_options *options,
                            const sinew_monitor *monitor, sinew_tets **tets, sinew_error *error);
sinew_status sn_tets_copy(const sinew_tets *tets, sinew_tets **copy, sinew_error *error);

#endif
