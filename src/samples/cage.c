/* Building cages: points, bands, caps and mirror images. */
#include "samples/cage.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"

void sn_cage_start(sn_cage *cage, int channels) {
    *cage = (sn_cage){.channels = channels};
}

void sn_cage_destroy(sn_cage *cage) {
    sn_free(cage->values);
    sn_free(cage->mirror);
    sn_free(cage->quads);
    sn_free(cage->part);
    *cage = (sn_cage){0};
}

int sn_cage_point(sn_cage *cage, sn_vec3 position) {
    size_t count = (size_t)cage->point_count, width = (size_t)cage->channels;
    if (cage->failed || !SN_RESERVE(cage->values, cage->point_capacity, (count + 1) * width) ||
        !SN_RESERVE(cage->mirror, cage->mirror_capacity, count + 1)) {
        cage->failed = true;
        return 0;
    }
    double *values = cage->values + count * width;
    memset(values, 0, width * sizeof *values);
    values[0] = position.x, values[1] = position.y, values[2] = position.z;
    cage->mirror[count] = -1;
    return cage->point_count++;
}

double *sn_cage_values(sn_cage *cage, int point) {
    static _Thread_local double scratch[SN_CAGE_MAX_CHANNELS];
    return cage->failed ? scratch : cage->values + (size_t)point * (size_t)cage->channels;
}

sn_vec3 sn_cage_at(const sn_cage *cage, int point) {
    if (cage->failed) return sn_v3(0, 0, 0);
    const double *values = cage->values + (size_t)point * (size_t)cage->channels;
    return sn_v3(values[0], values[1], values[2]);
}

void sn_cage_quad(sn_cage *cage, int a, int b, int c, int d, int part) {
    size_t count = (size_t)cage->quad_count;
    if (cage->failed || !SN_RESERVE(cage->quads, cage->quad_capacity, 4 * (count + 1)) ||
        !SN_RESERVE(cage->part, cage->part_capacity, count + 1)) {
        cage->failed = true;
        return;
    }
    int corners[4] = {a, b, c, d};
    memcpy(cage->quads + 4 * count, corners, sizeof corners);
    cage->part[count] = part;
    cage->quad_count++;
}

void sn_cage_band(sn_cage *cage, int count, const int *outer, const int *inner, bool closed,
                  int part) {
    for (int i = 0; i < count - !closed; i++) {
        int j = (i + 1) % count;
        sn_cage_quad(cage, outer[i], outer[j], inner[j], inner[i], part);
    }
}

/* Coons patch over the ring: the sum of the two ruled surfaces less the bilinear one. */
static void coons(const sn_cage *cage, int n, const int *ring, int first, int i, int j,
                  double *values) {
    int count = 4 * n;
    const int at[8] = {
        ring[(first + i) % count],         /* bottom, left to right */
        ring[(first + 3 * n - i) % count], /* top */
        ring[(first + 4 * n - j) % count], /* left, bottom to top */
        ring[(first + n + j) % count],     /* right */
        ring[first % count],               /* the four corners */
        ring[(first + n) % count],
        ring[(first + 3 * n) % count],
        ring[(first + 2 * n) % count],
    };
    double u = (double)i / n, v = (double)j / n;
    const double weight[8] = {1 - v,        v,     1 - u, u, -(1 - u) * (1 - v), -u * (1 - v),
                              -(1 - u) * v, -u * v};
    for (int c = 0; c < cage->channels; c++) {
        values[c] = 0;
        for (int k = 0; k < 8; k++)
            values[c] +=
                weight[k] * cage->values[(size_t)at[k] * (size_t)cage->channels + (size_t)c];
    }
}

enum { CAP_LIMIT = 12 };

void sn_cage_cap(sn_cage *cage, int n, const int *ring, int first, sn_vec3 bulge, int part,
                 int *grid) {
    int local[(CAP_LIMIT + 1) * (CAP_LIMIT + 1)], count = 4 * n;
    if (!grid) grid = local;
    for (int j = 0; j <= n; j++)
        for (int i = 0; i <= n; i++) {
            int *at = &grid[j * (n + 1) + i];
            if (j == 0)
                *at = ring[(first + i) % count];
            else if (i == n)
                *at = ring[(first + n + j) % count];
            else if (j == n)
                *at = ring[(first + 3 * n - i) % count];
            else if (i == 0)
                *at = ring[(first + 4 * n - j) % count];
            else {
                double values[SN_CAGE_MAX_CHANNELS] = {0};
                if (!cage->failed) coons(cage, n, ring, first, i, j, values);
                *at = sn_cage_point(cage, sn_v3(0, 0, 0));
                double u = (double)i / n, v = (double)j / n, lift = 16 * u * (1 - u) * v * (1 - v);
                values[0] += sqrt(lift) * bulge.x;
                values[1] += sqrt(lift) * bulge.y;
                values[2] += sqrt(lift) * bulge.z;
                memcpy(sn_cage_values(cage, *at), values, (size_t)cage->channels * sizeof *values);
            }
        }
    for (int j = 0; j < n; j++)
        for (int i = 0; i < n; i++) {
            const int *at = &grid[j * (n + 1) + i];
            sn_cage_quad(cage, at[0], at[1], at[n + 2], at[n + 1], part);
        }
}

void sn_cage_mirror(sn_cage *cage, const int *mirror_part) {
    int points = cage->point_count, quads = cage->quad_count;
    for (int p = 0; p < points && !cage->failed; p++) {
        double *values = sn_cage_values(cage, p);
        if (fabs(values[0]) < 1e-9) {
            values[0] = 0;
            cage->mirror[p] = p;
            continue;
        }
        int image = sn_cage_point(cage, sn_v3(0, 0, 0));
        if (cage->failed) return;
        values = sn_cage_values(cage, p); /* adding may have moved the block */
        double *copy = sn_cage_values(cage, image);
        memcpy(copy, values, (size_t)cage->channels * sizeof *values);
        copy[0] = -copy[0];
        cage->mirror[p] = image;
        cage->mirror[image] = p;
    }
    for (int q = 0; q < quads && !cage->failed; q++) {
        const int *at = cage->quads + 4 * (size_t)q, *image = cage->mirror;
        int part = cage->part[q];
        sn_cage_quad(cage, image[at[0]], image[at[3]], image[at[2]], image[at[1]],
                     mirror_part ? mirror_part[part] : part);
    }
}
