#include "bodies.h"

#include "support.h"

#include "base/memory.h"

static int corner(int nx, int ny, int x, int y, int z) {
    return x + (nx + 1) * (y + (ny + 1) * z);
}

void test_block_create(int nx, int ny, int nz, test_block *block) {
    sinew_error error = {0};
    int count = (nx + 1) * (ny + 1) * (nz + 1), cells = nx * ny * nz;
    double *positions = SN_NEW(double, 3 * count);
    for (int z = 0; z <= nz; z++)
        for (int y = 0; y <= ny; y++)
            for (int x = 0; x <= nx; x++) {
                double *p = positions + 3 * corner(nx, ny, x, y, z);
                p[0] = x, p[1] = y, p[2] = z;
            }
    int *tets = SN_NEW(int, 4 * 5 * cells), tet_count = 0;
    /* five tets; the cut alternates so that neighboring cells share diagonals */
    static const int even[5][4] = {
        {0, 1, 2, 4}, {3, 2, 1, 7}, {5, 4, 7, 1}, {6, 7, 4, 2}, {1, 2, 4, 7}};
    static const int odd[5][4] = {
        {1, 3, 0, 5}, {2, 0, 3, 6}, {4, 5, 6, 0}, {7, 6, 5, 3}, {0, 3, 5, 6}};
    for (int z = 0; z < nz; z++)
        for (int y = 0; y < ny; y++)
            for (int x = 0; x < nx; x++) {
                int c[8];
                for (int k = 0; k < 8; k++)
                    c[k] = corner(nx, ny, x + (k & 1), y + (k >> 1 & 1), z + (k >> 2));
                const int(*cut)[4] = (x + y + z) % 2 ? odd : even;
                for (int t = 0; t < 5; t++) {
                    int *tet = tets + 4 * tet_count++;
                    for (int k = 0; k < 4; k++) tet[k] = c[cut[t][k]];
                    double e[3][3];
                    for (int k = 0; k < 3; k++)
                        for (int d = 0; d < 3; d++)
                            e[k][d] = positions[3 * tet[k + 1] + d] - positions[3 * tet[0] + d];
                    double volume = e[0][0] * (e[1][1] * e[2][2] - e[1][2] * e[2][1]) -
                                    e[0][1] * (e[1][0] * e[2][2] - e[1][2] * e[2][0]) +
                                    e[0][2] * (e[1][0] * e[2][1] - e[1][1] * e[2][0]);
                    if (volume < 0) {
                        int swap = tet[2];
                        tet[2] = tet[3], tet[3] = swap;
                    }
                }
            }
    /* outside faces: those of one tet only, turned outwards */
    static const int sides[4][3] = {{1, 2, 3}, {0, 3, 2}, {0, 1, 3}, {0, 2, 1}};
    int *faces = SN_NEW(int, 3 * 4 * tet_count), face_count = 0;
    for (int t = 0; t < tet_count; t++)
        for (int s = 0; s < 4; s++) {
            int *v = faces + 3 * face_count;
            for (int k = 0; k < 3; k++) v[k] = tets[4 * t + sides[s][k]];
            int shared = 0;
            for (int u = 0; u < tet_count && !shared; u++) {
                if (u == t) continue;
                int hits = 0;
                for (int k = 0; k < 3; k++)
                    for (int m = 0; m < 4; m++) hits += tets[4 * u + m] == v[k];
                shared = hits == 3;
            }
            face_count += !shared;
        }
    assert_ok(sinew_mesh_create(count, positions, face_count, NULL, faces, &block->mesh, &error));
    block->tets = (sinew_tets){count, count, positions, tet_count, tets};
    sn_free(faces);
}

void test_block_free(test_block *block) {
    sinew_mesh_destroy(block->mesh);
    sn_free(block->tets.positions), sn_free(block->tets.tets);
}

sinew_mesh *test_flap(void) {
    sinew_error error = {0};
    const double positions[12] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 1, 1, 0};
    const int faces[6] = {0, 1, 2, 1, 3, 2};
    sinew_mesh *mesh = NULL;
    assert_ok(sinew_mesh_create(4, positions, 2, NULL, faces, &mesh, &error));
    return mesh;
}

void test_bend(int count, const double *from, double length, double angle, double *to) {
    double radius = length / angle;
    for (int v = 0; v < count; v++) {
        double t = angle * from[3 * v] / length, r = radius - from[3 * v + 2];
        to[3 * v] = r * sin(t), to[3 * v + 1] = from[3 * v + 1],
               to[3 * v + 2] = radius - r * cos(t);
    }
}
