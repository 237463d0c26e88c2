/* A tetrahedral mesh. Where it was made from a surface, the surface's vertices come first, with
 * their indices and coordinates unchanged, and interior points follow. */
#ifndef SINEW_TETS_H
#define SINEW_TETS_H

#include "sinew/mesh.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sinew_tets {
    int vertex_count;
    int surface_count; /* the first vertices are the surface's; 0 for a lattice cage */
    double *positions; /* 3 per vertex */
    int tet_count;
    int *tets; /* 4 vertices each, positive volume: (b-a) x (c-a) . (d-a) > 0 */
} sinew_tets;

SINEW_API void sinew_tets_destroy(sinew_tets *tets);

#ifdef __cplusplus
}
#endif
#endif
