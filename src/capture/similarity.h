/* Rotation, scale and translation between two sets of points. */
#ifndef SN_CAPTURE_SIMILARITY_H
#define SN_CAPTURE_SIMILARITY_H

#include "base/rotation.h"

typedef struct sn_similarity {
    sn_mat3 rotation;
    double scale;
    sn_vec3 translation;
} sn_similarity;

static inline sn_vec3 sn_similarity_apply(const sn_similarity *s, sn_vec3 p) {
    return sn_add(sn_scale(s->scale, sn_mat3_apply(s->rotation, p)), s->translation);
}

/* Least squares from `from` to `to`, 3 per point; weights may be NULL. False: fewer than three
 * points with weight, or no spread. scratch: 3 * count. */
bool sn_similarity_fit(int count, const double *from, const double *to, const double *weights,
                       double *scratch, sn_similarity *similarity);

/* The same, in which points far from where the others put them lose their weight. weights[count]:
 * given in, used out. off[count]: distances of the images. */
bool sn_similarity_fit_robust(int count, const double *from, const double *to, double *weights,
                              double *off, double *scratch, sn_similarity *similarity);

/* Median of values[count], which are sorted; 0 for none. */
double sn_median(int count, double *values);

#endif
