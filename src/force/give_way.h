/* What follows the skin gives way where lids are squeezed and leave no room for it: each vertex
 * goes a share of the path to where it gives way to (force/carry.h).
 *
 * The shares are continuous in the shape, so that lashes do not jump between the frames of a blink:
 * they depend on how near the skin is to the triangles around a vertex, not on whether the two
 * intersect. */
#ifndef SN_FORCE_GIVE_WAY_H
#define SN_FORCE_GIVE_WAY_H

#include "force/carry.h"
#include "force/layer_restore.h"
#include "force/riders.h"
#include "force/skin.h"
#include "sinew/anatomy.h"

typedef struct sn_give_way_plan sn_give_way_plan;
typedef struct sn_give_way_work sn_give_way_work;

sinew_status sn_give_way_plan_create(const sn_skin *skin, const sinew_mesh *mesh,
                                     const sinew_anatomy *anatomy, const sn_riders *riders,
                                     const sn_carry_plan *carry, sn_give_way_plan **plan,
                                     sinew_error *error);
void sn_give_way_plan_destroy(sn_give_way_plan *plan);
sinew_status sn_give_way_work_create(const sn_give_way_plan *plan, sn_give_way_work **work,
                                     sinew_error *error);
void sn_give_way_work_destroy(sn_give_way_work *work);
/* x[3n] of riders gives way where the skin is near; path: room for 3n. What still intersects after
 * that goes as far as needed (force/layer_restore.h). *count: vertices that gave way. */
sinew_status sn_give_way(sn_give_way_work *work, sn_carry *carry, sn_layer_restore_work *restore,
                         double *path, double *x, int *count, sinew_error *error);

#endif
