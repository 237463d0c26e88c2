/* A matrix of a displacement per vertex and column, most of them zero: the targets B, and their
 * responses Phi. Stored by vertex, so that products are gathered and threads never meet. */
#ifndef SN_FORCE_VERTEX_COLUMNS_H
#define SN_FORCE_VERTEX_COLUMNS_H

#include "base/status.h"

typedef struct sn_vertex_columns {
    int vertex_count, column_count;
    int *start;       /* vertex_count + 1 */
    int *column;      /* increasing within a vertex */
    double *value;    /* 3 each, and one more number at the end */
    float *value_f32; /* 4 each, the last 0; NULL before sn_vertex_columns_prepare_f32 */
} sn_vertex_columns;

/* Fills dense[3 * vertex_count], zeroed before, with column k. */
typedef sinew_status sn_column_source(int k, double *dense, void *user, sinew_error *error);

/* Entries at or below `drop` times the largest of their column are left out. */
sinew_status sn_vertex_columns_create(int vertex_count, int column_count, sn_column_source *source,
                                      void *user, double drop, sn_vertex_columns **columns,
                                      sinew_error *error);
void sn_vertex_columns_destroy(sn_vertex_columns *columns);
/* out[3 * vertex_count] += columns u */
void sn_vertex_columns_add(const sn_vertex_columns *columns, const double *u, double *out);
/* Replaces the values by ones of single precision: a third of the bytes. */
sinew_status sn_vertex_columns_prepare_f32(sn_vertex_columns *columns, sinew_error *error);
/* The same product with these. */
void sn_vertex_columns_add_f32(const sn_vertex_columns *columns, const float *u, double *out);

#endif
