/* The elastic potentials of the sheet, all of the form 1/2 k |F x - p(x)|^2 with constant F^T F.
 *
 *   place        F x = x_v             p = rest of v
 *   stretch      F x = x_i - x_j       p = rest length along the edge
 *   overstretch  F x = x_i - x_j       p = F x up to 110% of the rest length, that length beyond
 *   bending      F x = (L x)_v / A_v   p = rest of it, turned by the best rotation of v's ring
 *
 * The projections p are found by one pass over edges and one over vertices; forces are gathered per
 * vertex, so that the bits do not depend on the number of threads. */
#ifndef SN_FORCE_POTENTIALS_H
#define SN_FORCE_POTENTIALS_H

#include "force/ring_rotation.h"
#include "force/skin.h"
#include "sinew/force.h"

/* The rings of SN_RING_LANES vertices side by side: entry k of the group's lane i is [first + k *
 * SN_RING_LANES + i]; shorter rings end in entries of weight 0 that lead back to their vertex. A
 * batch of SN_RING_BATCH vertices is worked on at a time. */
enum { SN_RING_CONSTANTS = 5 };
typedef struct sn_rings {
    int group_count;
    int *vertex;   /* per lane; 0 beyond the last */
    size_t *first; /* per group, and the end */
    int *neighbour;
    float *weight;
    double stiffness; /* of an edge of weight 1 */
    double *stretch;  /* stiffness of the edge; NULL when it is that times its weight */
    double *rest;     /* 4 per vertex, the last 0 */
    /* per lane: stiffness k_p of the place; k_b / A^2; and that times the rest of (L x)_v */
    double *constant[SN_RING_CONSTANTS];
} sn_rings;

typedef struct sn_potentials {
    const sn_skin *skin;
    double *position;   /* k per vertex */
    double *stretch;    /* k per edge */
    double overstretch; /* share of stretch */
    double *bending;    /* k per vertex */
    bool stretches, bends;
    sn_rings rings;
} sn_potentials;

/* Scale-free: D the diagonal, A the mean area,
 *   position = options->position A_v, stretch = (l_s D)^2 / A w_ij, bending = (l_b D)^4 A_v. */
sinew_status sn_potentials_create(const sn_skin *skin, const sinew_force_options *options,
                                  sn_potentials **potentials, sinew_error *error);
void sn_potentials_destroy(sn_potentials *potentials);

/* sum of k F^T F over all potentials plus diag(inertia): n x n for each coordinate; held vertices
 * have a row of the identity. */
sinew_status sn_potentials_matrix(const sn_potentials *potentials, const double *inertia,
                                  sn_sparse **matrix, sinew_error *error);

/* forces[3n] = sum k F^T (p - F x) at x; held vertices included. scratch: sn_potentials_scratch
 * doubles. */
size_t sn_potentials_scratch(const sn_potentials *potentials);
void sn_potentials_forces(const sn_potentials *potentials, const double *x, double *scratch,
                          double *forces);
/* Adds them, for x of 4 numbers per vertex, the last 0, so that a vertex is one load; bend: room
 * for as many. */
void sn_potentials_add_forces(const sn_potentials *potentials, const double *x, double *bend,
                              double *forces);
/* What the forces are made of: tension[edge_count], times x_i - x_j the force on an edge's first
 * end i; the pulls (inside scratch, 4 numbers per vertex), whose difference to a neighbor's, times
 * the edge's weight, is the bending force. */
const double *sn_potentials_strains(const sn_potentials *potentials, const double *x,
                                    double *scratch, double *tension);

#endif
