/* Elimination orders in the cache: they depend only on which entries of a matrix are there, so that
 * all shots of a character, and all processes, share them. */
#ifndef SN_SESSION_ORDERINGS_H
#define SN_SESSION_ORDERINGS_H

#include "algebra/ordering.h"
#include "sinew/cache.h"

typedef struct sn_orderings {
    sn_ordering_keeper keeper;
    const sn_ordering_keeper *before;
    sinew_cache *cache;
    const sinew_monitor *monitor;
} sn_orderings;

/* Orders that this thread needs until the end come from the cache, or are added to it. cache NULL:
 * they are computed. `orderings` must stay where it is. */
void sn_orderings_begin(sn_orderings *orderings, sinew_cache *cache, const sinew_monitor *monitor);
void sn_orderings_end(const sn_orderings *orderings);

#endif
