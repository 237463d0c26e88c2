/* A network laid out for the solver.
 *
 * Order. Free vertices come first, renumbered so that springs join near numbers (reverse
 * Cuthill-McKee), then the held ones. Vectors have four numbers a vertex (x y z 0): one SIMD
 * register each.
 *
 * Rows. Each spring lies in the row of its lower end; held ends come last in a row. A row adds its
 * own vertex in a register and only the far ends in memory.
 *
 * Windows. Rows (and tets) are cut into SN_CHUNKS fixed chunks. A chunk adds into a window of its
 * own that spans the vertices it touches; windows are then added in order. Chunks run on any number
 * of threads and give the same bits. */
#ifndef SN_SPRING_SYSTEM_H
#define SN_SPRING_SYSTEM_H

#include <stdbool.h>

#include "spring/network.h"

enum { SN_CHUNKS = 16, SN_PAD = 4, SN_VERTEX_BLOCK = 512 };

typedef float sn_f4 __attribute__((vector_size(16)));
typedef double sn_d4 __attribute__((vector_size(32)));

/* Sum of the first three lanes, in all of them; lane 3 of the argument must not be NaN. */
static inline sn_f4 sn_f4_dot3(sn_f4 a, sn_f4 b) {
    sn_f4 t = a * b;
    return t + __builtin_shufflevector(t, t, 1, 2, 0, 3) +
           __builtin_shufflevector(t, t, 2, 0, 1, 3);
}
static inline sn_f4 sn_f4_splat3(sn_f4 a) {
    return __builtin_shufflevector(a, a, 3, 3, 3, 3);
}
static inline sn_f4 sn_f4_cross(sn_f4 a, sn_f4 b) {
    sn_f4 t = a * __builtin_shufflevector(b, b, 1, 2, 0, 3) -
              b * __builtin_shufflevector(a, a, 1, 2, 0, 3);
    return __builtin_shufflevector(t, t, 1, 2, 0, 3);
}
static inline double sn_d4_dot3(sn_d4 a, sn_d4 b) {
    sn_d4 t = a * b;
    return t[0] + t[1] + t[2];
}
static inline sn_d4 sn_d4_cross(sn_d4 a, sn_d4 b) {
    sn_d4 t = a * __builtin_shufflevector(b, b, 1, 2, 0, 3) -
              b * __builtin_shufflevector(a, a, 1, 2, 0, 3);
    return __builtin_shufflevector(t, t, 1, 2, 0, 3);
}

typedef struct sn_system {
    int count, free_count;
    int *order; /* solver -> network vertex */
    int *place; /* network -> solver vertex */

    int spring_count; /* springs with a free end */
    int *row_start;   /* free_count + 1 */
    int *row_split;   /* per row: its first spring to a held vertex */
    int *other;       /* far end; increasing within the free part of a row */
    int *spring;      /* index in the network */
    double *stiffness;

    int tet_count;      /* with a free vertex */
    int *tet;           /* 4 solver vertices each */
    int *tet_source;    /* index in the network */
    double *tet_weight; /* kappa_v / V_T */

    int triangle_count;      /* with a free vertex */
    int *triangle;           /* 3 solver vertices each: apex, ends of the base */
    double *triangle_foot;   /* of the altitude: fraction of the base */
    int *triangle_source;    /* index in the network */
    double *triangle_weight; /* c_a kappa / altitude */

    int chunk_row[SN_CHUNKS + 1], chunk_tet[SN_CHUNKS + 1], chunk_triangle[SN_CHUNKS + 1];
    int window_low[SN_CHUNKS], window_high[SN_CHUNKS]; /* free vertices [low, high) */
    size_t window_start[SN_CHUNKS + 1];                /* in vertices */

    double mean_stiffness;
    size_t bytes;
} sn_system;

/* held[vertex_count]: true for vertices that the solver does not move. volume_stiffness: c_v
 * kappa / l^2, 0 leaves tets out. altitude_stiffness: c_a kappa, 0 leaves altitudes
 * out. */
sinew_status sn_system_create(const sn_network *network, const bool *held, double volume_stiffness,
                              double altitude_stiffness, sn_system **system, sinew_error *error);
void sn_system_destroy(sn_system *system);

/* Between network order with 3 numbers a vertex and solver order with 4. */
void sn_system_import(const sn_system *system, const double *positions, double *solver);
void sn_system_export(const sn_system *system, const double *solver, double *positions);

#endif
