/* The floor that poses stand on, as a one-sided constraint between them.
 *
 * Blends turn limbs about joints, and what turns can pass below the floor although no pose does: a
 * character that lies down, a foot that is put elsewhere. The shape is then lifted, along the up
 * axis only, by the field d that strains it least and leaves nothing below:
 *
 *   min_d  1/2 d^T K d   s.t.   d >= floor - height,   d = 0 where feet rest in all poses
 *
 * K is a Laplacian of the surface and of the links between its parts, so what has no foot on the
 * floor is lifted as a whole, and what has one bends between the foot and what is lifted. The
 * obstacle problem has one solution, which depends continuously on the heights: nothing pops. Where
 * nothing is below the floor, as in the poses, d = 0. */
#ifndef SN_RIG_FLOOR_H
#define SN_RIG_FLOOR_H

#include "sinew/monitor.h"
#include "sinew/rig.h"

typedef struct sn_floor sn_floor;
typedef struct sn_floor_work sn_floor_work; /* of one thread */

/* The floor is the lowest point of the neutral and of all poses along `axis`. */
sinew_status sn_floor_create(const sinew_rig *rig, int axis, int resting_count, const int *resting,
                             const sinew_monitor *monitor, sn_floor **floor, sinew_error *error);
void sn_floor_destroy(sn_floor *floor);

sinew_status sn_floor_work_create(const sn_floor *floor, sn_floor_work **work, sinew_error *error);
void sn_floor_work_destroy(sn_floor_work *work);

/* Returns the depth that was below the floor, 0 when nothing was. Allocates nothing. */
double sn_floor_lift(const sn_floor *floor, sn_floor_work *work, double *positions);

#endif
