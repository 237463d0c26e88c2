/* Target gradients of several elements at once.
 *
 *   F = exp(w) exp(q) (Y + S)     coordinates as in mesh/rotation_strain.h
 *
 * Loops over lanes have a fixed length and no branches, so that compilers turn them into vector
 * instructions; sine and cosine are polynomials of our own for the same reason. Exact to rounding,
 * for angles up to a few thousand turns. */
#ifndef SN_MESH_ROTATION_LANES_H
#define SN_MESH_ROTATION_LANES_H

enum { SN_ROTATION_LANES = 8 };

/* coordinates: SN_RS_SIZE of each of SN_ROTATION_LANES elements; rest_stretch: their Y as 6 numbers
 * each, NULL: the identity. gradients: entry e (row-major) of lane l at [e][l]. */
void sn_rotation_compose_lanes(const double *coordinates, const double *rest_stretch,
                               double gradients[9][SN_ROTATION_LANES]);

#endif
