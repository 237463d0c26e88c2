/* The network of a structure in the cache: springs, altitudes, volumes and what every pose adds to
 * them. It does not depend on stiffnesses and maps, so that scenes which differ in these share it.
 *
 *   open   ->   restore   or   build the network and its poses, keep   ->   sinew_cache_leave
 *
 * While the entry is open and nothing was found, other processes that want the same wait. */
#ifndef SN_SPRING_NETWORK_STORE_H
#define SN_SPRING_NETWORK_STORE_H

#include "spring/structure.h"

/* The entry of the network that the structure's options, tets and rotation-aware blend lead to.
 * stiffened: links of the blend become springs. *entry is NULL without a cache. */
sinew_status sn_network_store_open(const sinew_spring *spring, bool stiffened, sinew_cache *cache,
                                   const sinew_monitor *monitor, sinew_cache_entry **entry,
                                   sinew_error *error);
/* Sets the network and the anchor of the structure; false, and neither is set: the entry holds no
 * network that fits, or there is no memory. neutral: with room for the corners of the anchor, which
 * it receives. */
bool sn_network_store_restore(const sinew_cache_entry *entry, sinew_spring *spring,
                              double *neutral);
/* After the last pose and before sn_network_finish. */
void sn_network_store_keep(sinew_cache_entry *entry, const sinew_spring *spring);

#endif
