#include "bodies.h"

#include "base/memory.h"
#include "support.h"

sinew_tets *test_bar(int nx, int ny, int nz, double length, double height, double width) {
    sinew_tets *bar = SN_NEW0(sinew_tets, 1);
    bar->vertex_count = (nx + 1) * (ny + 1) * (nz + 1);
    bar->tet_count = 6 * nx * ny * nz;
    bar->positions = SN_NEW(double, 3 * bar->vertex_count);
    bar->tets = SN_NEW(int, 4 * bar->tet_count);
    int at = 0;
    for (int i = 0; i <= nx; i++)
        for (int j = 0; j <= ny; j++)
            for (int k = 0; k <= nz; k++)
                sn_put(bar->positions, at++,
                       sn_v3(length * i / nx, height * ((double)j / ny - 0.5),
                             width * ((double)k / nz - 0.5)));
    const int paths[6][3] = {{0, 1, 2}, {1, 2, 0}, {2, 0, 1}, {0, 2, 1}, {2, 1, 0}, {1, 0, 2}};
    int *t = bar->tets;
    for (int i = 0; i < nx; i++)
        for (int j = 0; j < ny; j++)
            for (int k = 0; k < nz; k++)
                for (int p = 0; p < 6; p++, t += 4) {
                    int c[3] = {i, j, k};
                    for (int corner = 0; corner < 4; corner++) {
                        t[corner] = (c[0] * (ny + 1) + c[1]) * (nz + 1) + c[2];
                        if (corner < 3) c[paths[p][corner]]++;
                    }
                    if (p >= 3) {
                        int swap = t[1];
                        t[1] = t[2], t[2] = swap;
                    }
                }
    return bar;
}

void test_twist(const sinew_tets *bar, double length, double turns, double *positions) {
    for (int i = 0; i < bar->vertex_count; i++) {
        sn_vec3 p = sn_at(bar->positions, i);
        double angle = 2 * M_PI * turns * p.x / length, c = cos(angle), s = sin(angle);
        sn_put(positions, i, sn_v3(p.x, c * p.y - s * p.z, s * p.y + c * p.z));
    }
}

void test_bend(const sinew_tets *bar, double length, double radians, double *positions) {
    double radius = length / radians;
    for (int i = 0; i < bar->vertex_count; i++) {
        sn_vec3 p = sn_at(bar->positions, i);
        double angle = p.x / radius;
        sn_put(positions, i,
               sn_v3((radius - p.y) * sin(angle), radius - (radius - p.y) * cos(angle), p.z));
    }
}

int test_flipped(const sinew_tets *tets, const double *positions, double *volume) {
    int flipped = 0;
    *volume = 0;
    for (int t = 0; t < tets->tet_count; t++) {
        const int *v = tets->tets + 4 * t;
        sn_vec3 o = sn_at(positions, v[0]);
        double own =
            sn_dot(sn_cross(sn_sub(sn_at(positions, v[1]), o), sn_sub(sn_at(positions, v[2]), o)),
                   sn_sub(sn_at(positions, v[3]), o)) /
            6;
        *volume += own, flipped += own <= 0;
    }
    return flipped;
}

sn_rotation_strain *test_structure(const sinew_tets *tets) {
    sinew_error error;
    sn_rotation_strain *rs;
    assert_ok(sn_rotation_strain_create(tets->vertex_count, tets->positions, 4, tets->tet_count,
                                        tets->tets, &rs, &error));
    return rs;
}
