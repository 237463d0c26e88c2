/* Best rotations of many small point sets at once.
 *
 * The rotation nearest to S = sum w e e0^T maximises tr(R^T S); the maximum is the largest root of
 *
 *   P(l) = l^4 - 2 f l^2 - 8 d l + f^2 - 4 c,     f = |S|^2, d = det S, c = |cof S|^2
 *
 * (the characteristic polynomial of Horn's 4 x 4 matrix), found by Newton's method from
 * (sum w |e|^2 + sum w |e0|^2) / 2 >= l, from where it descends without overshooting. As R is the
 * derivative of that maximum by S,
 *
 *   R = ((l^2 + f) S + 2 l cof S - 2 S S^T S) / (l^3 - f l - 2 d),
 *
 * without a single branch, so that vectors of points are turned at once. Flat rings (rank 2) are
 * fine; for points on one line the denominator vanishes and the identity is given. */
#ifndef SN_FORCE_RING_ROTATION_H
#define SN_FORCE_RING_ROTATION_H

/* Rings side by side in a vector, and those worked on at a time. Vectors of 256 bits: wider ones
 * lower the clock of everything around them by more than they bring. */
enum { SN_RING_LANES = 4, SN_RING_BATCH = 64 };

/* v := R v, one vector per matrix. Entry (a, b) of matrix i < count is S[3 * a + b][i]; `bound` is
 * the start of Newton's method; coordinate a of vector i is v[a][i]. count: a multiple of
 * SN_RING_LANES; arrays lie at multiples of 64 bytes. */
void sn_ring_rotate(int count, const double S[9][SN_RING_BATCH], const double bound[SN_RING_BATCH],
                    double v[3][SN_RING_BATCH]);

#endif
