/* As-rigid-as-possible energy of tets:  E(x) = min over R of  sum_T |T| ||F_T(x) - R_T||^2.
 *
 *   local step    R_T = polar(F_T)
 *   global step   L x = b(R),  L_ij = sum |T| g_i . g_j,  b_i = sum |T| R_T g_i
 *
 * with g_i the gradient of the hat function of a corner. L is the scalar Laplacian of the rest
 * shape and never changes. */
#ifndef SN_MESH_RIGIDITY_H
#define SN_MESH_RIGIDITY_H

#include "algebra/sparse.h"
#include "base/mat3.h"
#include "mesh/topology.h"
#include "sinew/tets.h"

typedef struct sn_rigidity {
    int vertex_count, tet_count;
    const int *tets;         /* the caller's */
    double *volume;          /* |T| */
    double *gradient;        /* 12 per tet: 3 per corner */
    sn_lists vertex_corners; /* per vertex: 4 tet + corner, increasing */
} sn_rigidity;

/* The rest shape must have tets of positive volume and outlive the structure. */
sinew_status sn_rigidity_create(const sinew_tets *rest, sn_rigidity *rigidity, sinew_error *error);
void sn_rigidity_free(sn_rigidity *rigidity);

/* Adds the entries of L, lower triangle, and a zero on the whole diagonal. False: no memory. */
bool sn_rigidity_laplacian(const sn_rigidity *rigidity, sn_triplets *triplets);

sn_mat3 sn_rigidity_deformation(const sn_rigidity *rigidity, const double *positions, int tet);
/* Local step; the rest allocate nothing either. Same bits for any number of threads. */
void sn_rigidity_rotations(const sn_rigidity *rigidity, const double *positions,
                           sn_mat3 *rotations);
/* b, 3 per vertex. */
void sn_rigidity_pull(const sn_rigidity *rigidity, const sn_mat3 *rotations, double *b);
double sn_rigidity_energy(const sn_rigidity *rigidity, const double *positions,
                          const sn_mat3 *rotations);
/* Tets without positive volume. */
int sn_count_inverted(const double *positions, int tet_count, const int *tets);

#endif
