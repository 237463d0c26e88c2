/* Links between parts, as elements of the rotation–strain coordinates. Internal to them.
 *
 * Parts that no element joins would each be rebuilt for themselves, and nothing would determine
 * where one is beside another. A link does: it joins a vertex a to a point b of another part
 * through a pivot c between them,
 *
 *   x_a - x_b = R_a (a - c + s_a) + R_b (c - b + s_b),    R = exp(w) exp(q),
 *
 * where a, b and c are positions at rest. R_a is the mean rotation of the elements around a, R_b of
 * those around b, and s what a pose adds to the offset, half of it in either frame. So both halves
 * turn with their surroundings, what is left of the motion is blended linearly, and at every pose a
 * link agrees with the pose's positions. The pivot is the point that is carried by both sides in
 * all poses, as nearly as possible: the middle when the sides turn together, the joint when one
 * turns against the other, so that an eye turns about its center and a limb about its hinge.
 *
 * A link adds k |x_a - x_b - ...|^2 to the energy of T^-1. In the graph of elements its halves are
 * neighbors of each other and of the elements around them, so that rotations are unwrapped across
 * parts as inside one.
 *
 * Coordinates of halves follow those of the elements, two per link: w and q as an element's, s in
 * the first three of the six numbers of S. */
#ifndef SN_MESH_ROTATION_LINKS_H
#define SN_MESH_ROTATION_LINKS_H

#include "mesh/rotation_strain.h"

/* After the elements' weights and corners of vertices are known. */
sinew_status sn_rotation_links_prepare(sn_rotation_strain *structure, const double *rest,
                                       const sn_link *links, sinew_error *error);
/* The stiffness that a link starts out with. */
double sn_rotation_link_softest(const sn_rotation_strain *structure, int link);
/* Components that links join become one. */
sinew_status sn_rotation_links_join(sn_rotation_strain *structure, sinew_error *error);

/* The elements around a half (2 per link: at the vertex, at the corner with the largest weight) as
 * corners in structure->vertex_corners. */
void sn_rotation_half_ring(const sn_rotation_strain *structure, int half, int *first, int *last);
/* Coefficients of the link's row and their vertices: a, then the corners of b. */
void sn_rotation_link_row(const sn_rotation_strain *structure, int link, int vertices[4],
                          double values[4]);

/* Mean rotation of the elements around a half in a pose, whose rotations of all elements are given.
 */
sn_mat3 sn_rotation_half_rotation(const sn_rotation_strain *structure, const sn_mat3 *rotations,
                                  int half);
/* Of both halves of a link, whose w are known: q = 0, and what the pose adds to their offsets. So
 * a link turns with the smooth field w, whatever folded elements around it do. */
void sn_rotation_link_measure(const sn_rotation_strain *structure, const double *positions,
                              int link, double *first, double *second);
/* The offset that a link asks for at a weight of the pose whose coordinates its halves have. */
sn_vec3 sn_rotation_link_blended(const sn_rotation_strain *structure, int link, const double *first,
                                 const double *second, double weight);
/* Adds the links' share of the right-hand side of T^-1, 3 per vertex. */
void sn_rotation_links_force(const sn_rotation_strain *structure, const double *coordinates,
                             double *right);

#endif
