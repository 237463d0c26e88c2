/* Tetrahedra inside a surface, kept in the cache: meshing takes longer than all else but modes. */
#ifndef SN_RIG_TETS_STORE_H
#define SN_RIG_TETS_STORE_H

#include "sinew/cache.h"
#include "sinew/mesh.h"
#include "sinew/tets.h"

/* As sinew_tets_from_surface. cache: NULL: none. */
sinew_status sn_tets_make(const sinew_mesh *mesh, const sinew_tets_options *options,
                          sinew_cache *cache, const sinew_monitor *monitor, sinew_tets **tets,
                          sinew_error *error);
sinew_status sn_tets_copy(const sinew_tets *tets, sinew_tets **copy, sinew_error *error);

#endif
