/* The expensive parts of a rotation-aware blend in the cache: the links between parts with their
 * pivots, and what the targets measure. Both take decompositions of the gradients of all targets,
 * which is most of the set-up.
 *
 *   open   ->   links, create the structure, pivots, targets   or   compute them, keep   ->   close
 *
 * While it is open and nothing was found, other processes that want the same wait. */
#ifndef SN_RIG_ROTATION_STORE_H
#define SN_RIG_ROTATION_STORE_H

#include "cache/pack.h"
#include "rig/rotation_structure.h"
#include "sinew/cache.h"

/* What the blend is made from: decides the key. */
typedef struct sn_rotation_source {
    const sinew_rig *rig;
    int vertex_count;
    const double *rest;
    int corners, element_count;
    const int *elements;
    const double *const *poses; /* per target; NULL: from the rig */
    const sinew_rotation_options *options;
} sn_rotation_source;

typedef struct sn_rotation_store {
    sinew_cache_entry *entry; /* NULL: no cache */
    sn_unpack from;
    bool found;   /* what follows can be read */
    bool on_line; /* of the targets found: sn_rotation_draw_line is still to be called */
} sn_rotation_store;

sinew_status sn_rotation_store_open(sn_rotation_store *store, const sn_rotation_source *source,
                                    const sinew_monitor *monitor, sinew_error *error);
void sn_rotation_store_close(sn_rotation_store *store);

/* In this order; each sets store->found to false when the entry does not fit. Release the links
 * with sn_free. */
void sn_rotation_store_links(sn_rotation_store *store, int vertex_count, sn_link **links,
                             int *count);
/* Pivots and stiffness of the links. */
void sn_rotation_store_pivots(sn_rotation_store *store, sn_rotation_strain *structure);
/* Refinements, targets and `held`, before parts that are not held enough are taken out of it. */
void sn_rotation_store_targets(sn_rotation_store *store, sinew_rotation *rotation);

void sn_rotation_store_keep(sn_rotation_store *store, const sinew_rotation *rotation,
                            const bool *held);

/* Adds all that decides the activations and deltas of the targets. */
void sn_rig_hash(sinew_hash *hash, const sinew_rig *rig);

/* Releases what the targets hold. */
void sn_rotation_targets_free(sinew_rotation *rotation);

#endif
