/* Rotations that fit together.
 *
 * T^-1 asks each element for a rotation, and meets the neighbors' wishes in the mean. Where the
 * blended rotations of neighbors do not fit (a plate rolled up along one side in one pose and
 * along the other in the next), lengths pay for it. Then the rotations that the elements have got
 * are the better ones: with R_e = argmin |F_e(x) - R (Y_e + S_e)| and another solve, strains come
 * closer to those that were asked for, again and again. Poses stay as they are, where nothing is
 * left to improve.
 *
 * Based on: the local step of Sorkine and Alexa, "As-rigid-as-possible surface modeling" (2007).
 * We differ in: the strain of the blend in place of none. */
#ifndef SN_MESH_ROTATION_REFINE_H
#define SN_MESH_ROTATION_REFINE_H

#include "mesh/rotation_strain.h"

/* One step, from the shape that coordinates and centers gave. scratch[element_count]. Links turn
 * with their elements. together: an element turns as all around its corners do; in many steps each
 * alone would keep its lengths by wrinkles, which nothing else resists. Allocates nothing. */
void sn_rotation_refine(const sn_rotation_strain *structure, sn_rotation_strain_work *work,
                        sn_mat3 *scratch, double *coordinates, const double *centers, bool together,
                        double *positions);

#endif
