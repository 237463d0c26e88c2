/* Nested dissection of a sparse matrix, with explicit inverses: the set-up of
 * kernels/dissection.h. */
#ifndef SN_GPU_DISSECTION_H
#define SN_GPU_DISSECTION_H

#include "algebra/sparse.h"
#include "gpu/device.h"

typedef struct sn_dissection_node {
    int first, own; /* unknowns, in the order of the tree */
    int boundary, boundary_first;
    size_t up, down; /* in values: see kernels/dissection.h */
} sn_dissection_node;

typedef struct sn_dissection {
    int count, levels, node_count;
    sn_dissection_node *nodes; /* deepest level first; the last one is the root */
    int *level_start;          /* levels + 1, into nodes */
    int *order;                /* place in the tree -> unknown */
    size_t value_count;
    float *values;
    int boundary_count;
    int *boundary;                       /* places in the tree of the nodes' boundaries */
    int *own_start, *own_from;           /* per place: entries of the children's boundaries */
    int *boundary_start, *boundary_from; /* likewise per entry of a boundary */
    int widest;                          /* most unknowns of a node or of its boundary */
} sn_dissection;

/* matrix: symmetric, positive definite. positions: 3 per unknown; the cuts are planes. leaf: most
 * unknowns of a part that is not cut any more; more of them mean fewer levels and more values.
 * root: the highest separators become one node as long as they have at most so many unknowns.
 * together: so many levels of separators between root and leaves become one. */
sinew_status sn_dissection_create(const sn_sparse *matrix, const double *positions, int leaf,
                                  int root, int together, sn_dissection **dissection,
                                  sinew_error *error);
void sn_dissection_destroy(sn_dissection *dissection);
/* The leaf that spends about so many bytes on leaves. */
int sn_dissection_leaf(int count, size_t bytes);

/* The constant part. */
sinew_status sn_dissection_upload(const sn_dissection *dissection, sn_gpu_store *store,
                                  sn_dissection_device *device, sinew_error *error);
/* The tasks of groups of `blocks` blocks, after the constant part. */
sinew_status sn_dissection_share(const sn_dissection *dissection, int blocks, sn_gpu_store *store,
                                 sn_dissection_device *device, size_t *shared, sinew_error *error);
/* Room for one frame. */
void sn_dissection_work_room(const sn_dissection *dissection, sn_gpu_store *store,
                             sn_dissection_work *work);

/* Puts `count` items in an order in which each of `parts` equal parts, and any run of consecutive
 * items in it, is compact: cuts across the longest axis, again and again. items[count] in and out,
 * as indices into positions. */
void sn_order_by_parts(int count, const double *positions, int parts, int *items);

#endif
