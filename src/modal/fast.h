/* The frame in single precision: the same shape to the precision of a file, several times faster.
 *
 *   u = sum z_i y_i                  modes that swing, on vertices    read: their shapes
 *   H = grad u -> (w, S) + residual  per element, eight at a time     read: gradients, residuals
 *   F = exp(w) exp(q) (1 + S)
 *   o = exp(w) (rest + s)            per half of a link, w their mean around it
 *   L x = sum |e| F g + links        one sparse solve, three columns  read: the factor, twice
 *
 * Memory is the limit, so bytes are saved: modes stay on vertices and are differentiated per
 * element (six numbers an element and mode would be ten times as many); modes that do not swing
 * enter as one displacement per key; elements are sorted along a space-filling curve and cut into
 * chunks whose vertices fit into the first-level cache, where corners are two bytes and forces are
 * summed. A vertex adds up the sums of its chunks, then its links, in order, so the bits do not
 * depend on threads.
 *
 * Elements are tetrahedra or triangles. */
#ifndef SN_MODAL_FAST_H
#define SN_MODAL_FAST_H

#include <stdint.h>

#include "modal/motion.h"

enum { SN_FAST_LANES = 8, SN_CHUNK_BLOCKS = 96 };

/* A vertex of a chunk is x y z 0. */
enum { SN_CHUNK_VERTEX = 4 * sizeof(float) };

typedef struct sn_fast_chunk {
    int first_block, block_count;
    int first_place, vertex_count; /* its vertices in chunk_vertices and in the state's sums */
} sn_fast_chunk;

/* Links between parts (mesh/rotation_links.h), their halves in blocks of SN_FAST_LANES. */
typedef struct sn_fast_links {
    int count, blocks;
    float *rest;            /* per block: x y z, lane */
    int *ring_start, *ring; /* per half: where the rates of the elements around it are */
    float *ring_share;      /* sum 1 */
    int *pull_start, *pull; /* per vertex: links that pull it */
    float *pull_weight;
} sn_fast_links;

/* Numbers of a half's residual: w x y z and s x y z. Its q is always zero. */
enum { SN_HALF_SIZE = 6 };

/* What the structure keeps, in blocks of SN_FAST_LANES elements. */
typedef struct sn_fast {
    int corners; /* 3 or 4 */
    int blocks;
    int *element;     /* per block: lane, the element in the body's order; -1: padding */
    float *gradients; /* per block: corners 1 to 3, or 1, 2 and the normal, x y z, lane */
    float *weights;   /* per block: lane; 0 for padding */
    uint16_t *corner; /* per block: corner, lane: byte of its vertex in arrays of the chunk */
    float *stretch;   /* a residual that is always there: of flat elements, or NULL */
    int chunk_count;
    sn_fast_chunk *chunks;
    int place_count;
    int *chunk_vertices;      /* per place */
    int *place_start, *place; /* per vertex: its places, in order */
    float *shapes;            /* 3 * vertex_count x column_count */
    int column_count;
    sn_fast_links links;
    int *carriers; /* of a cage, per artist's vertex: the rotation of its tet among the state's
                      rotations, and its component; NULL: no cage */
} sn_fast;

typedef struct sn_fast_state {
    sn_cholesky_work *solve;
    float *weights;      /* per column */
    float *displacement; /* 3 per vertex, and one more */
    float *sums;         /* per place: x y z 0 */
    float *right;        /* 3 per vertex */
    float *rates;        /* per block: w x y z of the displacement alone, lane; NULL: no links */
    float *offsets;      /* per link: x y z 0 */
    double *partial;     /* per block of vertices: its part of the center */
    double *centers;     /* 3 per component: of the solution */
    float *rotations;    /* of a cage, per block: 9 x lane; NULL: no cage */
} sn_fast_state;

sinew_status sn_fast_create(const sn_body *body, const sn_modes *modes, sn_fast **fast,
                            sinew_error *error);
void sn_fast_destroy(sn_fast *fast);
sinew_status sn_fast_state_create(const sn_body *body, const sn_modes *modes, const sn_fast *fast,
                                  sn_fast_state **state, sinew_error *error);
void sn_fast_state_destroy(sn_fast_state *state);

/* A residual in the layout of blocks: per block of elements SN_RS_SIZE x lane, then per block of
 * halves SN_HALF_SIZE x lane. *packed stays NULL when the residual is zero up to rounding. */
sinew_status sn_fast_residual(const sn_fast *fast, const double *residual, float **packed,
                              sinew_error *error);

/* displacement[3 * vertex_count] = sum of the columns that do not move. */
void sn_fast_still(const sn_fast *fast, int vertex_count, const bool *moves, const double *weights,
                   float *displacement);

/* The body's positions with centers and turns (matrices) applied, as sn_rotation_strain_rebuild and
 * sn_rotation_strain_turn. */
void sn_fast_rebuild(const sn_body *body, const sn_fast *fast, sn_fast_state *state,
                     const double *weights, const sn_residual_sum *residual, const double *centers,
                     const double *turns, double *positions);
/* After it: rotation of the tet that carries a vertex of a cage's surface, without the turn of its
 * component. */
static inline sn_mat3 sn_fast_rotation(const sn_fast *fast, const sn_fast_state *state, int vertex,
                                       int *component) {
    sn_mat3 rotation;
    const int *carrier = fast->carriers + (size_t)2 * vertex;
    const float *from = state->rotations + carrier[0];
    for (int k = 0; k < 9; k++) rotation.m[k / 3][k % 3] = (double)from[SN_FAST_LANES * k];
    *component = carrier[1];
    return rotation;
}

#endif
