/* Smooth surfaces from hand-made quad cages.
 *
 * A cage point carries its coordinates and further values (weights, parameters) that are smoothed
 * with them. Refining samples the Catmull-Clark surface of the cage at k x k cells per quad, for
 * any k: every resolution is a sampling of the same surface, so shapes agree between them.
 *
 * Building is written without error checks at every call: a cage that ran out of memory remembers
 * it, ignores further additions, and sn_cage_refine reports it. */
#ifndef SN_SAMPLES_CAGE_H
#define SN_SAMPLES_CAGE_H

#include <stdbool.h>

#include "base/status.h"
#include "base/vec3.h"

enum { SN_CAGE_MAX_CHANNELS = 16 };

typedef struct sn_cage {
    int channels; /* values per point: x, y, z, then the further ones */
    int point_count;
    double *values;
    int *mirror; /* per point: its image at -x, itself on the plane, -1 before sn_cage_mirror */
    int quad_count;
    int *quads; /* 4 points each, outside counter-clockwise */
    int *part;  /* per quad */
    size_t point_capacity, mirror_capacity, quad_capacity, part_capacity;
    bool failed;
} sn_cage;

typedef struct sn_fine {
    int channels;
    int vertex_count;
    double *values;
    int *mirror; /* per vertex; -1 where the cage has no mirror image */
    int face_count;
    int *quads;
    int *part;
} sn_fine;

void sn_cage_start(sn_cage *cage, int channels);
void sn_cage_destroy(sn_cage *cage);
/* Returns the index of the new point, with further values zero. */
int sn_cage_point(sn_cage *cage, sn_vec3 position);
/* The values of a point; a scratch area when the cage has failed. */
double *sn_cage_values(sn_cage *cage, int point);
sn_vec3 sn_cage_at(const sn_cage *cage, int point);
void sn_cage_quad(sn_cage *cage, int a, int b, int c, int d, int part);

/* Quads between two rings of `count` points, first ring outside when the rings run
 * counter-clockwise as seen from outside. A closed ring joins its last point to its first. */
void sn_cage_band(sn_cage *cage, int count, const int *outer, const int *inner, bool closed,
                  int part);
/* Closes a ring of 4 n points with n x n quads; the first corner is ring[first]. New points are
 * blended from the ring and pushed along `bulge`, most in the middle. grid: the (n + 1)^2 points by
 * rows, may be NULL. */
void sn_cage_cap(sn_cage *cage, int n, const int *ring, int first, sn_vec3 bulge, int part,
                 int *grid);

/* Adds the image at -x of everything. Points with |x| < 1e-9 lie on the plane and are shared.
 * mirror_part maps a part to that of its image; NULL: the same. */
void sn_cage_mirror(sn_cage *cage, const int *mirror_part);

/* cells >= 1 per quad edge. */
sinew_status sn_cage_refine(const sn_cage *cage, int cells, sn_fine *fine, sinew_error *error);
/* The number of cells per edge whose vertex count is nearest to the wish. */
int sn_cage_cells(const sn_cage *cage, int vertices);
void sn_fine_destroy(sn_fine *fine);
/* Adds the vertices and faces of another surface of the same channels after its own. On failure
 * `fine` is as it was. */
sinew_status sn_fine_append(sn_fine *fine, const sn_fine *other, sinew_error *error);

#endif
