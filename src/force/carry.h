/* What follows the skin is carried to where the marker layer and contact have left the skin.
 *
 * Shells over an eye (tear lines, occlusion shells) lie between the lids and the eyeball, some
 * tenths of a millimeter from both. In every frame each of their vertices slides over the eyeball,
 * which does not move, with the skin that is nearest to it in the shape without the layer, and is
 * lifted off it the less the nearer it is to the eyeball: what was between the two stays between
 * them. What lies on the skin, like brows, moves with where it is attached at rest; what stands off
 * the skin, like the tips of lashes, as the nearest vertex of the same part that lies on it. */
#ifndef SN_FORCE_CARRY_H
#define SN_FORCE_CARRY_H

#include "force/riders.h"
#include "force/skin.h"
#include "sinew/anatomy.h"

/* One per thread: its search trees follow the frames. */
typedef struct sn_carry sn_carry;
/* The constant part. */
typedef struct sn_carry_plan sn_carry_plan;

sinew_status sn_carry_plan_create(const sn_skin *skin, const sinew_rig *rig,
                                  const sinew_anatomy *anatomy, const sn_riders *riders,
                                  sn_carry_plan **plan, sinew_error *error);
void sn_carry_plan_destroy(sn_carry_plan *plan);
sinew_status sn_carry_create(const sn_carry_plan *plan, sn_carry **carry, sinew_error *error);
void sn_carry_destroy(sn_carry *carry);
/* The rider next to the skin by which rider i is attached, an index among the riders. */
int sn_carry_anchor(const sn_carry_plan *plan, int i);
/* Whether rider i lies over an eyeball. */
bool sn_carry_is_shell(const sn_carry_plan *plan, int i);
/* after[3n]: the riders follow; before: the shape without the layer. */
sinew_status sn_carry_apply(sn_carry *carry, const double *before, double *after,
                            sinew_error *error);
/* way[3n] of riders: where they give way to, for x[3n]. What stands off the skin folds to where it
 * is attached, and shells lie down on the eyeball. */
sinew_status sn_carry_give_way(sn_carry *carry, const double *x, double *way, sinew_error *error);

#endif
