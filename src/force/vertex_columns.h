/* A matrix of a displacement per vertex and column, most of them zero: the targets B, and their
 * responses Phi.
 *
 * Vertices that the same columns reach are put side by side in groups of one vector of lanes,
 * whatever their order in the mesh. A group stores one block for each column that reaches any of
 * its vertices: all x, all y, all z; lanes that the column does not reach hold zeros, some 5 to 10%
 * of all on faces. A product then runs through memory without a branch, and threads never meet. */
#ifndef SN_FORCE_VERTEX_COLUMNS_H
#define SN_FORCE_VERTEX_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

/* Vertices of a group: 32 bytes. */
enum { SN_COLUMN_LANES = 4, SN_COLUMN_LANES_F32 = 8 };

typedef struct sn_vertex_columns {
    int vertex_count, column_count;
    int group_count;
    int reached;      /* vertices in groups: those of some column */
    int *vertex;      /* the vertex of each lane, `reached` of them */
    size_t *first;    /* group_count + 1: the group's first block */
    int *column;      /* of each block, increasing within a group */
    double *value;    /* 3 x SN_COLUMN_LANES per block; or NULL, and */
    float *value_f32; /* 3 x SN_COLUMN_LANES_F32 per block */
} sn_vertex_columns;

/* Fills dense[3 * vertex_count], zeroed before, with column k. */
typedef sinew_status sn_column_source(int k, double *dense, void *user, sinew_error *error);

/* Entries at or below `drop` times the largest of their column are left out. single: values are
 * kept in single precision. */
sinew_status sn_vertex_columns_create(int vertex_count, int column_count, sn_column_source *source,
                                      void *user, double drop, bool single,
                                      sn_vertex_columns **columns, sinew_error *error);
void sn_vertex_columns_destroy(sn_vertex_columns *columns);
/* out[3 * vertex_count] += columns u, for values in double and in single precision. */
void sn_vertex_columns_add(const sn_vertex_columns *columns, const double *u, double *out);
void sn_vertex_columns_add_f32(const sn_vertex_columns *columns, const float *u, double *out);

#endif
