/* Contact of a shape that has no physics of its own: of a static fit with the marker layer.
 *
 * The shape goes from the last written frame, at first the neutral, to the new one, and where parts
 * of it would pass through each other it is pressed apart as the sheet of the force model would be:
 * lids over eyeballs, lip against lip. Eyes and teeth are rigid. Parts that follow the skin are
 * left to the caller, as are those that intersect in the neutral. */
#ifndef SN_FORCE_LAYER_CONTACT_H
#define SN_FORCE_LAYER_CONTACT_H

#include "cache/pack.h"
#include "contact/pairs.h"
#include "force/contact.h"
#include "force/riders.h"
#include "force/skin.h"
#include "sinew/anatomy.h"
#include "sinew/model.h"

typedef struct sn_layer_contact sn_layer_contact;
typedef struct sn_layer_contact_work sn_layer_contact_work;

/* The constant part, shared between threads. */
sinew_status sn_layer_contact_create(const sn_skin *skin, const sinew_rig *rig,
                                     const sinew_anatomy *anatomy, const sn_riders *riders,
                                     sn_layer_contact **contact, sinew_error *error);
void sn_layer_contact_destroy(sn_layer_contact *contact);
/* What takes part. */
const sn_contact_surface *sn_layer_contact_surface(const sn_layer_contact *contact);

sinew_status sn_layer_contact_work_create(const sn_layer_contact *contact,
                                          sn_layer_contact_work **work, sinew_error *error);
void sn_layer_contact_work_destroy(sn_layer_contact_work *work);
/* Pairs beyond which a solve gives up (sn_force_contact_set_most). With it, a solve also returns
 * SINEW_BAD_INPUT at once when the search finds too much close together. */
void sn_layer_contact_set_most(sn_layer_contact_work *work, int most);
/* See sn_force_contact_set_path. */
void sn_layer_contact_set_path(sn_layer_contact_work *work, const double *path, double from,
                               double to, double most);
/* The next frame comes from the neutral. */
void sn_layer_contact_forget(sn_layer_contact_work *work);
/* What is remembered of the frames before, and back. The block is the part of the inverse that was
 * computed for the vertices that touched; it only grows, so its size is enough to go back. */
void sn_layer_contact_pack(const sn_layer_contact_work *work, sn_pack *pack);
sinew_status sn_layer_contact_unpack(sn_layer_contact_work *work, sn_unpack *unpack,
                                     sinew_error *error);
void sn_layer_contact_pack_block(const sn_layer_contact_work *work, sn_pack *pack);
sinew_status sn_layer_contact_unpack_block(sn_layer_contact_work *work, sn_unpack *unpack,
                                           sinew_error *error);
int sn_layer_contact_block(const sn_layer_contact_work *work);
void sn_layer_contact_shrink(sn_layer_contact_work *work, int size);

/* x[3n]: pressed apart, coming from the frame before, in several steps when too much comes close in
 * one. When that is not enough, x stays as it is, and info->released counts its vertices. */
sinew_status sn_layer_contact_solve(sn_layer_contact_work *work, double *x,
                                    sn_force_contact_info *info, sinew_error *error);
/* Pairs that press in the last frame, see sn_force_contact_list. */
int sn_layer_contact_list(const sn_layer_contact_work *work, int capacity, sinew_contact *contacts);

#endif
