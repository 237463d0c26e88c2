/* `.target` files: sparse displacements as text, "vertex dx dy dz" per line, vertices from 0. */
#ifndef SN_IO_TARGET_H
#define SN_IO_TARGET_H

#include "io/format.h"

typedef struct sn_deltas {
    int count;
    int *vertices;
    double *values; /* 3 each */
} sn_deltas;

void sn_deltas_free(sn_deltas *deltas);
/* Vertices must be below vertex_count and may come in any order, none twice; they come out
 * increasing, without those that do not move. */
sinew_status sn_target_read(const sn_source *source, int vertex_count, sn_deltas *deltas,
                            sinew_error *error);
void sn_target_write(const sinew_target *target, sn_buffer *out);

#endif
