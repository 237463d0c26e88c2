/* Which boxes overlap: the first, coarse half of every "who touches whom" question. */
#ifndef SN_MESH_BROADPHASE_H
#define SN_MESH_BROADPHASE_H

#include "base/status.h"
#include "base/vec3.h"

/* Axis-aligned, closed, in single precision. */
typedef struct sn_box {
    float low[3], high[3];
} sn_box;

/* From coordinates to those of boxes: (p - center) * scale, so that the size and place of a mesh
 * cost no precision. The map is monotone in each axis: what overlaps before overlaps after. */
typedef struct sn_box_frame {
    sn_vec3 center;
    double scale;
} sn_box_frame;

/* Maps all given vertices (b may be empty) into [-1, 1]. */
sn_box_frame sn_box_frame_of(int count_a, const double *a, int count_b, const double *b);

static inline sn_box sn_box_empty(void) {
    return (sn_box){{INFINITY, INFINITY, INFINITY}, {-INFINITY, -INFINITY, -INFINITY}};
}
/* Grows the box to hold the point, rounding outward. `margin` is in frame units (0 for none). */
void sn_box_include(sn_box *box, const sn_box_frame *frame, sn_vec3 point, double margin);

typedef struct sn_pairs {
    int count;
    int *pair; /* 2 each */
} sn_pairs;
void sn_pairs_free(sn_pairs *pairs);
/* Pairs (first[i], second[i]) sorted and without repetition; 0 <= first < count_a, second <
 * count_b.
 */
sinew_status sn_pairs_sort(int count, const int *first, const int *second, int count_a, int count_b,
                           sn_pairs *pairs, sinew_error *error);

/* Which of some pairs stay: sets keep[i] for pair i. Called with a limited number at a time, so
 * that memory is needed only for those that stay. */
typedef sinew_status sn_pair_filter(void *user, int count, const int *pairs, char *keep,
                                    sinew_error *error);

/* All pairs (i, j) of overlapping boxes that the filter keeps (NULL: all), sorted by i, then j.
 * boxes_b NULL: pairs i < j within a. Boxes must be finite. */
sinew_status sn_box_pairs(int count_a, const sn_box *boxes_a, int count_b, const sn_box *boxes_b,
                          sn_pair_filter *filter, void *user, sn_pairs *pairs, sinew_error *error);

#endif
