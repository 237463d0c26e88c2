/* The last step of the marker layer: where it would make parts intersect that do not do so in the
 * shape without the layer, it is taken back.
 *
 * Contact cannot guarantee this for everything: production heads come with lashes, tear lines,
 * shells and gums that intersect others in the neutral, and have no side to keep to. But the shape
 * without the layer is known, so there is always somewhere to go back to. Pairs at intersections of
 * the neutral are not looked at: these move with the surfaces.
 *
 * What follows the skin has a second place to go to, for where going back is not enough: lids that
 * are squeezed leave no room for lashes and shells, without the layer as with it. */
#ifndef SN_FORCE_LAYER_RESTORE_H
#define SN_FORCE_LAYER_RESTORE_H

#include "contact/pairs.h"
#include "force/riders.h"
#include "force/skin.h"
#include "sinew/anatomy.h"

typedef struct sn_layer_restore sn_layer_restore;
typedef struct sn_layer_restore_work sn_layer_restore_work;

/* surface: what contact takes care of; needed only here. */
sinew_status sn_layer_restore_create(const sn_skin *skin, const sinew_mesh *mesh,
                                     const sinew_anatomy *anatomy, const sn_riders *riders,
                                     const sn_contact_surface *surface, sn_layer_restore **restore,
                                     sinew_error *error);
void sn_layer_restore_destroy(sn_layer_restore *restore);
sinew_status sn_layer_restore_work_create(const sn_layer_restore *restore,
                                          sn_layer_restore_work **work, sinew_error *error);
void sn_layer_restore_work_destroy(sn_layer_restore_work *work);
/* Before contact: skin that contact moves away from this shape does not go back. */
void sn_layer_restore_start(sn_layer_restore_work *work, const double *shape);
/* after[3n] goes back towards before[3n] around new intersections. Returns how many vertices did.
 */
int sn_layer_restore_apply(sn_layer_restore_work *work, const double *before, double *after);
/* Triangles of what follows the skin that intersect visible skin, other than those that belong to
 * intersections of the neutral. */
int sn_layer_restore_count_riders(sn_layer_restore_work *work, const double *x);
/* What follows the skin goes towards way[3n] around such intersections, unless as many are left.
 * Returns how many vertices did. */
int sn_layer_restore_give_way(sn_layer_restore_work *work, const double *way, double *x);
/* Triangles of x[3n] that intersect where one of the two is visible skin, other than those that
 * belong to intersections of the neutral. */
int sn_layer_restore_count(sn_layer_restore_work *work, const double *x);

#endif
