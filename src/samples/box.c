#include "samples/box.h"

#include "base/memory.h"

/* Two triangles' worth of a lattice square a-b-c-d whose outside is seen counter-clockwise. */
static void add_quad(sn_box *box, const int *index, const int stride[3], int corner[4][3]) {
    int *quad = box->quads + 4 * (size_t)box->face_count++;
    for (int k = 0; k < 4; k++)
        quad[k] = index[corner[k][0] * stride[0] + corner[k][1] * stride[1] + corner[k][2]];
}

/* The two sides of the box that are square to `axis`; (axis, u, v) is right-handed. */
static void add_sides(sn_box *box, const int *index, const int stride[3], int axis) {
    int u = (axis + 1) % 3, v = (axis + 2) % 3;
    for (int side = 0; side < 2; side++)
        for (int i = 0; i < box->cells[u]; i++)
            for (int j = 0; j < box->cells[v]; j++) {
                int corner[4][3];
                for (int k = 0; k < 4; k++) {
                    int turn = side ? k : 3 - k;
                    corner[k][axis] = side ? box->cells[axis] : 0;
                    corner[k][u] = i + (turn == 1 || turn == 2);
                    corner[k][v] = j + (turn >= 2);
                }
                add_quad(box, index, stride, corner);
            }
}

sinew_status sn_box_create(int nx, int ny, int nz, sn_box *box, sinew_error *error) {
    *box = (sn_box){.cells = {nx, ny, nz}};
    int stride[3] = {(ny + 1) * (nz + 1), nz + 1, 1};
    size_t sites = (size_t)(nx + 1) * (size_t)stride[0];
    size_t surface = sites - (size_t)(nx - 1) * (size_t)(ny - 1) * (size_t)(nz - 1);
    int faces = 2 * (nx * ny + ny * nz + nz * nx);
    int *index = SN_NEW(int, sites);
    box->lattice = SN_NEW(int, 3 * surface);
    box->quads = SN_NEW(int, 4 * (size_t)faces);
    if (!index || !box->lattice || !box->quads) {
        sn_free(index);
        sn_box_destroy(box);
        return sn_no_memory(error);
    }
    for (int x = 0; x <= nx; x++)
        for (int y = 0; y <= ny; y++)
            for (int z = 0; z <= nz; z++) {
                int inside = x > 0 && x < nx && y > 0 && y < ny && z > 0 && z < nz;
                if (inside) continue;
                int *site = box->lattice + 3 * (size_t)box->vertex_count;
                site[0] = x, site[1] = y, site[2] = z;
                index[x * stride[0] + y * stride[1] + z] = box->vertex_count++;
            }
    for (int axis = 0; axis < 3; axis++) add_sides(box, index, stride, axis);
    sn_free(index);
    return SINEW_OK;
}

void sn_box_destroy(sn_box *box) {
    sn_free(box->lattice);
    sn_free(box->quads);
    *box = (sn_box){0};
}
