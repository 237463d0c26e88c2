/* The closed quad surface of a box of cells: the grid behind bars. */
#ifndef SN_SAMPLES_BOX_H
#define SN_SAMPLES_BOX_H

#include "base/status.h"

typedef struct sn_box {
    int cells[3]; /* along x, y, z */
    int vertex_count;
    int *lattice; /* 3 per vertex: 0 .. cells */
    int face_count;
    int *quads; /* 4 per face, outside counter-clockwise */
} sn_box;

/* cells >= 1 each. Vertices are ordered by x, then y, then z. */
sinew_status sn_box_create(int nx, int ny, int nz, sn_box *box, sinew_error *error);
void sn_box_destroy(sn_box *box);

#endif
