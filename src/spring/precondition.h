/* The preconditioner of a Newton step: the sum of three inverses, each good at what the others
 * miss.
 *
 *   L^-1          scalar Laplacian of the network (weights k), the same for x, y and z: factored
 *                 once in single precision. Right for stretched and mixed directions at all scales.
 *                 Directions and altitudes are multiples of the identity at every scale, so with
 *                 them L bounds H from both sides on any mesh: the steps that conjugate gradients
 *                 need do not grow with its size. Bending springs are left out, and a few struts
 *                 stand for all of them: that halves the factor.
 *   W E^-1 W^T    without directions only. E = W^T H W over the rigid motions of smooth clusters of
 * vertices: bends and twists, which cost the Hessian little and the Laplacian much. E belongs to
 * the neutral and is turned with the clusters: inside one of them the lengths of a shape in
 * equilibrium are nearly those of its poses, so E in the cluster's frame hardly changes. D^-1 3x3
 * diagonal blocks of H: what is stiff in one direction only.
 *
 * Based on: additive two-level Schwarz methods with rigid-body coarse spaces. We differ in: the
 * constant scalar Laplacian instead of local subdomain solves, and in the corotated coarse
 * matrix. */
#ifndef SN_SPRING_PRECONDITION_H
#define SN_SPRING_PRECONDITION_H

#include "algebra/cholesky.h"
#include "spring/energy.h"

enum { SN_CLUSTERS_PER_VERTEX = 4 };

/* A partition of unity over free vertices: smooth, overlapping, following the network. */
typedef struct sn_clusters {
    int count;
    int *cluster;  /* SN_CLUSTERS_PER_VERTEX per free vertex; unused ones have weight 0 */
    float *weight; /* sum 1 per vertex, or all 0 */
} sn_clusters;

/* wanted: clusters asked for; small networks get fewer. lengths: per system spring. */
sinew_status sn_clusters_create(const sn_system *system, const double *lengths, int wanted,
                                sn_clusters *clusters, sinew_error *error);
/* Likewise with given centers: numbers of free vertices. */
sinew_status sn_clusters_around(const sn_system *system, const double *lengths, int count,
                                const int *centers, sn_clusters *clusters, sinew_error *error);
void sn_clusters_free(sn_clusters *clusters);

/* Constant, shared between threads. */
typedef struct sn_preconditioner {
    sn_cholesky *laplacian;
    sn_clusters clusters;
    double *mass;   /* per cluster: sum of its weights */
    float *neutral; /* SN_PAD per free vertex, about their mean */
    float *coarse;  /* E^-1, 6 rows per cluster: translation, rotation about the center */
} sn_preconditioner;

/* pull: stiffness of the pull to the blend, on the diagonal of L. bare: springs without directions,
 * which need clusters. */
sinew_status sn_preconditioner_create(const sn_system *system, const sn_network *network,
                                      double pull, bool bare, sn_preconditioner **preconditioner,
                                      sinew_error *error);
void sn_preconditioner_destroy(sn_preconditioner *preconditioner);
/* The matrix L above, over free vertices. */
sinew_status sn_preconditioner_laplacian(const sn_system *system, const sn_network *network,
                                         double pull, sn_sparse **matrix, sinew_error *error);
size_t sn_preconditioner_bytes(const sn_preconditioner *preconditioner);

/* Follows one solve. */
typedef struct sn_preconditioning {
    const sn_preconditioner *constant;
    sn_cholesky_work *work;
    float *packed;          /* 3 per free vertex, for the Laplacian */
    float *lever;           /* 4 x (x - center, weight) per free vertex */
    float *blocks;          /* 6 per free vertex: inverse diagonal blocks */
    float *part;            /* fixed parts of the sums over vertices */
    float *modes;           /* 8 per cluster: translation, 0, rotation, 0 */
    float *turned, *answer; /* 6 per cluster: modes in the frame of the neutral */
    float *center;          /* SN_PAD per cluster */
    float *rotation;        /* 9 per cluster, from the neutral */
    size_t bytes;
} sn_preconditioning;

sinew_status sn_preconditioning_create(const sn_system *system,
                                       const sn_preconditioner *preconditioner,
                                       sn_preconditioning **state, sinew_error *error);
void sn_preconditioning_destroy(sn_preconditioning *state);
/* For the linearization at x. */
void sn_preconditioning_update(const sn_system *system, const sn_linearization *lin,
                               const double *x, sn_scratch *scratch, sn_preconditioning *state);
/* z = M^-1 r, SN_PAD per free vertex. */
void sn_preconditioning_apply(const sn_system *system, sn_preconditioning *state, const float *r,
                              float *z);

#endif
