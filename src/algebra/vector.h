/* Long vectors. Sums are accumulated in fixed blocks, so results do not depend on the number of
 * threads.
 *
 * The _f32 functions read single precision and accumulate in double. */
#ifndef SN_ALGEBRA_VECTOR_H
#define SN_ALGEBRA_VECTOR_H

#include <stddef.h>

double sn_vector_dot(size_t size, const double *a, const double *b);
double sn_vector_norm(size_t size, const double *a); /* Euclidean */
/* Largest |a_i|; NaN if any entry is NaN. */
double sn_vector_max(size_t size, const double *a);
/* y += s x */
void sn_vector_axpy(size_t size, double s, const double *x, double *y);
/* y = x + s y */
void sn_vector_xpay(size_t size, const double *x, double s, double *y);
void sn_vector_scale(size_t size, double s, double *x);

double sn_vector_dot_f32(size_t size, const float *a, const float *b);
double sn_vector_norm_f32(size_t size, const float *a);
void sn_vector_axpy_f32(size_t size, float s, const float *x, float *y);
void sn_vector_xpay_f32(size_t size, const float *x, float s, float *y);

#endif
