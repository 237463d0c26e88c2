/* Linear constraints of a Newton step: what contacts and hard pulls forbid.
 *
 *   frozen vertex    d_v = 0
 *   row              sum_a b_a n . d_a = 0     over up to four vertices a
 *
 * Steps are kept on them by the orthogonal projection P = I - A^T (A A^T)^-1 A: the residual and
 * every search direction are projected. Rows that share no vertex make A A^T diagonal; the others
 * are solved together by a few conjugate-gradient steps. */
#ifndef SN_SPRING_CONSTRAINTS_H
#define SN_SPRING_CONSTRAINTS_H

#include <stdbool.h>

#include "base/status.h"

typedef struct sn_constraint_row {
    int count;         /* 1 to 4 */
    int vertex[4];     /* solver order, free */
    double weight[4];  /* barycentric */
    double normal[3];  /* unit */
    double gap;        /* signed distance from the constraint, for sn_constraints_restore */
    double multiplier; /* reaction along the normal, from sn_constraints_reactions */
    double inverse;    /* 1 / |row|^2 */
    bool shared;       /* shares a vertex with another row */
} sn_constraint_row;

typedef struct sn_constraints {
    int vertex_count;
    int row_count, row_capacity;
    sn_constraint_row *rows;
    bool *frozen; /* per free vertex */
    int *frozen_list;
    int frozen_count;
    int shared_count;
    int *shared;          /* rows that are solved together */
    unsigned char *users; /* per vertex: rows that use it, up to 2 */
    double *work;         /* 4 per row, for the shared rows */
    double *scatter;      /* SN_PAD per vertex: A^T p of the shared rows, zero between uses */
} sn_constraints;

sinew_status sn_constraints_create(int vertex_count, sn_constraints *constraints,
                                   sinew_error *error);
void sn_constraints_free(sn_constraints *constraints);
void sn_constraints_clear(sn_constraints *constraints);
void sn_constraints_freeze(sn_constraints *constraints, int vertex);
/* Rows may be added until sn_constraints_finish; false: no memory. */
bool sn_constraints_add(sn_constraints *constraints, const sn_constraint_row *row);
void sn_constraints_finish(sn_constraints *constraints);

static inline bool sn_constraints_empty(const sn_constraints *constraints) {
    return constraints->row_count == 0 && constraints->frozen_count == 0;
}

/* v := P v, SN_PAD per vertex. */
void sn_constraints_project(const sn_constraints *constraints, double *v);
void sn_constraints_project_f32(const sn_constraints *constraints, float *v);

/* The shortest move of x onto all rows at once. */
void sn_constraints_restore(const sn_constraints *constraints, double *x);

/* Multipliers of the rows that balance the gradient: g = A^T multiplier in the least-squares
 * sense. Positive: the obstacle pushes along the normal. */
void sn_constraints_reactions(sn_constraints *constraints, const double *gradient);

#endif
