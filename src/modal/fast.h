/* The frame in single precision: the same shape to about 1e-6 of the diagonal, several times
 * faster.
 *
 *   u = sum z_i y_i                  modes, on vertices             read: the shapes
 *   H = grad u -> (w, S) + residual  per tet, eight at a time       read: gradients, residuals
 *   F = exp(w) exp(q) (1 + S)
 *   L x = sum |e| F g                one sparse solve, three columns read: the factor, twice
 *
 * For tetrahedra of which none is flat. */
#ifndef SN_MODAL_FAST_H
#define SN_MODAL_FAST_H

#include "modal/motion.h"

enum { SN_LANES = 8 };

/* What the structure keeps, in blocks of SN_LANES tets. */
typedef struct sn_fast {
    int blocks;
    float *shapes;    /* 3 * vertex_count x column_count */
    float *gradients; /* per block: corners 1 to 3, x y z, lane */
    float *weights;   /* per block: lane; 0 for the padding of the last one */
    int *vertices;    /* per block: corner, lane */
    int *places;      /* of each vertex's corners in the forces, as rs->vertex_corners */
} sn_fast;

typedef struct sn_fast_state {
    sn_cholesky_work *solve;
    float *weights;      /* per column */
    float *displacement; /* 3 per vertex */
    float *forces;       /* per block: lane, corner, x y z */
    float *right;        /* 3 per vertex */
    double *shifts;      /* 3 per component */
} sn_fast_state;

sinew_status sn_fast_create(const sn_body *body, const sn_modes *modes, sn_fast **fast,
                            sinew_error *error);
void sn_fast_destroy(sn_fast *fast);
sinew_status sn_fast_state_create(const sn_body *body, const sn_modes *modes, const sn_fast *fast,
                                  sn_fast_state **state, sinew_error *error);
void sn_fast_state_destroy(sn_fast_state *state);

/* A residual in the layout of blocks: per block SN_RS_SIZE x lane. NULL: no memory. */
float *sn_fast_residual(const sn_fast *fast, int element_count, const double *residual);

/* The body's positions, centres and turns not yet applied: as sn_rotation_strain_rebuild. */
void sn_fast_rebuild(const sn_body *body, const sn_modes *modes, const sn_fast *fast,
                     sn_fast_state *state, const double *weights, const sn_residual_sum *residual,
                     const double *centres, double *positions);

#endif
