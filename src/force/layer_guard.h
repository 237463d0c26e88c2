/* What the marker layer adds to a shape must not push skin through what lies below it: lids stay on
 * the eyeballs, lips and cheeks in front of the teeth and the mouth bag. */
#ifndef SN_FORCE_LAYER_GUARD_H
#define SN_FORCE_LAYER_GUARD_H

#include "force/riders.h"
#include "force/skin.h"
#include "sinew/anatomy.h"

typedef struct sn_layer_guard sn_layer_guard;

sinew_status sn_layer_guard_create(const sn_skin *skin, const sinew_rig *rig,
                                   const sinew_anatomy *anatomy, const sn_riders *riders,
                                   sn_layer_guard **guard, sinew_error *error);
void sn_layer_guard_destroy(sn_layer_guard *guard);
/* Eyeballs that were found, and vertices with something below them. */
void sn_layer_guard_counts(const sn_layer_guard *guard, int *eyeballs, int *covered);
/* before, after: the shape without and with the layer, 3 per vertex. scratch[vertex_count]. Returns
 * how many vertices were held. Allocates nothing. */
int sn_layer_guard_hold(const sn_layer_guard *guard, const double *before, double *after,
                        double *scratch);

#endif
