/* Nested dissection of a sparse matrix, with explicit inverses: the set-up of
 * kernels/dissection.h. */
#ifndef SN_GPU_DISSECTION_H
#define SN_GPU_DISSECTION_H

#include "algebra/sparse.h"
#include "gpu/device.h"

typedef struct sn_dissection {
    int count, levels, node_count;
    sn_dissection_node *nodes; /* deepest level first */
    int *level_start;          /* levels + 1, into nodes */
    int *order;                /* place in the tree -> unknown */
    size_t value_count;
    float *values;
    int boundary_count;
    int *boundary, *own_from, *boundary_from;
    int widest; /* vectors that a block keeps in shared memory */
} sn_dissection;

/* matrix: symmetric, positive definite. positions: 3 per unknown; the cuts are planes. leaf: most
 * unknowns of a part that is not cut any more; more of them mean fewer levels and more values. */
sinew_status sn_dissection_create(const sn_sparse *matrix, const double *positions, int leaf,
                                  sn_dissection **dissection, sinew_error *error);
/* The leaf that spends about so many bytes on leaves. */
int sn_dissection_leaf(int count, size_t bytes);
void sn_dissection_destroy(sn_dissection *dissection);

size_t sn_dissection_shared(const sn_dissection *dissection);
/* The constant part, for groups of `blocks` blocks; and room for one frame. */
sinew_status sn_dissection_upload(const sn_dissection *dissection, sn_gpu_store *store,
                                  sn_dissection_device *device, sinew_error *error);
/* Where each block starts, for groups of `blocks`. */
const sn_dissection_start *sn_dissection_share(const sn_dissection *dissection, int blocks,
                                               sn_gpu_store *store, sinew_error *error);
void sn_dissection_work_room(const sn_dissection *dissection, sn_gpu_store *store,
                             sn_dissection_work *work);

/* Puts `count` items in an order in which any run of consecutive ones is compact: halves along the
 * longest axis, again and again. items[count] in and out, as indices into positions. */
void sn_order_by_halves(int count, const double *positions, int *items);

#endif
