/* What the cage needs of embedding beyond the public part. */
#ifndef SN_MESH_EMBEDDING_H
#define SN_MESH_EMBEDDING_H

#include "sinew/cage.h"

/* Arrays for `vertex_count` vertices, not filled. */
sinew_status sn_embedding_allocate(int vertex_count, sinew_embedding **embedding,
                                   sinew_error *error);
/* Fills `corners` from `tet`. */
void sn_embedding_corners(const sinew_tets *tets, sinew_embedding *embedding);
/* tet[v] and weights[4 v] of the listed points. */
sinew_status sn_embed_points(const sinew_tets *tets, int count, const int *points,
                             const double *positions, int *tet, double *weights,
                             sinew_error *error);

/* The triangles around the tets, seen from outside, and the tet behind each; release both with
 * sn_free, on failure too. */
sinew_status sn_tets_outer_sides(const sinew_tets *tets, int **triangles, int **owner, int *count,
                                 sinew_error *error);

#endif
