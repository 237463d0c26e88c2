/* Lids stay on the eyeballs: visible skin that is in front of an eyeball at rest is lifted to its
 * surface where a shape leaves it behind that.
 *
 * Eyes that turn push their corneas through the edges of lids, and where these touch or intersect
 * the eyeball at rest, contact has to leave them out. The lift is continuous in the shape. */
#ifndef SN_FORCE_LID_LIFT_H
#define SN_FORCE_LID_LIFT_H

#include "force/riders.h"
#include "force/skin.h"
#include "sinew/anatomy.h"

typedef struct sn_lid_lift_plan sn_lid_lift_plan;
/* One per thread: its search tree follows the frames. */
typedef struct sn_lid_lift sn_lid_lift;

sinew_status sn_lid_lift_plan_create(const sn_skin *skin, const sinew_mesh *mesh,
                                     const sinew_anatomy *anatomy, const sn_riders *riders,
                                     sn_lid_lift_plan **plan, sinew_error *error);
void sn_lid_lift_plan_destroy(sn_lid_lift_plan *plan);
sinew_status sn_lid_lift_create(const sn_lid_lift_plan *plan, sn_lid_lift **lift,
                                sinew_error *error);
void sn_lid_lift_destroy(sn_lid_lift *lift);
/* x[3n] */
sinew_status sn_lid_lift_apply(sn_lid_lift *lift, double *x, sinew_error *error);

#endif
